package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// maxRounds bounds how often an exchange asks for admission: again with a newer record, or with a grant.
const maxRounds = 32

// admitCompletion asks to let a completion in: as a hit, or with a reservation and, beside it, a look at the
// slower tier of the cache.
func (x *exchange) admitCompletion() {
	if x.s.hit.found {
		x.admit(keymeter.ModeHit)
		return
	}
	if len(x.s.order) == 0 {
		x.s.order = x.orderTargets()
	}
	x.expect()
	x.admit(keymeter.ModeReserve)
}

// admit asks the key's meter.
func (x *exchange) admit(mode keymeter.Mode) {
	s := &x.s
	s.admission.asked, s.admission.mode = true, mode
	s.admission.rounds++
	s.times.admitStart = x.now
	command := keymeter.Admit{
		RequestID: s.requestID, Version: s.record.Version, Mode: mode, Grant: s.admission.slice.grant,
	}
	switch mode {
	case keymeter.ModeReserve:
		command.Model, command.AmountPico, command.LeastPico = x.model().Name, s.admission.amount, s.admission.least
		command.Final = s.admission.slice.final
	case keymeter.ModeHit:
		command.Model, command.Trace = s.hit.model, x.trace(200)
	case keymeter.ModeCount:
		command.Trace = x.trace(200)
		if bad := x.rejection(); bad.Status != 0 {
			command.Trace = x.trace(bad.Status)
		} else {
			command.Model = s.request.model
		}
	}
	if mode != keymeter.ModeCheck {
		command.Idempotency, command.BodyHash = x.repeatable(), s.bodyHash
		command.ExpiresMs = x.config.LongestRequestMs(x.tier())
	}
	x.enter(phaseAdmit)
	x.call(idAdmit, abi.ClassKeyMeter, s.keyHash, command.Encode())
}

// repeatable is the hash of the caller's Idempotency-Key, or "" if no answer is to be kept under it: whether a
// model is allowed depends on the operator, not on the request.
func (x *exchange) repeatable() string {
	if x.rejection() == fault.ModelForbidden {
		return ""
	}
	return x.s.idempotency
}

// admitReply reads the meter's answer; false: there is none, and the exchange was refused.
func (x *exchange) admitReply() (reply keymeter.AdmitReply, ok bool) {
	x.s.times.admit += x.since(x.s.times.admitStart)
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeAdmitReply(x.event.Data)
	}
	if x.failedCall(err) {
		return reply, false
	}
	x.s.admission.windows = reply.Windows
	return reply, true
}

func (x *exchange) takeAdmission() {
	reply, ok := x.admitReply()
	if !ok {
		return
	}
	again := x.s.admission.rounds < maxRounds
	switch {
	case reply.Verdict == keymeter.Admitted:
		x.s.admission.admitted, x.s.admission.reserved = true, reply.ReservedPico
		x.admitted()
	case reply.Verdict == keymeter.Unknown, reply.Verdict == keymeter.Inactive:
		x.refuseUnknownKey(reply.Verdict)
	case reply.Verdict == keymeter.Stale && again:
		x.adopt(reply.Record)
	case reply.Verdict == keymeter.Short && again:
		x.s.admission.slice.want(&reply)
		x.askGrant()
	default:
		x.notAdmitted(&reply)
	}
}

