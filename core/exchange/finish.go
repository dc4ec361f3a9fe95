package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider/wire"
)

// ErrorHeaders are those of an answer that no step could make.
var ErrorHeaders = []abi.Header{
	{Name: "content-type", Value: "application/json"}, {Name: "cache-control", Value: "private, no-store"},
}

// refusal is what an error says besides its row of the table.
type refusal struct {
	details []fault.Detail
	allow   string           // 405
	retryMs uint64           // when it may help to try again; 0: not said
	noRetry bool             // it will not help
	message jsontext.Spelled // the provider's own words, for callers who may read them
}

// forGood marks an error that the same request will meet again. message is the provider's, as callers may read it.
func (r refusal) forGood(message jsontext.Spelled) refusal {
	return refusal{details: r.details, noRetry: true, message: message}
}

const maxMessage = 600

// explained is the refusal for a provider's error answer. Our own endpoints have no error shape of a provider's:
// there the status and the words are in the details.
func (x *exchange) explained(failure *wire.Failure) (r refusal) {
	if x.s.dialect != chat.Native {
		return r
	}
	text := x.model().Provider.Name + " returned " + strconv.FormatUint(x.event.Code, 10)
	if failure.Public() && failure.Message != "" {
		text += ": " + clean(failure.Message.Plain())
	}
	r.details = []fault.Detail{{Field: "provider", Message: text}}
	return r
}

// clean is a text without control characters.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text)
}

// publicMessage is a provider's message as a caller may read it: short, and without the operator's secrets.
// Where the project's own key was used, which is not at hand any more, there is none.
func (x *exchange) publicMessage(message jsontext.Spelled) jsontext.Spelled {
	p, text := x.model().Provider, message.Plain()
	secret := x.owned() || p.Key != "" && strings.Contains(text, p.Key)
	for _, s := range p.Settings {
		secret = secret || len(s.Value) >= minSecret && strings.Contains(text, s.Value)
	}
	if secret || len(message) > maxMessage {
		return ""
	}
	return message
}

// minSecret is how long a setting is at least that could be one.
const minSecret = 12

// refuse ends the exchange with an error, and gives back what it had reserved.
func (x *exchange) refuse(f fault.Fault, r refusal) {
	if x.s.stream.opened {
		x.breakOff(f, r)
		return
	}
	x.refuseWith(f, r, []abi.Part{{Data: x.errorBody(f, r)}})
	if x.s.admission.admitted && x.s.admission.mode == keymeter.ModeReserve {
		settle := x.settlement(keymeter.Released, x.askedModel(), f.Status)
		x.settle(&settle)
	}
	x.log(f.Status, f.Code)
	x.end()
}

// refuseBad answers a bad request with the error that was written when it was found.
func (x *exchange) refuseBad() {
	if x.s.admission.admitted && x.repeatable() != "" {
		x.enter(phaseKeepError)
		x.ask(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferError})
		return
	}
	x.sendBad()
	x.end()
}

func (x *exchange) sendBad() {
	f := x.rejection()
	x.refuseWith(f, refusal{}, []abi.Part{{Buffer: bufferError}})
	x.log(f.Status, f.Code)
}

// finishBad answers a bad request, and keeps the answer for a repeat.
func (x *exchange) finishBad() {
	x.sendBad()
	f := x.rejection()
	settle := x.settlement(keymeter.Finish, "", f.Status)
	x.keepReplay(&settle, f.Status, []abi.Header{{Name: "content-type", Value: "application/json"}}, x.event.Data)
	x.settle(&settle)
	x.end()
}

// refuseWith sends an error.
func (x *exchange) refuseWith(f fault.Fault, r refusal, body []abi.Part) {
	headers := []abi.Header{{Name: "content-type", Value: "application/json"}}
	add := func(name, value string) { headers = append(headers, abi.Header{Name: name, Value: value}) }
	if r.allow != "" {
		add("allow", r.allow)
	}
	if f.Status == 401 {
		add("www-authenticate", `Bearer realm="postern"`)
	}
	if r.retryMs > 0 {
		// Retry-After is in whole seconds; at least one, or clients would hammer.
		add("retry-after", strconv.FormatUint(max(1, seconds(r.retryMs)), 10))
		add("retry-after-ms", strconv.FormatUint(r.retryMs, 10))
	}
	if r.noRetry || f == fault.RateLimited && x.daySpent() {
		add("x-should-retry", "false")
	}
	if x.s.attempts > 0 {
		add("x-postern-attempts", x.attemptsHeader())
	}
	x.respond(f.Status, headers, body)
}

// breakOff ends a stream that the caller has begun to read with an error, and settles what was seen.
func (x *exchange) breakOff(f fault.Fault, r refusal) {
	m := x.streamMeta()
	last := x.family().StreamError(nil, &x.s.stream.api, x.apiError(f, r), &m)
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: last}}})
	x.do(abi.Action{Kind: abi.ActionClose})
	x.settleBroken(f)
}

