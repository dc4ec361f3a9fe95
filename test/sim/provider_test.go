package sim_test

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// fetch is one request to a provider. It has the provider's own figures, which Postern must book.
type fetch struct {
	x        *exchange
	number   int
	model    *config.Model
	wire     string // of the URL
	limit    uint64 // the max tokens sent; 0: none
	n        uint64 // choices requested
	behavior behavior
	asked    string // service tier that was sent
	named    string // service tier that the response names; empty: none
	cached   uint64 // tokens of the prompt that were read from the provider's cache
	written  uint64 // tokens of the prompt that were written to the provider's cache
	in, out  uint64 // actual tokens of the prompt and of the completion
	prompt   uint64 // estimated tokens of the prompt
	text     string // the whole completion
	seen     uint64 // estimated tokens of the delivered text
	content  bool   // some content was delivered
	input    bool   // the actual prompt tokens were delivered
	stream   bool
	status   uint64 // the delivered status; 0: none
	over     bool
	ended    bool // the stream's end was delivered
	reported bool // a stream's usage was delivered
	whole    bool // the complete response was delivered with its usage
	clean    bool // the response may be cached
	cost     span // the expected booking
	tokens   span
	flagged  bool
	unbilled bool  // nothing may be booked
	skew     int64 // an injected charge in addition to the reported usage
	pausing
}

// span is an allowed range, both ends included.
type span struct{ low, high int64 }

func (s span) plus(o span) span   { return span{s.low + o.low, s.high + o.high} }
func (s span) holds(v int64) bool { return s.low <= v && v <= s.high }
func exactly(v int64) span        { return span{v, v} }
func (s *span) add(o span)        { *s = s.plus(o) }
func (s span) String() string     { return fmt.Sprintf("%d to %d", s.low, s.high) }
func costOf(m *config.Model, in, out uint64) int64 {
	return m.Cost(&chat.Usage{Input: in, Output: out})
}

// tierCost returns the cost at a service tier of the world's catalog.
func (f *fetch) tierCost(tier string, in, out uint64) int64 {
	return f.atTier(tier, costOf(f.model, in, out))
}

// billed returns the cost of the reported usage. It leaves out output that was not delivered.
func (f *fetch) billed(tier string, out uint64) int64 {
	p := &f.model.Prices
	return f.atTier(tier, money.Cost(f.in-f.cached-f.written, p.Input)+money.Cost(f.cached, p.Cached)+money.Cost(f.written, p.Write)+money.Cost(out, p.Output))
}

func (f *fetch) atTier(tier string, cost int64) int64 {
	switch tier {
	case "priority":
		return 2 * cost
	case "flex":
		return (cost + 1) / 2
	}
	return cost
}

// bounds returns the lowest and the highest of two costs: the cost at the requested tier and the cost at the
// response's tier.
func (f *fetch) bounds(low, high [2]uint64) span {
	tier := f.billedTier()
	return span{
		min(f.tierCost(f.asked, low[0], low[1]), f.tierCost(tier, low[0], low[1])), max(f.tierCost(f.asked, high[0], high[1]), f.tierCost(tier, high[0], high[1])),
	}
}

// billedTier returns the response's tier. If the response has none, it returns the requested tier.
func (f *fetch) billedTier() string {
	if f.named == "" {
		return f.asked
	}
	return f.named
}

// reportedBounds returns bounds that also hold if the prompt's tokens are booked in the way that the provider reports
// them.
func (f *fetch) reportedBounds(low, high [2]uint64) span {
	s := f.bounds(low, high)
	if f.cached+f.written > 0 && (f.input || f.reported) {
		for _, tier := range [...]string{f.asked, f.billedTier()} {
			s.low, s.high = min(s.low, f.billed(tier, low[1])), max(s.high, f.billed(tier, high[1]))
		}
	}
	return s
}

// tierMember returns the JSON field with the tier that served the request. It is the requested tier, or the standard
// tier instead of `priority`. Or there is no such field.
func (f *fetch) tierMember() string {
	if f.named == "" {
		return ""
	}
	return fmt.Sprintf(`,"service_tier":%q`, f.named)
}

