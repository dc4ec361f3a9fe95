package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/money"
)

const (
	extensionIdle   sideState = iota
	extensionMeter            // waiting for the key's meter
	extensionLedger           // waiting for the Ledger's grant
	extensionRecall           // recalling idle slices from the project's other keys
)

// extensionRows is the extension's state machine. It may end the stream if there is no more budget.
var extensionRows = [...]sideRow{
	{extensionMeter, inExtend, (*exchange).onExtend, 1<<extensionIdle | 1<<extensionMeter | 1<<extensionLedger, toDone},
	{extensionLedger, inExtendGrant, (*exchange).onExtendGrant, 1<<extensionIdle | 1<<extensionMeter | 1<<extensionLedger | 1<<extensionRecall, toDone},
	{extensionRecall, inExtendFlush, (*exchange).onExtendFlush, 1<<extensionRecall | 1<<extensionLedger, 0},
	{extensionRecall, inExtendAbsorb, (*exchange).onExtendAbsorb, 1<<extensionRecall | 1<<extensionLedger, 0},
}

func (x *exchange) extensionState() sideState {
	switch {
	case x.pending(idExtend):
		return extensionMeter
	case x.pending(idExtendGrant):
		return extensionLedger
	case x.pendingWithin(idExtendFlush, idLevelGrant):
		return extensionRecall
	}
	return extensionIdle
}

// A stream's reservation grows by the tokens that the stream generates in aheadMs at its measured rate, within these
// limits. If the budget is short, minExtendTokens is the minimum.
const (
	aheadMs         = 10 * calendar.SecondMs
	extendTokens    = 4096
	maxExtendTokens = 32_768
	minExtendTokens = 256
)

// watchFromHalf sets the cost at which more budget is requested. At that cost, half of the remaining reservation is
// used.
func (x *exchange) watchFromHalf() {
	cost := x.streamCost(0)
	x.s.stream.extension.nextPico = cost + max(x.s.admission.reserved-cost, 0)/2
}

// watchBudget requests more budget once the cost reaches the mark that watchFromHalf set.
func (x *exchange) watchBudget() {
	e := &x.s.stream.extension
	if !x.testMode() && !e.dry && x.lentIsDue() && x.streamCost(0) >= e.nextPico {
		x.requestExtension()
	}
}

// maxLentWaitMs is longer than any wait for lent budget. If the next try is later than that, the clock has gone
// backward.
const maxLentWaitMs = calendar.DayMs

// lentIsDue reports whether the stream may request budget again. While the stream waits for lent budget, lentIsDue
// returns false.
func (x *exchange) lentIsDue() bool {
	at := x.s.stream.extension.retryMs
	return at <= x.now || at-x.now > maxLentWaitMs
}

// requestExtension requests the reservation for the next part of the stream. If a request is pending, it does
// nothing.
func (x *exchange) requestExtension() {
	e := &x.s.stream.extension
	if e.total > 0 {
		return
	}
	seen := x.streamUsage()
	total, least, ahead := seen, seen, x.aheadTokens(seen.Output)
	total.Output += ahead
	least.Output += min(ahead, minExtendTokens)
	e.total = money.Add(x.s.spent.CostPico, x.model().Cost(&total))
	e.minTotal = money.Add(x.s.spent.CostPico, x.model().Cost(&least))
	if e.total <= x.s.admission.reserved {
		e.total = 0
		x.watchFromHalf()
		return
	}
	e.budget, e.retryMs = budgetRequest{levels: levels{ordered: x.inTree()}}, 0
	x.extend()
}

// aheadTokens returns the number of output tokens to reserve beyond those seen. The caller's max tokens limit it. If
// the output has already reached them, or if the stream is waiting, aheadTokens still returns at least a minimum.
func (x *exchange) aheadTokens(seen uint64) uint64 {
	st := &x.s.stream
	perMs := max(calendar.SecondMs, x.since(st.firstContentMs))
	ahead := max(extendTokens, min(maxExtendTokens, st.tokens()*aheadMs/perMs))
	limit := x.maxOutputTokens(x.model()) * max(x.s.request.N, 1)
	switch {
	case x.s.request.MaxTokens == 0, seen >= limit:
		return ahead
	case st.withheld.waiting:
		return min(ahead, max(limit-seen, minExtendTokens))
	}
	return min(ahead, limit-seen)
}

