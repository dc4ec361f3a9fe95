package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// maxRounds limits how often an exchange calls admit. Each newer record and each grant causes another call.
const maxRounds = 32

// admitUncounted admits a request that does not count against any limit.
func (x *exchange) admitUncounted() { x.admit(keymeter.ModeCheck) }

// admitValidation admits a request that costs nothing. The request counts against the limits, even if it is rejected.
func (x *exchange) admitValidation() { x.admit(keymeter.ModeCount) }

// admitCount is like admitValidation, for a request that names a model.
func (x *exchange) admitCount() {
	x.rejectForbidden()
	x.admit(keymeter.ModeCount)
}

// admitCompletion admits a request that costs money, after a cache lookup. Rejections only count against the limits.
func (x *exchange) admitCompletion() {
	x.rejectForbidden()
	switch {
	case x.s.rejected != fault.None:
		x.admit(keymeter.ModeCount)
	case x.cacheReadable():
		x.readMemoryCache()
	default:
		x.admitReserved()
	}
}

// rejectForbidden rejects a request whose key cannot use any target of the model. It also completes errors about
// unknown models.
func (x *exchange) rejectForbidden() {
	switch s := &x.s; {
	case s.rejected == fault.None && !x.allowsAny():
		x.rejectModel(fault.ModelForbidden, nil)
	case s.rejected == fault.UnknownModel && s.record.Policy == 0:
		x.rejectModel(fault.UnknownModel, nil)
	}
}

// admitReserved admits a completion. A cache hit needs no reservation. Otherwise, the KV cache lookup runs in
// parallel with the admission.
func (x *exchange) admitReserved() {
	if x.s.hit.found {
		x.admit(keymeter.ModeHit)
		return
	}
	if len(x.s.order) == 0 {
		x.s.order = x.orderTargets()
	}
	x.planReservation()
	x.admit(keymeter.ModeReserve)
}

// admit calls the key's meter.
func (x *exchange) admit(mode keymeter.Mode) { x.admitIn(phaseAdmit, mode) }

func (x *exchange) admitIn(p phase, mode keymeter.Mode) {
	s := &x.s
	command := keymeter.Admit{
		RequestID: s.requestID, Version: s.record.Version, Mode: mode, Grant: s.admission.budget.grant, Tree: s.admission.budget.tree(),
	}
	switch mode {
	case keymeter.ModeReserve:
		command.Model, command.AmountPico, command.LeastPico = x.model().Name, s.admission.amount, s.admission.minAmount
		command.Final = s.admission.budget.final
	case keymeter.ModeHit:
		command.Model, command.Trace = s.hit.model, x.trace(200)
	case keymeter.ModeCount:
		command.Trace = x.trace(200)
		if bad := x.s.rejected; bad != fault.None {
			command.Trace = x.trace(bad.Status())
		} else {
			command.Model = s.request.model
		}
	}
	if mode != keymeter.ModeCheck {
		command.Violations = s.govern.violations
		command.Idempotency, command.BodyHash = x.replayKey(), s.bodyHash
		command.Rerun = s.rerun && command.Idempotency != ""
		command.LifetimeMs = x.config.LongestRequestMs(x.tier()) + x.classifierTimeoutMs()
	}
	if x.takeLease(&command) {
		if s.leased.taken {
			x.admitted()
		}
		return
	}
	s.admission.called, s.admission.mode = true, mode
	s.admission.rounds++
	x.countCalls(&s.admission.budget, 1)
	s.times.admitStart = x.now
	x.enter(p)
	x.call(idAdmit, abi.ClassKeyMeter, s.keyHash, command.Encode())
}

// admitReply decodes the meter's reply. If the call failed, admitReply refuses the request and returns false.
func (x *exchange) admitReply() (reply keymeter.AdmitReply, ok bool) {
	x.s.times.admit += x.since(x.s.times.admitStart)
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeAdmitReply(x.event.Data)
	}
	x.takeLeaseReply(&reply, x.event.Code == abi.OutcomeOK && err == nil)
	if x.event.Code == abi.OutcomeFailed {
		x.admittedUnheard()
	}
	if x.refuseFailedCall(err) {
		return reply, false
	}
	x.s.admission.windows = reply.Windows
	return reply, true
}

// admittedUnheard notes that the meter may have admitted the request, but its reply was lost. The refusal releases
// the reservation. If the request was admitted, the violations are stored, so the settlement must not repeat them.
func (x *exchange) admittedUnheard() {
	x.s.admission.admitted = true
	x.takeViolations()
}

