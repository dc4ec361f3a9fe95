package exchange

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/money"
)

// streamUsage returns the usage of the current attempt so far, priced at the most expensive terms that may apply to
// its settlement.
func (x *exchange) streamUsage() chat.Usage {
	st := &x.s.stream
	u := x.billableUsage(st.usage, st.tokens(), false)
	x.priceBound(x.model(), &u)
	return u
}

// streamCost returns what the request would cost if its stream had the given number of additional tokens.
func (x *exchange) streamCost(more uint64) money.Pico {
	u := x.streamUsage()
	u.Output += more
	return money.Add(x.s.spent.CostPico, x.model().Cost(&u))
}

func (x *exchange) uncovered() bool {
	return !x.testMode() && x.streamCost(1) > x.s.admission.reserved
}

func (x *exchange) takeBack() {
	x.s.stream.withheld.waiting = false
	x.supply(idBuffer, bufferWithheld)
}
