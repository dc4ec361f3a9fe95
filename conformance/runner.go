package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// AdminToken is what the hosts under test are started with.
const AdminToken = "conformance-admin-token"

// Start is where every scenario's clock stands at first: a Saturday noon.
var Start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Runner runs scenarios against one host.
type Runner struct {
	URL      string
	Client   *http.Client
	Upstream *Upstream
	// Check sees every answer of the gateway, for what must hold of all of them.
	Check func(request *http.Request, response *http.Response, body []byte) error
}

// run is one scenario under way.
type run struct {
	*Runner
	names map[string]string // $name → value
	now   time.Time
	last  reply
	batch []reply
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

// Run runs one scenario; the error names the line that failed.
func (r *Runner) Run(s Scenario) error {
	x := &run{Runner: r, names: map[string]string{}, now: Start}
	r.Upstream.Reset()
	if err := x.reset(nil); err != nil {
		return err
	}
	for _, step := range s.Steps {
		if err := x.step(step); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.File, step.Line, step.Command, err)
		}
	}
	return nil
}

func (x *run) step(s Step) error {
	switch s.Command {
	case "env":
		return x.reset(s)
	case "project":
		return x.project(s)
	case "key":
		return x.key(s)
	case "admin":
		return x.admin(s)
	case "send":
		return x.send(s)
	case "burst":
		return x.burst(s)
	case "expect":
		return x.expect(s)
	case "statuses":
		return x.statuses(s)
	case "upstream":
		return x.queueUpstream(s)
	case "upstream-saw":
		return x.upstreamSaw(s)
	case "advance":
		d, err := time.ParseDuration(s.Args[0])
		x.now = x.now.Add(d)
		return orElse(err, func() error { return x.clock() })
	case "clock":
		at, err := time.Parse(time.RFC3339, s.Args[0])
		x.now = at
		return orElse(err, func() error { return x.clock() })
	case "fault":
		return x.fault(s)
	case "settle", "evict", "corrupt", "trap":
		return x.control(s.Command, nil)
	case "stats":
		return x.stats(s)
	case "log":
		return x.log(s)
	}
	return fmt.Errorf("no such command")
}

func orElse(err error, f func() error) error {
	if err != nil {
		return err
	}
	return f()
}

func (x *run) reset(step any) error {
	env := map[string]string{}
	if s, ok := step.(Step); ok {
		for name, value := range s.Options {
			env[name] = value
		}
		for _, line := range s.Lines {
			name, value, _ := strings.Cut(line, "=")
			env[name] = value
		}
	}
	return x.control("reset", map[string]any{"env": env, "nowMs": x.now.UnixMilli()})
}

func (x *run) clock() error { return x.control("clock", map[string]any{"nowMs": x.now.UnixMilli()}) }

func (x *run) fault(s Step) error {
	objects := map[string]string{}
	body := map[string]any{"objects": objects}
	for name, value := range s.Options {
		if name == "kv" || name == "deliveries" {
			body[name] = value
			continue
		}
		objects[name] = value
	}
	return x.control("fault", body)
}

// control sends a test command to the host.
func (x *run) control(command string, body any) error {
	_, err := x.controlBody(http.MethodPost, command, body)
	return err
}

func (x *run) controlBody(method, command string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, x.URL+"/__test/"+command, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	if method == http.MethodGet {
		request.Body, request.ContentLength = nil, 0
	}
	response, err := x.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("test control: %d %s", response.StatusCode, answer)
	}
	return answer, err
}

// expand replaces $name.
var variable = regexp.MustCompile(`\$[a-z][a-zA-Z0-9_.]*`)

func (x *run) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := x.names[name[1:]]; ok {
			return value
		}
		return name
	})
}

// adminCall calls the admin API; names like $demo.id keep what it answers.
func (x *run) adminCall(method, path, body string) (reply, error) {
	return x.do(method, path, map[string]string{"authorization": "Bearer " + AdminToken, "content-type": "application/json"}, body)
}

// project NAME [option=value…]: creates a project; $NAME is its id.
func (x *run) project(s Step) error {
	body := map[string]any{"name": s.Args[0]}
	for name, value := range s.Options {
		body[name] = value
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			body[name] = n
		}
	}
	encoded, _ := json.Marshal(body)
	got, err := x.adminCall("POST", "/api/admin/projects", string(encoded))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "id").String()
	return x.control("settle", nil)
}

