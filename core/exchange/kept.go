package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

// keptAnswer describes the response that waits until it is stored.
func (x *exchange) keptAnswer() *answer {
	s := &x.s
	return &answer{
		provider: s.hit.provider, model: s.hit.model, usage: s.spent.Usage, costPico: s.spent.CostPico, cached: s.hit.found,
	}
}

// sendKept sends the response that is stored now, or could not be: the provider has been paid, and a repeat does not run again
// either way.
func (x *exchange) sendKept() {
	x.cancel(idTimer)
	if x.s.rejected != fault.None {
		x.sendRejection()
		return
	}
	x.send(x.keptAnswer(), abi.Part{Buffer: x.s.kept})
	x.conclude()
}
