package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// observe receives every command that an object has committed, with the reply. The world uses them for its own
// accounts, with which it checks the objects.
func (w *world) observe(o *object, command, reply []byte) {
	switch o.class {
	case abi.ClassKeyMeter:
		if k := w.byHash[o.name]; k != nil {
			k.observe(o, command, reply)
		}
	case abi.ClassLedger:
		w.traceLedger(o, command, reply)
		if len(command) > 0 && op(command) == opBudget {
			w.node(o.name).put(command)
		}
	}
}

func (w *world) projectOf(id string) *project {
	at := slices.IndexFunc(w.projects, func(p *project) bool { return p.id == id })
	return w.projects[at]
}

func (k *key) observe(o *object, command, reply []byte) {
	clockMs := o.clock()
	if day := clockMs / dayMs; day > k.day {
		k.day, k.dayLent = day, 0
	}
	defer func() { k.checkLeases(o, clockMs, len(command) == 0) }()
	if len(command) == 0 {
		k.expire(o, clockMs)
		return
	}
	k.traceFlush(command, reply)
	switch op(command) {
	case opAdmit:
		a := readAdmit(command)
		r, err := keymeter.DecodeAdmitReply(reply)
		if err != nil {
			k.w.fail("host", "the reply to an admit is malformed")
		}
		if a.release {
			return
		}
		k.checkAdmit(clockMs, &a, &r)
		if r.Verdict == keymeter.Admitted {
			k.grant(clockMs, &r.Lease)
		}
	case opExtend:
		r, err := keymeter.DecodeAdmitReply(reply)
		if v := k.open[readExtend(command)]; err == nil && v != nil && r.Verdict == keymeter.Admitted && r.ReservedPico > v.amount {
			v.places.book(k, pico(r.ReservedPico-v.amount), pico(0))
			v.amount = r.ReservedPico
			k.checkReserved(v)
			k.changed()
		}
	case opSettle:
		s := readSettle(command)
		if s.outcome == keymeter.Finish {
			k.finish(&s)
			return
		}
		k.settle(&s)
	case opReport:
		r, err := keymeter.DecodeReportReply(reply)
		if err != nil {
			k.w.fail("host", "the reply to a report is malformed")
		}
		k.report(clockMs, keymeter.Open(command).(*keymeter.Report), &r)
	case opPut:
		if status, record := readPut(command); record.Version > k.state().record.Version {
			k.states = append(k.states, keyState{k.w.now, status, record})
			k.w.logf("%s: the meter has version %d, status %d", k.id, record.Version, status)
		}
		if r, err := keymeter.DecodePutReply(reply); err != nil || r.WaitMs > slackMs {
			k.w.fail("I13 wait", "%s: its meter asks to wait for %d ms", k.id, r.WaitMs)
		}
	}
}

// checkAdmit checks the reply to an admit: I1, I4, I10, and I11 for the limits.
func (k *key) checkAdmit(clockMs uint64, a *admitCommand, r *keymeter.AdmitReply) {
	w, state := k.w, k.state()
	x := w.byID[a.id]
	w.logf("%s: admit on %s: mode %d, amount %d (least %d), version %d: verdict %d, need %d, reserved %d", a.id, k.id, a.mode, a.amount, a.least, a.version, r.Verdict, r.NeedPico, r.ReservedPico)
	expired := state.record.ExpiresMs != 0 && state.record.ExpiresMs <= clockMs
	switch r.Verdict {
	case keymeter.Admitted:
		if state.status != doc.Active || expired {
			w.fail("I4", "%s is admitted on %s, whose status is %d", a.id, k.id, state.status)
		}
		if a.version < state.record.Version && !k.knows(a.id) {
			w.fail("I10", "%s is admitted with version %d of %s, which is at version %d", a.id, a.version, k.id, state.record.Version)
		}
		k.noteAdmission(clockMs, a, r)
	case keymeter.Unknown, keymeter.Inactive:
		if state.status == doc.Active && !expired {
			w.fail("I11", "%s got verdict %[3]d for %[2]s, which is active", a.id, k.id, r.Verdict)
		}
	case keymeter.Short:
		x.history.indebted = x.history.indebted || r.NeedPico > a.amount
	case keymeter.RateLimited:
		k.checkLimited(a)
		x.history.limited = true
	case keymeter.ConcurrencyLimited:
		if concurrent := worldConfig.Plan(state.record.Plan).Concurrent; uint64(len(k.open))+k.lentSlots() < concurrent {
			w.fail("I11", "%s is rejected with %d of %d concurrent requests, and %d lent", a.id, len(k.open), concurrent, k.lentSlots())
		}
		x.history.limited = true
	}
}

