package sim_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

// request is a caller's HTTP request.
type request struct {
	path, query  string
	method       string
	headers      []abi.Header
	body         []byte
	promptTokens uint64 // estimated
	completion   bool   // a model serves it
	named        bool   // it names a model
	model        string
	stream       bool
}

// history is the part of an exchange's past that the rules use.
type history struct {
	arrivedAt uint64
	freeFrom  []int   // for each node, the index of the first free balance that is relevant
	nodes     []*node // at the end of the run
	fetches   []*fetch
	least     int64 // smallest reservation requested; -1: none requested
	failed    bool  // a dependency of the gateway had an injected fault
	faulty    bool  // one of its calls had an injected fault
	limited   bool  // rejected by a rate or concurrency limit
	usedUp    bool  // rejected because the requests or tokens of a period are used up
	status    uint64
	code      string
	hit       bool
	replayed  bool
	mayPass   bool        // the response says that a retry may succeed
	complete  bool        // its stream ended with the success marker
	followed  []*exchange // the leaders of the flights that it followed
	body      []byte
	settled   bool // it sent a settlement
	leaving   bool // in this step, it leaves its settlement in its key's entry
	resv      *reservation
	claim     claim
	calls     int   // calls of objects to reserve its budget, or for the present extension of its stream
	extension int64 // the total of that extension
	indebted  bool  // while it asked for budget, its key had overspent its slice
	waits     uint64
	fetchedAt uint64 // time of the first fetch; 0: none
	extends   uint64 // time of its stream's first request for more budget; 0: none
	endedAt   uint64 // time of the end of the caller's request; 0: none
	idem      idempotent
}

// ask sends an item's request.
func (w *world) ask(n, i int) {
	it := &w.plan.Items[n]
	k := w.keys[it.Key%len(w.keys)]
	if k.successor != nil && fork(it.Seed, 77).one(2) {
		k = k.successor
	}
	w.begin(it, k, w.isolate(it.Isolate+i), it.Seed+uint64(i)*0x9e3779b9)
}

func (w *world) begin(it *item, k *key, i *isolate, seed uint64) *exchange {
	x := &exchange{w: w, isolate: i, item: it, number: len(w.exchanges), key: k, project: k.project, random: fork(seed, 2)}
	x.id = fmt.Sprintf("req_%x", x.number)
	w.exchanges = append(w.exchanges, x)
	w.byID[x.id] = x
	w.stats.Exchanges++
	x.history = history{arrivedAt: w.now, freeFrom: w.balances(), least: -1}
	x.history.idem.before = w.dispatched[x.idemID()]
	x.request = x.compose()
	w.logf("%s: %s of %s in isolate %d: %s %s", x.id, it.Path, k.id, i.number, x.request.model, it.Cache)
	if it.Leave > 0 {
		w.after(it.Leave, x.disconnect)
	}
	x.start(x.request.headers)
	return x
}

func (x *exchange) projectNumber() int { return x.project.number }

// unknownKey is well formed but does not exist.
var unknownKey = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1})

