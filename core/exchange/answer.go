package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// answer is a completion on its way to the caller.
type answer struct {
	provider  string
	model     string
	usage     chat.Usage
	costPico  money.Pico
	cached    bool
	clean     bool // complete, and stopped by itself: worth storing
	estimated bool
}

func (x *exchange) meta(a *answer) api.Meta {
	return api.Meta{
		RequestID: x.s.requestID, Model: a.model, Provider: a.provider, CreatedMs: x.s.startMs, Cached: a.cached,
		CostPico: a.costPico, Usage: a.usage, IncludeUsage: x.s.request.includeUsage,
	}
}

// pieceBytes is how much of a text one event of a replayed stream carries.
const pieceBytes = 32

// written is an answer in the caller's shape: whole, or all of a stream's events.
func (x *exchange) written(r *chat.Response, m *api.Meta) []byte {
	f := x.family()
	if !x.s.request.stream {
		return f.Answer(make([]byte, 0, 1024), r, m)
	}
	var state api.State
	out := make([]byte, 0, 4096)
	deltas := chat.Unfold(r, pieceBytes)
	for i := range deltas {
		out = f.Stream(out, &state, &deltas[i], m)
	}
	return f.End(out, &state, r, m)
}

// deltasOf is an answer in the form in which the core keeps it.
func deltasOf(r *chat.Response) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	deltas := chat.Unfold(r, maxEntryBytes)
	for i := range deltas {
		chat.AppendDelta(&w, &deltas[i])
	}
	return w.Buf
}

// maxReplayBytes is the longest answer that an idempotency record keeps.
const maxReplayBytes = 256 << 10

// succeed answers the caller with what was read from a provider, and after that settles and stores. raw is
// the provider's own answer, if that is in the caller's dialect: it is sent as it came.
func (x *exchange) succeed(a *answer, r *chat.Response, raw []byte) {
	s := &x.s
	if !x.testMode() {
		x.circuits.Worked(a.model, x.owned(), x.latencyMs(), x.now)
	}
	part, kept := abi.Part{Buffer: bufferUpstream}, raw
	if raw == nil {
		m := x.meta(a)
		part = abi.Part{Data: x.written(r, &m)}
		kept = deltasOf(r)
	}
	headers := x.answerHeaders(a)
	x.respond(200, headers, []abi.Part{part})
	settle := x.settlement(keymeter.Served, a.model, 200)
	if raw == nil {
		x.keepReplay(&settle, 200, headers, part.Data)
	} else {
		x.keepReplay(&settle, 200, headers, raw)
	}
	x.settle(&settle)
	x.store(a, raw != nil, kept)
	s.hit = hit{a.provider, a.model}
	x.log(200, "")
}

// respondHit answers from the cache, now that the request is admitted.
func (x *exchange) respondHit() {
	s := &x.s
	if s.idempotency != "" && x.event.Kind != abi.EventSupplied {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferAnswer})
		return
	}
	a := answer{provider: s.hit.provider, model: s.hit.model, cached: true}
	headers := x.answerHeaders(&a)
	x.respond(200, headers, []abi.Part{{Buffer: bufferAnswer}})
	outcome := keymeter.Finish
	if s.admission.mode == keymeter.ModeReserve {
		outcome = keymeter.Hit
	}
	if outcome == keymeter.Hit || s.idempotency != "" {
		settle := x.settlement(outcome, s.hit.model, 200)
		x.keepReplay(&settle, 200, headers, x.event.Data)
		x.settle(&settle)
	}
	x.log(200, "")
}

func (x *exchange) answerHeaders(a *answer) []abi.Header {
	s := &x.s
	headers := []abi.Header{
		{Name: "content-type", Value: x.contentType()},
		{Name: "x-postern-provider", Value: a.provider},
		{Name: "x-postern-model", Value: a.model},
		{Name: "x-postern-cache", Value: x.cacheState(a.cached)},
		{Name: "x-postern-price-version", Value: x.config.Version},
		{Name: "x-postern-attempts", Value: x.attemptsHeader()},
	}
	if !s.request.stream || a.cached {
		// A stream's cost is not known yet.
		headers = append(headers, abi.Header{Name: "x-postern-cost-cents", Value: string(money.Append(nil, a.costPico, money.Cent))})
	}
	if s.dropped != "" {
		headers = append(headers, abi.Header{Name: "x-postern-dropped-params", Value: s.dropped})
	}
	return headers
}

