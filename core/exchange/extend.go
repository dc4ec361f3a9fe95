package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// extension is a stream's wish to reserve more, beside its chunks.
type extension struct {
	total    int64 // what the meter was asked to reserve in all; 0: nothing is asked
	minTotal int64 // and if the budget has not that much, at least
	budget   budgetRequest
}

func (e *extension) fields(f *abi.Fields) {
	f.Int(&e.total)
	f.Int(&e.minTotal)
	e.budget.fields(f)
}

// extendTokens is for how much more of a stream is reserved at a time; near the end of a budget, modestTokens.
const (
	extendTokens    = 4096
	minExtendTokens = 256
)

// watchBudget reserves more for a stream that grows beyond what was expected of it, well before it gets
// there; and cuts it when the budget has no more.
func (x *exchange) watchBudget() {
	s := &x.s
	st := &s.stream
	u := x.estimate(st.tokens())
	cost := money.Add(s.spent.costPico, x.model().Cost(&u))
	switch {
	case x.testMode() || st.fixedReservation || cost == 0 || cost < s.admission.reserved*3/4:
	case st.budgetExhausted && cost >= s.admission.reserved:
		x.cutOverBudget()
	case st.budgetExhausted || st.extension.total > 0:
	default:
		x.requestExtension(u)
	}
}

// wantMore asks for the next part of a stream of which so much was seen: no more than the answer can still become.
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
	if e.total <= x.s.admission.reserved {
		e.total = 0
		return
	}
	e.budget = budgetRequest{}
	x.extend()
}

func (x *exchange) extend() {
	e := &x.s.stream.extension
	command := keymeter.Extend{
		RequestID: x.s.requestID, TotalPico: e.total, LeastPico: e.minTotal, Final: e.budget.final, Grant: e.budget.grant,
	}
	x.call(idExtend, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// takeExtension takes the meter's answer. A meter that cannot be asked is no reason to cut a stream: what that
// costs beyond its reservation is what it was underestimated by.
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
		s.admission.reserved, e.total = reply.ReservedPico, 0
	case reply.Verdict == keymeter.Short:
		e.budget.begin(&reply)
		x.callGrant(idExtendGrant, &e.budget)
	default:
		// The meter does not have the reservation, or its period is over: nobody is kept out by this stream.
		s.stream.fixedReservation, e.total = true, 0
	}
}

// takeExtensionGrant takes the Ledger's answer to a stream's wish.
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
	default:
		x.s.stream.budgetExhausted, e.total = true, 0
	}
}

// takeExtensionFlush takes the news of a key that gives back what it holds idle.
func (x *exchange) onExtendFlush() {
	x.deliverFlush(x.event.ID-idExtendFlush+idExtendAbsorb, &x.s.stream.extension.budget)
	x.afterExtendFlush()
}

// takeExtensionAbsorbed: those news are with the Ledger, or could not be taken there.
func (x *exchange) onExtendAbsorb() {
	if x.event.Code != abi.OutcomeOK {
		x.s.stream.extension.budget.unreachable = true
	}
	x.afterExtendFlush()
}

// extensionFlushed asks the Ledger again when all news is there.
func (x *exchange) afterExtendFlush() {
	if !x.pendingWithin(idExtendFlush, idListEnd) {
		x.callGrant(idExtendGrant, &x.s.stream.extension.budget)
	}
}

// cutStream ends a stream whose budget has ended.
func (x *exchange) cutOverBudget() {
	x.stopStream()
	x.chargeStream(false)
	x.openStream()
	x.refuse(fault.BudgetExceeded, refusal{noRetry: true})
}