// key NAME PROJECT [option=value…]: creates a key; $NAME is its value, $NAME.id its id.
func (x *run) key(s Step) error {
	body := map[string]string{"name": s.Args[0]}
	for name, value := range s.Options {
		body[name] = value
	}
	encoded, _ := json.Marshal(body)
	got, err := x.adminCall("POST", "/api/admin/projects/"+x.names[s.Args[1]]+"/keys", string(encoded))
	if err != nil || got.status != 201 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.names[s.Args[0]] = gjson.GetBytes(got.body, "value").String()
	x.names[s.Args[0]+".id"] = gjson.GetBytes(got.body, "id").String()
	return x.control("settle", nil)
}

// admin METHOD PATH: a call of the admin API that must succeed; the block is its body.
func (x *run) admin(s Step) error {
	got, err := x.adminCall(s.Args[0], x.expand(s.Args[1]), x.expand(strings.Join(s.Lines, "\n")))
	if err != nil || got.status >= 300 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.last = got
	return nil
}

// request reads a send's or burst's block: header lines, then the body.
func (x *run) request(s Step) (headers map[string]string, body string) {
	headers = map[string]string{}
	if key := s.Options["key"]; key != "" {
		headers["x-api-key"] = x.expand("$" + key)
	}
	for i, line := range s.Lines {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "body:") {
			body = x.expand(strings.TrimSpace(strings.TrimPrefix(strings.Join(s.Lines[i:], "\n"), "body:")))
			headers["content-type"] = first(headers["content-type"], "application/json")
			break
		}
		name, value, _ := strings.Cut(line, ":")
		headers[strings.ToLower(name)] = x.expand(strings.TrimSpace(value))
	}
	if size, err := strconv.Atoi(s.Options["pad"]); err == nil {
		body = strings.Replace(body, "PAD", strings.Repeat("x", size), 1)
	}
	return headers, body
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// send METHOD PATH [key=NAME]: sends a request; its answer is what expect looks at.
func (x *run) send(s Step) (err error) {
	headers, body := x.request(s)
	x.last, err = x.do(s.Args[0], x.expand(s.Args[1]), headers, body)
	return err
}