func (x *exchange) contentType() string {
	if x.s.request.stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

// cacheState is hit, miss, or bypass: the cache was not asked.
func (x *exchange) cacheState(cached bool) string {
	switch {
	case cached:
		return "hit"
	case x.mayRead():
		return "miss"
	}
	return "bypass"
}

// settlement is what the meter is told of this exchange, whose answer has that status.
func (x *exchange) settlement(outcome keymeter.Outcome, model string, status uint64) keymeter.Settle {
	s := &x.s
	return keymeter.Settle{
		RequestID: s.requestID, Outcome: outcome, Model: model, CostPico: s.spent.costPico,
		Tokens:    keymeter.Tokens{Prompt: s.spent.usage.Input, Completion: s.spent.usage.Output},
		Estimated: s.spent.estimated, Missed: outcome == keymeter.Served && x.mayRead(), Idempotency: s.idempotency,
		Trace: x.trace(status),
	}
}

// trace is this exchange's entry in the list of recent requests, as far as it is known by now.
func (x *exchange) trace(status uint64) keymeter.Trace {
	s := &x.s
	t := keymeter.Trace{Status: status, DurationMs: x.since(s.startMs), Stream: s.request.stream}
	switch {
	case s.lookup == lookupHit:
		t.Provider, t.Cache = s.hit.provider, ledger.CacheHit
	case s.attempts > 0:
		t.Provider = x.model().Provider.Name
	case x.testMode() && len(s.order) > 0:
		t.Provider = mockProvider
	}
	if t.Cache == ledger.CacheBypass && s.route.hasBody() && s.bad == 0 && x.mayRead() {
		t.Cache = ledger.CacheMiss
	}
	return t
}

// mockProvider is the built-in one's name.
const mockProvider = "mock"

func (x *exchange) settle(settle *keymeter.Settle) {
	x.call(idSettle, abi.ClassKeyMeter, x.s.keyHash, settle.Encode())
}

// respond answers the caller, with the headers that every answer has.
func (x *exchange) respond(status uint64, headers []abi.Header, body []abi.Part) {
	s := &x.s
	if s.responded {
		return
	}
	s.responded = true
	x.do(abi.Action{Kind: abi.ActionRespond, Code: status, Headers: x.allHeaders(headers), Body: body})
}

// allHeaders adds what every answer has.
func (x *exchange) allHeaders(headers []abi.Header) []abi.Header {
	s := &x.s
	all := append(make([]abi.Header, 0, len(headers)+10), headers...)
	all = append(all,
		abi.Header{Name: "x-request-id", Value: s.requestID},
		abi.Header{Name: "cache-control", Value: "private, no-store"},
		abi.Header{Name: "server-timing", Value: x.serverTiming()})
	if s.dialect == chat.Anthropic {
		all = append(all, abi.Header{Name: "request-id", Value: s.requestID}) // what its SDKs read
	}
	return append(all, limitHeaders(s.admission.windows)...)
}

// serverTiming says where the time went, in milliseconds (W3C Server Timing).
func (x *exchange) serverTiming() string {
	s := &x.s
	b := append([]byte(nil), "total;dur="...)
	b = strconv.AppendUint(b, x.since(s.startMs), 10)
	if s.admission.asked {
		b = append(b, ", admit;dur="...)
		b = strconv.AppendUint(b, s.times.admit, 10)
	}
	if s.attempts > 0 {
		b = append(b, ", upstream;dur="...)
		b = strconv.AppendUint(b, s.times.upstream, 10)
	}
	return string(b)
}

// limitHeaders tell the caller's limits: RateLimit and RateLimit-Policy for all windows (the IETF draft
// "RateLimit header fields for HTTP"), X-RateLimit-*-Requests for the one with the least left, and
// X-RateLimit-*-Tokens for that of tokens, if there is one.
func limitHeaders(windows []keymeter.Window) []abi.Header {
	if len(windows) == 0 {
		return nil
	}
	least := keymeter.Window{}
	var headers []abi.Header
	var limits, policies []byte
	for i, w := range windows {
		switch {
		case w.Tokens:
			headers = append(headers, windowHeaders(w, "tokens")...)
		case least.Limit == 0 || w.Remaining < least.Remaining:
			least = w
		}
		if i > 0 {
			limits, policies = append(limits, ", "...), append(policies, ", "...)
		}
		name := `"day"`
		switch {
		case w.Tokens:
			name = `"tokens"`
		case w.WindowMs == calendar.SecondMs:
			name = `"second"`
		}
		limits = appendField(appendField(append(limits, name...), ";r=", w.Remaining), ";t=", seconds(w.ResetMs))
		policies = appendField(appendField(append(policies, name...), ";q=", w.Limit), ";w=", w.WindowMs/1000)
	}
	if least.Limit > 0 {
		headers = append(headers, windowHeaders(least, "requests")...)
	}
	return append(headers, abi.Header{Name: "ratelimit", Value: string(limits)}, abi.Header{Name: "ratelimit-policy", Value: string(policies)})
}

func windowHeaders(w keymeter.Window, unit string) []abi.Header {
	return []abi.Header{
		{Name: "x-ratelimit-limit-" + unit, Value: strconv.FormatUint(w.Limit, 10)},
		{Name: "x-ratelimit-remaining-" + unit, Value: strconv.FormatUint(w.Remaining, 10)},
		{Name: "x-ratelimit-reset-" + unit, Value: strconv.FormatUint(seconds(w.ResetMs), 10)},
	}
}

func appendField(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(b, name...), v, 10)
}

// seconds rounds up.
func seconds(ms uint64) uint64 { return (ms + 999) / 1000 }

// health answers GET /api/health.
func (x *exchange) health() {
	b := append([]byte(nil), `{"status":"ok","authenticated":true,"project_id":"`...)
	b = append(b, x.s.record.ProjectID...)
	x.respond(200, []abi.Header{{Name: "content-type", Value: "application/json"}}, []abi.Part{{Data: append(b, `"}`...)}})
	x.log(200, "")
}
