package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// maxRounds bounds how often an exchange asks for admission: again with a newer record, or with a grant.
const maxRounds = 32

// admitComplete asks to let a completion in: as a hit, or with a reservation and, beside it, a look at the
// slower tier of the cache.
func (x *exchange) admitComplete() {
	if x.s.lookup == lookupHit {
		x.admit(keymeter.ModeHit)
		return
	}
	if len(x.s.order) == 0 {
		x.s.order = x.orderTargets()
	}
	x.s.admission.reserved = x.expectedCost()
	x.admit(keymeter.ModeReserve)
	if x.mayRead() && x.s.lookup == lookupMemory {
		x.lookInKV()
	}
}

// Bounds on what is reserved: a worst case would keep a key's other requests out for nothing.
const (
	unlimitedTokens = 4096 // for an answer whose length nobody limited
	streamTokens    = 1024 // for a stream, which reserves more as it goes
)

// expectedCost is the most that the dearest target of the route should cost, or for a stream its beginning.
// JSON mode may ask twice.
func (x *exchange) expectedCost() money.Pico {
	q := &x.s.request
	// The estimate of the prompt is an average: reserve twice as much.
	u := chat.Usage{Input: 2 * q.promptTokens, Output: q.maxTokens}
	if q.maxTokens == 0 {
		u.Output = unlimitedTokens
	}
	if q.stream {
		u.Output = min(u.Output, streamTokens)
	}
	u.Output *= max(q.n, 1)
	most := x.dearest(&u)
	if q.json {
		most = money.Add(most, most)
	}
	return most
}

func (x *exchange) dearest(u *chat.Usage) (most money.Pico) {
	if x.testMode() {
		return 0
	}
	for i, t := range x.targets() {
		if x.ready(i) && x.permits(i) {
			most = max(most, t.Model.Cost(u))
		}
	}
	return most
}

// testMode: development keys are answered by the mock, whatever the model, and cost nothing.
func (x *exchange) testMode() bool { return x.s.record.Environment == keys.Development }

func (x *exchange) orderTargets() []byte {
	strategy := config.Ordered
	if tier := x.tier(); x.s.policy.routed {
		strategy = x.s.policy.strategy
	} else if tier != nil {
		strategy = tier.Strategy
	}
	q := &x.s.request
	u := chat.Usage{Input: q.promptTokens, Output: q.maxTokens}
	if q.maxTokens == 0 {
		u.Output = streamTokens
	}
	return x.circuits.Order(strategy, x.targets(), x.now, x.random,
		func(m *config.Model) int64 { return m.Cost(&u) },
		func(i int) bool { return x.testMode() || x.ready(i) && x.permits(i) })
}

// tier is the one that the caller named, or nil.
func (x *exchange) tier() *config.Tier { return x.config.Tier(x.s.request.model) }

// targets are those of the tier that the caller named, by the project's word or the catalog's, or the one
// model.
func (x *exchange) targets() []config.Target {
	if x.memo == nil {
		x.memo = x.findTargets()
	}
	return x.memo
}

func (x *exchange) findTargets() []config.Target {
	if x.s.policy.routed {
		return x.s.policy.targets
	}
	if tier := x.tier(); tier != nil {
		return tier.Targets
	}
	return []config.Target{{Model: x.config.Model(x.s.request.model)}}
}

// target is the present one's place among the targets.
func (x *exchange) target() int { return int(x.s.order[min(int(x.s.at), len(x.s.order)-1)]) }

// model is that of the present target.
func (x *exchange) model() *config.Model { return x.targets()[x.target()].Model }

// modelName is the present target's, if there is one yet.
func (x *exchange) modelName() string {
	if len(x.s.order) == 0 {
		return ""
	}
	return x.model().Name
}

