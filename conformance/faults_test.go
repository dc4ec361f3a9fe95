package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/test/fakeprovider"
)

// TestFaults injects every fault in faultRows into streaming and non-streaming responses on three hosts. Each test
// runs in every API family and with two providers.
func TestFaults(t *testing.T) {
	t.Parallel()
	var board scoreboard
	t.Run("hosts", func(t *testing.T) {
		for name, start := range map[string]func(*testing.T, *Upstream) *Runner{"wazero": newWasm, "serve": newServe, "workerd": newWorkerd} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				board.run(t, name, start)
			})
		}
	})
	board.print()
}

type modes int

const (
	both modes = iota
	streams
	nonStreams
)

func (m modes) list() []string {
	return [...][]string{both: {"stream", "non-stream"}, streams: {"stream"}, nonStreams: {"non-stream"}}[m]
}

type faultRow struct {
	name    string
	modes   modes
	routing string // NAME=NUMBER…
	check   func(*fixture)
}

// asMessages and asInput are the fields with the prompt.
const (
	asMessages = `"messages":[{"role":"user","content":%q}]`
	asInput    = `"input":%q`
)

// caller is an API family in front of a provider. All routes have the same prices: 1 and 2 dollars per million prompt
// and completion tokens at the first target, and ten times that at the second.
type caller struct {
	name, path    string
	single, pair  string // fields that select a route with one target, and with two
	first, second string // the targets' models
	prompt        string
	shape         shape
	translated    bool // the provider has another format
}

var callers = []caller{
	{"native", "/api/ai/chat", `"quality":"cheap"`, `"quality":"balanced"`, "only", "spare", asMessages, nativeShape, false},
	{"openai", "/v1/chat/completions", `"model":"only"`, `"model":"balanced"`, "only", "spare", asMessages, openaiShape, false},
	{"anthropic", "/v1/messages", `"max_tokens":1000,"model":"poet"`, `"max_tokens":1000,"model":"verses"`, "poet", "bard", asMessages, anthropicShape, false},
	{"anthropic to openai", "/v1/messages", `"max_tokens":1000,"model":"only"`, `"max_tokens":1000,"model":"balanced"`, "only", "spare", asMessages, anthropicShape, true},
	{"openai to anthropic", "/v1/chat/completions", `"model":"poet"`, `"model":"verses"`, "poet", "bard", asMessages, openaiShape, true},
	{"responses", "/v1/responses", `"model":"sage"`, `"model":"wisdom"`, "sage", "elder", asInput, responsesShape, false},
	{"responses to anthropic", "/v1/responses", `"model":"poet"`, `"model":"verses"`, "poet", "bard", asInput, responsesShape, true},
}

// shape describes the responses of an API family.
type shape struct {
	text    string                         // the JSON path of the text in a non-streaming response
	end     string                         // the end marker of a complete stream
	failure func(f failure) string         // an error body, with "ID" as the request ID
	event   func(e event, f failure) error // checks the error event that ends a stream
}

// failure is a row of the fault table, as callers see it.
type failure struct {
	status            int
	code, text        string
	openai, anthropic string // error types of the OpenAI and Anthropic formats
	did               string // pattern for the provider's behavior in the details; "": no details
}

// summary returns the message in formats that have only one. DID is a placeholder for the provider and its behavior.
func (f *failure) summary() string {
	if f.did == "" {
		return f.text
	}
	return f.text + ": provider DID"
}

var (
	providerError  = failure{502, "provider_error", "Provider error", "server_error", "api_error", "(could not be reached|returned 5..|reported an error in its stream)"}
	providerBusy   = failure{502, "provider_rate_limited", "Provider error", "server_error", "api_error", "returned 429"}
	providerAnswer = failure{502, "provider_invalid_response", "Provider error", "server_error", "api_error",
		"(ended its response early|sent a response that (cannot be read|is too large)|sent a stream that ended early or cannot be read)"}
	providerTimeout = failure{504, "provider_timeout", "Provider timeout", "server_error", "timeout_error", ""}
	unavailable     = failure{503, "service_unavailable", "Service unavailable", "server_error", "overloaded_error", ""}
	internalError   = failure{500, "internal_error", "Internal error", "server_error", "api_error", ""}
	inactiveKey     = failure{401, "invalid_api_key", "Invalid or inactive API key", "authentication_error", "authentication_error", ""}
)