// notAdmitted answers the verdicts that end the exchange.
func (x *exchange) notAdmitted(reply *keymeter.AdmitReply) {
	switch reply.Verdict {
	case keymeter.RateLimited:
		if x.s.bad != "" {
			// The request is wrong, whoever sends it and however often: that comes first.
			x.refuseBad()
			return
		}
		x.refuse(fault.RateLimited, refusal{retryMs: reply.RetryMs})
	case keymeter.ConcurrencyLimited:
		x.refuse(fault.RateLimited, refusal{retryMs: crowdedRetryMs})
	case keymeter.Replay:
		x.replay(reply.Answer)
	case keymeter.Running:
		x.refuse(fault.IdempotencyRunning, refusal{retryMs: crowdedRetryMs})
	case keymeter.Mismatch:
		x.refuse(fault.IdempotencyReused, refusal{details: []fault.Detail{
			{Field: "Idempotency-Key", Message: "was used with a different request; use a new key"},
		}})
	case keymeter.Unreplayable:
		x.refuse(fault.Unreplayable, refusal{noRetry: true})
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

const crowdedRetryMs = 1000

// admitted dispatches the admitted request by its endpoint.
func (x *exchange) admitted() {
	s := &x.s
	switch {
	case !x.permitted():
		x.refuse(fault.Forbidden, refusal{})
	case s.endpoint == endpointHealth:
		x.health()
	case s.endpoint == endpointUsage:
		x.usage()
	case s.endpoint.listsModels():
		x.models()
	case s.bad != "":
		x.refuseBad()
	case s.endpoint == endpointCount:
		x.countTokens()
	case s.hit.found:
		x.respondHit()
	case x.waits(idKV):
		x.enter(phaseCache)
	default:
		x.dispatch()
	}
}

// want notes what a meter is short of. After starts anew: other keys' slices may be idle by now.
func (l *slice) want(reply *keymeter.AdmitReply) {
	l.need = ledger.Grant{
		Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico,
	}
	l.final, l.unasked, l.moved, l.passes = false, false, false, 0
}

// got takes over what the Ledger granted.
func (l *slice) got(reply *ledger.GrantReply) {
	l.grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
	l.final = reply.Final
}

// askLedger asks for what a meter is short of.
func (x *exchange) askLedger(id uint64, l *slice) {
	g := l.need
	g.Key = x.s.keyHash
	x.call(id, abi.ClassLedger, x.s.record.ProjectID, g.Encode())
}

// askGrant asks the Ledger for a slice of the budget.
func (x *exchange) askGrant() {
	x.enter(phaseGrant)
	x.askLedger(idGrant, &x.s.admission.slice)
}

// takeGrant takes the slice and asks for admission again. If the budget has too little, the project's other keys
// give back what they hold idle before it is called exceeded.
func (x *exchange) takeGrant() {
	s := &x.s
	reply, err := x.grantReply()
	if x.failedCall(err) {
		return
	}
	s.admission.slice.spent = reply.Spent
	switch {
	case reply.Granted:
		s.admission.slice.got(&reply)
		x.admit(s.admission.mode)
	case reply.Next > s.admission.slice.need.After: // pages only go on, so that the paging ends
		s.admission.slice.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.askGrant()
			return
		}
		x.enter(phaseRecall)
		x.recall(idFlush, &reply)
	case s.admission.slice.again():
		x.askGrant()
	default:
		x.outOfBudget()
	}
}

// maxPasses bounds how often the keys that hold idle budget are asked once more, because others took what they had
// given back before the Ledger was asked again.
const maxPasses = 1

// again begins another pass over the keys that hold idle budget, if the last one moved anything.
func (l *slice) again() bool {
	if !l.moved || l.unasked || l.passes == maxPasses {
		return false
	}
	l.moved, l.need.After = false, ""
	l.passes++
	return true
}

func (x *exchange) grantReply() (reply ledger.GrantReply, err error) {
	if x.event.Code == abi.OutcomeOK {
		reply, err = ledger.DecodeGrantReply(x.event.Data)
	}
	return reply, err
}

// outOfBudget refuses, unless the answer is cached and costs nothing.
func (x *exchange) outOfBudget() {
	switch {
	case x.s.hit.found:
		x.admit(keymeter.ModeHit)
	case x.waits(idKV):
		x.enter(phaseBroke)
	case x.s.admission.slice.unasked:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	default:
		x.refuse(fault.BudgetExceeded, refusal{noRetry: x.s.admission.slice.spent})
	}
}

// recall has meters give back what they hold idle; the replies are numbered from an id on.
func (x *exchange) recall(first uint64, reply *ledger.GrantReply) {
	for i, meter := range reply.Recall {
		command := keymeter.Flush{Recall: true}
		if i < len(reply.HeldPico) {
			command.HeldPico = reply.HeldPico[i]
		}
		x.call(first+uint64(i), abi.ClassKeyMeter, meter, command.Encode())
	}
}

// carry takes a meter's news on to the Ledger, as one command, because batches must arrive in order. l is the slice that
// they are recalled for. A meter that could not be asked will deliver its news by itself.
func (x *exchange) carry(first uint64, l *slice) {
	var reply keymeter.FlushReply
	err := abi.ErrMalformed
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeFlushReply(x.event.Data)
	}
	l.unasked = l.unasked || err != nil
	l.moved = l.moved || len(reply.Absorbs) > 0
	if x.s.phase == phaseReportFlush {
		x.s.reported += reply.Open
	}
	if len(reply.Absorbs) > 0 {
		x.call(first, abi.ClassLedger, x.s.record.ProjectID, ledger.Batch(reply.Absorbs))
	}
}

// takeFlush takes one meter's news.
func (x *exchange) takeFlush() {
	x.carry(x.event.ID-idFlush+idAbsorb, &x.s.admission.slice)
	x.flushed()
}

// takeAbsorbed: one meter's news is with the Ledger, or could not be taken there.
func (x *exchange) takeAbsorbed() {
	if x.event.Code != abi.OutcomeOK {
		x.s.admission.slice.unasked = true
	}
	x.flushed()
}

// flushed goes on when all news is there.
func (x *exchange) flushed() {
	switch {
	case x.waitsWithin(idFlush, idExtendFlush):
	case x.s.phase == phaseReportFlush:
		x.newsIn()
	default:
		x.askGrant()
	}
}
