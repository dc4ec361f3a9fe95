package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange/cached"
	"github.com/postern-ai/postern/core/keymeter"
)

// noteCacheResult handles the result of a cache lookup. A failed lookup and a corrupt or expired entry count as a
// miss.
func (x *exchange) noteCacheResult() {
	if x.event.Code == abi.OutcomeOK {
		x.useHit(x.event.Data)
	}
}

// noteSharedCacheResult is like noteCacheResult, for a lookup in the shared stores. If a leader finds a response
// there, its followers get it too.
func (x *exchange) noteSharedCacheResult() {
	if x.noteCacheResult(); x.s.hit.found {
		x.land(abi.FlightLanded, x.event.Data)
	}
}

// useHit stores a cached response in bufferAnswer if the response is valid for this request.
func (x *exchange) useHit(data []byte) {
	e, ok := cached.Decode(data)
	if !ok || !e.Fresh(x.now, x.s.cacheControl.maxAge) {
		return
	}
	if !x.mayUse(e.Model) {
		return // it was cached for another key of the project, and this key must not use the model
	}
	var body []byte
	a := answer{provider: e.Provider, model: e.Model, usage: e.Usage, cached: true}
	switch {
	case x.endpoint.calls.stored != nil:
		m := x.meta(&a)
		body = x.endpoint.calls.stored(x, e.Body, &m)
	case e.Raw && !x.s.request.stream:
		body = x.restoreRaw(e.Body)
	default:
		r, ok := e.Response(x.s.dialect)
		if !ok {
			return
		}
		if e.Raw {
			x.s.request.aliases.Rename(&r)
		}
		x.restoreResponse(&r)
		m := x.meta(&a)
		body = x.encodeAnswer(&r, &m)
	}
	x.s.hit, x.s.dropped = hit{found: true, provider: e.Provider, model: e.Model}, e.Dropped
	x.planPromotion(&e)
	x.keep(bufferAnswer, body)
}

func (x *exchange) respondHit() {
	if x.s.idempotency != "" {
		x.enter(phaseKeepHit)
		x.supply(idBuffer, bufferAnswer)
		return
	}
	x.finishHit()
}

// finishHit ends the exchange with the cached response. If the request has an Idempotency-Key, the event contains the
// response.
func (x *exchange) finishHit() { x.servedFromCache(abi.Part{Buffer: bufferAnswer}) }

func (x *exchange) servedFromCache(body abi.Part) {
	outcome := keymeter.Finish
	if x.s.admission.mode == keymeter.ModeReserve {
		outcome = keymeter.Hit
	}
	a := answer{provider: x.s.hit.provider, model: x.s.hit.model, cached: true}
	x.served(&response{answer: &a, outcome: outcome, body: body, repeat: x.event.Data})
}