var nativeShape = shape{
	text: "text", end: "data: [DONE]",
	failure: func(f failure) string {
		if f.did != "" {
			return fmt.Sprintf(`{"error":%q,"code":%q,"requestId":"ID","details":[{"field":"provider","message":"DID"}]}`, f.text, f.code)
		}
		return fmt.Sprintf(`{"error":%q,"code":%q,"requestId":"ID"}`, f.text, f.code)
	},
	event: func(e event, f failure) error {
		return same(e, "", fmt.Sprintf(`{"type":"error","error":%q,"code":%q,"requestId":"ID"}`, f.text, f.code), f)
	},
}

var openaiShape = shape{
	text: "choices.0.message.content", end: "data: [DONE]",
	failure: openaiFailure,
	event:   func(e event, f failure) error { return same(e, "", openaiFailure(f), f) },
}

func openaiFailure(f failure) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q},"request_id":"ID"}`, f.summary(), f.openai, f.code)
}

var anthropicShape = shape{
	text: "content.0.text", end: "event: message_stop",
	failure: anthropicFailure,
	event:   func(e event, f failure) error { return same(e, "error", anthropicFailure(f), f) },
}

func anthropicFailure(f failure) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"ID"}`, f.anthropic, f.summary())
}

// responsesShape has OpenAI's error bodies. A stream's error is inside its failed response.
var responsesShape = shape{
	text: "output.0.content.0.text", end: "event: response.completed",
	failure: openaiFailure,
	event: func(e event, f failure) error {
		v := gjson.ParseBytes(f.normal([]byte(e.data)))
		if e.name != "response.failed" || v.Get("type").Str != e.name || v.Get("response.status").Str != "failed" ||
			v.Get("response.error.message").Str != f.summary() || v.Get("response.error.code").Str == "" {
			return fmt.Errorf("got %s %s, want the failure %q", e.name, e.data, f.summary())
		}
		return nil
	},
}

func same(e event, name, want string, f failure) error {
	if e.name != name {
		return fmt.Errorf("the event is %q, want %q", e.name, name)
	}
	return sameBody(f.normal([]byte(e.data)), want)
}

// normal replaces the provider and its behavior with DID.
func (f *failure) normal(body []byte) []byte {
	if f.did == "" {
		return body
	}
	return regexp.MustCompile("[a-z0-9-]+ "+f.did).ReplaceAll(body, []byte("DID"))
}

// sameBody compares an error body with the expected body, except for the request ID, whose format it checks.
func sameBody(body []byte, want string) error {
	id := gjson.GetBytes(body, "requestId").Str + gjson.GetBytes(body, "request_id").Str
	if err := match(`^req_[0-9a-f]{32}$`, id); err != nil {
		return fmt.Errorf("%w, in %s", err, body)
	}
	if got := strings.Replace(string(body), id, "ID", 1); got != want {
		return fmt.Errorf("got %s, want %s", got, want)
	}
	return nil
}

// fixture runs one fault row for one API family in one mode, or another test against a Runner.
type fixture struct {
	local *Local // set by newFixtureOn; otherwise nil
	*run
	*testing.T
	caller *caller
	stream bool
}

func runRow(t *testing.T, r *Runner, row *faultRow, family *caller, stream bool) {
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start, flights: map[string]startedRequest{}}
	c := &fixture{run: x, T: t, caller: family, stream: stream}
	r.Upstream.Reset()
	defer r.Upstream.Release()
	c.must(x.setRouting(parseStep(0, "routing "+row.routing)))
	c.do("project demo", "key live demo", "log")
	row.check(c)
}

func (c *fixture) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// do runs transcript commands.
func (c *fixture) do(lines ...string) {
	c.Helper()
	for _, line := range lines {
		if err := c.step(parseStep(0, line)); err != nil {
			c.Fatalf("%s: %v", line, err)
		}
	}
}