func (x *exchange) admit(mode keymeter.Mode) {
	s := &x.s
	s.admission.asked, s.admission.mode = true, mode
	s.admission.rounds++
	s.times.admitStart = x.now
	command := keymeter.Admit{
		RequestID: s.requestID, Version: s.record.Version, Mode: mode, Grant: s.admission.grant, Final: s.admission.final,
	}
	switch mode {
	case keymeter.ModeReserve:
		command.Model, command.AmountPico = x.model().Name, s.admission.reserved
	case keymeter.ModeHit:
		command.Model, command.Trace = s.hit.model, x.trace(200)
	case keymeter.ModeCount:
		command.Model, command.Trace = s.request.model, x.trace(max(s.bad, 200))
		if s.bad != 0 {
			command.Model = "" // whatever the caller named
		}
	}
	if mode != keymeter.ModeCheck {
		command.Idempotency, command.BodyHash = x.repeatable(), s.bodyHash
		command.ExpiresMs = x.config.LongestAttemptMs(x.tier(), max(1, len(s.order)))
	}
	x.call(idAdmit, abi.ClassKeyMeter, s.keyHash, command.Encode())
}

// repeatable is the hash of the caller's Idempotency-Key, or "" if no answer is to be kept under it: whether a
// model is allowed depends on the operator, not on the request.
func (x *exchange) repeatable() string {
	if x.s.bad == fault.ModelForbidden.Status {
		return ""
	}
	return x.s.idempotency
}

func (x *exchange) admitReply() {
	s := &x.s
	s.times.admit += x.since(s.times.admitStart)
	var reply keymeter.AdmitReply
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = keymeter.DecodeAdmitReply(x.event.Data)
	}
	if x.failedCall(err) {
		return
	}
	s.admission.windows = reply.Windows
	switch reply.Verdict {
	case keymeter.Admitted:
		if s.admission.mode == keymeter.ModeReserve {
			s.admission.reserved = reply.ReservedPico
		}
		x.admitted()
	case keymeter.Unknown:
		x.strange()
	case keymeter.Inactive:
		// Not remembered as unknown: it may be active again any moment.
		x.s.known = true
		x.strange()
	case keymeter.Stale:
		if s.admission.rounds < maxRounds {
			x.adopt(reply.Record)
			return
		}
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	case keymeter.Short:
		x.askGrant(x.shortOf(&reply))
	default:
		x.notAdmitted(&reply)
	}
}