// modelOf finds the called model by its name, and checks I7 and I8. The request must go to the model's provider and
// have that provider's key.
func (x *exchange) modelOf(a *abi.Action, body gjson.Result) *config.Model {
	name := body.Get("model").Str
	for i := range worldConfig.Models {
		m := &worldConfig.Models[i]
		if m.Upstream != name {
			continue
		}
		if !strings.HasPrefix(a.URL, m.Provider.BaseURL+"/") {
			x.w.fail("I8", "%s: a request for %s went to %s", x.id, name, a.URL)
		}
		secret := providerSecrets[m.Provider.Name]
		for _, h := range a.Headers {
			if strings.Contains(h.Value, "upstream-secret") && !strings.Contains(h.Value, secret) {
				x.w.fail("I7", "%s: %s got another provider's key", x.id, a.URL)
			}
		}
		x.w.audit([]byte(a.URL), "a URL")
		return m
	}
	x.w.fail("I8", "%s: no model is named %q", x.id, name)
	return nil
}

// fetch sends a request to a provider.
func (x *exchange) fetch(a *abi.Action) {
	w := x.w
	o := x.outstanding(a.ID)
	body := x.join(a.Body)
	root := gjson.ParseBytes(body)
	f := &fetch{x: x, number: len(w.fetches), model: x.modelOf(a, root), stream: a.Stream > 0}
	f.wire = wireOf(a.URL)
	x.checkAPI(f, a.URL)
	w.fetches = append(w.fetches, f)
	for _, other := range x.history.fetches {
		if !other.over {
			w.fail("I13", "%s: a second fetch while one is outstanding", x.id)
		}
	}
	x.checkFirstFetch()
	x.history.fetches = append(x.history.fetches, f)
	if x.history.fetchedAt == 0 {
		x.history.fetchedAt = w.now
	}
	w.stats.Fetches++
	x.checkDispatch(f)
	f.behavior = x.item.behaviorOf(len(x.history.fetches) - 1)
	for _, name := range [...]string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		f.limit = max(f.limit, root.Get(name).Uint())
	}
	f.n = max(1, root.Get("n").Uint())
	f.asked = root.Get("service_tier").Str
	if f.named = f.asked; f.asked != "" && f.asked != "default" && f.number%3 > 0 {
		f.named = map[bool]string{true: "default"}[f.asked == "priority" && f.number%3 == 1]
	}
	f.write()
	o.fetch = f
	if w.defect.truth != nil {
		w.defect.truth(f)
	}
	if f.behavior.Lie != "" || f.behavior.Fault != "" || f.behavior.Status > 299 {
		w.stats.Faults++
	}
	w.logf("%s: calls %s, max tokens %d (attempt %d): %+v", x.id, f.model.Name, f.limit, len(x.history.fetches), f.behavior)
	f.begin(o, a)
}

func wireOf(url string) string {
	switch {
	case strings.HasSuffix(url, "/messages"):
		return "anthropic"
	case strings.Contains(url, "/responses"):
		return "responses"
	}
	return "openai"
}

// behaviorOf returns the provider's behavior for attempt n, counted from 0.
func (it *item) behaviorOf(n int) behavior {
	if len(it.Behaviors) == 0 {
		return behavior{Out: 20, Text: 5}
	}
	return it.Behaviors[min(n, len(it.Behaviors)-1)]
}

// mark returns a string that is in every response of a fetch and identifies the fetch and its project.
func (f *fetch) mark() string { return fmt.Sprintf("zq%dx%dz", f.number, f.x.projectNumber()) }

const filler = "which was then told again to folks who had not been there and wanted to know how it ended after all "

// wordsOf returns a text of about n tokens.
func wordsOf(n uint64) string {
	var b strings.Builder
	for b.Len() < int(n)*5 {
		b.WriteString(filler[:min(len(filler), int(n)*5-b.Len())])
	}
	return b.String()
}