func (x *exchange) onAdmit() {
	reply, ok := x.admitReply()
	if !ok {
		return
	}
	again := x.s.admission.rounds < maxRounds
	switch {
	case reply.Verdict == keymeter.Admitted:
		x.s.admission.admitted, x.s.admission.reserved = true, reply.ReservedPico
		x.takeViolations() // the meter has stored them with the admission
		x.s.admission.budget.forgetCalls()
		x.admitted()
	case reply.Verdict == keymeter.Unknown, reply.Verdict == keymeter.Inactive:
		if reply.ReservedPico > 0 {
			x.admittedUnheard()
		}
		x.refuseUnknownKey(reply.Verdict)
	case reply.Verdict == keymeter.Stale && again:
		x.adoptRecord(reply.Record)
	case reply.Verdict == keymeter.OverOwn && len(reply.Levels) > 0:
		x.overOwn(&reply)
	case reply.Verdict == keymeter.Short && again && len(reply.Levels) > 0:
		x.requestLevels(&reply)
	case reply.Verdict == keymeter.Short && again:
		x.s.admission.budget.begin(&reply)
		x.requestGrant()
	default:
		x.refuseAdmission(&reply)
	}
}

func (x *exchange) admitted() {
	s := &x.s
	switch {
	case !x.permitted():
		x.refuse(fault.Forbidden, refusal{details: []fault.Detail{
			{Field: api.PermissionsField, Message: "must include " + doc.PermissionName(x.endpoint.needs)},
		}})
	case s.rejected != fault.None:
		x.respondRejection()
	default:
		x.endpoint.serve(x)
	}
}

// requestGrant asks the Ledger for a slice of the budget.
func (x *exchange) requestGrant() {
	x.enter(phaseGrant)
	x.callGrant(idGrant, &x.s.admission.budget)
}

// onGrant admits the request again with the granted slice. If the budget is too small, it recalls idle slices from
// the project's other keys. If they are not enough, it reports that the budget is exceeded.
func (x *exchange) onGrant() {
	s := &x.s
	reply, err := x.admissionGrant(s.admission.budget.ledger)
	if x.event.Code != abi.OutcomeOK && s.admission.budget.need.NeedPico == 0 && x.dropAsk() {
		x.admit(s.admission.mode) // enough for the request, but not for a lease
		return
	}
	if x.refuseFailedCall(err) {
		return
	}
	s.admission.budget.notePeriod(&reply)
	switch {
	case reply.Granted:
		s.admission.budget.accept(&reply)
		x.admit(s.admission.mode)
	case s.admission.budget.guarded(callsToContinue):
		x.giveUp()
	case reply.Next > s.admission.budget.need.After: // pages must advance, or there would be no last page
		s.admission.budget.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.requestGrant()
			return
		}
		x.enter(phaseRecall)
		x.recall(idFlush, &s.admission.budget, &reply)
	case s.admission.budget.nextPass():
		x.requestGrant()
	case s.admission.budget.waitForLent():
		x.enter(phaseLent)
		x.wait(idTimer, s.admission.budget.lentMs)
	default:
		x.outOfBudget()
	}
}

// requestLevels asks the Ledgers of all levels that lack budget. If the request is ordered, it asks only one.
func (x *exchange) requestLevels(reply *keymeter.AdmitReply) {
	b := &x.s.admission.budget
	b.asked, b.grants = nil, nil
	if b.guarded(len(reply.Levels) + 1) {
		x.giveUp()
		return
	}
	if b.ordered {
		b.beginLevel(reply, &reply.Levels[0])
		x.requestGrant()
		return
	}
	x.enter(phaseGrant)
	b.asked = reply.Levels
	for i := range b.asked {
		b.beginLevel(reply, &b.asked[i])
		x.callGrant(idLevelGrant+uint64(i), b)
	}
}

// onLevelGrant takes one Ledger's reply to the first request for budget. After the last reply, the request is
// admitted again. From then on, it is ordered. If a Ledger's budget is spent, the request is over its budget.
func (x *exchange) onLevelGrant() {
	b := &x.s.admission.budget
	at := x.event.ID - idLevelGrant
	reply, err := x.admissionGrant(b.asked[at].Ledger)
	if x.event.Code != abi.OutcomeOK && b.asksOnlyToLend() && x.dropAsk() {
		x.cancelWithin(idLevelGrant, idListEnd)
		b.asked, b.grants = nil, nil
		x.admit(x.s.admission.mode)
		return
	}
	if x.refuseFailedCall(err) {
		return
	}
	switch {
	case reply.Granted:
		b.grants = append(b.grants, levelGrant(b.asked[at].Ledger, &reply))
	case reply.Spent && reply.Next == "":
		b.noteSpent(at, &reply)
	}
	switch {
	case x.pendingWithin(idLevelGrant, idListEnd):
	case b.over > 0:
		b.over, b.asked = 0, nil
		x.outOfBudget()
	default:
		b.ordered, b.asked = true, nil
		x.admit(x.s.admission.mode)
	}
}