// settleBroken settles a stream that has no end: as served if the caller got something of it.
func (x *exchange) settleBroken(f fault.Fault) {
	outcome := keymeter.Released
	if x.s.stream.content {
		outcome = keymeter.Served
	}
	settle := x.settlement(outcome, x.askedModel(), f.Status)
	x.settle(&settle)
	x.log(f.Status, f.Code)
	x.end()
}

// daySpent: the limit that was hit is the day's, so waiting a moment does not help.
func (x *exchange) daySpent() bool {
	for _, w := range x.s.admission.windows {
		if w.WindowMs == calendar.DayMs && w.Remaining == 0 {
			return true
		}
	}
	return false
}

// spend books an attempt at the present target, at its price.
func (x *exchange) spend(u *chat.Usage) { x.charge(u, x.model().Cost(u)) }

// charge books tokens and their cost to the present target.
func (x *exchange) charge(u *chat.Usage, cost money.Pico) {
	s := &x.s.spent
	s.usage.Add(u)
	s.costPico = money.Add(s.costPico, cost)
	s.estimated = s.estimated || !u.Reported
	target := uint64(x.target())
	for i := range s.charges {
		if c := &s.charges[i]; c.target == target {
			c.usage.Add(u)
			c.costPico = money.Add(c.costPico, cost)
			c.estimated = c.estimated || !u.Reported
			return
		}
	}
	s.charges = append(s.charges, charge{target, *u, cost, !u.Reported})
}

// believed says whether a provider's figures for an answer of so many tokens, estimated, are there and can be
// true: no prompt is empty, and no text comes from nothing. What is not is estimated, and flagged.
func believed(u *chat.Usage, tokens uint64) bool {
	return u.Reported && u.Plausible() && u.Input > 0 && (u.Output > 0 || tokens == 0)
}

// figures are a provider's, if they are believed and the answer is whole. Otherwise they are what was seen, of so
// many tokens, and what of the provider's may be true: they are then an estimate.
func (x *exchange) figures(u chat.Usage, tokens uint64, whole bool) chat.Usage {
	if believed(&u, tokens) && whole {
		return u
	}
	if !u.Plausible() {
		u = chat.Usage{}
	}
	if u.Input == 0 {
		u.Input = x.s.request.promptTokens
	}
	u.Output, u.Reported = max(u.Output, tokens), false
	return u
}

// bookUnknown books an attempt that the provider may have billed without telling: its prompt, estimated.
func (x *exchange) bookUnknown() {
	x.spend(&chat.Usage{Input: x.s.request.promptTokens})
}

// askedModel is the model of the last target that was asked; "" if none was.
func (x *exchange) askedModel() string {
	if x.s.asked == 0 {
		return ""
	}
	return x.targets()[x.s.asked-1].Model.Name
}

// settlement is what the meter is told of this exchange, whose answer has that status. What attempts at other
// targets have cost is charged to those.
func (x *exchange) settlement(outcome keymeter.Outcome, model string, status uint64) keymeter.Settle {
	s := &x.s
	settle := keymeter.Settle{
		RequestID: s.requestID, Outcome: outcome, Model: model, Missed: outcome == keymeter.Served && x.mayRead(),
		Idempotency: s.idempotency, Trace: x.trace(status),
	}
	for i := range s.spent.charges {
		c := &s.spent.charges[i]
		tokens := keymeter.Tokens{Prompt: c.usage.Input, Completion: c.usage.Output}
		m := x.targets()[c.target].Model
		if m.Name == model {
			settle.Tokens.Prompt += tokens.Prompt
			settle.Tokens.Completion += tokens.Completion
			settle.CostPico = money.Add(settle.CostPico, c.costPico)
			settle.Estimated = settle.Estimated || c.estimated
			continue
		}
		settle.Attempts = append(settle.Attempts, keymeter.Charge{
			Model: m.Name, Provider: m.Provider.Name, Tokens: tokens, CostPico: c.costPico, Estimated: c.estimated,
		})
	}
	return settle
}

// settle tells the meter. Nobody waits for its reply: if it is lost, the reservation expires.
func (x *exchange) settle(settle *keymeter.Settle) {
	x.call(0, abi.ClassKeyMeter, x.s.keyHash, settle.Encode())
}

// trace is this exchange's entry in the list of recent requests, as far as it is known by now.
func (x *exchange) trace(status uint64) keymeter.Trace {
	s := &x.s
	t := keymeter.Trace{Status: status, DurationMs: x.since(s.startMs), Stream: s.request.stream}
	switch {
	case s.hit.found:
		t.Provider, t.Cache = s.hit.provider, ledger.CacheHit
	case s.asked > 0:
		t.Provider = x.targets()[s.asked-1].Model.Provider.Name
	case x.testMode() && len(s.order) > 0:
		t.Provider = mockProvider
	}
	if t.Cache == ledger.CacheBypass && s.endpoint.hasBody() && s.bad == "" && x.mayRead() {
		t.Cache = ledger.CacheMiss
	}
	return t
}

// mockProvider is the built-in one's name.
const mockProvider = "mock"