// write sets the completion's text and the actual token counts.
func (f *fetch) write() {
	d := &f.behavior
	f.prompt = f.x.request.promptTokens
	f.in = f.prompt
	if d.In > 0 {
		f.in = max(1, f.prompt*d.In/100)
	}
	if f.model.APIs == config.APIEmbeddings {
		return
	}
	if d.Lie == "" {
		f.cached, f.written = f.in*d.Cached/100, f.in*d.Write/100
	}
	most := d.Out
	if !d.Over {
		if f.limit > 0 {
			most = min(most, f.limit)
		}
		if f.model.MaxOutput > 0 {
			most = min(most, f.model.MaxOutput)
		}
		if f.model.Context > f.in {
			most = min(most, f.model.Context-f.in)
		}
	}
	f.out = max(most, 1) * f.n
	f.text = f.mark() + " " + wordsOf(min(d.Text, f.out))
	if d.JSON {
		f.text = `{"said":"` + f.text + `"}`
	}
}

func tokensOf(text string) uint64 { return chat.EstimateTokens(jsontext.Escaped(text)) }

// begin schedules the events of the fetch.
func (f *fetch) begin(o *open, a *abi.Action) {
	w, x, d := f.x.w, f.x, &f.behavior
	a = x.onRealTime(a)
	fault := func(ms, code uint64) {
		w.after(ms, func() {
			if !o.canceled && !x.over {
				f.faulted(code)
				x.reply(o, abi.Event{Kind: abi.EventFault, ID: a.ID, Code: code}, true)
			}
		})
	}
	limit := func(ms uint64) uint64 { // the total timeout applies to all waits
		if a.TotalMs > 0 && (ms == 0 || ms > a.TotalMs) {
			return a.TotalMs
		}
		return ms
	}
	switch {
	case d.Fault == "head" || a.HeadMs > 0 && d.Ms >= a.HeadMs:
		fault(limit(a.HeadMs), abi.FaultHead)
		return
	case d.Fault == "connect":
		fault(d.Ms, abi.FaultConnect) // earlier than HeadMs and therefore than TotalMs
		return
	case d.Fault == "byte" && a.Stream == 0:
		fault(limit(d.Ms+a.FirstByteMs), abi.FaultFirstByte)
		return
	case d.Fault == "total" && a.Stream == 0:
		fault(limit(a.TotalMs), abi.FaultTotal)
		return
	case d.Fault == "idle" && a.Stream == 0:
		fault(limit(d.Ms+a.IdleMs), abi.FaultIdle)
		return
	case d.Fault == "cut" && a.Stream == 0:
		fault(d.Ms, abi.FaultBroken)
		return
	}
	w.after(d.Ms, func() {
		if o.canceled || x.over {
			return
		}
		if a.Stream == 200 && (d.Status == 0 || d.Status == 200) {
			f.head(o, a, fault)
			return
		}
		e := f.response()
		e.ID = a.ID
		x.Buffers.Keep(a.Buffer, e.Data)
		x.reply(o, e, true)
	})
}

// onRealTime returns a fetch with its timeouts in real time. The host's timers use the isolate's clock.
func (x *exchange) onRealTime(a *abi.Action) *abi.Action {
	b := *a
	for _, ms := range [...]*uint64{&b.HeadMs, &b.FirstByteMs, &b.IdleMs, &b.TotalMs} {
		*ms = x.isolate.real(*ms)
	}
	return &b
}

func (f *fetch) response() abi.Event {
	d := &f.behavior
	e := abi.Event{Kind: abi.EventResponse, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "application/json"}}}
	if d.Retry != "" {
		e.Headers = append(e.Headers, abi.Header{Name: "retry-after", Value: d.Retry})
	}
	f.over, f.status = true, 200
	if d.Status > 299 {
		e.Code, f.status = d.Status, d.Status
		e.Data = f.errorBody()
		f.unbill()
		return e
	}
	e.Data = f.body()
	if d.Fault == "type" {
		e.Headers[0].Value = "text/html"
	}
	if d.Fault == "truncated" {
		e.Data = e.Data[:len(e.Data)*2/3]
	}
	f.content, f.seen = true, tokensOf(f.text)*f.n
	switch {
	case d.Fault == "type" || d.Fault == "truncated":
		f.estimateUnreadable(uint64(len(e.Data)+3) / 4)
	case d.Lie != "" && f.x.item.Path == "compact": // its text is encrypted
		f.estimateUnreadable(uint64(len(e.Data)+3) / 4)
	case d.Lie != "":
		f.estimate(f.seen)
	default:
		f.exact()
		f.clean = !d.Length || f.model.APIs == config.APIEmbeddings
	}
	return e
}

