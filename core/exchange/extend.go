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
	total int64 // what the meter was asked to reserve in all; 0: nothing is asked
	least int64 // and if the budget has not that much, at least
	slice slice
}

func (e *extension) fields(f *abi.Fields) {
	f.Int(&e.total)
	f.Int(&e.least)
	e.slice.fields(f)
}

// extendTokens is for how much more of a stream is reserved at a time; near the end of a budget, modestTokens.
const (
	extendTokens = 4096
	modestTokens = 256
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
	case st.refused || st.extension.total > 0:
	default:
		x.wantMore(u)
	}
}

// wantMore asks for the next part of a stream of which so much was seen: no more than the answer can still become.
func (x *exchange) wantMore(seen chat.Usage) {
	e := &x.s.stream.extension
	total, least := seen, seen
	total.Output = seen.Output + extendTokens
	if q := &x.s.request; q.maxTokens > 0 {
		total.Output = min(total.Output, max(x.longest(x.model())*max(q.n, 1), seen.Output+modestTokens))
	}
	least.Output = seen.Output + modestTokens
	e.total = money.Add(x.s.spent.costPico, x.model().Cost(&total))
	e.least = money.Add(x.s.spent.costPico, x.model().Cost(&least))
	if e.total <= x.s.admission.reserved {
		e.total = 0
		return
	}
	e.slice = slice{}
	x.extend()
}

func (x *exchange) extend() {
	e := &x.s.stream.extension
	command := keymeter.Extend{
		RequestID: x.s.requestID, TotalPico: e.total, LeastPico: e.least, Final: e.slice.final, Grant: e.slice.grant,
	}
	x.call(idExtend, abi.ClassKeyMeter, x.s.keyHash, command.Encode())
}

// takeExtension takes the meter's answer. A meter that cannot be asked is no reason to cut a stream: what that
// costs beyond its reservation is what it was underestimated by.
func (x *exchange) takeExtension() {
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
		e.slice.want(&reply)
		x.askLedger(idExtendGrant, &e.slice)
	default:
		// The meter does not have the reservation, or its period is over: nobody is kept out by this stream.
		s.stream.unwatched, e.total = true, 0
	}
}

// takeExtensionGrant takes the Ledger's answer to a stream's wish.
func (x *exchange) takeExtensionGrant() {
	e := &x.s.stream.extension
	reply, err := x.grantReply()
	switch {
	case x.event.Code != abi.OutcomeOK || err != nil:
		e.total = 0
	case reply.Granted:
		e.slice.got(&reply)
		x.extend()
	case reply.Next > e.slice.need.After:
		e.slice.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.askLedger(idExtendGrant, &e.slice)
			return
		}
		x.recall(idExtendFlush, &reply)
	case e.slice.again():
		x.askLedger(idExtendGrant, &e.slice)
	case e.slice.unasked:
		e.total = 0
	default:
		x.s.stream.refused, e.total = true, 0
	}
}

// takeExtensionFlush takes the news of a key that gives back what it holds idle.
func (x *exchange) takeExtensionFlush() {
	x.carry(x.event.ID-idExtendFlush+idExtendAbsorb, &x.s.stream.extension.slice)
	x.extensionFlushed()
}

// takeExtensionAbsorbed: those news are with the Ledger, or could not be taken there.
func (x *exchange) takeExtensionAbsorbed() {
	if x.event.Code != abi.OutcomeOK {
		x.s.stream.extension.slice.unasked = true
	}
	x.extensionFlushed()
}

// extensionFlushed asks the Ledger again when all news is there.
func (x *exchange) extensionFlushed() {
	if !x.waitsWithin(idExtendFlush, idListEnd) {
		x.askLedger(idExtendGrant, &x.s.stream.extension.slice)
	}
}

// cutStream ends a stream whose budget has ended.
func (x *exchange) cutStream() {
	x.stopStream()
	x.bookStream(false)
	x.open()
	x.refuse(fault.BudgetExceeded, refusal{noRetry: true})
}