func (x *exchange) compose() request {
	it := x.item
	r := request{method: "POST", completion: true, named: true, model: it.Model, stream: it.Stream}
	prompt := fmt.Sprintf("p%d. ", it.Prompt) + wordsOf(max(it.Words, 3))
	text := strconv.Quote(prompt)
	r.promptTokens = chat.MessageTokens(jsontext.Escaped(prompt))
	limit := func(name string) string {
		if it.Max == 0 {
			return ""
		}
		return fmt.Sprintf(`,"%s":%d`, name, it.Max)
	}
	messages := `"messages":[{"role":"user","content":` + text + `}]`
	switch it.Path {
	case "complete", "chat":
		r.path = "/api/ai/" + it.Path
		r.body = fmt.Appendf(nil, `{%s,"quality":%q,"mode":%q%s,"stream":%t}`, messages, it.Model, mode(it.JSON), limit("maxTokens"), it.Stream)
		r.stream = it.Stream && it.Path == "chat"
	case "openai":
		r.path = "/v1/chat/completions"
		r.body = fmt.Appendf(nil, `{"model":%q,%s%s%s,"stream":%t}`, it.Model, messages, limit("max_tokens"), it.extras(), it.Stream)
	case "responses":
		r.path = "/v1/responses"
		r.body = fmt.Appendf(nil, `{"model":%q,"input":%s%s,"stream":%t}`, it.Model, text, limit("max_output_tokens"), it.Stream)
	case "anthropic":
		r.path = "/v1/messages"
		r.body = fmt.Appendf(nil, `{"model":%q,%s,"max_tokens":%d%s,"stream":%t}`, it.Model, messages, max(it.Max, 1), it.extras(), it.Stream)
		r.headers = append(r.headers, abi.Header{Name: "anthropic-version", Value: "2023-06-01"})
	case "compact":
		r.path, r.stream = "/v1/responses/compact", false
		r.body = fmt.Appendf(nil, `{"model":%q,"input":%s}`, it.Model, text)
	case "embed":
		r.path, r.model, r.stream = "/v1/embeddings", "vector", false
		r.promptTokens -= chat.MessageTokens("")
		r.body = fmt.Appendf(nil, `{"model":"vector","input":%s}`, text)
	case "count":
		r.path, r.completion = "/v1/messages/count_tokens", false
		r.body = fmt.Appendf(nil, `{"model":%q,%s}`, it.Model, messages)
	case "models":
		r.named = false
		r.path, r.method, r.completion = "/v1/models", "GET", false
	case "health":
		r.named = false
		r.path, r.method, r.completion = "/api/health", "GET", false
	case "usage":
		r.named = false
		r.path, r.method, r.completion, r.query = "/api/usage", "GET", false, "projectId="+x.project.id+"&period=month"
	default:
		x.w.fail("host", "unknown path %q", it.Path)
	}
	value := x.key.value
	kind := "application/json"
	switch it.Bad {
	case "body":
		r.body = r.body[:len(r.body)-2]
	case "type":
		kind = "text/plain"
	case "key":
		value = unknownKey
	case "malformed":
		value = "sk_live_nonsense"
	}
	r.headers = append(r.headers,
		abi.Header{Name: ":id", Value: x.id}, abi.Header{Name: ":method", Value: r.method}, abi.Header{Name: ":path", Value: r.path},
		abi.Header{Name: ":query", Value: r.query}, abi.Header{Name: ":address", Value: "192.0.2.7"},
		abi.Header{Name: "cf-connecting-ip", Value: "192.0.2.7"}, abi.Header{Name: "content-type", Value: kind},
		abi.Header{Name: "x-api-key", Value: value})
	if it.Cache != "" {
		r.headers = append(r.headers, abi.Header{Name: "cache-control", Value: it.Cache})
	}
	if it.Idem != "" {
		r.headers = append(r.headers, abi.Header{Name: "idempotency-key", Value: it.Idem})
	}
	if it.Rerun {
		r.headers = append(r.headers, abi.Header{Name: "x-postern-idempotency-rerun", Value: "true"})
	}
	return r
}

func mode(json bool) string {
	if json {
		return "json"
	}
	return "text"
}

// extras returns JSON fields that only some API families have.
func (it *item) extras() string {
	text := ""
	switch it.Path {
	case "anthropic":
		if it.Think >= 1024 && it.Think < it.Max {
			text = fmt.Sprintf(`,"thinking":{"type":"enabled","budget_tokens":%d}`, it.Think)
		}
	case "openai":
		if it.N > 1 {
			text += fmt.Sprintf(`,"n":%d`, it.N)
		}
		if it.Think > 0 {
			text += `,"reasoning_effort":"high"`
		}
		if tier := it.tier(); tier != "" {
			text += fmt.Sprintf(`,"service_tier":%q`, tier)
		}
	}
	return text
}

// tier returns the service tier that a request for a model with tiers asks for, or "" if there is none.
func (it *item) tier() string {
	if it.Model != "alpha" && it.Model != "beta" {
		return ""
	}
	return [...]string{"", "priority", "flex", "auto"}[(it.At+it.Prompt)%4]
}

func headerOf(headers []abi.Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// responded handles a complete response.
func (x *exchange) responded(status uint64, headers []abi.Header, body []byte) {
	x.checkHeaders(headers)
	x.w.audit(body, "a response")
	s := &x.history
	s.status, s.body = status, body
	s.mayPass = headerOf(headers, "x-should-retry") != "false"
	s.hit, s.replayed = headerOf(headers, "x-postern-cache") == "hit", headerOf(headers, "idempotent-replayed") != ""
	s.code = codeOf(body)
	x.w.logf("%s: %d %s%s", x.id, status, s.code, note(s.hit, " (cached)")+note(s.replayed, " (replayed)"))
	x.finished(status)
	x.checkDeadline()
	x.checkStatus()
	x.checkStoredOutcome()
}

func note(v bool, text string) string {
	if v {
		return text
	}
	return ""
}

// codeOf returns an error's code. API families have it in different fields.
func codeOf(body []byte) string {
	for _, name := range [...]string{`"code":"`, `"type":"`} {
		if _, rest, ok := bytes.Cut(body, []byte(name)); ok && bytes.Contains(body, []byte(`"error"`)) {
			word, _, _ := bytes.Cut(rest, []byte(`"`))
			return string(word)
		}
	}
	return ""
}

// responseOpened handles the head of a streamed response.
func (x *exchange) responseOpened(status uint64, headers []abi.Header) {
	x.checkHeaders(headers)
	x.history.status, x.history.hit = status, headerOf(headers, "x-postern-cache") == "hit"
	x.w.logf("%s: %d, opened", x.id, status)
}

func (x *exchange) checkHeaders(headers []abi.Header) {
	for _, h := range headers {
		if leaks([]byte(h.Value)) {
			x.w.fail("I7", "%s: a secret is in the header %s", x.id, h.Name)
		}
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			x.w.fail("I7", "%s: the header %s has a line break", x.id, h.Name)
		}
	}
}