// errorBody returns an error that contains the provider key. Some providers send such errors.
func (f *fetch) errorBody() []byte {
	return fmt.Appendf(nil, `{"error":{"message":"no: %s","type":"error"}}`, providerSecrets[f.model.Provider.Name])
}

// exact expects that the reported usage is booked.
func (f *fetch) exact() {
	f.whole = true
	tier := f.named
	if tier == "" {
		tier = f.asked
		f.flagged = tier == "priority" || tier == "flex"
	}
	f.cost, f.tokens = exactly(f.billed(tier, f.out)+f.skew), exactly(int64(f.in+f.out))
}

// estimate expects that a flagged estimate is booked: the reported usage is missing or invalid.
func (f *fetch) estimate(out uint64) {
	f.flagged = true
	low, high := [2]uint64{f.prompt * 3 / 4, out * 3 / 4}, [2]uint64{f.prompt*5/4 + 8, out*5/4 + 8}
	if f.input {
		low[0], high[0] = min(low[0], f.in), max(high[0], f.in)
	}
	if out == 0 {
		high[1] = 8
	}
	// If a report is invalid or early, its valid figures may be booked.
	if f.behavior.Lie != "" || f.reported {
		low[0], high[0] = min(low[0], f.in), max(high[0], f.in)
		high[1] = max(high[1], f.out)
	}
	f.cost = f.reportedBounds(low, high)
	f.tokens = span{int64(low[0] + low[1]), int64(high[0] + high[1])}
}

// unbill expects that nothing is booked.
func (f *fetch) unbill() { f.unbilled = true }

// faulted sets the expected booking after a fault.
func (f *fetch) faulted(code uint64) {
	f.over = true
	f.x.w.logf("%s: fault %d", f.x.id, code)
	switch {
	case f.x.history.complete && f.reported && f.behavior.Lie == "":
		f.ended = true // everything had arrived except the last bytes of the end mark
		f.exact()
	case code == abi.FaultConnect || code == abi.FaultUndelivered:
		f.unbill()
	default:
		f.estimateSeen()
	}
}

// cut sets the expected booking after the exchange has aborted the fetch.
func (f *fetch) cut() {
	if f.over {
		return
	}
	f.over = true
	f.estimateSeen()
}

// unboundedTokens is what a project without bounds reserves for a response without an output limit.
const unboundedTokens = 4096

// estimateUnreadable expects an estimate that is based on the size of the body. If the output limit or the reservation
// is less, it is based on that. Embeddings have no output.
func (f *fetch) estimateUnreadable(size uint64) {
	if f.model.APIs == config.APIEmbeddings {
		size = 0
	}
	f.estimate(size)
	limit := f.limit
	if limit == 0 && f.x.w.plan.Projects[f.x.project.number].Unbounded {
		limit = unboundedTokens
	}
	if limit > 0 {
		cost, tokens := f.cost, f.tokens
		f.estimate(min(size, limit*f.n))
		f.cost.high, f.tokens.high = max(f.cost.high, cost.high), max(f.tokens.high, tokens.high)
	}
}

// estimateSeen expects the estimate for the data that the exchange has processed. If the exchange withholds a chunk,
// it has processed a part of that chunk, and this part is unknown.
func (f *fetch) estimateSeen() {
	f.estimate(f.seen)
	if f.withholds {
		cost, tokens := f.cost, f.tokens
		f.input, f.reported = f.input || f.last.input, f.reported || f.last.usage
		f.estimate(f.seen + f.last.tokens)
		f.cost.low, f.tokens.low = min(f.cost.low, cost.low), min(f.tokens.low, tokens.low)
	}
}
