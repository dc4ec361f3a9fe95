package exchange_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// noon is the clock at a request's arrival: November 21st, 2026, 12:00 UTC.
const noon = 1_795_262_400_000

var (
	productionKey = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1})
	mockedKey     = keys.New(keys.Gateway, keys.Development, [keys.RandomBytes]byte{2})
)

// openaiSecret is the deployment's key for a provider, tenant a setting of another one that is as secret.
const (
	openaiSecret = "sk-of-the-deployment"
	tenant       = "tenant-of-12"
)

var variables = []abi.Header{
	{Name: "OPENAI_API_KEY", Value: openaiSecret}, {Name: "ANTHROPIC_API_KEY", Value: "key-for-anthropic"},
	{Name: "TENANT", Value: tenant}, {Name: "ZONE", Value: "eu"}, {Name: "POSTERN_MASTER_KEYS", Value: "m1:bWFzdGVyLWtleS1vZi10aGUtZGVwbG95bWVudC0zMiE="},
}

const deploymentCatalog = `{"version":"7","defaultPlan":"free",
	"plans":[{"name":"free","perSecond":10,"perDay":1000,"developmentPerSecond":5,"developmentPerDay":500,"budget":"100"}],
	"providers":[
		{"name":"openai","wire":"openai","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
		{"name":"anthropic","wire":"anthropic","baseUrl":"https://anthropic.test/v1","keyEnv":"ANTHROPIC_API_KEY"},
		{"name":"local","wire":"openai","baseUrl":"https://local.test/v1","settings":{"tenant":{"env":"TENANT"},"zone":{"env":"ZONE"}}},
		{"name":"mock","wire":"mock"}],
	"models":[
		{"name":"gpt","provider":"openai","input":"1","output":"10","context":128000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"mini","provider":"openai","input":"1","output":"2","context":128000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"claude","provider":"anthropic","input":"3","output":"15","context":200000,"maxOutput":32000,"source":"made up","date":"2026-11"},
		{"name":"house","provider":"local","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"small","provider":"local","input":"1","output":"1","context":8192,"source":"made up","date":"2026-11"},
		{"name":"roomy","provider":"local","input":"1","output":"1","context":64000,"source":"made up","date":"2026-11"},
		{"name":"plain","provider":"openai","input":"1","output":"10","drops":["temperature"],"source":"made up","date":"2026-11"},
		{"name":"parrot","provider":"mock","input":"0","output":"0","source":"made up","date":"2026-11"},
		{"name":"vectors","kind":"embedding","provider":"openai","input":"1","source":"made up","date":"2026-11"}],
	"tiers":[
		{"name":"balanced","strategy":"ordered","targets":[{"model":"gpt"},{"model":"mini"}]},
		{"name":"cheap","strategy":"ordered","targets":[{"model":"gpt"}]},
		{"name":"frontier","strategy":"ordered","targets":[{"model":"plain"}]},
		{"name":"thrifty","strategy":"cheapest","targets":[{"model":"gpt"},{"model":"mini"}]},
		{"name":"verses","strategy":"ordered","targets":[{"model":"claude"},{"model":"gpt"}]},
		{"name":"echo","strategy":"ordered","targets":[{"model":"gpt"},{"model":"parrot"}]}],
	"routing":{"retries":0,"backoffMs":5,"maxBackoffMs":1500,"coolAfter":3,"coolMs":30000,"headMs":8000,"totalMs":15000,"requestMs":40000}}`

// request is a caller's request and a host that answers what it leads to at once, one after the other, unless
// hold says to wait. Where a field is zero all goes well: a POST with the key of a production project, which is
// admitted.
type request struct {
	after               uint64 // milliseconds from noon to its arrival
	method, path, query string
	key                 string // "-": none
	headers             []abi.Header
	body                string
	overlay             string // of the catalog
	record              func(*doc.Record)
	stranger            bool // neither memory nor KV has the key's record
	policy              *doc.Policy
	authority           *doc.Policy            // the ledger's, where neither memory nor KV has one
	stored              []byte                 // in the cache
	verdicts            []*keymeter.AdmitReply // of admissions, then extensions, in turn; then all are admitted
	grants              []ledger.GrantReply    // in turn; then there is no more
	absorbed            uint64                 // the outcome of an absorb
	report              ledger.ReportReply
	reports             []ledger.ReportReply          // before that, in turn
	underWay            uint64                        // requests of each meter that is flushed
	control             uint64                        // the status of the control plane\'s answer
	leaves              int                           // the caller leaves before so many answers less one; 0: never
	hold                func(*host, *abi.Action) bool // what is not answered yet
	provider            [][]abi.Event                 // what fetches are answered with, in turn; a stream's events in turn
}

