package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

func (x *exchange) keptAnswer() *answer {
	s := &x.s
	return &answer{
		provider: s.hit.provider, model: s.hit.model, usage: s.spent.Usage, costPico: s.spent.CostPico, cached: s.hit.found,
	}
}

// onKept sends the response if the meter has stored it.
func (x *exchange) onKept() {
	switch {
	case x.pending(idBuffer): // the reply was late
	case x.event.Code == abi.OutcomeOK:
		x.sendKept()
	default:
		x.loadOutcome()
	}
}

// loadOutcome loads the command of keepAnswer, because the meter has not replied in time or the call has failed.
func (x *exchange) loadOutcome() {
	x.cancel(idTimer)
	x.supply(idBuffer, bufferOutcome)
}

// keepLater sends the command again and does not wait for the reply. The host repeats such a call while the meter is
// unavailable, and the meter settles a request only once. The response is sent now: the provider has been paid, and a
// repeated request does not run again.
func (x *exchange) keepLater() {
	x.call(0, abi.ClassKeyMeter, x.s.keyHash, x.event.Data)
	x.sendKept()
}

// sendKept sends the response.
func (x *exchange) sendKept() {
	x.cancel(idTimer)
	if x.s.rejected != fault.None {
		x.sendRejection()
		return
	}
	x.send(x.keptAnswer(), abi.Part{Buffer: x.s.kept})
	x.conclude()
}