// noteAdmission records an admission. If it is a repeat that the meter must recognize, it records nothing (I6).
func (k *key) noteAdmission(clockMs uint64, a *admitCommand, r *keymeter.AdmitReply) {
	switch {
	case k.knows(a.id):
		if k.open[a.id] == nil && r.ReservedPico > 0 {
			k.w.fail("I6", "%s is admitted again after it was settled", a.id)
		}
		return
	case a.mode != keymeter.ModeCheck:
		k.admit(clockMs, a, r)
	case len(a.violations) > 0:
		k.remember(a.id)
	}
	k.noteViolations(a.id, a.violations)
}

// admit records an admission that counts, and checks I1. If the meter has forgotten an admission, a late repeat of it
// counts again.
func (k *key) admit(clockMs uint64, a *admitCommand, r *keymeter.AdmitReply) {
	w := k.w
	if v := k.all[a.id]; v != nil {
		k.lost = append(k.lost, v)
	}
	if a.mode != keymeter.ModeReserve {
		k.remember(a.id)
	}
	k.day = max(k.day, clockMs/dayMs)
	limits := k.limits()
	k.admitted = append(k.admitted, admission{w.now, k.day, k.jumped, limits.PerSecond > 0})
	k.ticks = append(k.ticks, tick{clockMs, 1})
	k.dayLent++
	second, day := k.counts()
	if limits.PerSecond > 0 && second > limits.PerSecond || limits.PerDay > 0 && day > limits.PerDay {
		w.fail("I1", "%s: %d admissions in a second with limit %d, %d in a day with limit %d", k.id, second, limits.PerSecond, day, limits.PerDay)
	}
	if a.mode == keymeter.ModeHit {
		k.hits++
	}
	at := k.places(clockMs)
	at.book(k, budget.Amounts{}, one)
	if a.mode != keymeter.ModeReserve {
		w.byID[a.id].history.claim.end(w.now)
		at.checkSpent(a.id)
		k.changed()
		return
	}
	v := &reservation{x: w.byID[a.id], amount: r.ReservedPico, first: r.ReservedPico, model: a.model, expiresMs: clockMs + a.expiresMs, places: at}
	v.x.history.resv = v
	v.x.history.claim.end(w.now)
	k.addReservation(v)
	if concurrent := worldConfig.Plan(k.state().record.Plan).Concurrent; k.running() > concurrent {
		w.fail("I1", "%s has %d concurrent requests, limit %d", k.id, k.running(), concurrent)
	}
	v.places.book(k, budget.Amounts{Pico: v.amount, Tokens: 1}, budget.Amounts{})
	k.checkReserved(v)
	k.changed()
}

// released returns what the end of a reservation adds to the reserved amounts.
func (r *reservation) released() budget.Amounts { return budget.Amounts{Pico: -r.amount, Tokens: -1} }

// maxTokens is the largest number of tokens that a request counts.
const maxTokens = 1 << 40

// checkReserved checks I3 at reservation time: reserved plus spent stays within the budget.
func (k *key) checkReserved(v *reservation) {
	v.places.checkReserved(k, v.x.id, v.amount > v.first)
}

// counts returns the admissions of the last second and of the day. A clock jump begins a new second.
func (k *key) counts() (second, day uint64) {
	for i := len(k.admitted) - 1; i >= 0; i-- {
		a := &k.admitted[i]
		if a.limited && a.jumped == k.jumped && a.at+secondMs > k.w.now {
			second++
		}
		if a.day == k.day {
			day++
		}
	}
	return second, day
}

// checkLimited checks I11 for a 429: a window must have been full.
func (k *key) checkLimited(a *admitCommand) {
	if k.jumped > 0 {
		return // after a jump back, the second begins full, and the token count begins at 0
	}
	limits := k.limits()
	second, day := k.counts()
	if len(k.lends) > 0 {
		second, day = k.lentCounts()
	}
	used := uint64(0)
	for _, t := range k.usedUp {
		if t.at+minuteMs+secondMs > k.w.now {
			used += t.count
		}
	}
	full := limits.PerSecond > 0 && second >= limits.PerSecond || limits.PerDay > 0 && day >= limits.PerDay ||
		limits.TokensPerMinute > 0 && used >= limits.TokensPerMinute
	if !full {
		k.w.fail("I11", "%s is rate limited on %s: %d this second with limit %d, %d today with limit %d, %d tokens with limit %d",
			a.id, k.id, second, limits.PerSecond, day, limits.PerDay, used, limits.TokensPerMinute)
	}
}

func (k *key) settle(s *settleCommand) {
	if k.charge(s) {
		k.remember(s.id)
	}
}

