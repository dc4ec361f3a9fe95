package conformance

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
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

	"github.com/postern-ai/postern/core/keys"
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
	// Native: the core runs as Go, which does not trap. Scenarios that need a trap are not for it.
	Native bool
	// Check sees every answer of the gateway, for what must hold of all of them.
	Check func(request *http.Request, response *http.Response, body []byte) error
}

// ErrSkipped is Run's answer to a scenario that is not for this host.
var ErrSkipped = errors.New("conformance: only for wasm")

// run is one scenario under way.
type run struct {
	*Runner
	names   map[string]string // $name → value
	env     map[string]string // over the deployment's
	now     time.Time
	last    reply
	batch   []reply
	flights map[string]chan flight // requests that were started and not joined
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

type flight struct {
	reply
	err error
}

// Run runs one scenario; the error names the line that failed.
func (r *Runner) Run(s Scenario) error {
	if s.Wasm && r.Native {
		return ErrSkipped
	}
	x := &run{
		Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start,
		flights: map[string]chan flight{},
	}
	r.Upstream.Reset()
	defer x.land()
	if err := x.reset(); err != nil {
		return err
	}
	for _, step := range s.Steps {
		if err := x.step(step); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", s.File, step.Line, step.Command, err)
		}
	}
	if len(x.flights) > 0 {
		return fmt.Errorf("%s: %s: a request was started and never joined", s.File, s.Name)
	}
	return nil
}

// land ends what a failed scenario left under way.
func (x *run) land() {
	x.Upstream.Release()
	for _, f := range x.flights {
		<-f
	}
}

func (x *run) step(s Step) error {
	command := commands[s.Command]
	switch {
	case command.run == nil:
		return errors.New("no such command")
	case len(s.Args) < command.args:
		return fmt.Errorf("it takes %d arguments", command.args)
	}
	return command.run(x, s)
}

// commands are all there are, with how many arguments each needs at least.
var commands = map[string]struct {
	args int
	run  func(*run, Step) error
}{
	"env": {0, (*run).setEnv}, "routing": {0, (*run).setRouting},
	"project": {1, (*run).project}, "key": {2, (*run).key}, "forge": {1, (*run).forge}, "admin": {2, (*run).admin},
	"send": {2, (*run).send}, "burst": {3, (*run).burst}, "start": {3, (*run).start}, "join": {1, (*run).join},
	"expect": {1, (*run).expect}, "statuses": {0, (*run).statuses},
	"upstream": {1, (*run).queueUpstream}, "upstream-saw": {1, (*run).upstreamSaw},
	"held": {1, (*run).held}, "release": {0, (*run).release},
	"advance": {1, (*run).advance}, "clock": {1, (*run).setClock}, "fault": {0, (*run).fault},
	"settle": {0, (*run).plain}, "evict": {0, (*run).plain}, "corrupt": {0, (*run).plain}, "trap": {0, (*run).plain},
	"stats": {0, (*run).stats}, "log": {0, (*run).log},
}

// plain is a command that the test control knows under the same name.
func (x *run) plain(s Step) error { return x.control(s.Command, nil) }

// env NAME=VALUE…: sets variables of the deployment, which starts anew.
func (x *run) setEnv(s Step) error {
	for name, value := range s.Options {
		x.env[name] = value
	}
	return x.reset()
}

// routing NAME=NUMBER…: sets numbers of the overlay's routing. The deployment starts anew.
func (x *run) setRouting(s Step) error {
	var overlay map[string]any
	if err := json.Unmarshal([]byte(Overlay()), &overlay); err != nil {
		return err
	}
	routing := overlay["routing"].(map[string]any)
	for name, value := range s.Options {
		if _, known := routing[name]; !known {
			return fmt.Errorf("routing has no %s", name)
		}
		routing[name] = json.RawMessage(value)
	}
	encoded, err := json.Marshal(overlay)
	x.env["POSTERN_CATALOG"] = string(encoded)
	return errors.Join(err, x.reset())
}

func (x *run) reset() error {
	return x.control("reset", map[string]any{"env": x.env, "nowMs": x.now.UnixMilli()})
}

