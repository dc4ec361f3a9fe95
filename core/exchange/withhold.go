package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/sse"
)

// Nothing that is not reserved is delivered. An event with content is processed only if the reservation covers at least one more
// token than the stream has; so a stream costs at most one event more than was reserved for it, and what its provider charges
// beyond what it sent. Otherwise the event and those behind it are withheld, and the fetch pauses, so that the provider feels the
// backpressure, until the reservation has grown.

// withheld is the state of a stream whose reservation is used up.
type withheld struct {
	waiting  bool   // events wait in bufferWithheld for a larger reservation
	paused   bool   // the fetch is paused
	ended    bool   // the body has ended behind the events
	waitedMs uint64 // counted in ticks, because clocks jump
}

func (w *withheld) fields(f *abi.Fields) {
	f.Flags(&w.waiting, &w.paused, &w.ended)
	f.Uint(&w.waitedMs)
}

// maxWithholdMs limits the wait for a reservation, together with the provider's idle timeout.
const maxWithholdMs = 10 * calendar.SecondMs

// streamUsage is the usage of the current attempt so far, at the most expensive terms that it may be settled at.
func (x *exchange) streamUsage() chat.Usage {
	st := &x.s.stream
	u := x.billableUsage(st.usage, st.tokens(), false)
	x.priceBound(x.model(), &u)
	return u
}

// streamCost is the cost of the request so far, if the stream had more tokens.
func (x *exchange) streamCost(more uint64) money.Pico {
	u := x.streamUsage()
	u.Output += more
	return money.Add(x.s.spent.costPico, x.model().Cost(&u))
}

// uncovered reports whether the reservation is used up.
func (x *exchange) uncovered() bool {
	return !x.testMode() && x.streamCost(1) > x.s.admission.reserved
}

// withhold keeps events until the reservation covers them. final means that the body has ended behind them.
func (x *exchange) withhold(events []sse.Event, final bool) {
	w := &x.s.stream.withheld
	var kept abi.Writer
	for i := range events {
		kept.String(events[i].Name)
		kept.Bytes(events[i].Data)
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferWithheld, Data: kept.Buf})
	*w = withheld{waiting: true, paused: w.paused, ended: final}
	if !w.paused && x.pending(idFetch) {
		w.paused = true
		x.do(abi.Action{Kind: abi.ActionPause, ID: idFetch})
	}
	x.requestExtension()
}

// awaitBudget watches over a stream that waits. It is called with every tick.
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

// resumeIfCovered gets the withheld events back, or requests more for them.
func (x *exchange) resumeIfCovered() {
	if x.uncovered() {
		x.requestExtension()
		return
	}
	x.s.stream.withheld.waiting = false
	x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferWithheld})
}

// onWithheld processes the withheld events. The fetch continues behind them, if only to discard what follows the end mark.
func (x *exchange) onWithheld() {
	st := &x.s.stream
	var events []sse.Event
	r := abi.Reader{Buf: x.event.Data}
	for len(r.Buf) > 0 && r.Err() == nil {
		events = append(events, sse.Event{Name: r.String(), Data: r.Bytes()})
	}
	x.streamEvents(events, r.Err() == nil, st.withheld.ended)
	if w := &st.withheld; w.paused && !w.waiting && x.pending(idFetch) {
		w.paused = false
		x.do(abi.Action{Kind: abi.ActionResume, ID: idFetch})
	}
	if x.s.phase == phaseStream {
		x.deserted()
	}
}

// cutStream ends a stream for money. The delivered part is charged, and no other target is tried.
func (x *exchange) cutStream(f fault.Fault, r refusal) {
	if !x.s.stream.opened {
		x.noteAttempt("200")
	}
	x.stopStream()
	x.chargeStream(false)
	x.refuse(f, r)
}