// finish records the violations in the response to a request that has no reservation.
func (k *key) finish(s *settleCommand) {
	if name := s.id + " finished"; len(s.violations) > 0 && !k.knows(name) {
		k.remember(name)
		k.noteViolations(name, s.violations)
	}
}

// charge records a reservation's first settlement and ignores later ones.
func (k *key) charge(s *settleCommand) bool {
	w, v := k.w, k.all[s.id]
	if v == nil || v.settled {
		return false
	}
	w.logf("%s: settled: outcome %d, %v, %d reserved", s.id, s.outcome, s.charges, v.amount)
	v.settled, v.outcome = true, *s
	v.x.checkOutcome(s)
	v.x.checkReviewed(s)
	k.checkRepeated(s)
	k.noteViolations(s.id+" settled", s.violations)
	for _, c := range s.charges {
		if c.cost > 0 && !slices.ContainsFunc(v.x.history.fetches, func(f *fetch) bool { return f.model.Name == c.model }) {
			w.fail("I12 not called", "%s: %d is booked to %q, which was not called", s.id, c.cost, c.model)
		}
	}
	v.x.checkDelivered(v.amount)
	p := k.project
	if v.expired {
		v.places.book(k, budget.Amounts{}, pico(-v.amount))
		p.booked -= v.amount
	} else {
		delete(k.open, s.id)
		v.places.book(k, v.released(), budget.Amounts{})
	}
	v.places.book(k, budget.Amounts{}, budget.Amounts{Pico: s.cost, Tokens: int64(min(s.tokens, maxTokens))})
	p.booked += s.cost
	k.changed()
	k.usedUp = append(k.usedUp, tokens{w.now, s.tokens})
	if s.cost > v.amount {
		v.places.allow(v.x.allowedExcess(s.cost, v.amount))
	}
	v.places.checkSpent(s.id)
	return true
}

// checkStoredOutcome checks the outcome of a settlement that stored the response before the response was sent.
func (x *exchange) checkStoredOutcome() {
	if i := &x.history.idem; i.answer {
		x.checkOutcome(&settleCommand{id: x.id, outcome: i.settled})
	}
}

// checkOutcome checks I2. The settled outcome must agree with the caller's response.
func (x *exchange) checkOutcome(s *settleCommand) {
	if x.item.Idem != "" && !x.done {
		x.history.idem.answer, x.history.idem.settled = true, s.outcome
		return
	}
	served := x.history.status == 200
	if x.streamed() {
		served = x.history.hit || slices.ContainsFunc(x.history.fetches, func(f *fetch) bool { return f.content })
	}
	if settled := s.outcome != keymeter.Released; settled != served && !x.disconnected && !x.dead && !x.key.test() {
		x.w.fail("I2 counts", "%s is settled with outcome %d, and its caller got %d", x.id, s.outcome, x.history.status)
	}
}

// allowedExcess returns by how much an exchange's cost may exceed its reservation. It is the sum of three parts: the
// prompt's underestimate, the cost of failed attempts, and output beyond the requested limit. For a stream,
// checkDelivered limits the part that was delivered, but the provider may charge more.
func (x *exchange) allowedExcess(cost, reserved int64) int64 {
	over := cost - reserved
	if len(x.history.fetches) != 1 {
		return over
	}
	f := x.history.fetches[0]
	if f.stream || f.behavior.Over || f.flagged || x.w.plan.Projects[x.project.number].Unbounded {
		return over
	}
	prompt := max(f.billed(f.asked, 0), f.tierCost(f.asked, f.in, 0)) - f.tierCost(f.asked, 2*f.prompt*3/4, 0)
	return min(over, max(0, prompt))
}

// expire charges the reserved amounts of reservations that have expired.
func (k *key) expire(o *object, clockMs uint64) {
	var open []string
	if row, ok := o.find("h"); ok && len(k.lends) > 0 {
		_, open, _ = keymeter.StateOf(o.rows[row].Value)
	}
	for _, v := range k.openInOrder() {
		id, x := v.x.id, v.x
		if v.lease == nil && v.expiresMs > clockMs || v.lease != nil && slices.Contains(open, id) {
			continue
		}
		if !x.dead && !x.history.faulty && !x.history.failed && k.jumped == 0 && (x.isolate.wentBackAt == 0 || x.isolate.wentBackAt < x.history.arrivedAt) && !(v.lease != nil && v.lease.faulty()) {
			k.w.fail("I13", "%s: its reservation expires without a fault", id)
		}
		k.w.logf("%s: its reservation of %d expires", id, v.amount)
		v.expired = true
		delete(k.open, id)
		k.remember(id)
		v.places.book(k, v.released(), pico(v.amount))
		k.project.booked += v.amount
		k.changed()
		k.w.stats.Expired++
	}
}