// advance DURATION [inflight]: moves the clock; alarms ring on the way.
func (x *run) advance(s Step) error {
	d, err := time.ParseDuration(s.Args[0])
	if err != nil {
		return err
	}
	return x.moveClock(x.now.Add(d), s)
}

// clock TIME [inflight]: sets the clock, also back.
func (x *run) setClock(s Step) error {
	at, err := time.Parse(time.RFC3339, s.Args[0])
	if err != nil {
		return err
	}
	return x.moveClock(at, s)
}

func (x *run) moveClock(to time.Time, s Step) error {
	x.now = to
	inFlight := len(s.Args) > 1 && s.Args[1] == "inflight"
	return x.control("clock", map[string]any{"nowMs": to.UnixMilli(), "inFlight": inFlight})
}

// fault [kv=down|frozen] [deliveries=down] [CLASS=down|overloaded|lost]…: what is not named works again.
func (x *run) fault(s Step) error {
	objects := map[string]string{"KeyMeter": "ok", "Ledger": "ok", "Directory": "ok"}
	body := map[string]any{"kv": "ok", "deliveries": "ok", "objects": objects}
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
		if name == "$forged" {
			return forgedKey(keys.Gateway, keys.Production)
		}
		if value, ok := x.names[name[1:]]; ok {
			return value
		}
		return name
	})
}

// adminCall calls the admin API; names like $demo.id keep what it answers.
func (x *run) adminCall(method, path, body string) (reply, error) {
	headers := map[string]string{"authorization": "Bearer " + AdminToken, "content-type": "application/json"}
	return x.do(request{method: method, path: path, headers: headers, body: body})
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

// forge NAME [kind=project] [environment=development]: $NAME is a well-formed key that nobody made.
func (x *run) forge(s Step) error {
	kind, environment := keys.Gateway, keys.Production
	if s.Options["kind"] == "project" {
		kind = keys.Project
	}
	if s.Options["environment"] == "development" {
		environment = keys.Development
	}
	x.names[s.Args[0]] = forgedKey(kind, environment)
	return nil
}

func forgedKey(kind keys.Kind, environment keys.Environment) string {
	var random [keys.RandomBytes]byte
	_, _ = rand.Read(random[:])
	return keys.New(kind, environment, random)
}

// admin METHOD PATH: a call of the admin API that must succeed; the block is its body.
func (x *run) admin(s Step) error {
	got, err := x.adminCall(s.Args[0], x.expand(s.Args[1]), x.expand(strings.Join(s.Lines, "\n")))
	if err != nil || got.status >= 300 {
		return fmt.Errorf("%d %s %w", got.status, got.body, err)
	}
	x.last = got
	return x.settled()
}

// request is what a send, burst or start sends: its block is header lines, then the body.
type request struct {
	method, path, body string
	headers            map[string]string
	chunked            bool
}

func (x *run) request(s Step, args []string) request {
	r := request{method: args[0], path: x.expand(args[1]), headers: map[string]string{}, chunked: s.Options["chunked"] != ""}
	if key := s.Options["key"]; key != "" {
		r.headers["x-api-key"] = x.expand("$" + key)
	}
	for i, line := range s.Lines {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "body:") {
			r.body = x.expand(strings.TrimSpace(strings.TrimPrefix(strings.Join(s.Lines[i:], "\n"), "body:")))
			break
		}
		name, value, _ := strings.Cut(line, ":")
		r.headers[strings.ToLower(name)] = x.expand(strings.TrimSpace(value))
	}
	r.body = unescapeBytes(padded(s, r.body))
	if contentType, given := r.headers["content-type"]; given && contentType == "" {
		delete(r.headers, "content-type")
	} else if r.body != "" && !given {
		r.headers["content-type"] = "application/json"
	}
	return r
}

// padded puts so many x in the place of PAD.
func padded(s Step, body string) string {
	size, _ := strconv.Atoi(s.Options["pad"])
	return strings.Replace(body, "PAD", strings.Repeat("x", size), 1)
}

