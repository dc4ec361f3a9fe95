package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// extension is a stream's pending request to enlarge its reservation.
type extension struct {
	total    int64 // the total reservation requested from the meter; 0: no request is pending
	minTotal int64 // to reserve if the budget has less than total
	budget   budgetRequest
	retryMs  uint64 // when lent budget may be free again; 0: it is not awaited
	waits    uint64 // for lent budget
	dry      bool   // the budget had nothing beyond the reservation
}

func (e *extension) fields(f *abi.Fields) {
	f.Int(&e.total)
	f.Int(&e.minTotal)
	e.budget.fields(f)
	f.Uint(&e.retryMs)
	f.Uint(&e.waits)
	f.Bool(&e.dry)
}

// extendTokens is the number of output tokens by which a stream's reservation grows, and minExtendTokens the
// minimum when the budget is short.
const (
	extendTokens    = 4096
	minExtendTokens = 256
)

// watchBudget extends the reservation once a stream has used three quarters of it, and cuts the stream when the
// budget has no more.
func (x *exchange) watchBudget() {
	s := &x.s
	st := &s.stream
	u := x.estimate(st.tokens())
	cost := money.Add(s.spent.costPico, x.model().Cost(&u))
	switch {
	case x.testMode() || st.fixedReservation || cost == 0 || cost < s.admission.reserved*3/4:
	case st.budgetExhausted && cost >= s.admission.reserved:
		x.cutOverBudget()
	case st.extension.retryMs > x.now && cost >= s.admission.reserved:
		x.cutOverBudget()
	case st.budgetExhausted || st.extension.total > 0 || st.extension.retryMs > x.now:
	default:
		x.requestExtension(u)
	}
}

// requestExtension requests a reservation for the next part of the stream, beyond the usage seen so far. The
// caller's max tokens limit it.
func (x *exchange) requestExtension(seen chat.Usage) {
	e := &x.s.stream.extension
	total, least := seen, seen
	total.Output = seen.Output + extendTokens
	if q := &x.s.request; q.maxTokens > 0 {
		total.Output = min(total.Output, max(x.maxOutputTokens(x.model())*max(q.n, 1), seen.Output+minExtendTokens))
	}
	least.Output = seen.Output + minExtendTokens
	e.total = money.Add(x.s.spent.costPico, x.model().Cost(&total))
	e.minTotal = money.Add(x.s.spent.costPico, x.model().Cost(&least))
	if e.total <= x.s.admission.reserved || e.dry && e.minTotal <= x.s.admission.reserved {
		e.total = 0
		return
	}
	e.budget = budgetRequest{}
	x.extend()
}

func (x *exchange) extend() {
	e := &x.s.stream.extension
	if x.extendLease() {
		return
	}
	command := keymeter.Extend{
		RequestID: x.s.requestID, TotalPico: e.total, LeastPico: e.minTotal, Final: e.budget.final, Grant: e.budget.grant,
	}
	x.call(idExtend, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// onExtend takes the meter's reply. A stream is not cut because its meter is unreachable: the settlement charges its full
// cost, even above the reservation, and the next chunk requests an extension again.
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
		e.total = 0
	case reply.Verdict == keymeter.Admitted:
		e.dry = e.budget.final && reply.ReservedPico <= s.admission.reserved
		s.admission.reserved, e.total = reply.ReservedPico, 0
	case reply.Verdict == keymeter.Short:
		e.budget.begin(&reply)
		x.callGrant(idExtendGrant, &e.budget)
	default:
		// The meter has no such reservation, or its period is over: an extension would protect no budget.
		s.stream.fixedReservation, e.total = true, 0
	}
}

// onExtendGrant takes the Ledger's reply to a stream's extension.
func (x *exchange) onExtendGrant() {
	e := &x.s.stream.extension
	reply, err := x.grantReply()
	switch {
	case x.event.Code != abi.OutcomeOK || err != nil:
		e.total = 0
	case reply.Granted:
		e.budget.accept(&reply)
		x.extend()
	case reply.Next > e.budget.need.After:
		e.budget.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.callGrant(idExtendGrant, &e.budget)
			return
		}
		x.recall(idExtendFlush, &reply)
	case e.budget.nextPass():
		x.callGrant(idExtendGrant, &e.budget)
	case e.budget.unreachable:
		e.total = 0
	case e.budget.lentMs > 0 && e.waits < maxLentWaits:
		e.total, e.waits, e.retryMs = 0, e.waits+1, x.now+e.budget.lentMs
	default:
		x.s.stream.budgetExhausted, e.total = true, 0
	}
}

// onExtendFlush takes the reply of a meter whose idle budget was recalled.
func (x *exchange) onExtendFlush() {
	x.deliverFlush(x.event.ID-idExtendFlush+idExtendAbsorb, &x.s.stream.extension.budget)
	x.afterExtendFlush()
}

// onExtendAbsorb takes the Ledger's acknowledgement of that meter's batches.
func (x *exchange) onExtendAbsorb() {
	if x.event.Code != abi.OutcomeOK {
		x.s.stream.extension.budget.unreachable = true
	}
	x.afterExtendFlush()
}

// afterExtendFlush asks the Ledger again when all batches are delivered.
func (x *exchange) afterExtendFlush() {
	if !x.pendingWithin(idExtendFlush, idListEnd) {
		x.callGrant(idExtendGrant, &x.s.stream.extension.budget)
	}
}

// cutOverBudget ends a stream with an error because the budget is exhausted.
func (x *exchange) cutOverBudget() {
	x.stopStream()
	x.chargeStream(false)
	x.openStream()
	x.refuse(fault.BudgetExceeded, refusal{noRetry: true})
}
