package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// maxRounds limits how often an exchange calls admit: it repeats the call with a newer record or with a grant.
const maxRounds = 32

// admitCompletion admits a completion: as a cache hit, or with a reservation. For the latter, the lookup in the KV
// cache runs in parallel.
func (x *exchange) admitCompletion() {
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
func (x *exchange) admit(mode keymeter.Mode) {
	s := &x.s
	command := keymeter.Admit{
		RequestID: s.requestID, Version: s.record.Version, Mode: mode, Grant: s.admission.budget.grant,
	}
	switch mode {
	case keymeter.ModeReserve:
		command.Model, command.AmountPico, command.LeastPico = x.model().Name, s.admission.amount, s.admission.minAmount
		command.Final = s.admission.budget.final
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
		command.Violations = s.govern.violations
		command.Idempotency, command.BodyHash = x.replayKey(), s.bodyHash
		command.Rerun = s.rerun && command.Idempotency != ""
		command.LifetimeMs = x.config.LongestRequestMs(x.tier()) + x.classifierTimeoutMs()
	}
	if x.takeLease(&command) {
		x.admitted()
		return
	}
	s.admission.called, s.admission.mode = true, mode
	s.admission.rounds++
	s.times.admitStart = x.now
	x.enter(phaseAdmit)
	x.call(idAdmit, abi.ClassKeyMeter, s.keyHash, command.Encode())
}

// admitReply decodes the meter's reply. If the call failed, it refuses the exchange and returns false.
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

// admittedUnheard notes that the meter has admitted the request, or perhaps has, and the reply was lost. The refusal then releases
// the reservation. Violations arrived with the admission or not at all, so the settlement must not repeat them.
func (x *exchange) admittedUnheard() {
	x.s.admission.admitted = true
	x.takeViolations()
}

// onAdmit takes the meter's verdict.
func (x *exchange) onAdmit() {
	reply, ok := x.admitReply()
	if !ok {
		return
	}
	again := x.s.admission.rounds < maxRounds
	switch {
	case reply.Verdict == keymeter.Admitted:
		x.s.admission.admitted, x.s.admission.reserved = true, reply.ReservedPico
		x.takeViolations() // the meter has committed them with the admission
		x.admitted()
	case reply.Verdict == keymeter.Unknown, reply.Verdict == keymeter.Inactive:
		if reply.ReservedPico > 0 {
			x.admittedUnheard()
		}
		x.refuseUnknownKey(reply.Verdict)
	case reply.Verdict == keymeter.Stale && again:
		x.adoptRecord(reply.Record)
	case reply.Verdict == keymeter.Short && again:
		x.s.admission.budget.begin(&reply)
		x.requestGrant()
	default:
		x.refuseAdmission(&reply)
	}
}

// refuseAdmission handles the verdicts that end the exchange.
func (x *exchange) refuseAdmission(reply *keymeter.AdmitReply) {
	switch reply.Verdict {
	case keymeter.RateLimited:
		if x.s.rejected != "" && x.rejection() != fault.Blocked {
			// A rejected request fails at any rate, so its own error takes precedence over the rate limit. A block does
			// not: its violation was not recorded, and callers could try out the policy without a limit.
			x.respondRejection()
			return
		}
		x.refuse(fault.RateLimited, refusal{retryMs: reply.RetryMs})
	case keymeter.ConcurrencyLimited:
		x.refuse(fault.RateLimited, refusal{retryMs: inProgressRetryMs})
	case keymeter.Replay:
		x.replay(reply.Answer)
	case keymeter.Running:
		x.refuse(fault.IdempotencyRunning, refusal{retryMs: inProgressRetryMs})
	case keymeter.Mismatch:
		x.refuse(fault.IdempotencyReused, refusal{details: []fault.Detail{
			{Field: "Idempotency-Key", Message: "was used with a different request; use a new Idempotency-Key"},
		}})
	case keymeter.OutcomeUnknown:
		x.refuse(fault.IdempotencyUnknown, refusal{noRetry: true, details: []fault.Detail{
			{Field: "Idempotency-Key", Message: "was used by a request that a provider may have executed; to run it again, repeat it with " +
				rerunHeader + ": true"},
		}})
	case keymeter.Unreplayable:
		x.refuse(fault.Unreplayable, refusal{noRetry: true})
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

// inProgressRetryMs is the Retry-After while other requests of the key are in progress.
const inProgressRetryMs = 1000

// admitted dispatches the admitted request by endpoint.
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
	case s.rejected != "":
		x.respondRejection()
	case s.endpoint == endpointValidate:
		x.respondValidation()
	case s.endpoint == endpointCount:
		x.countTokens()
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

// begin records the meter's shortfall. It resets need.After, so the next recall starts from the first key: other
// keys' slices may be idle by now.
func (b *budgetRequest) begin(reply *keymeter.AdmitReply) {
	b.need = ledger.Grant{
		Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico,
	}
	b.final, b.unreachable, b.recalled, b.passes, b.lentMs = false, false, false, 0, reply.LentMs
}

// accept records the grant for the next admit or extend.
func (b *budgetRequest) accept(reply *ledger.GrantReply) {
	b.grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
	b.final = reply.Final
}

// callGrant calls the Ledger for the shortfall. The reply arrives under id.
func (x *exchange) callGrant(id uint64, b *budgetRequest) {
	g := b.need
	g.Key = x.s.keyHash
	if x.s.leased.pinned {
		g.WantPico = money.Cost(lendableRequests, max(g.NeedPico, x.s.admission.amount))
	}
	x.call(id, abi.ClassLedger, x.s.record.ProjectID, g.Encode())
}

// lendableRequests is the number of requests for which the meter of a key with a lending plan wants budget.
const lendableRequests = 512

// requestGrant asks the Ledger for a slice of the budget.
func (x *exchange) requestGrant() {
	x.enter(phaseGrant)
	x.callGrant(idGrant, &x.s.admission.budget)
}

// onGrant admits the request again with the granted slice. If the budget is too small, it first recalls idle
// slices from the project's other keys; only then is the budget exceeded.
func (x *exchange) onGrant() {
	s := &x.s
	reply, err := x.grantReply()
	if x.event.Code != abi.OutcomeOK && s.admission.budget.need.NeedPico == 0 && x.dropAsk() {
		x.admit(s.admission.mode) // the slice covers the request, only not a lease
		return
	}
	if x.refuseFailedCall(err) {
		return
	}
	s.admission.budget.spent = reply.Spent
	switch {
	case reply.Granted:
		s.admission.budget.accept(&reply)
		x.admit(s.admission.mode)
	case reply.Next > s.admission.budget.need.After: // pages must advance, so that paging terminates
		s.admission.budget.need.After = reply.Next
		if len(reply.Recall) == 0 {
			x.requestGrant()
			return
		}
		x.enter(phaseRecall)
		x.recall(idFlush, &reply)
	case s.admission.budget.nextPass():
		x.requestGrant()
	case s.admission.budget.waitForLent():
		x.enter(phaseLent)
		x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: s.admission.budget.lentMs})
	default:
		x.outOfBudget()
	}
}

// maxLentWaits limits how often a request waits for budget that meters have lent to isolates. A meter that is asked for it
// stops lending, so one wait usually suffices.
const maxLentWaits = 3

// waitForLent decides whether to wait until what meters have lent returns: the budget is not known to be exhausted before.
func (b *budgetRequest) waitForLent() bool {
	if b.lentMs == 0 || b.waits == maxLentWaits {
		return false
	}
	b.waits++
	return true
}

// retryAdmission admits the request again after lent budget has returned.
func (x *exchange) retryAdmission() { x.admit(x.s.admission.mode) }

// maxPasses limits how many more times all keys with idle budget are recalled. A recalled slice may have been
// granted to another key before this exchange asked the Ledger again.
const maxPasses = 1

// nextPass starts another pass over the keys with idle budget, if the last one recalled anything.
func (b *budgetRequest) nextPass() bool {
	if !b.recalled || b.unreachable || b.passes == maxPasses {
		return false
	}
	b.recalled, b.need.After = false, ""
	b.passes++
	return true
}

func (x *exchange) grantReply() (reply ledger.GrantReply, err error) {
	if x.event.Code == abi.OutcomeOK {
		reply, err = ledger.DecodeGrantReply(x.event.Data)
	}
	return reply, err
}

// outOfBudget refuses the request, unless its response is cached or comes from a flight: that costs nothing.
func (x *exchange) outOfBudget() {
	switch {
	case x.s.hit.found:
		x.admit(keymeter.ModeHit)
	case x.pending(idKV):
		x.enter(phaseOverBudget)
	case x.s.flight.role == follows:
		x.enter(phaseOverBudget)
		x.awaitFlight()
	case x.s.admission.budget.unreachable:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	default:
		x.refuse(fault.BudgetExceeded, refusal{noRetry: x.s.admission.budget.spent})
	}
}

// recall asks the meters to return their idle budget. The replies are numbered from first.
func (x *exchange) recall(first uint64, reply *ledger.GrantReply) {
	for i, meter := range reply.Recall {
		command := keymeter.Flush{Recall: true}
		if i < len(reply.HeldPico) {
			command.HeldPico = reply.HeldPico[i]
		}
		x.call(first+uint64(i), abi.ClassKeyMeter, meter, command.Encode())
	}
}

// deliverFlush sends a meter's flushed batches to the Ledger in one command, because they must arrive in order. b
// is the request that recalled them. A meter that could not be called delivers its batches itself later.
func (x *exchange) deliverFlush(first uint64, b *budgetRequest) {
	var reply keymeter.FlushReply
	err := abi.ErrMalformed
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeFlushReply(x.event.Data)
	}
	b.unreachable = b.unreachable || err != nil
	b.recalled = b.recalled || len(reply.Absorbs) > 0
	b.lentMs = max(b.lentMs, reply.LentMs)
	if x.s.phase == phaseReportFlush {
		x.s.openReservations += reply.Open
	}
	if len(reply.Absorbs) > 0 {
		x.call(first, abi.ClassLedger, x.s.record.ProjectID, ledger.Batch(reply.Absorbs))
	}
}

// onFlush takes the reply of one flushed meter.
func (x *exchange) onFlush() {
	x.deliverFlush(x.event.ID-idFlush+idAbsorb, &x.s.admission.budget)
	x.afterFlush()
}

// onAbsorb takes the Ledger's acknowledgement of one meter's batches.
func (x *exchange) onAbsorb() {
	if x.event.Code != abi.OutcomeOK {
		x.s.admission.budget.unreachable = true
	}
	x.afterFlush()
}

// afterFlush continues when all meters are flushed and all batches are delivered.
func (x *exchange) afterFlush() {
	switch {
	case x.pendingWithin(idFlush, idExtendFlush):
	case x.s.phase == phaseReportFlush:
		x.afterReportFlush()
	default:
		x.requestGrant()
	}
}
