package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/control"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider/wire"
)

// ErrorHeaders are the headers of the last-resort response. A host sends it when no step can run.
var ErrorHeaders = []abi.Header{
	{Name: "content-type", Value: "application/json"}, {Name: "cache-control", Value: "private, no-store"},
}

const maxMessage = 600

// providerRefusal returns the refusal for a provider's error response. The native dialect has no field for a
// provider's message, so the detail contains it.
func (x *exchange) providerRefusal(failure *wire.Failure) refusal {
	text := "returned " + strconv.FormatUint(x.event.Code, 10)
	if x.s.dialect == chat.Native && failure.Public() && failure.Message != "" {
		text += ": " + stripControl(failure.Message.Plain())
	}
	if x.event.Code == 404 || x.event.Code == 405 {
		text += x.wireHint(failure)
	}
	return x.providerDid(text)
}

// wireHint returns advice for a server that lacks one of the wire formats in its catalog entry, such as an old
// server. If the provider's message contains the model's name, the error is about the model, and wireHint returns "".
func (x *exchange) wireHint(failure *wire.Failure) string {
	m := x.model()
	if m.Provider.Home == "" || strings.Contains(failure.Message.Plain(), m.Upstream) {
		return ""
	}
	return `; if it does not serve "` + m.Provider.Wire + `", leave that out of its wires in POSTERN_CATALOG`
}

// providerDid returns a refusal that describes the failure of the current target's provider. Several failures share
// the fault's text, so that text is not enough.
func (x *exchange) providerDid(what string) refusal {
	return refusal{details: []fault.Detail{{Field: api.ProviderField, Message: x.model().Provider.Name + " " + what}}}
}

// publicMessage returns the provider's message if callers may see it. The message must be short and contain none of
// the operator's secrets. If the project's own provider key was used, the result is always empty: that key is no
// longer available for the comparison.
func (x *exchange) publicMessage(message jsontext.Escaped) jsontext.Escaped {
	if len(message) > maxMessage || x.hasProviderSecret(message.Plain()) {
		return ""
	}
	return x.governMessage(message)
}

// hasProviderSecret reports whether text from the current target's provider contains the operator's key or settings,
// or may contain a project's own key.
func (x *exchange) hasProviderSecret(text string) bool {
	p := x.model().Provider
	secret := x.usesOwnProviderKey() || p.Key != "" && strings.Contains(text, p.Key)
	for _, s := range p.Settings {
		secret = secret || len(s.Value) >= minSecret && strings.Contains(text, s.Value)
	}
	return secret
}

// minSecret is the minimum length of a provider setting that counts as a secret, in bytes.
const minSecret = 12

func (x *exchange) refuseWith(f fault.Fault, r refusal, body []abi.Part) {
	headers := x.helpLink(jsonHeaders(), f)
	add := func(name, value string) { headers = append(headers, abi.Header{Name: name, Value: value}) }
	if r.allow != "" {
		add("allow", r.allow)
	}
	if f.Status() == 401 {
		add("www-authenticate", `Bearer realm="postern"`)
	}
	if r.retryMs > 0 {
		// Retry-After is in whole seconds. It is at least 1 so that clients do not retry in a tight loop.
		add("retry-after", strconv.FormatUint(max(1, reply.Seconds(r.retryMs)), 10))
		add("retry-after-ms", strconv.FormatUint(r.retryMs, 10))
	}
	spent := r.limit != nil && r.limit.Spent
	if r.noRetry || spent || f.Permanent() && r.retryMs == 0 {
		add("x-should-retry", "false")
	}
	if spent && x.s.codex && x.s.dialect == chat.Responses {
		add(codexMessage, printable(r.limit.Detail.Field+" "+r.limit.Detail.Message))
	}
	if r.limit != nil && r.limit.Budget.ID != "" {
		add(header.Budget, r.limit.BudgetHeader())
	}
	if x.s.attempts > 0 || x.s.dispatchMs > 0 && f.Origin() == fault.ByProvider { // the attempts of a flight that the request followed
		add(header.Attempts, x.attemptsHeader())
	}
	x.respond(x.statusOf(f), headers, body)
}

func (x *exchange) helpLink(headers []abi.Header, f fault.Fault) []abi.Header {
	if x.config.DocsOff {
		return headers
	}
	return append(headers, abi.Header{Name: "link", Value: control.HelpLink(f.Code())})
}

// codexMessage is a header. When a limit is used up, Codex shows its text and then the time of the reset. Codex's own
// text does not name the limit. Source: parse_promo_message in codex-rs/codex-api/src/rate_limits.rs, read in
// November 2026.
const codexMessage = "x-codex-promo-message"

// refuseFailedCall refuses the request with 503 if the object call failed or its reply cannot be decoded. It then
// returns true.
func (x *exchange) refuseFailedCall(err error) bool {
	if x.event.Code == abi.OutcomeOK && err == nil {
		return false
	}
	x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	return true
}

// unavailableRetryMs is the Retry-After time when one of our own dependencies is unavailable.
const unavailableRetryMs = 1000

// refuseShuttingDown ends a request that the host's shutdown has interrupted. The interruption is not the provider's
// fault. Other targets cannot be reached either.
func (x *exchange) refuseShuttingDown() {
	x.refuse(fault.ShuttingDown, refusal{retryMs: unavailableRetryMs})
}

// end finishes the exchange and cancels its outstanding actions, with three exceptions. First, it keeps a fetch whose
// stream has reached its end mark: the rest of the body is read, so that the connection can be reused. Second, it
// keeps a classifier that runs alongside the request: the settlement waits for its cost. Third, it keeps a settlement
// whose reply is late.
func (x *exchange) end() {
	x.failFlight(x.ending)
	x.dropAsk()
	x.cancelWithin(0, idFetch)
	x.cancelWithin(idFetch+1, idClassifyText)
	x.cancelWithin(idSettle+1, idKeep)
	x.cancelWithin(idKeep+1, idListEnd)
	x.enter(phaseDone)
}

// refuse ends the exchange with an error. If a stream is open, the error is its last event. Otherwise, it is a
// response.
func (x *exchange) refuse(f fault.Fault, r refusal) {
	x.noteRefusal(r)
	if x.s.stream.opened {
		m := x.streamMeta()
		event := x.family().StreamError(nil, &x.s.stream.api, x.apiError(f, r), &m)
		x.sendPart(abi.Part{Data: event})
		x.do(abi.Action{Kind: abi.ActionClose})
	} else {
		x.refuseWith(f, r, []abi.Part{{Data: x.errorBody(f, r)}})
	}
	x.refused(f)
}

func (x *exchange) refuseClosed() {
	if x.s.stream.opened {
		x.refused(fault.ClientClosed)
		return
	}
	x.refuse(fault.ClientClosed, refusal{})
}

// refused ends an exchange after the caller has received the error or disconnected. It releases the reservation. If
// part of a stream was sent, it settles that part. A stream from a flight is settled as a hit.
func (x *exchange) refused(f fault.Fault) {
	s := &x.s
	x.releaseHold()
	x.ending = f
	outcome := keymeter.Released
	switch {
	case s.stream.opened && s.hit.found:
		outcome = keymeter.Hit
	case s.stream.opened && s.stream.hasContent:
		outcome = keymeter.Served
	}
	if s.admission.admitted && s.admission.mode == keymeter.ModeReserve {
		settle := x.settlement(outcome, x.endModel(), x.statusOf(f))
		x.settle(&settle)
	}
	x.countEnd(f, x.booked(outcome))
	x.log(x.statusOf(f), f.Code())
	x.end()
}
