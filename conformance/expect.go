package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// statuses runs "statuses 200=10 429=190": it checks how many responses of the last burst had each status.
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

// upstreamSaw runs "upstream-saw N": it checks the number of requests that the upstream received. The block checks
// the last of these requests, with the assertions of expect.
func (x *run) upstreamSaw(s Step) error {
	seen := x.Upstream.Seen()
	want, err := strconv.Atoi(s.Args[0])
	if err != nil || len(seen) != want {
		return fmt.Errorf("the upstream saw %d requests", len(seen))
	}
	for _, line := range s.Lines {
		last := seen[len(seen)-1]
		if err := x.assert(line, last.Header, []byte(last.Body)); err != nil {
			return err
		}
	}
	return nil
}

// abortTimeout is the time within which an aborted upstream request must end.
const abortTimeout = time.Second

// upstreamLeft runs "upstream-left N": it checks that N upstream requests were aborted before the end of their
// responses.
func (x *run) upstreamLeft(s Step) error {
	want, err := strconv.Atoi(s.Args[0])
	if err != nil {
		return err
	}
	aborted := 0
	for end := time.Now().Add(abortTimeout); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		aborted = 0
		for _, seen := range x.Upstream.Seen() {
			if seen.Disconnected {
				aborted++
			}
		}
		if aborted == want && x.Upstream.Active() == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d were aborted, %d are active", aborted, x.Upstream.Active())
}

// expect runs "expect STATUS": it checks the last response. Its block has one assertion per line:
//
//	NAME: VALUE             the header's exact value; "NAME: ~ REGEXP" matches it; "!NAME" means absent
//	json PATH OP VALUE      with a gjson path and = != ~ < > absent (VALUE is JSON for =)
//	body ~ REGEXP           the body matches; "body !~ REGEXP": it does not
//	count N REGEXP          exactly N lines match
//	event N PATH OP VALUE   like json, for event N of a stream, counted from 0, or from the end with -1
//	data N VALUE            the exact data of event N
//	says TEXT               the joined text deltas of a stream, in any API family
//	PATH -> NAME            stores the value at the path as $NAME
//	NAME: -> NAME           stores a header's value, up to its first ";"
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
	if rest, ok := strings.CutPrefix(line, "event "); ok {
		return assertEvent(rest, body)
	}
	if rest, ok := strings.CutPrefix(line, "data "); ok {
		return assertData(rest, body)
	}
	if want, ok := strings.CutPrefix(line, "says "); ok {
		if got := streamText(body); got != want {
			return fmt.Errorf("the stream's text is %.600q, want %q, in %.2000s", got, want, body)
		}
		return nil
	}
	if pattern, ok := strings.CutPrefix(line, "body ~ "); ok {
		return match(pattern, string(body))
	}
	if rest, ok := strings.CutPrefix(line, "count "); ok {
		return assertCount(rest, body)
	}
	if pattern, ok := strings.CutPrefix(line, "body !~ "); ok {
		if match(pattern, string(body)) == nil {
			return fmt.Errorf("the body matches %s", pattern)
		}
		return nil
	}
	if name, ok := strings.CutPrefix(line, "!"); ok {
		if values := header.Values(name); len(values) > 0 {
			return fmt.Errorf("header %s is present: %q", name, values)
		}
		return nil
	}
	if name, save, ok := strings.Cut(line, ": -> "); ok {
		x.names[save], _, _ = strings.Cut(header.Get(name), ";")
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

// assertCount checks "N REGEXP": exactly N lines match.
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
			return fmt.Errorf("%s is present: %s", path, got.Raw)
		}
	default:
		return fmt.Errorf("unknown operator %q", op)
	}
	return nil
}

// stats runs "stats reset" or "stats NAME=N…". The latter checks the host's counters since the reset.
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

// log runs "log": it checks the log lines since the last check with "body ~ REGEXP", "body !~ REGEXP" and
// "count N REGEXP".
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
