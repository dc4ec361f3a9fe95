package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// witness is told of every command that an object has committed, and its reply: from these the world keeps its own
// books, and judges the objects.
func (w *world) witness(o *object, command, reply []byte) {
	switch o.class {
	case abi.ClassKeyMeter:
		if k := w.byHash[o.name]; k != nil {
			k.witness(o, command, reply)
		}
	case abi.ClassLedger:
		if len(command) > 0 && op(command) == opBudget {
			p := w.projectOf(o.name)
			if version, pico := readBudget(command); version > p.told {
				p.told, p.budget, p.most = version, pico, max(p.most, pico)
				p.changed()
			}
		}
	}
}

func (w *world) projectOf(id string) *project {
	at := slices.IndexFunc(w.projects, func(p *project) bool { return p.id == id })
	return w.projects[at]
}

func (k *key) witness(o *object, command, reply []byte) {
	told := o.told()
	k.day = max(k.day, told/dayMs)
	if len(command) == 0 {
		k.expire(told)
		return
	}
	switch op(command) {
	case opAdmit:
		a := readAdmit(command)
		r, err := keymeter.DecodeAdmitReply(reply)
		if err != nil {
			k.w.fail("host", "the answer to an admission is malformed")
		}
		k.answeredAdmit(told, &a, &r)
	case opExtend:
		r, err := keymeter.DecodeAdmitReply(reply)
		if v := k.open[readExtend(command)]; err == nil && v != nil && r.Verdict == keymeter.Admitted && r.ReservedPico > v.amount {
			v.turn.reserved += r.ReservedPico - v.amount
			v.amount = r.ReservedPico
			k.checkReserved(v)
			k.project.changed()
		}
	case opSettle:
		s := readSettle(command)
		k.settle(&s)
	case opPut:
		if status, record := readPut(command); record.Version > k.state().record.Version {
			k.states = append(k.states, keyState{k.w.now, status, record})
			k.w.say("%s: the meter knows version %d, status %d", k.id, record.Version, status)
		}
	}
}

// answeredAdmit judges the answer to an admission: I1, I4, and I11 of its limits.
func (k *key) answeredAdmit(told uint64, a *admitCommand, r *keymeter.AdmitReply) {
	w, state := k.w, k.state()
	x := w.byID[a.id]
	w.say("%s: %s at the meter: mode %d, %d (%d), of version %d: verdict %d, need %d, reserved %d", a.id, k.id, a.mode, a.amount, a.least, a.version, r.Verdict, r.NeedPico, r.ReservedPico)
	expired := state.record.ExpiresMs != 0 && state.record.ExpiresMs <= told
	switch r.Verdict {
	case keymeter.Admitted:
		if state.status != doc.Active || expired {
			w.fail("I4", "%s is admitted on %s, whose status is %d", a.id, k.id, state.status)
		}
		if a.version < state.record.Version {
			w.fail("I10", "%s is admitted with version %d of %s, which has %d", a.id, a.version, k.id, state.record.Version)
		}
		if a.mode != keymeter.ModeCheck {
			k.admit(told, a, r)
		}
	case keymeter.Unknown, keymeter.Inactive:
		if state.status == doc.Active && !expired {
			w.fail("I11", "%s is told that %s is not active (verdict %d)", a.id, k.id, r.Verdict)
		}
	case keymeter.RateLimited:
		k.checkLimited(a)
		x.story.limited = true
	case keymeter.ConcurrencyLimited:
		if concurrent := worldConfig.Plan(state.record.Plan).Concurrent; uint64(len(k.open)) < concurrent {
			w.fail("I11", "%s is crowded out with %d of %d requests open", a.id, len(k.open), concurrent)
		}
		x.story.limited = true
	}
}

// admit books an admission that counts, and checks I1.
func (k *key) admit(told uint64, a *admitCommand, r *keymeter.AdmitReply) {
	w := k.w
	if k.open[a.id] != nil {
		return // it is asked again
	}
	if k.counted[a.id] {
		v := k.all[a.id]
		switch {
		case v == nil || !v.settled && !v.expired || v.settled && r.ReservedPico == 0:
			return // known again (what costs nothing is counted at the end)
		case v.settled || k.jumped == 0:
			w.fail("I6", "%s is admitted again after it was settled", a.id)
		}
		k.lost = append(k.lost, v) // a jump made it expire before its call was repeated
	}
	k.counted[a.id] = true
	k.day = max(k.day, told/dayMs)
	limits := k.limits()
	k.admitted = append(k.admitted, admission{w.now, k.day, k.jumped, limits.PerSecond > 0})
	second, day := k.counts()
	if limits.PerSecond > 0 && second > limits.PerSecond || limits.PerDay > 0 && day > limits.PerDay {
		w.fail("I1", "%s: %d admissions in a second of %d, %d in a day of %d", k.id, second, limits.PerSecond, day, limits.PerDay)
	}
	if a.mode == keymeter.ModeHit {
		k.hits++
	}
	if a.mode != keymeter.ModeReserve {
		return
	}
	v := &reservation{x: w.byID[a.id], amount: r.ReservedPico, first: r.ReservedPico, model: a.model, expiresMs: told + a.expiresMs, turn: k.project.turn(max(told, k.day*dayMs))}
	v.x.story.resv = v
	v.x.story.claim.end(w.now)
	k.open[a.id], k.all[a.id] = v, v
	if concurrent := worldConfig.Plan(k.state().record.Plan).Concurrent; uint64(len(k.open)) > concurrent {
		w.fail("I1", "%s has %d requests open, of %d", k.id, len(k.open), concurrent)
	}
	v.turn.reserved += v.amount
	k.checkReserved(v)
	k.project.changed()
}

