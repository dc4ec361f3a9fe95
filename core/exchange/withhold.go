package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/sse"
)

// maxWithholdMs limits the wait for a reservation, in milliseconds. The provider's idle timeout also limits it.
const maxWithholdMs = 10 * calendar.SecondMs

// withhold keeps events until the reservation covers them. If final is set, the body ends after them.
func (x *exchange) withhold(events []sse.Event, final bool) {
	w := &x.s.stream.withheld
	var kept abi.Writer
	for i := range events {
		kept.String(events[i].Name)
		kept.Bytes(events[i].Data)
	}
	x.keep(bufferWithheld, kept.Buf)
	*w = withheld{waiting: true, paused: w.paused, ended: final}
	if !w.paused && x.pending(idFetch) {
		w.paused = true
		x.do(abi.Action{Kind: abi.ActionPause, ID: idFetch})
	}
	x.requestExtension()
}

// awaitBudget checks whether a waiting stream has waited too long or may request budget again. It is called at every
// tick.
func (x *exchange) awaitBudget() {
	st := &x.s.stream
	if !st.withheld.waiting {
		return
	}
	limit := uint64(maxWithholdMs)
	if idle := x.config.TimeoutsOf(x.tier()).IdleMs; idle > 0 {
		limit = min(limit, idle)
	}
	st.withheld.waitedMs += tickMs
	switch {
	case st.withheld.waitedMs >= limit:
		x.cutStream(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	case x.lentIsDue():
		x.requestExtension()
	}
}