// host is what a request has met so far.
type host struct {
	*request
	t       *testing.T
	config  *config.Config
	nowMs   uint64
	state   []byte
	shared  []byte
	open    []abi.Action
	coming  []abi.Event // of the fetch that is under way
	begun   bool        // something of it came
	left    bool        // the caller is gone
	buffers map[uint64][]byte
	done    []abi.Action // all actions, in order
}

// deployments are configurations by their overlay. They are read-only.
var deployments = map[string]*config.Config{}

func configured(t *testing.T, overlay string) *config.Config {
	t.Helper()
	if deployments[overlay] == nil {
		env := append([]abi.Header{{Name: "POSTERN_CATALOG", Value: overlay}}, variables...)
		cfg, wrong := config.Parse(abi.Config{Catalog: []byte(deploymentCatalog), Env: env})
		if wrong != "" {
			t.Fatal(wrong)
		}
		deployments[overlay] = cfg
	}
	return deployments[overlay]
}

// run sends the request, and answers until nothing is open but ticks.
func (r request) run(t *testing.T) *host {
	t.Helper()
	h := &host{request: &r, t: t, config: configured(t, r.overlay), nowMs: noon + r.after, buffers: map[uint64][]byte{}}
	h.step(abi.Event{Kind: abi.EventRequest, Headers: h.head(), Data: []byte("0123456789abcdef")})
	for answers := range 200 {
		if h.leaves > 0 && answers == h.leaves-1 && len(h.open) > 0 {
			h.left = true
			h.step(abi.Event{Kind: abi.EventLeft})
		}
		if !h.answerNext() {
			return h
		}
	}
	t.Fatal("the exchange does not end")
	return nil
}

func (h *host) head() []abi.Header {
	method := h.method
	if method == "" {
		method = "POST"
	}
	head := append(slices.Clone(h.headers), abi.Header{Name: ":id", Value: "req_1"}, abi.Header{Name: ":method", Value: method},
		abi.Header{Name: ":path", Value: h.path}, abi.Header{Name: ":query", Value: h.query}, abi.Header{Name: ":address", Value: "192.0.2.1"},
		abi.Header{Name: "content-type", Value: "application/json"})
	switch h.key {
	case "-":
	case "":
		head = append(head, abi.Header{Name: "x-api-key", Value: productionKey})
	default:
		head = append(head, abi.Header{Name: "x-api-key", Value: h.key})
	}
	return head
}

// answerNext answers the action that is open for longest and has an answer; false: there is none.
func (h *host) answerNext() bool {
	for i := range h.open {
		a := h.open[i]
		if h.hold != nil && h.hold(h, &a) {
			continue
		}
		if event, ok := h.answer(&a); ok {
			event.ID = a.ID
			if event.Kind != abi.EventHead && event.Kind != abi.EventChunk {
				h.drop(a.ID)
			}
			h.step(event)
			return true
		}
	}
	if h.fetching() && len(h.coming) > 0 && h.coming[0].Kind == abi.EventTimer {
		return h.tick()
	}
	return false
}

// tick ends the wait beside a stream.
func (h *host) tick() bool {
	event := h.coming[0]
	h.coming = h.coming[1:]
	for _, a := range h.open {
		if a.Kind == abi.ActionWait {
			h.nowMs += a.KeepMs
			event.ID = a.ID
			h.drop(a.ID)
			h.step(event)
			return true
		}
	}
	h.t.Fatal("no tick is awaited")
	return false
}

func (h *host) drop(id uint64) {
	h.open = slices.DeleteFunc(h.open, func(a abi.Action) bool { return a.ID == id })
}