// checkReserved is I3 before anything is spent: what is reserved and what was spent stay within the budget together.
func (k *key) checkReserved(v *reservation) {
	if p, t := k.project, v.turn; v.amount > 0 && t.spent+t.reserved > p.most+t.excess && !p.jumped {
		k.w.fail("I3", "%s: %s has reserved %d and spent %d, of at most %d, and %d of that may be underestimated", v.x.id, p.id, t.reserved, t.spent, p.most, t.excess)
	}
}

// counts are the admissions of the last second and of the day. A clock that jumped begins a new second.
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

// checkLimited: 429 only if a window was full.
func (k *key) checkLimited(a *admitCommand) {
	if k.jumped > 0 {
		return // the second begins full after a jump back, and tokens count anew
	}
	limits := k.limits()
	second, day := k.counts()
	used := uint64(0)
	for _, t := range k.usedUp {
		if t.at+minuteMs+secondMs > k.w.now {
			used += t.count
		}
	}
	full := limits.PerSecond > 0 && second >= limits.PerSecond || limits.PerDay > 0 && day >= limits.PerDay ||
		limits.TokensPerMinute > 0 && used >= limits.TokensPerMinute
	if !full {
		k.w.fail("I11", "%s is limited on %s: %d in this second of %d, %d on this day of %d, %d tokens of %d",
			a.id, k.id, second, limits.PerSecond, day, limits.PerDay, used, limits.TokensPerMinute)
	}
}

// settle books a settle, if it is the first.
func (k *key) settle(s *settleCommand) {
	if s.outcome == keymeter.Finish {
		return
	}
	w, v := k.w, k.all[s.id]
	if v == nil || v.settled {
		return
	}
	w.say("%s: settled: outcome %d, %v, of %d reserved", s.id, s.outcome, s.charges, v.amount)
	v.settled, v.outcome = true, *s
	v.x.checkOutcome(s)
	for _, c := range s.charges {
		if c.cost > 0 && !slices.ContainsFunc(v.x.story.fetches, func(f *fetch) bool { return f.model.Name == c.model }) {
			w.fail("I12 never asked", "%s: %d is booked to %q, which was not asked", s.id, c.cost, c.model)
		}
	}
	p := k.project
	if v.expired {
		v.turn.spent -= v.amount
		p.booked -= v.amount
	} else {
		delete(k.open, s.id)
		v.turn.reserved -= v.amount
	}
	v.turn.spent += s.cost
	p.booked += s.cost
	p.changed()
	k.usedUp = append(k.usedUp, tokens{w.now, s.tokens})
	if s.cost > v.amount {
		v.turn.excess += v.x.allowedExcess(s.cost, v.amount)
	}
	k.checkBudget(v.turn, s.id)
}

// checkOutcome: what is settled is what the caller got.
func (x *exchange) checkOutcome(s *settleCommand) {
	served := x.story.status == 200
	if x.opened {
		served = x.story.hit || slices.ContainsFunc(x.story.fetches, func(f *fetch) bool { return f.content })
	}
	if settled := s.outcome != keymeter.Released; settled != served && !x.left && !x.dead && !x.key.test() {
		x.w.fail("I2 counts", "%s is settled with outcome %d, and its caller got %d", x.id, s.outcome, x.story.status)
	}
}

// allowedExcess is by how much an exchange may cost more than it had reserved: what the prompt was underestimated
// by, what failed attempts may have cost, and what the provider did against its word. A stream is cut only when
// what was seen of it is worth its reservation.
func (x *exchange) allowedExcess(cost, reserved int64) int64 {
	over := cost - reserved
	if len(x.story.fetches) != 1 {
		return over
	}
	f := x.story.fetches[0]
	if f.stream || f.does.Over || f.flagged || x.w.plan.Projects[x.project.number].Unbounded {
		return over
	}
	prompt := costOf(f.model, f.in, 0) - costOf(f.model, 2*f.prompt*3/4, 0)
	return min(over, max(0, prompt))
}

// checkBudget is I3.
func (k *key) checkBudget(t *turn, id string) {
	if p := k.project; t.spent > p.most+t.excess && !p.jumped {
		k.w.fail("I3", "%s: %s has spent %d of at most %d, and %d of that may be underestimated", id, p.id, t.spent, p.most, t.excess)
	}
}

// expire books the reservations whose time is over.
func (k *key) expire(told uint64) {
	for id, v := range k.open {
		if v.expiresMs > told {
			continue
		}
		x := v.x
		if !x.dead && !x.story.shaky && !x.story.failed && k.jumped == 0 {
			k.w.fail("I13", "%s: its reservation expires, and nothing had failed", id)
		}
		k.w.say("%s: its reservation of %d expires", id, v.amount)
		v.expired = true
		delete(k.open, id)
		v.turn.reserved -= v.amount
		v.turn.spent += v.amount
		k.project.booked += v.amount
		k.project.changed()
		k.w.stats.Expired++
	}
}
