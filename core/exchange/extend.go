package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// watchBudget reserves more for a stream that grows beyond what was expected of it, well before it gets
// there; and cuts it when the budget has no more.
func (x *exchange) watchBudget() {
	s := &x.s
	st := &s.stream
	u := x.estimate(st.tokens())
	cost := money.Add(s.spent.costPico, x.model().Cost(&u))
	switch {
	case x.testMode() || st.unwatched || cost == 0 || cost < s.admission.reserved*3/4:
	case st.refused && cost >= s.admission.reserved:
		x.cutStream()
	case st.refused || st.reserve > 0:
	default:
		u.Output += extendTokens
		if st.modest {
			u.Output -= extendTokens - modestTokens
		}
		st.reserve = money.Add(s.spent.costPico, x.model().Cost(&u))
		x.extend(keymeter.Grant{}, false)
	}
}

// extendTokens is for how much more of a stream is reserved at a time; near the end of a budget, modestTokens.
const (
	extendTokens = 4096
	modestTokens = 256
)

func (x *exchange) extend(grant keymeter.Grant, final bool) {
	command := keymeter.Extend{RequestID: x.s.requestID, TotalPico: x.s.stream.reserve, Final: final, Grant: grant}
	x.call(idExtend, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// extended takes the meter's answer. What cannot be asked is no reason to cut a stream: what it costs beyond
// its reservation is what it was underestimated by.
func (x *exchange) extended() {
	s := &x.s
	st := &s.stream
	if st.over || x.event.Code != abi.OutcomeOK {
		st.reserve = 0
		return
	}
	reply, err := keymeter.DecodeAdmitReply(x.event.Data)
	switch {
	case err != nil:
		st.reserve = 0
	case reply.Verdict == keymeter.Admitted:
		s.admission.reserved, st.reserve = reply.ReservedPico, 0
	case reply.Verdict == keymeter.Short:
		s.admission.need = x.shortOf(&reply)
		x.call(idGrant, abi.ClassLedger, s.record.ProjectID, s.admission.need.Encode())
	default:
		// The meter does not have the reservation, or its period is over: nobody is kept out by this stream.
		st.unwatched, st.reserve = true, 0
	}
}

// extendGranted takes the Ledger's answer to a stream's wish.
func (x *exchange) extendGranted(reply *ledger.GrantReply) {
	s := &x.s
	switch {
	case s.stream.over:
	case reply.Granted:
		x.extend(keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}, reply.Final)
	case reply.Next != "":
		x.recall(reply)
	case !s.stream.modest:
		s.stream.modest, s.stream.reserve = true, 0
		x.watchBudget()
	default:
		s.stream.refused, s.stream.reserve = true, 0
	}
}

// cutStream ends a stream whose budget has ended.
func (x *exchange) cutStream() {
	x.do(abi.Action{Kind: abi.ActionCancel, ID: idFetch})
	x.bookStream(false)
	x.open()
	x.breakOff(fault.BudgetExceeded, refusal{noRetry: true})
}
