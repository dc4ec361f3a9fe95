package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

func (x *exchange) readCompletion() {
	s := &x.s
	f := x.wire()
	r, ok := chat.Response{}, false
	if head.IsJSON(x.header("content-type")) {
		if root := x.json(); root.IsObject() {
			r, ok = f.Response(root)
		}
	}
	if !ok {
		x.refuseUnreadable()
		return
	}
	r.Usage = x.billableUsage(r.Usage, responseTokens(&r), true)
	if f.Dialect == s.dialect {
		s.request.aliases.Rename(&r)
	}
	x.spend(&r.Usage)
	x.s.notes.finish = r.Choices[0].Finish
	var raw []byte
	if f.Dialect == s.dialect && !s.request.stream && !(s.govern.on && x.endpoint.texts.folded) {
		raw = x.event.Data
	}
	raw, ok = x.checkAnswer(&r, raw)
	if !ok {
		return
	}
	x.respondAnswer(x.answer(complete(&r)), &r, raw)
}

// refuseUnreadable ends the exchange because the provider's 200 response could not be parsed. The charge is based on
// the response's estimated size, and is at most that of the maximum output.
func (x *exchange) refuseUnreadable() {
	x.noteFailure(ledger.CauseUnusable)
	x.failCircuit()
	u := x.estimate(min(uint64(len(x.event.Data)+3)/4, x.maxOutputTokens(x.model())*max(x.s.request.N, 1)))
	x.spend(&u)
	x.refuse(fault.ProviderAnswer, x.providerDid("sent a response that cannot be read"))
}

func responseTokens(r *chat.Response) (n uint64) {
	for i := range r.Choices {
		n += chat.PartTokens(r.Choices[i].Parts)
	}
	return n
}

func complete(r *chat.Response) bool {
	for i := range r.Choices {
		if !r.Choices[i].Finish.Complete() {
			return false
		}
	}
	return true
}

// retryForJSON repeats the request once because the text is not the requested JSON. The first response is charged as
// well.
func (x *exchange) retryForJSON(bad string) {
	x.noteFailure(ledger.CauseUnusable)
	if x.s.jsonRetried {
		r := x.providerDid("sent text that " + bad + ", twice")
		r.noRetry = true // a client that retries would pay for two more responses
		x.refuse(fault.ProviderAnswer, r)
		return
	}
	x.s.jsonRetried = true
	x.attempt()
}

// noteSuccess records in a model's circuit that the provider responded.
func (x *exchange) noteSuccess(model string) {
	if !x.testMode() {
		x.circuits.Succeeded(model, x.usesOwnProviderKey(), x.latencyMs(), x.now)
	}
}

// respondAnswer ends the exchange with a provider's non-streaming response. If the provider's body is in the caller's
// dialect, it is raw. Only redacted and restored values change in it. If the text must be JSON, it is checked after
// values were redacted and restored, as the caller gets it.
func (x *exchange) respondAnswer(a *answer, whole *chat.Response, raw []byte) {
	x.noteSuccess(a.model)
	r := response{answer: a, outcome: keymeter.Served, body: abi.Part{Buffer: bufferUpstream}, repeat: raw, entry: raw, raw: raw != nil}
	switch {
	case raw == nil:
		m := x.meta(a)
		r.entry = storedDeltas(whole)
		x.restoreResponse(whole)
		if bad := x.misfit(whole); bad != "" && a.provider != mockProvider {
			x.retryForJSON(bad)
			return
		}
		r.body = abi.Part{Data: x.encodeAnswer(whole, &m)}
		r.repeat = r.body.Data
	case x.s.govern.on && x.endpoint.texts.checked:
		r.body = abi.Part{Data: x.restoreRaw(raw)} // bufferUpstream contains the unchecked response
		r.repeat = r.body.Data
	}
	x.served(&r)
}