// giveUp refuses a request that has made too many calls.
func (x *exchange) giveUp() { x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs}) }

// overOwn handles a key whose own budget is too small. If only leases hold what the request needs, it waits for them.
func (x *exchange) overOwn(reply *keymeter.AdmitReply) {
	b := &x.s.admission.budget
	b.beginOwn(reply)
	if !b.spent && x.s.admission.rounds < maxRounds && b.waitForLent() {
		x.enter(phaseLent)
		x.wait(idTimer, b.lentMs)
		return
	}
	x.outOfBudget()
}

// retryAdmission admits the request again after it has waited for the lease or for lent budget.
func (x *exchange) retryAdmission() { x.admit(x.s.admission.mode) }

// outOfBudget refuses the request, unless its response is free because it is cached or comes from a flight.
func (x *exchange) outOfBudget() {
	switch {
	case x.s.rejected != fault.None && x.s.rejected != fault.Blocked:
		x.respondRejection() // as in refuseAdmission
	case x.s.hit.found && (x.s.admission.mode != keymeter.ModeHit || overFault(&x.s.admission.budget) == fault.BudgetExceeded):
		x.admit(keymeter.ModeHit) // a hit costs nothing, but counts as a request
	case x.pending(idKV):
		x.enter(phaseOverBudget)
	case x.s.flight.role == follows:
		x.enter(phaseOverBudget)
		x.awaitFlight()
	case x.s.admission.budget.unreachable:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	default:
		x.refuse(overFault(&x.s.admission.budget), x.overBudget(&x.s.admission.budget, x.s.admission.least()))
	}
}

func (x *exchange) onFlush() {
	x.deliverFlush(x.event.ID-idFlush+idAbsorb, &x.s.admission.budget)
	x.afterFlush()
}

func (x *exchange) onAbsorb() {
	if x.event.Code != abi.OutcomeOK {
		x.s.admission.budget.unreachable = true
	}
	x.afterFlush()
}

func (x *exchange) afterFlush() {
	if !x.pendingWithin(idFlush, idExtendFlush) {
		x.requestGrant()
	}
}

// onMemoryCache handles the result of the lookup in host memory. After a miss, the lookup in the shared stores runs
// in parallel with the admission. If the exchange follows a flight, the leader does that lookup. If the exchange leads
// a flight on a host without shared stores, the host has already said so, which saves a step.
func (x *exchange) onMemoryCache() {
	x.noteCacheResult()
	if !x.joinedFlight() {
		return
	}
	alone := x.s.flight.role == leads && x.event.Code == abi.OutcomeUnsupported
	if !x.s.hit.found && x.s.flight.role != follows && !alone {
		x.readSharedCache()
	}
	x.admitReserved()
}

func (x *exchange) onKVCache() {
	x.noteSharedCacheResult()
	if x.s.hit.found {
		x.respondHit()
		return
	}
	x.dispatch()
}

// onKVCacheOverBudget responds from the cache. If the lookup missed, it refuses the request because the budget is
// exhausted.
func (x *exchange) onKVCacheOverBudget() {
	x.noteSharedCacheResult()
	x.outOfBudget()
}

// onFlightOverBudget handles a response from a flight for a key whose budget is exhausted. Such a response is free.
// The rest of a stream is read after the admission.
func (x *exchange) onFlightOverBudget() {
	data, f := x.event.Data, &x.s.flight
	switch x.event.Code {
	case abi.FlightMore:
		r := abi.Reader{Buf: data}
		provider, model := r.String(), r.String()
		if r.Err() == nil && x.mayUse(model) {
			x.s.hit, f.kept = hit{found: true, provider: provider, model: model}, true
			x.keep(bufferFlight, data)
		} else {
			x.land(abi.FlightRetry, nil)
		}
	case abi.FlightLanded:
		*f = flight{}
		x.useHit(data)
	default:
		*f = flight{}
	}
	x.outOfBudget()
}

func (x *exchange) serveCompletion() {
	s := &x.s
	switch {
	case s.flight.kept:
		x.follow()
	case s.hit.found:
		x.respondHit()
	case s.flight.role == follows:
		x.follow()
	case x.pending(idKV):
		x.enter(phaseCache)
	default:
		x.dispatch()
	}
}