func (x *exchange) sent(piece []byte) {
	x.w.audit(piece, "a response chunk")
	x.history.body = append(x.history.body, piece...)
}

func (x *exchange) responseClosed() {
	whole := false
	for _, mark := range [...]string{"data: [DONE]", `"type":"message_stop"`, `"type":"response.completed"`, `"type":"response.incomplete"`} {
		whole = whole || bytes.Contains(x.history.body, []byte(mark))
	}
	x.history.complete = whole
	x.w.logf("%s: closed, %s", x.id, map[bool]string{true: "complete", false: "truncated"}[whole])
	if !whole {
		x.history.code = "broken"
	}
	x.finished(x.history.status)
	if !slices.ContainsFunc(x.history.fetches, func(f *fetch) bool { return f.content }) {
		x.checkDeadline()
	}
	x.checkStream(whole)
	x.checkStoredOutcome()
}

// finished records the end of the caller's request. Status 0 means that no response was sent.
func (x *exchange) finished(status uint64) {
	if !x.done {
		x.done = true
		x.history.waits, x.history.endedAt = x.w.now-x.history.arrivedAt, x.w.now
		x.history.claim.end(x.w.now)
		x.w.stats.countStatus(status)
		if x.w.plan.Cut {
			x.w.after(waitUntilMs, x.cutWork)
		}
	}
}

// needles are strings that must not leave the gateway: secrets, their prefixes and their base64 form.
var needles = func() (all [][]byte) {
	all = append(all, []byte("upstream-secret"), []byte("sk_live_"), []byte("sk_test_"))
	for _, secret := range [...]string{"upstream-secret-one", "sk_live_"} {
		all = append(all, []byte(base64.RawStdEncoding.EncodeToString([]byte(secret))[:10]))
	}
	return all
}()

func leaks(data []byte) bool {
	for _, n := range needles {
		if bytes.Contains(data, n) {
			return true
		}
	}
	return false
}

// audit checks I7: no secret may be sent or stored.
func (w *world) audit(data []byte, where string) {
	if leaks(data) {
		w.fail("I7", "a secret is in %s: %.300s", where, data)
	}
}

// recordCall records the calls to objects that later checks use.
func (x *exchange) recordCall(a *abi.Action) {
	x.countCall(a)
	if a.Class != abi.ClassKeyMeter {
		return
	}
	switch op(a.Data) {
	case opAdmit:
		switch c := readAdmit(a.Data); {
		case c.release:
		case c.mode == keymeter.ModeReserve: // a later admit uses the newest record, in which other models may be allowed
			x.history.least = c.least
			x.startClaim()
		case c.mode != keymeter.ModeCheck && x.counted(): // it claims one of a period's requests
			x.startClaim()
		}
	case opExtend:
		if x.history.extends == 0 {
			x.history.extends = max(x.w.now, 1)
		}
	case opSettle:
		x.history.settled = true
		x.noteSettle(a.Data)
		x.checkFetches()
	}
}

// checkFetches checks that no fetch is in flight when the request is settled.
func (x *exchange) checkFetches() {
	for _, f := range x.history.fetches {
		if !f.over {
			x.w.fail("I13 fetch", "%s settles while its fetch to %s is in flight", x.id, f.model.Name)
		}
	}
}

// targets returns the models that may serve the request, as the catalog routes it.
func (x *exchange) targets() []*config.Model {
	return slices.DeleteFunc(targetsOf(x.request.model), func(m *config.Model) bool {
		return (m.APIs == config.APIEmbeddings) != (x.item.Path == "embed")
	})
}

func targetsOf(name string) []*config.Model {
	if t := worldConfig.Tier(name); t != nil {
		var all []*config.Model
		for _, target := range t.Targets {
			all = append(all, target.Model)
		}
		return all
	}
	if m := worldConfig.Model(name); m != nil {
		return []*config.Model{m}
	}
	return nil
}