func (h *host) answer(a *abi.Action) (abi.Event, bool) {
	switch a.Kind {
	case abi.ActionReadBody:
		h.buffers[a.Buffer] = []byte(h.body)
		return abi.Event{Kind: abi.EventBody, Data: []byte(h.body)}, true
	case abi.ActionSupply:
		return abi.Event{Kind: abi.EventSupplied, Data: h.buffers[a.Buffer]}, true
	case abi.ActionUnseal:
		return abi.Event{Kind: abi.EventSupplied, Data: []byte("key-of-the-project")}, true
	case abi.ActionRead:
		return h.read(a.Key), true
	case abi.ActionCall:
		return h.call(a), true
	case abi.ActionFetch:
		return h.fetched(a)
	case abi.ActionForward:
		return abi.Event{Kind: abi.EventResponse, Code: h.control}, true
	case abi.ActionWait:
		if h.fetching() {
			return abi.Event{}, false
		}
		h.nowMs += a.KeepMs
		return abi.Event{Kind: abi.EventTimer}, true
	}
	return abi.Event{}, false
}

func (h *host) fetching() bool {
	return slices.ContainsFunc(h.open, func(a abi.Action) bool { return a.Kind == abi.ActionFetch })
}

func (h *host) read(key string) abi.Event {
	event := abi.Event{Kind: abi.EventStored, Code: abi.OutcomeAbsent}
	switch {
	case strings.HasPrefix(key, "key/") && !h.stranger:
		event.Code, event.Data = abi.OutcomeOK, h.recordAt(5)
	case strings.HasPrefix(key, "policy/") && h.policy != nil:
		event.Code, event.Data = abi.OutcomeOK, h.policy.Encode()
	case strings.HasPrefix(key, "cache/") && h.stored != nil:
		event.Code, event.Data = abi.OutcomeOK, h.stored
	}
	return event
}

func (h *host) recordAt(version uint64) []byte {
	r := doc.Record{Version: version, KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "free"}
	if h.key == mockedKey {
		r.Environment = keys.Development
	}
	if h.policy != nil {
		r.Policy = h.policy.Version
	}
	if h.record != nil {
		h.record(&r)
	}
	return r.Encode()
}

// call answers as the objects do: all is admitted, and the Ledger has no more than grants say.
func (h *host) call(a *abi.Action) abi.Event {
	event := abi.Event{Kind: abi.EventReply}
	switch command := opened(a).(type) {
	case *keymeter.Admit:
		event.Data = h.verdict(command.AmountPico).Encode()
	case *keymeter.Extend:
		event.Data = h.verdict(command.TotalPico).Encode()
	case *keymeter.Flush:
		event.Data = (&keymeter.FlushReply{Absorbs: [][]byte{{1}}, Open: h.underWay}).Encode()
	default:
		h.askLedger(command, &event)
	}
	return event
}

// opened is the command of a call; nil for other actions.
func opened(a *abi.Action) any {
	switch {
	case a.Kind != abi.ActionCall:
		return nil
	case a.Class == abi.ClassLedger:
		return ledger.Open(a.Data)
	}
	return keymeter.Open(a.Data)
}

func (h *host) verdict(amount int64) *keymeter.AdmitReply {
	v := &keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: amount}
	if len(h.verdicts) > 0 {
		v, h.verdicts = h.verdicts[0], h.verdicts[1:]
	}
	return v
}

func (h *host) askLedger(command any, event *abi.Event) {
	switch command.(type) {
	case *ledger.Grant:
		var reply ledger.GrantReply
		if len(h.grants) > 0 {
			reply, h.grants = h.grants[0], h.grants[1:]
		}
		event.Data = reply.Encode()
	case *ledger.Report:
		reply := h.report
		if len(h.reports) > 0 {
			reply, h.reports = h.reports[0], h.reports[1:]
		}
		event.Data = reply.Encode()
	case *ledger.PolicyQuestion:
		if h.authority != nil {
			event.Data = h.authority.Encode()
		}
	default:
		event.Code = h.absorbed
	}
}

// fetched is the next event of the fetch; false: a tick comes first, or nothing more.
func (h *host) fetched(a *abi.Action) (abi.Event, bool) {
	if !h.begun {
		if len(h.provider) == 0 {
			h.t.Fatalf("nobody expects a fetch of %s", a.URL)
		}
		h.coming, h.provider, h.begun = h.provider[0], h.provider[1:], true
	}
	if len(h.coming) == 0 || h.coming[0].Kind == abi.EventTimer {
		return abi.Event{}, false
	}
	event := h.coming[0]
	if h.coming = h.coming[1:]; event.Kind == abi.EventResponse {
		h.buffers[a.Buffer] = event.Data
	}
	return event, true
}

