package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/mock"
	"github.com/postern-ai/postern/core/route"
)

// maxAnswerBytes bounds a provider's answer.
const maxAnswerBytes = 8 << 20

// clientClosed is what the log says of a caller that left before it had an answer.
var clientClosed = fault.Fault{Status: 499, Code: "client_closed_request", Text: "Client closed request"}

// supplied takes a buffer that this exchange asked for.
func (x *exchange) supplied() {
	switch {
	case x.s.bad != 0:
		x.refuseBad()
	case x.s.lookup == lookupHit:
		x.respondHit()
	default:
		x.mockAnswer()
	}
}

// dispatch sends the request to the first target that can take it.
func (x *exchange) dispatch() {
	switch {
	case x.testMode():
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferMessages})
	case !x.settleOnTarget():
		x.refuse(fault.NoProvider, refusal{retryMs: noProviderRetryMs})
	default:
		x.attempt()
	}
}

const noProviderRetryMs = 30_000

// settleOnTarget moves on to a target with credentials that does not rest; if all rest, to one that does.
func (x *exchange) settleOnTarget() bool {
	s := &x.s
	resting := len(s.order)
	for at := int(s.at); at < len(s.order); at++ {
		s.at = uint64(at)
		if !x.model().Provider.Ready {
			continue
		}
		if !x.circuits.Resting(x.model().Name, x.now) {
			return true
		}
		resting = min(resting, at)
	}
	s.at = uint64(resting)
	return resting < len(s.order)
}

// attempt sends the request to the present target. A caller that has left gets no further attempt: the
// first one goes on to its end, because the provider bills it anyway and its answer can be cached.
func (x *exchange) attempt() {
	s := &x.s
	if s.left {
		x.refuse(clientClosed, refusal{})
		return
	}
	model := x.model()
	wire := provider.For(model.Provider.Wire)
	if wire.Request == nil {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferMessages})
		return
	}
	s.attempts++
	s.times.upstreamStart = x.now
	request := wire.Request(model, &provider.Params{
		Temperature: s.request.temperature, MaxTokens: s.request.maxTokens, JSON: s.request.json, Messages: abi.Part{Buffer: bufferMessages},
	})
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idFetch, bufferUpstream, maxAnswerBytes
	request.Timeouts = x.config.Routing.Timeouts
	x.do(request)
}

// upstreamResponse takes a provider's answer, whatever its status.
func (x *exchange) upstreamResponse() {
	x.s.times.upstream += x.since(x.s.times.upstreamStart)
	status := x.event.Code
	switch {
	case status == 200:
		x.upstreamOK()
	case status == 408 || status == 429 || status >= 500:
		x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
		f := fault.ProviderError
		if status == 429 {
			f = fault.ProviderBusy
		}
		x.retry(f, provider.RetryAfterMs(x.header("retry-after-ms"), x.header("retry-after")))
	case status == 400 || status == 413 || status == 422:
		// It is the request: no other target is likely to take it.
		x.refuse(fault.ProviderRejected, refusal{noRetry: true})
	default:
		// It is the target: wrong credentials, an unknown model, a redirect.
		x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
		x.next(fault.ProviderError, 0)
	}
}

// upstreamFault takes an attempt that brought no whole answer.
func (x *exchange) upstreamFault() {
	s := &x.s
	s.times.upstream += x.since(s.times.upstreamStart)
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	switch x.event.Code {
	case abi.FaultConnect, abi.FaultUndelivered:
		x.next(fault.ProviderError, 0)
	case abi.FaultBroken, abi.FaultTooLarge:
		x.bookUnknown()
		x.refuse(fault.ProviderAnswer, refusal{})
	default:
		x.bookUnknown()
		x.next(fault.ProviderTimeout, 0)
	}
}

// bookUnknown books an attempt that the provider may have billed without telling: its prompt, estimated.
func (x *exchange) bookUnknown() {
	x.spend(keymeter.Tokens{Prompt: x.s.request.promptTokens}, true)
}

func (x *exchange) spend(tokens keymeter.Tokens, estimated bool) {
	spent := &x.s.spent
	spent.tokens.Prompt += tokens.Prompt
	spent.tokens.Completion += tokens.Completion
	spent.costPico = money.Add(spent.costPico, x.model().Cost(tokens.Prompt, tokens.Completion))
	spent.estimated = spent.estimated || estimated
}

// retry tries the same target again after a wait, if it may and the wait is not too long; else the next.
func (x *exchange) retry(f fault.Fault, retryAfterMs uint64) {
	s := &x.s
	wait, ok := route.BackoffMs(&x.config.Routing, s.retries, retryAfterMs, x.random())
	if s.retries >= x.config.Routing.Retries || !ok || x.circuits.Resting(x.model().Name, x.now) {
		x.next(f, retryAfterMs)
		return
	}
	s.retries++
	x.do(abi.Action{Kind: abi.ActionWait, ID: idWait, KeepMs: wait})
}

// next falls back to the next target. If there is none, the caller gets the last target's error.
func (x *exchange) next(f fault.Fault, retryAfterMs uint64) {
	s := &x.s
	s.at++
	s.retries = 0
	if !x.settleOnTarget() {
		s.at = uint64(len(s.order) - 1)
		x.refuse(f, refusal{retryMs: retryAfterMs})
		return
	}
	x.attempt()
}

// upstreamOK reads a 200.
func (x *exchange) upstreamOK() {
	s := &x.s
	model := x.model()
	wire := provider.For(model.Provider.Wire)
	result, ok := wire.Response(x.header("content-type"), x.event.Data)
	if !ok {
		x.circuits.Failed(&x.config.Routing, model.Name, x.now)
		x.spend(keymeter.Tokens{Prompt: s.request.promptTokens, Completion: EstimateTokens(len(x.event.Data))}, true)
		x.refuse(fault.ProviderAnswer, refusal{})
		return
	}
	tokens := result.Tokens
	if !result.Reported {
		tokens = keymeter.Tokens{Prompt: s.request.promptTokens, Completion: EstimateTokens(len(result.Text))}
	}
	x.spend(tokens, !result.Reported)
	if s.request.json && !isJSONText(result.Text) {
		x.mend()
		return
	}
	x.succeed(&answer{
		text: result.Text, provider: model.Provider.Name, model: model.Name, tokens: s.spent.tokens, costPico: s.spent.costPico,
		clean: result.Complete && !s.spent.estimated, estimated: s.spent.estimated, dropped: wire.Dropped(model),
	})
}

// mend asks once more for JSON. What the first answer cost stays booked.
func (x *exchange) mend() {
	if x.s.mended {
		x.refuse(fault.ProviderAnswer, refusal{})
		return
	}
	x.s.mended = true
	x.attempt()
}

// isJSONText says whether a JSON string holds JSON itself.
func isJSONText(text []byte) bool {
	return jsontext.Check(jsontext.Unescape(nil, text[1:len(text)-1])) == jsontext.OK
}

// mockAnswer answers in place of a provider.
func (x *exchange) mockAnswer() {
	s := &x.s
	model := x.model()
	result := mock.Answer(x.event.Data, s.request.json, s.request.maxTokens)
	s.spent.tokens = keymeter.Tokens{Prompt: s.request.promptTokens, Completion: min(EstimateTokens(len(result.Text)), s.request.maxTokens)}
	x.succeed(&answer{text: result.Text, provider: "mock", model: model.Name, tokens: s.spent.tokens, clean: result.Complete})
}