// burst N METHOD PATH [key=NAME]: N at once. In a body, #N is the request's number.
func (x *run) burst(s Step) error {
	n, err := strconv.Atoi(s.Args[0])
	if err != nil {
		return err
	}
	headers, body := x.request(s)
	x.batch = make([]reply, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			x.batch[i], errs[i] = x.do(s.Args[1], x.expand(s.Args[2]), headers, strings.ReplaceAll(body, "#N", strconv.Itoa(i)))
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// statuses 200=10 429=190: how the last burst was answered.
func (x *run) statuses(s Step) error {
	got := map[string]int{}
	for _, r := range x.batch {
		got[strconv.Itoa(r.status)]++
	}
	want := map[string]int{}
	for status, count := range s.Options {
		want[status], _ = strconv.Atoi(count)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func (x *run) do(method, path string, headers map[string]string, body string) (reply, error) {
	request, err := http.NewRequest(method, x.URL+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body == "" {
		request.Body, request.ContentLength = nil, 0
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := x.Client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	if x.Check != nil {
		if err := x.Check(request, response, answer); err != nil {
			return reply{}, err
		}
	}
	return reply{response.StatusCode, response.Header, answer}, nil
}

// queueUpstream: upstream KIND [status=N] [delay=MS] [header.NAME=VALUE]; the block is the body. Several
// times with times=N.
func (x *run) queueUpstream(s Step) error {
	b := Behaviour{Kind: s.Args[0], Headers: map[string]string{}, Body: strings.Join(s.Lines, "\n")}
	times := 1
	for name, value := range s.Options {
		switch {
		case name == "status":
			b.Status, _ = strconv.Atoi(value)
		case name == "delay":
			b.DelayMs, _ = strconv.Atoi(value)
		case name == "times":
			times, _ = strconv.Atoi(value)
		default:
			b.Headers[strings.TrimPrefix(name, "header.")] = value
		}
	}
	for range times {
		x.Upstream.Next(b)
	}
	return nil
}

// upstream-saw N: how many requests the upstream got; the block looks at the last: "header NAME OP VALUE"
// or "json PATH OP VALUE".
func (x *run) upstreamSaw(s Step) error {
	seen := x.Upstream.Seen()
	want, err := strconv.Atoi(s.Args[0])
	if err != nil || len(seen) != want {
		return fmt.Errorf("it saw %d requests", len(seen))
	}
	for _, line := range s.Lines {
		last := seen[len(seen)-1]
		if err := x.assert(line, last.Header, []byte(last.Body)); err != nil {
			return err
		}
	}
	return nil
}

// expect STATUS: looks at the last answer. Its block, one assertion a line:
//
//	NAME: VALUE     a header, exactly; "NAME: ~ REGEXP"; "!NAME" is absent
//	json PATH OP VALUE      with gjson paths and = != ~ < > (VALUE is JSON for =)
//	body ~ REGEXP
func (x *run) expect(s Step) error {
	if strconv.Itoa(x.last.status) != s.Args[0] {
		return fmt.Errorf("got %d %s", x.last.status, x.last.body)
	}
	for _, line := range s.Lines {
		if err := x.assert(line, x.last.header, x.last.body); err != nil {
			return err
		}
	}
	return nil
}

func (x *run) assert(line string, header http.Header, body []byte) error {
	line = x.expand(line)
	if rest, ok := strings.CutPrefix(line, "json "); ok {
		return assertJSON(rest, body)
	}
	if pattern, ok := strings.CutPrefix(line, "body ~ "); ok {
		return match(pattern, string(body))
	}
	if pattern, ok := strings.CutPrefix(line, "body !~ "); ok {
		if match(pattern, string(body)) == nil {
			return fmt.Errorf("the body holds %s", pattern)
		}
		return nil
	}
	if name, ok := strings.CutPrefix(line, "!"); ok {
		if values := header.Values(name); len(values) > 0 {
			return fmt.Errorf("header %s is there: %q", name, values)
		}
		return nil
	}
	if name, save, ok := strings.Cut(line, " -> "); ok {
		x.names[save] = gjson.GetBytes(body, name).String()
		return nil
	}
	name, want, _ := strings.Cut(line, ":")
	want = strings.TrimSpace(want)
	got := header.Get(name)
	if pattern, ok := strings.CutPrefix(want, "~ "); ok {
		return match(pattern, got)
	}
	if got != want {
		return fmt.Errorf("header %s is %q, want %q", name, got, want)
	}
	return nil
}

func match(pattern, text string) error {
	ok, err := regexp.MatchString(pattern, text)
	if err == nil && !ok {
		err = fmt.Errorf("%.600q does not match %s", text, pattern)
	}
	return err
}

func assertJSON(rest string, body []byte) error {
	path, rest, _ := strings.Cut(rest, " ")
	op, want, _ := strings.Cut(rest, " ")
	if !gjson.ValidBytes(body) {
		return fmt.Errorf("not JSON: %s", body)
	}
	got := gjson.GetBytes(body, path)
	switch op {
	case "=":
		if got.Raw != want {
			return fmt.Errorf("%s is %s, want %s, in %s", path, got.Raw, want, body)
		}
	case "!=":
		if got.Raw == want {
			return fmt.Errorf("%s is %s", path, got.Raw)
		}
	case "~":
		return match(want, got.String())
	case "<", ">":
		bound, err := strconv.ParseFloat(want, 64)
		if err != nil || op == "<" && got.Num >= bound || op == ">" && got.Num <= bound {
			return fmt.Errorf("%s is %s, want %s %s", path, got.Raw, op, want)
		}
	case "absent":
		if got.Exists() {
			return fmt.Errorf("%s is there: %s", path, got.Raw)
		}
	default:
		return fmt.Errorf("no such operator: %q", op)
	}
	return nil
}

// stats reset, or stats NAME=N…: what the host counted since.
func (x *run) stats(s Step) error {
	if len(s.Args) > 0 && s.Args[0] == "reset" {
		return x.control("stats", nil)
	}
	if err := x.control("settle", nil); err != nil {
		return err
	}
	answer, err := x.controlBody(http.MethodGet, "stats", nil)
	if err != nil {
		return err
	}
	for name, want := range s.Options {
		if got := gjson.GetBytes(answer, name); got.Raw != want {
			return fmt.Errorf("%s is %s, want %s, in %s", name, got.Raw, want, answer)
		}
	}
	return nil
}

// log: looks at the log lines since the last look: "body ~ REGEXP" and "body !~ REGEXP".
func (x *run) log(s Step) error {
	if err := x.control("settle", nil); err != nil {
		return err
	}
	text, err := x.controlBody(http.MethodPost, "log", nil)
	if err != nil {
		return err
	}
	for _, line := range s.Lines {
		if err := x.assert(line, nil, text); err != nil {
			return err
		}
	}
	return nil
}

// Overlay is the routing of all conformance runs: real timers, but short.
func Overlay() string {
	text, err := os.ReadFile("testdata/conformance/overlay.json")
	if err != nil {
		text, err = os.ReadFile("../testdata/conformance/overlay.json")
	}
	if err != nil {
		panic(err)
	}
	return string(text)
}