// unescapeBytes makes \xNN, which JSON does not have, a byte.
func unescapeBytes(text string) string {
	return byteEscape.ReplaceAllStringFunc(text, func(escape string) string {
		n, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

var byteEscape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// numbered puts the request's number in the place of #N.
func (r request) numbered(n int) request {
	r.body = strings.ReplaceAll(r.body, "#N", strconv.Itoa(n))
	return r
}

// send METHOD PATH [key=NAME] [times=N] [pad=N] [chunked=yes]: its answer, the last one, is what expect
// looks at.
func (x *run) send(s Step) (err error) {
	times := 1
	if n, given := s.Options["times"]; given {
		if times, err = strconv.Atoi(n); err != nil {
			return err
		}
	}
	for i := 0; i < times && err == nil; i++ {
		x.last, err = x.do(x.request(s, s.Args).numbered(i))
	}
	return errors.Join(err, x.settled())
}

// settled waits for what goes on after the answers, unless a request is in flight.
func (x *run) settled() error {
	if len(x.flights) > 0 {
		return nil
	}
	return x.control("settle", nil)
}

// start NAME METHOD PATH …: like send, but does not wait for the answer.
func (x *run) start(s Step) error {
	answer := make(chan flight, 1)
	x.flights[s.Args[0]] = answer
	r := x.request(s, s.Args[1:])
	go func() {
		got, err := x.do(r)
		answer <- flight{got, err}
	}()
	return nil
}

// join NAME: waits for the answer of what was started.
func (x *run) join(s Step) error {
	answer, ok := x.flights[s.Args[0]]
	if !ok {
		return errors.New("no such request in flight")
	}
	got := <-answer
	delete(x.flights, s.Args[0])
	x.last = got.reply
	return errors.Join(got.err, x.settled())
}

// burst N METHOD PATH …: N at once.
func (x *run) burst(s Step) error {
	n, err := strconv.Atoi(s.Args[0])
	if err != nil {
		return err
	}
	r := x.request(s, s.Args[1:])
	x.batch = make([]reply, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { x.batch[i], errs[i] = x.do(r.numbered(i)) })
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), x.settled())
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

func (x *run) do(r request) (reply, error) {
	request, err := http.NewRequest(r.method, x.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		return reply{}, err
	}
	switch {
	case r.body == "":
		request.Body, request.ContentLength = nil, 0
	case r.chunked:
		request.ContentLength = -1
	}
	for name, value := range r.headers {
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

// upstream KIND [status=N] [header.NAME=VALUE]… [times=N] [pad=N]: what the provider does with the next
// requests; the block is the body.
func (x *run) queueUpstream(s Step) error {
	b := Behaviour{Kind: s.Args[0], Headers: map[string]string{}, Body: padded(s, strings.Join(s.Lines, "\n"))}
	times := 1
	for name, value := range s.Options {
		switch {
		case name == "pad":
		case name == "status":
			b.Status, _ = strconv.Atoi(value)
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

// held N: waits until the upstream holds so many requests.
func (x *run) held(s Step) error {
	want, err := strconv.Atoi(s.Args[0])
	if err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); x.Upstream.Held() != want; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("it holds %d", x.Upstream.Held())
		}
	}
	return nil
}

// release: the upstream answers what it holds.
func (x *run) release(Step) error {
	x.Upstream.Release()
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
//	NAME: VALUE             a header, exactly; "NAME: ~ REGEXP"; "!NAME" is absent
//	json PATH OP VALUE      with gjson paths and = != ~ < > absent (VALUE is JSON for =)
//	body ~ REGEXP           or !~
//	count N REGEXP          so many lines match
//	PATH -> NAME            $NAME is from now on what stands there
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
	if rest, ok := strings.CutPrefix(line, "count "); ok {
		return assertCount(rest, body)
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

// assertCount: "N REGEXP": so many lines match.
func assertCount(rest string, body []byte) error {
	count, pattern, _ := strings.Cut(rest, " ")
	got := 0
	for _, line := range strings.Split(string(body), "\n") {
		if line != "" && match(pattern, line) == nil {
			got++
		}
	}
	if strconv.Itoa(got) != count {
		return fmt.Errorf("%d lines match %s, want %s, in %s", got, pattern, count, body)
	}
	return nil
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
	if err := x.settled(); err != nil {
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

// log: looks at the log lines since the last look: "body ~ REGEXP", "body !~ REGEXP", "count N REGEXP".
func (x *run) log(s Step) error {
	if err := x.settled(); err != nil {
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