// body returns a request body for a route.
func (c *fixture) body(route, text string) string {
	return fmt.Sprintf(`{%s,"stream":%t,`+c.caller.prompt+`}`, route, c.stream, text)
}

// call is a request in flight and, later, its response.
type call struct {
	c      *fixture
	leave  context.CancelFunc
	begun  chan struct{} // closed when the first text arrives
	ended  chan struct{}
	once   sync.Once
	status int
	header http.Header
	body   []byte
	err    error
}

// begin sends a request without waiting.
func (c *fixture) begin(route, text string) *call {
	ctx, leave := context.WithCancel(context.Background())
	a := &call{c: c, leave: leave, begun: make(chan struct{}), ended: make(chan struct{})}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+c.caller.path, strings.NewReader(c.body(route, text)))
	c.must(err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {c.names["live"]}}
	go func() {
		defer close(a.ended)
		a.read(c.Client.Do(request))
	}()
	return a
}

func (a *call) read(response *http.Response, err error) {
	if a.err = err; err != nil {
		return
	}
	defer response.Body.Close()
	a.status, a.header = response.StatusCode, response.Header
	piece := make([]byte, 4096)
	for {
		n, err := response.Body.Read(piece)
		a.body = append(a.body, piece[:n]...)
		if n > 0 && len(a.body) < 1<<16 && streamText(a.body) != "" {
			a.once.Do(func() { close(a.begun) })
		}
		if err == io.EOF {
			return
		}
		if a.err = err; err != nil {
			return
		}
	}
}

// patience is the timeout for operations that normally take milliseconds.
const patience = 20 * time.Second

func (c *fixture) await(what string, done <-chan struct{}) {
	c.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		c.Fatalf("%s: timeout", what)
	}
}

// end waits for the complete response.
func (a *call) end() *call {
	a.c.Helper()
	a.c.await("the end of the response", a.ended)
	a.c.must(a.err)
	return a
}

// call sends a request and waits for the response and the work that follows it.
func (c *fixture) call(route, text string) *call {
	c.Helper()
	a := c.begin(route, text).end()
	c.must(c.settled())
	return a
}

// errorMember matches an error field. In the Responses API, it is null if there is no error.
var errorMember = regexp.MustCompile(`"error": ?[^n ]`)

// wantText checks that the response is complete and has the provider's text.
func (a *call) wantText(want string) {
	c := a.c
	c.Helper()
	if a.status != 200 {
		c.Fatalf("%d %.2000s", a.status, a.body)
	}
	got := gjson.GetBytes(a.body, c.caller.shape.text).Str
	if c.stream {
		got = streamText(a.body)
		if !strings.Contains(string(a.body), c.caller.shape.end) {
			c.Errorf("the stream has no %s: %.2000s", c.caller.shape.end, a.body)
		}
		if errorMember.Match(a.body) {
			c.Errorf("the stream has an error: %.2000s", a.body)
		}
	}
	if got != want {
		c.Errorf("the text is %.200q, want %.200q", got, want)
	}
}

func (a *call) wantError(f failure) {
	c := a.c
	c.Helper()
	if a.status != f.status || a.header.Get("Content-Type") != "application/json" {
		c.Fatalf("%d %s %.2000s", a.status, a.header.Get("Content-Type"), a.body)
	}
	if err := sameBody(f.normal(a.body), c.caller.shape.failure(f)); err != nil {
		c.Error(err)
	}
}

// wantStreamError checks that the stream started and ends with the family's error event, without the end marker.
func (a *call) wantStreamError(f failure) {
	c := a.c
	c.Helper()
	events := eventsOf(a.body)
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") || len(events) == 0 {
		c.Fatalf("%d %s %.2000s", a.status, a.header.Get("Content-Type"), a.body)
	}
	if err := c.caller.shape.event(events[len(events)-1], f); err != nil {
		c.Errorf("the last event: %v", err)
	}
	if strings.Contains(string(a.body), c.caller.shape.end) {
		c.Errorf("the stream has an end marker: %.2000s", a.body)
	}
	if n := len(errorMember.FindAll(a.body, -1)); n != 1 {
		c.Errorf("the stream has %d errors: %.2000s", n, a.body)
	}
}

