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

// ErrorHeaders are the headers of the last-resort response, which a host sends when no step can run.
var ErrorHeaders = []abi.Header{
	{Name: "content-type", Value: "application/json"}, {Name: "cache-control", Value: "private, no-store"},
}

// refusal is the variable part of an error response. The fixed part is the Fault.
type refusal struct {
	details  []fault.Detail
	allow    string           // allowed methods, for 405
	retryMs  uint64           // when to retry; 0: no Retry-After
	noRetry  bool             // a retry fails too
	message  jsontext.Escaped // the provider's message, if callers may see it
	findings string           // of the Governor, a JSON array
}

// permanent marks an error that a retry of the same request would get again. message is the provider's public
// message.
func (r refusal) permanent(message jsontext.Escaped) refusal {
	return refusal{details: r.details, noRetry: true, message: message}
}

// maxWaitMs is the longest Retry-After of a provider that is passed on.
const maxWaitMs = 60_000

// withShortWait omits a provider's Retry-After that is too long. It is about one target: its credentials' quota may be
// spent for a day, while a project's route or another key of the provider serves the next request.
func (r refusal) withShortWait() refusal {
	if r.retryMs > maxWaitMs {
		r.retryMs = 0
	}
	return r
}

const maxMessage = 600

// providerRefusal is the refusal for a provider's error response. The native dialect has no field for a provider's
// error, so status and message become a detail.
func (x *exchange) providerRefusal(failure *wire.Failure) (r refusal) {
	if x.s.dialect != chat.Native {
		return r
	}
	text := x.model().Provider.Name + " returned " + strconv.FormatUint(x.event.Code, 10)
	if failure.Public() && failure.Message != "" {
		text += ": " + stripControl(failure.Message.Plain())
	}
	r.details = []fault.Detail{{Field: "provider", Message: text}}
	return r
}

// stripControl replaces control characters with spaces.
func stripControl(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text)
}

// publicMessage is the provider's message if callers may see it: short, and without the operator's secrets. With a
// project's own provider key it is always empty, because the key is no longer available to search for.
func (x *exchange) publicMessage(message jsontext.Escaped) jsontext.Escaped {
	p, text := x.model().Provider, message.Plain()
	secret := x.usesOwnProviderKey() || p.Key != "" && strings.Contains(text, p.Key)
	for _, s := range p.Settings {
		secret = secret || len(s.Value) >= minSecret && strings.Contains(text, s.Value)
	}
	if secret || len(message) > maxMessage {
		return ""
	}
	return x.governMessage(message)
}

// minSecret is the length in bytes from which a provider setting is treated as a secret.
const minSecret = 12

// refuse ends the exchange with an error and releases its reservation.
func (x *exchange) refuse(f fault.Fault, r refusal) {
	x.ending = f
	if x.s.stream.opened {
		x.failStream(f, r)
		return
	}
	x.refuseWith(f, r, []abi.Part{{Data: x.errorBody(f, r)}})
	if x.s.admission.admitted && x.s.admission.mode == keymeter.ModeReserve {
		settle := x.settlement(keymeter.Released, x.lastModel(), f.Status)
		x.settle(&settle)
	}
	x.log(f.Status, f.Code)
	x.end()
}

// respondRejection returns the error that reject recorded.
func (x *exchange) respondRejection() {
	if x.s.admission.admitted && x.replayKey() != "" {
		x.enter(phaseKeepError)
		x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferError})
		return
	}
	x.sendRejection()
	x.end()
}

func (x *exchange) sendRejection() {
	f := x.rejection()
	x.refuseWith(f, refusal{}, []abi.Part{{Buffer: bufferError}})
	x.log(f.Status, f.Code)
}

// finishRejection stores the recorded error for a replay, then returns it.
func (x *exchange) finishRejection() {
	f := x.rejection()
	settle := x.settlement(keymeter.Finish, "", f.Status)
	x.keepReplay(&settle, f.Status, []abi.Header{{Name: "content-type", Value: "application/json"}}, x.event.Data)
	x.keepAnswer(&settle, bufferError)
}

// refuseWith sends an error response.
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
		// Retry-After is in whole seconds. It is at least 1, so that clients do not retry in a tight loop.
		add("retry-after", strconv.FormatUint(max(1, seconds(r.retryMs)), 10))
		add("retry-after-ms", strconv.FormatUint(r.retryMs, 10))
	}
	if r.noRetry || f == fault.RateLimited && x.daySpent() {
		add("x-should-retry", "false")
	}
	if x.s.attempts > 0 || x.s.dispatchMs > 0 && (f.Status == 502 || f.Status == 504) { // of a flight that it followed
		add("x-postern-attempts", x.attemptsHeader())
	}
	x.respond(f.Status, headers, body)
}