// step runs the machine on one event and does what it says.
func (h *host) step(event abi.Event) {
	h.t.Helper()
	out := exchange.Step(h.config, &abi.StepInput{NowMs: h.nowMs, Shared: h.shared, State: h.state, Event: event})
	if h.state = out.State; out.SharedChanged {
		h.shared = out.Shared
	}
	h.done = append(h.done, out.Actions...)
	for _, a := range out.Actions {
		switch a.Kind {
		case abi.ActionKeep:
			h.buffers[a.Buffer] = a.Data
		case abi.ActionAppend:
			h.buffers[a.Buffer] = append(slices.Clone(h.buffers[a.Buffer]), a.Data...)
		case abi.ActionCancel:
			h.drop(a.ID)
		default:
			if a.Kind == abi.ActionFetch {
				h.coming, h.begun = nil, false
			}
			if a.ID != 0 {
				h.open = append(h.open, a)
			}
		}
	}
}

// all are the actions of a kind.
func (h *host) all(kind abi.ActionKind) (found []abi.Action) {
	for _, a := range h.done {
		if a.Kind == kind {
			found = append(found, a)
		}
	}
	return found
}

// one is the only action of a kind.
func (h *host) one(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) != 1 {
		h.t.Fatalf("%d actions of kind %d, not one: %s", len(found), kind, h.log())
	}
	return &found[0]
}

// last is the last action of a kind.
func (h *host) last(kind abi.ActionKind) *abi.Action {
	h.t.Helper()
	found := h.all(kind)
	if len(found) == 0 {
		h.t.Fatalf("no action of kind %d", kind)
	}
	return &found[len(found)-1]
}

// text is a body as it goes out.
func (h *host) text(parts []abi.Part) string {
	var text []byte
	for _, p := range parts {
		if p.Buffer != 0 {
			text = append(text, h.buffers[p.Buffer]...)
		} else {
			text = append(text, p.Data...)
		}
	}
	return string(text)
}

// answered is the body of the caller's answer.
func (h *host) answered() string {
	h.t.Helper()
	return h.text(h.one(abi.ActionRespond).Body)
}

// streamed is all that the caller got of a stream.
func (h *host) streamed() (text string) {
	for _, a := range h.all(abi.ActionSend) {
		text += h.text(a.Body)
	}
	return text
}

// status is that of the caller's answer.
func (h *host) status() uint64 {
	h.t.Helper()
	return h.one(abi.ActionRespond).Code
}

// header is one of the caller's answer; "": there is none.
func (h *host) header(name string) string {
	h.t.Helper()
	for _, a := range h.done {
		if a.Kind == abi.ActionRespond || a.Kind == abi.ActionOpen {
			return valueOf(a.Headers, name)
		}
	}
	h.t.Fatal("nothing was answered")
	return ""
}

func valueOf(headers []abi.Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// log is the exchange's line of it.
func (h *host) log() string {
	text := ""
	for _, a := range h.all(abi.ActionLog) {
		text += string(a.Data)
	}
	return text
}

// told are the commands of a type that went to meters and the ledger.
func told[T any](h *host) (found []T) {
	for _, a := range h.all(abi.ActionCall) {
		if c, ok := opened(&a).(T); ok {
			found = append(found, c)
		}
	}
	return found
}

// want fails unless a text has all of some parts.
func want(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s: %s", what, part, text)
		}
	}
}

// equal fails unless two values are the same.
func equal[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s is %v, not %v", what, got, wanted)
	}
}

var jsonHead = []abi.Header{{Name: "content-type", Value: "application/json"}}

// whole is an answer of a provider in one piece.
func whole(status uint64, body string) []abi.Event {
	return []abi.Event{{Kind: abi.EventResponse, Code: status, Headers: jsonHead, Data: []byte(body)}}
}

const goodAnswer = `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

const goodMessage = `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello!"}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`

// flowing is a stream: a head, then each chunk. A chunk of "tick" is a tick, "end" its end.
func flowing(chunks ...string) []abi.Event {
	events := []abi.Event{{Kind: abi.EventHead, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "text/event-stream"}}}}
	for _, c := range chunks {
		switch c {
		case "tick":
			events = append(events, abi.Event{Kind: abi.EventTimer})
		case "end":
			events = append(events, abi.Event{Kind: abi.EventEnd})
		default:
			events = append(events, abi.Event{Kind: abi.EventChunk, Data: []byte(c)})
		}
	}
	return events
}
