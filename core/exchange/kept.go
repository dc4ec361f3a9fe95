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

// sendKept sends the response, whether it was stored or not. The provider has been paid, and in either case a
// repeated request does not run again.
func (x *exchange) sendKept() {
	x.cancel(idTimer)
	if x.s.rejected != fault.None {
		x.sendRejection()
		return
	}
	x.send(x.keptAnswer(), abi.Part{Buffer: x.s.kept})
	x.conclude()
}