// failStream ends an open stream with an error event and settles the output seen so far.
func (x *exchange) failStream(f fault.Fault, r refusal) {
	m := x.streamMeta()
	event := x.family().StreamError(nil, &x.s.stream.api, x.apiError(f, r), &m)
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: event}}})
	x.do(abi.Action{Kind: abi.ActionClose})
	x.settlePartial(f)
}

// settlePartial settles an incomplete stream: as a hit if it came from a flight, as served if it had content, else as
// released.
func (x *exchange) settlePartial(f fault.Fault) {
	x.ending = f
	if x.s.hit.found {
		x.settleFollowed(f.Status)
	} else {
		outcome := keymeter.Released
		if x.s.stream.hasContent {
			outcome = keymeter.Served
		}
		settle := x.settlement(outcome, x.lastModel(), f.Status)
		x.settle(&settle)
	}
	x.log(f.Status, f.Code)
	x.end()
}

// daySpent reports whether the daily limit is used up, so that a short wait does not help.
func (x *exchange) daySpent() bool {
	for _, w := range x.s.admission.windows {
		if w.WindowMs == calendar.DayMs && w.Remaining == 0 {
			return true
		}
	}
	return false
}

// spend charges an attempt at the current target's prices.
func (x *exchange) spend(u *chat.Usage) {
	x.price(x.model(), u)
	x.charge(u, x.model().Cost(u))
}

// charge adds usage and cost to the current target's charges.
func (x *exchange) charge(u *chat.Usage, cost money.Pico) {
	s := &x.s.spent
	s.usage.Add(u)
	s.costPico = money.Add(s.costPico, cost)
	s.estimated = s.estimated || !u.Reported
	target := uint64(x.currentIndex())
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

// credible reports whether the provider's usage is present and plausible for a response of about the given number of
// tokens: the prompt is not empty, and text takes output tokens.
func credible(u *chat.Usage, tokens uint64) bool {
	return u.Reported && u.Plausible() && u.Input > 0 && (u.Output > 0 || tokens == 0)
}

// billableUsage is the provider's usage if it is credible and the response is whole. Otherwise it is an estimate:
// the plausible part of the provider's usage, and at least the given number of output tokens.
func (x *exchange) billableUsage(u chat.Usage, tokens uint64, complete bool) chat.Usage {
	if credible(&u, tokens) && complete {
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

// chargeUnreported charges the estimated prompt of an attempt that the provider may have billed without reporting
// usage.
func (x *exchange) chargeUnreported() {
	x.spend(&chat.Usage{Input: x.s.request.promptTokens})
}

// lastModel is the model of the last target fetched from, or "".
func (x *exchange) lastModel() string {
	if x.s.lastTarget == 0 {
		return ""
	}
	return x.targets()[x.s.lastTarget-1].Model.Name
}

// settlement is the settle command for the key's meter. Attempts at targets other than model are listed
// separately.
func (x *exchange) settlement(outcome keymeter.Outcome, model string, status uint64) keymeter.Settle {
	s := &x.s
	settle := keymeter.Settle{
		RequestID: s.requestID, Outcome: outcome, Model: model, Missed: outcome == keymeter.Served && x.cacheReadable(),
		Idempotency: s.idempotency, Trace: x.trace(status), Violations: x.takeViolations(),
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

// settle sends the settlement. The exchange does not wait for the reply: if the command is lost, the reservation
// expires.
func (x *exchange) settle(settle *keymeter.Settle) {
	if x.holdSettle(settle) {
		return
	}
	x.sendSettle(settle)
}

// sendSettle leaves the settlement with the lease that has admitted the request, or sends it to the meter.
func (x *exchange) sendSettle(settle *keymeter.Settle) {
	if !x.settleLeased(settle) {
		x.call(0, abi.ClassKeyMeter, x.s.keyHash, settle.Encode())
	}
}

// trace is the exchange's entry in the list of recent requests, with the data known so far.
func (x *exchange) trace(status uint64) keymeter.Trace {
	s := &x.s
	t := keymeter.Trace{Status: status, DurationMs: x.since(s.startMs), Stream: s.request.stream}
	switch {
	case s.hit.found:
		t.Provider, t.Cache = s.hit.provider, ledger.CacheHit
	case s.lastTarget > 0:
		t.Provider = x.targets()[s.lastTarget-1].Model.Provider.Name
	case x.testMode() && len(s.order) > 0:
		t.Provider = mockProvider
	}
	if t.Cache == ledger.CacheBypass && s.endpoint.hasBody() && s.rejected == "" && x.cacheReadable() {
		t.Cache = ledger.CacheMiss
	}
	return t
}

// mockProvider is the name of the built-in mock.
const mockProvider = "mock"