// wantFailure checks for an error, or for a stream that ends with an error event.
func (a *call) wantFailure(f failure) {
	a.c.Helper()
	if a.c.stream {
		a.wantStreamError(f)
		return
	}
	a.wantError(f)
}

// wantHeader checks that a response header matches a pattern.
func (a *call) wantHeader(name, pattern string) *call {
	a.c.Helper()
	if err := match(pattern, a.header.Get(name)); err != nil {
		a.c.Errorf("%s: %v", name, err)
	}
	return a
}

func (c *fixture) queue(b Behavior, times int) {
	for range times {
		c.Upstream.Next(b)
	}
}

func (c *fixture) wantUpstream(want int) {
	c.Helper()
	if got := len(c.Upstream.Seen()); got != want {
		c.Errorf("the provider saw %d requests, want %d", got, want)
	}
}

func (c *fixture) usage() gjson.Result {
	c.Helper()
	c.do("advance 1s inflight") // a second report within one second would wait
	got, err := c.run.do(request{method: "GET", path: "/api/usage?projectId=" + c.names["demo"], headers: map[string]string{"x-api-key": c.names["live"]}})
	c.must(err)
	if got.status != 200 {
		c.Fatalf("usage: %d %s", got.status, got.body)
	}
	return gjson.ParseBytes(got.body)
}

// firstCost and secondCost are the costs of a good response at the targets, in dollars.
const (
	firstCost  = 0.0002
	secondCost = 0.002
)

// wantBooked checks that the ledger has exactly the given numbers of good responses from the two targets.
func (c *fixture) wantBooked(first, second int) {
	c.Helper()
	u := c.usage()
	for _, want := range []struct {
		model string
		n     int
		cost  float64
	}{{c.caller.first, first, firstCost}, {c.caller.second, second, secondCost}} {
		m := u.Get("models." + want.model)
		if int(m.Get("requests").Int()) != want.n || int(m.Get("tokens").Int()) != 150*want.n || !near(m.Get("cost").Num, float64(want.n)*want.cost) {
			c.Errorf("the ledger has %s of %s, want %d good responses", m.Raw, want.model, want.n)
		}
	}
	if want := float64(first)*firstCost + float64(second)*secondCost; !near(u.Get("budget.used").Num, want) {
		c.Errorf("the ledger has used %v, want %v", u.Get("budget.used").Raw, want)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// wantEstimate checks that an estimated cost is booked for a number of requests, and that the log flags it.
func (c *fixture) wantEstimate(requests int) {
	c.Helper()
	c.wantFlagged(1)
	u := c.usage()
	if got := int(u.Get("models." + c.caller.first + ".requests").Int()); got != requests {
		c.Errorf("the ledger has %d requests, want %d: %s", got, requests, u.Raw)
	}
	if u.Get("budget.used").Num <= 0 || u.Get("budget.used").Num > 0.01 {
		c.Errorf("the ledger has used %s", u.Get("budget.used").Raw)
	}
}

// wantFlagged checks the number of log lines with estimated usage since the last check.
func (c *fixture) wantFlagged(lines int) {
	c.Helper()
	if err := c.logLines(lines, `"estimated":true`); err != nil {
		c.Error(err)
	}
}

func (c *fixture) logLines(lines int, pattern string) error {
	text, err := c.controlBody(http.MethodPost, "log", nil)
	if err != nil {
		return err
	}
	return assertCount(fmt.Sprintf("%d %s", lines, pattern), text)
}

// wantUncached checks that no response was cached: the same request goes to the provider and succeeds.
func (c *fixture) wantUncached(route, text string) {
	c.Helper()
	before := len(c.Upstream.Seen())
	c.do("fault")
	a := c.call(route, text)
	a.wantHeader("x-postern-cache", "^miss$")
	if a.status != 200 || len(c.Upstream.Seen()) <= before {
		c.Errorf("repeated request: %d, the provider saw %d more requests: %.500s", a.status, len(c.Upstream.Seen())-before, a.body)
	}
}

const (
	hello    = "Hi there"
	goodText = fakeprovider.GoodText
)
