package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

// keptAnswer describes the response that is being stored.
func (x *exchange) keptAnswer() *answer {
	s := &x.s
	return &answer{
		provider: s.hit.provider, model: s.hit.model, usage: s.spent.Usage, costPico: s.spent.CostPico, cached: s.hit.found,
	}
}

// sendKept sends the response, whether or not it was stored. The provider has already been paid, and a repeated
// request does not run again in either case.
func (x *exchange) sendKept() {
	x.cancel(idTimer)
	if x.s.rejected != fault.None {
		x.sendRejection()
		return
	}
	x.send(x.keptAnswer(), abi.Part{Buffer: x.s.kept})
	x.conclude()
}