func (x *exchange) extend() {
	e := &x.s.stream.extension
	if x.extendLease() {
		return
	}
	command := keymeter.Extend{
		RequestID: x.s.requestID, TotalPico: e.total, LeastPico: e.minTotal, Final: e.budget.final, Grant: e.budget.grant, Tree: e.budget.tree(),
	}
	x.countCalls(&e.budget, 1)
	x.call(idExtend, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// extended continues a stream whose reservation has grown.
func (x *exchange) extended() {
	x.s.stream.extension.budget.forgetCalls()
	x.watchFromHalf()
	switch {
	case !x.s.stream.withheld.waiting:
	case x.uncovered():
		x.requestExtension()
	default:
		x.takeBack()
	}
}

// notExtended ends a request for budget that was not granted. The stream asks again when half of the remaining
// reservation is used. If the stream is waiting, it asks again at its next tick.
func (x *exchange) notExtended() {
	x.s.stream.extension.total = 0
	x.s.stream.extension.budget.forgetCalls()
	x.watchFromHalf()
}

// onExtend handles the meter's reply. If the meter cannot be reached, the stream calls it again later.
func (x *exchange) onExtend() {
	s := &x.s
	e := &s.stream.extension
	var reply keymeter.AdmitReply
	err := abi.ErrMalformed
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeAdmitReply(x.event.Data)
	}
	switch {
	case err != nil:
		x.notExtended()
	case reply.Verdict == keymeter.Admitted:
		e.dry = e.budget.final && reply.ReservedPico <= s.admission.reserved
		s.admission.reserved, e.total = reply.ReservedPico, 0
		if !e.dry {
			e.waits = 0
		}
		x.extended()
	case reply.Verdict == keymeter.OverOwn && len(reply.Levels) > 0:
		if e.budget.beginOwn(&reply); !e.budget.spent && x.waitsForLent() {
			return
		}
		x.noBudgetLeft()
	case reply.Verdict == keymeter.Short && len(reply.Levels) > 0:
		e.budget.ordered, e.budget.grants = true, nil // the project may have moved into a group since the admission
		e.budget.beginLevel(&reply, &reply.Levels[0])
		x.callGrant(idExtendGrant, &e.budget)
	case reply.Verdict == keymeter.Short:
		e.budget.begin(&reply)
		x.callGrant(idExtendGrant, &e.budget)
	default:
		x.lostReservation()
	}
}

// lostReservation handles a stream whose reservation the meter no longer has. It also handles a stream whose budget
// period has ended with nothing left. The reservation still covers part of the stream, but cannot grow.
func (x *exchange) lostReservation() {
	e := &x.s.stream.extension
	e.total, e.dry = 0, true
	e.budget.forgetCalls()
	if x.s.stream.withheld.waiting {
		x.cutStream(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

func (x *exchange) onExtendGrant() {
	e := &x.s.stream.extension
	reply, err := x.grantReply()
	e.budget.notePeriod(&reply)
	switch {
	case x.event.Code != abi.OutcomeOK || err != nil:
		x.notExtended()
	case reply.Granted:
		e.budget.accept(&reply)
		x.extend()
	case e.budget.guarded(callsToContinue):
		x.notExtended()
	case reply.Next > e.budget.need.After:
		e.budget.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.callGrant(idExtendGrant, &e.budget)
			return
		}
		x.recall(idExtendFlush, &e.budget, &reply)
	case e.budget.nextPass():
		x.callGrant(idExtendGrant, &e.budget)
	case e.budget.unreachable:
		x.notExtended()
	case x.waitsForLent():
	default:
		x.noBudgetLeft()
	}
}

// waitsForLent reports whether the stream asks again when lent budget has returned.
func (x *exchange) waitsForLent() bool {
	e := &x.s.stream.extension
	if e.budget.lentMs == 0 || e.waits == maxLentWaits {
		return false
	}
	e.waits, e.retryMs = e.waits+1, x.now+e.budget.lentMs
	x.notExtended()
	return true
}

// noBudgetLeft handles the Ledger's reply that no budget is left. The stream continues until its reservation is used
// up.
func (x *exchange) noBudgetLeft() {
	e := &x.s.stream.extension
	needed := e.minTotal
	e.total, e.dry = 0, true
	e.budget.forgetCalls()
	if x.s.stream.withheld.waiting {
		x.cutStream(fault.BudgetExceeded, x.overBudget(&e.budget, needed))
	}
}

func (x *exchange) onExtendFlush() {
	x.deliverFlush(x.event.ID-idExtendFlush+idExtendAbsorb, &x.s.stream.extension.budget)
	x.afterExtendFlush()
}

func (x *exchange) onExtendAbsorb() {
	if x.event.Code != abi.OutcomeOK {
		x.s.stream.extension.budget.unreachable = true
	}
	x.afterExtendFlush()
}

// afterExtendFlush calls the Ledger again when all batches are delivered.
func (x *exchange) afterExtendFlush() {
	if !x.pendingWithin(idExtendFlush, idLevelGrant) {
		x.callGrant(idExtendGrant, &x.s.stream.extension.budget)
	}
}

// extendLease raises the reservation of a stream that a lease admitted. If the meter already has the reservation, the
// meter must raise it, and extendLease returns false. While the reservation is being reported to the meter, the
// stream tries again later.
func (x *exchange) extendLease() bool {
	s := &x.s
	e := x.entry()
	if e == nil || !s.leased.taken {
		return false
	}
	ext := &s.stream.extension
	standing, done := e.Extend(x.now, s.requestID, ext.total)
	switch {
	case done:
		s.admission.reserved, ext.total = ext.total, 0
		x.saveEntry()
		x.extended()
		return true
	case standing == lease.Registered:
		return false
	case standing == lease.Unregistered:
		x.reportLease(true)
	}
	x.notExtended()
	return true
}