// notAdmitted answers the verdicts that end the exchange.
func (x *exchange) notAdmitted(reply *keymeter.AdmitReply) {
	switch reply.Verdict {
	case keymeter.RateLimited:
		if x.s.bad != 0 {
			// The request is wrong, whoever sends it and however often: that comes first.
			x.refuseBad()
			return
		}
		x.refuse(fault.RateLimited, refusal{retryMs: reply.RetryMs})
	case keymeter.Crowded:
		x.refuse(fault.RateLimited, refusal{retryMs: crowdedRetryMs})
	case keymeter.Replay:
		x.replay(reply.Answer)
	case keymeter.Running:
		x.refuse(fault.IdempotencyRunning, refusal{retryMs: crowdedRetryMs})
	case keymeter.Mismatch:
		x.refuse(fault.IdempotencyReused, refusal{})
	case keymeter.Unreplayable:
		x.refuse(fault.Unreplayable, refusal{noRetry: true})
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

const crowdedRetryMs = 1000

// admitted goes on with what the exchange is about.
func (x *exchange) admitted() {
	s := &x.s
	s.admission.admitted = true
	switch {
	case !x.permitted():
		x.refuse(fault.Forbidden, refusal{})
	case s.route == routeHealth:
		x.health()
	case s.route == routeUsage:
		x.usage()
	case s.route == routeModels || s.route == routeModel:
		x.models()
	case s.bad != 0:
		x.refuseBad()
	case s.route == routeCount:
		x.countTokens()
	case s.lookup == lookupHit:
		x.respondHit()
	case s.lookup == lookupKV:
		// The cache has not answered yet.
	default:
		x.dispatch()
	}
}

// shortOf is the question for the Ledger that a short meter's answer leads to.
func (x *exchange) shortOf(reply *keymeter.AdmitReply) ledger.Grant {
	return ledger.Grant{
		Key: x.s.keyHash, Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico,
	}
}

// askGrant asks the Ledger for a slice of the budget.
func (x *exchange) askGrant(g ledger.Grant) {
	if x.s.admission.rounds >= maxRounds {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	x.s.admission.need = g
	x.call(idGrant, abi.ClassLedger, x.s.record.ProjectID, g.Encode())
}

// grantReply takes the slice and asks for admission again. If the budget has no more, unused slices of the
// project's other keys are recalled, page by page, before it is called exceeded.
func (x *exchange) grantReply() {
	s := &x.s
	var reply ledger.GrantReply
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = ledger.DecodeGrantReply(x.event.Data)
	}
	if s.stream.begun {
		if x.event.Code == abi.OutcomeOK && err == nil {
			x.extendGranted(&reply)
		}
		return
	}
	if x.failedCall(err) {
		return
	}
	switch {
	case reply.Granted:
		s.admission.grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
		s.admission.final = reply.Final
		x.admit(s.admission.mode)
	case reply.Next != "":
		x.recall(&reply)
	default:
		x.outOfBudget()
	}
}

// recall has meters give back, and then asks the Ledger once more.
func (x *exchange) recall(reply *ledger.GrantReply) {
	x.s.admission.need.After = reply.Next
	if len(reply.Recall) == 0 {
		x.askGrant(x.s.admission.need)
		return
	}
	x.flush(reply.Recall, true)
}

// outOfBudget refuses, unless the answer is cached and costs nothing. The cache may not have answered yet.
func (x *exchange) outOfBudget() {
	x.s.broke = true
	switch x.s.lookup {
	case lookupHit:
		x.admit(keymeter.ModeHit)
	case lookupKV:
	default:
		x.refuse(fault.BudgetExceeded, refusal{noRetry: true})
	}
}

// flush has meters hand over their news.
func (x *exchange) flush(meters []string, recall bool) {
	x.s.pending, x.s.open = uint64(len(meters)), 0
	command := keymeter.Flush{Recall: recall}
	encoded := command.Encode()
	for i, meter := range meters {
		x.call(idFlush+uint64(i), abi.ClassKeyMeter, meter, encoded)
	}
}

// flushReply carries a meter's news to the Ledger. A meter that cannot be asked will deliver by itself.
func (x *exchange) flushReply() {
	x.s.pending--
	if x.event.Code == abi.OutcomeOK {
		if reply, err := keymeter.DecodeFlushReply(x.event.Data); err == nil {
			x.s.open += reply.Open
			if len(reply.Absorbs) > 0 {
				x.carry(x.event.ID-idFlush, reply.Absorbs)
				return
			}
		}
	}
	x.flushedOne()
}

// carry sends the batches of one meter, which must arrive in order, as one command.
func (x *exchange) carry(meter uint64, absorbs [][]byte) {
	x.s.pending++
	x.call(idAbsorb+meter, abi.ClassLedger, x.s.record.ProjectID, ledger.Batch(absorbs))
}

func (x *exchange) flushed() {
	x.s.pending--
	x.flushedOne()
}

// flushedOne goes on when all news is there.
func (x *exchange) flushedOne() {
	s := &x.s
	if s.pending > 0 {
		return
	}
	if s.route == routeUsage {
		x.newsIn()
		return
	}
	x.askGrant(s.admission.need)
}

// listed says whether a list of names allows a model that is asked for under a name. An empty list allows all.
// It may name models, aliases, provider/model, and tiers: a tier's models are allowed under the tier's name.
func (x *exchange) listed(list []string, m *config.Model, as string) bool {
	if len(list) == 0 || slices.Contains(list, as) {
		return true
	}
	for _, name := range list {
		if name == m.Name || x.config.Tier(name) == nil && x.config.Model(name) == m {
			return true
		}
	}
	return false
}

// allowsAny says whether the key and its project allow any of the request's targets.
func (x *exchange) allowsAny() bool {
	for i := range x.targets() {
		if x.permits(i) {
			return true
		}
	}
	return false
}
