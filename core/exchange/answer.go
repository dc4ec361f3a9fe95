package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// answer is a completion on its way to the caller.
type answer struct {
	text      []byte // as a JSON string
	provider  string
	model     string
	tokens    keymeter.Tokens
	costPico  money.Pico
	cached    bool
	clean     bool // complete, and stopped by itself: worth storing
	estimated bool
	dropped   string // parameters that the model does not take
}

// json is the Completion result of interface.md, section 2.
func (a *answer) json() []byte {
	b := append(make([]byte, 0, 256+len(a.text)), `{"text":`...)
	b = append(b, a.text...)
	b = append(b, `,"provider":"`...)
	b = append(b, a.provider...)
	b = append(b, `","model":"`...)
	b = append(b, a.model...)
	b = append(b, `","cacheHit":`...)
	b = strconv.AppendBool(b, a.cached)
	b = append(b, `,"usage":{"promptTokens":`...)
	b = strconv.AppendUint(b, a.tokens.Prompt, 10)
	b = append(b, `,"completionTokens":`...)
	b = strconv.AppendUint(b, a.tokens.Completion, 10)
	b = append(b, `,"totalTokens":`...)
	b = strconv.AppendUint(b, a.tokens.Prompt+a.tokens.Completion, 10)
	b = append(b, `,"costCents":`...)
	b = money.Append(b, a.costPico, money.Cent)
	return append(b, `}}`...)
}

// maxReplayBytes is the longest answer that an idempotency record keeps.
const maxReplayBytes = 256 << 10

// succeed answers the caller, and after that settles and stores.
func (x *exchange) succeed(a *answer) {
	s := &x.s
	if !x.testMode() {
		x.circuits.Worked(a.model)
	}
	body := a.json()
	headers := x.answerHeaders(a)
	x.respond(200, headers, []abi.Part{{Data: body}})
	settle := x.settlement(keymeter.Served, a.model)
	x.keepReplay(&settle, 200, headers, body)
	x.settle(&settle)
	x.store(a)
	s.hit = hit{a.provider, a.model, a.tokens}
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
		settle := x.settlement(outcome, s.hit.model)
		x.keepReplay(&settle, 200, headers, x.event.Data)
		x.settle(&settle)
	}
	x.log(200, "")
}

func (x *exchange) answerHeaders(a *answer) []abi.Header {
	s := &x.s
	headers := []abi.Header{
		{Name: "content-type", Value: "application/json"},
		{Name: "x-postern-provider", Value: a.provider},
		{Name: "x-postern-model", Value: a.model},
		{Name: "x-postern-cache", Value: x.cacheState(a.cached)},
		{Name: "x-postern-cost-cents", Value: string(money.Append(nil, a.costPico, money.Cent))},
		{Name: "x-postern-price-version", Value: x.config.Version},
		{Name: "x-postern-attempts", Value: strconv.FormatUint(s.attempts, 10)},
	}
	if a.dropped != "" {
		headers = append(headers, abi.Header{Name: "x-postern-dropped-params", Value: a.dropped})
	}
	return headers
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

// settlement is what the meter is told of this exchange.
func (x *exchange) settlement(outcome keymeter.Outcome, model string) keymeter.Settle {
	s := &x.s
	return keymeter.Settle{
		RequestID: s.requestID, Outcome: outcome, Model: model, Tokens: s.spent.tokens, CostPico: s.spent.costPico,
		Estimated: s.spent.estimated, Missed: outcome == keymeter.Served && x.mayRead(), Idempotency: s.idempotency,
	}
}

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
	all := append(make([]abi.Header, 0, len(headers)+10), headers...)
	all = append(all,
		abi.Header{Name: "x-request-id", Value: s.requestID},
		abi.Header{Name: "cache-control", Value: "private, no-store"},
		abi.Header{Name: "server-timing", Value: x.serverTiming()})
	all = append(all, limitHeaders(s.admission.windows)...)
	x.do(abi.Action{Kind: abi.ActionRespond, Code: status, Headers: all, Body: body})
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
// "RateLimit header fields for HTTP"), X-RateLimit-* for the one with the least left.
func limitHeaders(windows []keymeter.Window) []abi.Header {
	if len(windows) == 0 {
		return nil
	}
	least := windows[0]
	var limits, policies []byte
	for i, w := range windows {
		if w.Remaining < least.Remaining {
			least = w
		}
		if i > 0 {
			limits, policies = append(limits, ", "...), append(policies, ", "...)
		}
		name := `"day"`
		if w.WindowMs == 1000 {
			name = `"second"`
		}
		limits = appendField(appendField(append(limits, name...), ";r=", w.Remaining), ";t=", seconds(w.ResetMs))
		policies = appendField(appendField(append(policies, name...), ";q=", w.Limit), ";w=", w.WindowMs/1000)
	}
	return []abi.Header{
		{Name: "x-ratelimit-limit-requests", Value: strconv.FormatUint(least.Limit, 10)},
		{Name: "x-ratelimit-remaining-requests", Value: strconv.FormatUint(least.Remaining, 10)},
		{Name: "x-ratelimit-reset-requests", Value: strconv.FormatUint(seconds(least.ResetMs), 10)},
		{Name: "ratelimit", Value: string(limits)},
		{Name: "ratelimit-policy", Value: string(policies)},
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
