package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// await issues an action whose reply is an event. It panics if the ID is already outstanding, because the two replies
// would be indistinguishable.
func (x *exchange) await(a abi.Action) {
	if slices.Contains(x.s.outstanding, a.ID) {
		panic("exchange: the action ID is already outstanding")
	}
	x.s.outstanding = append(x.s.outstanding, a.ID)
	x.do(a)
}

// do issues an action that no event answers.
func (x *exchange) do(a abi.Action) { x.out.Actions = append(x.out.Actions, a) }

// pending reports whether the action is outstanding.
func (x *exchange) pending(id uint64) bool { return slices.Contains(x.s.outstanding, id) }

// pendingWithin reports whether any action with first <= ID < end is outstanding.
func (x *exchange) pendingWithin(first, end uint64) bool {
	return slices.ContainsFunc(x.s.outstanding, func(id uint64) bool { return id >= first && id < end })
}

// cancel cancels an action if it is outstanding.
func (x *exchange) cancel(id uint64) {
	if at := slices.Index(x.s.outstanding, id); at >= 0 {
		x.s.outstanding = slices.Delete(x.s.outstanding, at, at+1)
		x.do(abi.Action{Kind: abi.ActionCancel, ID: id})
	}
}

// cancelWithin cancels all outstanding actions with first <= ID < end.
func (x *exchange) cancelWithin(first, end uint64) {
	for _, id := range slices.Clone(x.s.outstanding) {
		if id >= first && id < end {
			x.cancel(id)
		}
	}
}

// end finishes the exchange and cancels its outstanding actions. It keeps an outstanding fetch: that is a stream
// whose end mark has arrived, and the rest of the body is read so that the connection can be reused. It also keeps a
// classifier beside the request, for whose cost the settlement waits, and a settlement whose reply is late.
func (x *exchange) end() {
	x.failFlight(x.ending)
	x.dropAsk()
	x.cancelWithin(0, idFetch)
	x.cancelWithin(idFetch+1, idClassifyText)
	x.cancelWithin(idSettle+1, idKeep)
	x.cancelWithin(idKeep+1, idListEnd)
	x.enter(phaseDone)
}
