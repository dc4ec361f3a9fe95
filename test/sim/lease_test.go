package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keymeter"
)

// lent is the world's record of a lease. It has the amounts that the meter has lent, and their state at the meter and
// in the isolate.
type lent struct {
	id             uint64
	key            *key
	isolate        *isolate // the isolate that uses it; nil: none yet
	version        uint64   // version of the key's record when the lease began
	startMs, endMs uint64   // on the meter's clock
	day            uint64
	forwards       int // number of forward jumps of the objects' clocks before the lease began
	places         places

	// at the meter
	requests, reported uint64
	amount, held       int64 // held: still reserved
	slots              uint64
	seq                uint64
	ended, closed      bool
	booked, late       bool // late: it was booked and is now being reported

	// in the isolate
	taken  uint64
	used   int64 // reserved or spent by its requests
	excess int64 // excess of requests that cost more than their reservations
	blind  bool  // the isolate cannot have seen that its clock has jumped back
	lost   bool  // the isolate has died
	unkept bool  // the platform has ended the exchange that kept it
}

// slackMs is the longest time for which a lease may be used, on the meter's clock.
const slackMs = config.MaxLeaseMs + config.MaxLeaseMs/20 + 250

// lives reports whether the meter has the lease.
func (l *lent) lives() bool { return !l.closed && !l.booked && !l.late }

func (l *lent) unused() uint64 { return l.requests - min(l.requests, l.reported) }

// trusted reports whether the clocks ensure that the isolate uses the lease no longer than the meter expects.
func (l *lent) trusted() bool { return !l.blind && l.forwards == l.key.forwards }

// tick counts the admissions at one time on the meter's clock.
type tick struct{ ms, count uint64 }

// grant records the lease in a meter's reply. It also checks I1 and I3.
func (k *key) grant(clockMs uint64, reply *keymeter.Lease) {
	w := k.w
	if reply.ID == 0 {
		return
	}
	l := k.leases[reply.ID]
	if l != nil && !l.lives() && reply.DurationMs == 0 {
		return
	}
	if l == nil || l.closed || l.booked && k.forwards > l.forwards { // it was booked too early and is lent again
		if reply.DurationMs == 0 {
			return
		}
		l = &lent{id: reply.ID, key: k, version: k.state().record.Version, startMs: clockMs, day: k.day, forwards: k.forwards, places: k.places(clockMs)}
		k.leases[reply.ID] = l
		k.lends = append(k.lends, l)
		w.stats.Leases++
	}
	if reply.Requests > l.requests || reply.AmountPico > l.amount {
		w.logf("%s: lease %x: %d requests and %d for %d ms", k.id, l.id, reply.Requests, reply.AmountPico, reply.DurationMs)
	}
	if reply.Requests < l.requests || reply.AmountPico < l.amount {
		w.fail("I2 lease", "%s: a lease shrinks from %d requests and %d to %d and %d", k.id, l.requests, l.amount, reply.Requests, reply.AmountPico)
	}
	k.dayLent += reply.Requests - l.requests
	more := reply.AmountPico - l.amount
	l.requests, l.amount, l.slots = reply.Requests, reply.AmountPico, reply.Slots
	l.held += more
	l.places.book(k, pico(more), pico(0))
	k.changed()
	if more > 0 {
		l.places.checkReserved(k, k.id+" (a lease)", true)
	}
	if reply.DurationMs > 0 {
		k.checkTerms(clockMs, reply)
	}
}

// checkTerms checks what a meter lends: at most a tenth of each window and a quarter of the concurrent requests. If a
// plan or a limit forbids leases, it must lend nothing.
func (k *key) checkTerms(clockMs uint64, reply *keymeter.Lease) {
	plan, limits := worldConfig.Plan(k.state().record.Plan), k.limits()
	unused, slots := uint64(0), uint64(0)
	for _, l := range k.lends {
		if l.lives() {
			slots += l.slots
			// The lease is new, or it has not ended. It had not ended before the clock went back, either.
			if l.endMs == 0 || !l.ended && l.endMs > clockMs {
				unused += l.unused()
			}
		}
	}
	over := func(limit uint64) bool { return limit > 0 && unused > limit/10 }
	if reply.DurationMs > plan.Lease.DurationMs || limits.TokensPerMinute > 0 || over(limits.PerSecond) || over(limits.PerDay) || slots > plan.Concurrent/4 {
		k.w.fail("I1 terms", "%s lends %d requests and %d slots for %d ms in all under plan %s", k.id, unused, slots, reply.DurationMs, k.state().record.Plan)
	}
}

// lentRequests returns the number of admissions that count in the windows because a lease has them.
func (k *key) lentRequests() (n uint64) {
	for _, l := range k.lends {
		if l.lives() && !l.ended {
			n += l.unused()
		}
	}
	return n
}

// lentSlots returns the number of concurrent requests that leases may have.
func (k *key) lentSlots() (n uint64) {
	for _, l := range k.lends {
		if l.lives() {
			n += l.slots
		}
	}
	return n
}

// checkLeases compares the meter's leases with the world's after a command. It records which leases have ended or
// were booked.
func (k *key) checkLeases(o *object, clockMs uint64, alarm bool) {
	w := k.w
	if len(k.lends) == 0 {
		return
	}
	row, ok := o.find("h")
	if !ok {
		return
	}
	states, _, err := keymeter.StateOf(o.rows[row].Value)
	if err != nil {
		w.fail("host", "the row of %s is malformed", k.id)
	}
	for _, l := range k.lends {
		l.startMs = min(l.startMs, clockMs)
		if k.leases[l.id] != l {
			continue // its ID was lent again
		}
		at := slices.IndexFunc(states, func(s keymeter.LeaseState) bool { return s.ID == l.id })
		switch {
		case !l.lives():
			if at >= 0 {
				w.fail("I2 lease", "%s: its meter still has lease %x", k.id, l.id)
			}
		case at < 0 && alarm:
			k.book(l)
		case at < 0:
			w.fail("I2 lease", "%s: its meter has forgotten lease %x", k.id, l.id)
		default:
			l.compare(&states[at])
			l.endMs = states[at].EndMs
			if states[at].Ended {
				l.end(clockMs)
			}
		}
	}
}

// end counts the lease's unreported admissions as if all of them had been used at the lease's end.
func (l *lent) end(clockMs uint64) {
	if !l.ended {
		l.ended = true
		l.key.ticks = append(l.key.ticks, tick{min(clockMs, l.endMs), l.unused()})
	}
}

func (l *lent) compare(s *keymeter.LeaseState) {
	if s.Requests != l.requests || s.Reported != l.reported || s.AmountPico != l.amount || s.HeldPico != l.held || s.Slots != l.slots {
		l.key.w.fail("I2 lease", "%s: its meter has lease %+v, want %d requests, %d reported, %d lent, %d held, %d slots", l.key.id, *s, l.requests, l.reported, l.amount, l.held, l.slots)
	}
}

// release returns part of the amount that the lease has reserved.
func (l *lent) release(amount int64) {
	amount = max(0, min(amount, l.held))
	l.held -= amount
	l.places.book(l.key, pico(-amount), pico(0))
}

// book charges the most that a lost lease may have used.
func (k *key) book(l *lent) {
	w := k.w
	w.logf("%s: lease %x is booked: %d requests, %d", k.id, l.id, l.unused(), l.held)
	k.remember(closedName(l.id))
	if l.unused() == 0 {
		l.release(l.held) // all of its requests are known
		l.closed = true
		k.changed()
		return
	}
	if !l.lost && !l.faulty() {
		w.fail("I13 lease", "%s: a lease is booked as unreported without a fault", k.id)
	}
	w.stats.Booked++
	l.booked, l.ended = true, true
	l.places.book(k, pico(-l.held), pico(l.held))
	k.project.booked += l.held
	k.changed()
	l.places.checkSpent("a lost lease")
}

// faulty reports whether the isolate may have been unable to report or close the lease because of a fault.
func (l *lent) faulty() bool {
	return l.key.w.plan.Faults.any() || l.unkept || l.key.jumped > 0 || l.isolate != nil && l.isolate.jumped || l.isolate == nil && l.key.w.killed
}

// report records the first report of requests and settlements. It applies the report in the way that the meter does.
func (k *key) report(clockMs uint64, r *keymeter.Report, reply *keymeter.ReportReply) {
	w := k.w
	for _, encoded := range r.Settles {
		s := readSettle(encoded)
		k.settle(&s)
	}
	l := k.leases[r.LeaseID]
	w.logf("%s: report %d of lease %x: %d requests, %d settlements, close %t, renew %t: for %d ms", k.id, r.Seq, r.LeaseID, len(r.Requests), len(r.Settles), r.Close, r.Renew, reply.Lease.DurationMs)
	if (l == nil || l.closed) && r.Close && r.LeaseID != 0 && !k.knows(closedName(r.LeaseID)) {
		k.remember(closedName(r.LeaseID))
	}
	if l == nil || l.closed || r.Seq <= l.seq && !r.Close {
		k.grant(clockMs, &reply.Lease)
		return
	}
	if l.endMs <= clockMs {
		l.end(clockMs)
	}
	if r.Seq > l.seq {
		if l.booked {
			w.logf("%s: lease %x is reported late", k.id, l.id)
			w.stats.ReportedLate++
			l.places.book(k, pico(0), pico(-l.held))
			k.project.booked -= l.held
			l.held, l.booked, l.late = 0, false, true
		}
		l.seq = r.Seq
		for i := range r.Requests {
			k.register(clockMs, l, r, &r.Requests[i])
		}
	}
	k.grant(clockMs, &reply.Lease)
	if r.Close && !l.closed && !l.booked {
		l.closed = true
		if !l.late {
			k.remember(closedName(l.id))
		}
		if l.day == k.day && !l.late {
			k.dayLent -= l.unused()
		}
		l.release(l.held)
	}
	k.changed()
}

// register records a request that a report names. The meter now has the request's reservation or settlement.
func (k *key) register(clockMs uint64, l *lent, r *keymeter.Report, q *keymeter.Leased) {
	w, x := k.w, k.w.byID[q.RequestID]
	v := x.history.resv
	if v == nil || v.lease == nil || v.lease.id != l.id {
		w.fail("I2 lease", "%s is reported, but was not admitted by that lease", q.RequestID)
	}
	if v.reported {
		w.fail("I6", "%s is reported twice", q.RequestID)
	}
	age := r.SentMs - min(r.SentMs, q.AdmittedMs)
	age -= (age + 19) / 20 // the isolate's clock may be fast
	admittedMs := min(max(l.startMs, clockMs-min(clockMs, age)), l.endMs-1)
	if !l.ended {
		k.ticks = append(k.ticks, tick{admittedMs, 1})
	}
	v.reported = true
	l.reported++
	l.release(q.AmountPico)
	if len(q.Settle) == 0 && q.AmountPico != v.amount {
		w.fail("I2 lease", "%s is reported with a reservation of %d, it has %d", x.id, q.AmountPico, v.amount)
	}
	v.places.book(k, pico(v.amount), pico(0))
	k.addReservation(v)
	if len(q.Settle) > 0 {
		s := readSettle(q.Settle)
		k.charge(&s)
	}
}

// unreported adds the bookings of lost leases to the expected accounts.
func (k *key) unreported(of func(*key, string) *account) {
	for _, l := range k.lends {
		if l.booked {
			a := of(k, keymeter.Unreported)
			a.cost.add(exactly(l.held))
			a.flagged = true
		}
	}
}

// unreportedRequests returns the number of requests that were booked for lost leases.
func (k *key) unreportedRequests() (n uint64) {
	for _, l := range k.lends {
		if l.booked {
			n += l.unused()
		}
	}
	return n
}

// checkReturned checks the end of a run: no lease may be left, and nothing that was lent may stay reserved.
func (w *world) checkReturned() {
	for _, k := range w.keys {
		for _, l := range k.lends {
			if l.lives() {
				w.fail("I13 lease", "%s: lease %x has neither returned nor been booked; %d are reserved", k.id, l.id, l.held)
			}
		}
	}
	for _, n := range w.nodes {
		for _, t := range n.periods {
			if t.reserved != 0 {
				w.fail("I13", "%s: %d stay reserved", n.id, t.reserved)
			}
		}
	}
}

// lentCounts returns the admissions in the meter's windows. It includes admissions that leases have.
func (k *key) lentCounts() (second, day uint64) {
	second = k.lentRequests()
	clockMs := uint64(int64(k.w.now) + k.w.objectOffset)
	for _, t := range k.ticks {
		if t.ms+secondMs > clockMs {
			second += t.count
		}
	}
	return second, k.dayLent
}

// prompt reports whether nothing delays a report. Lent budget then returns as soon as waiting requests expect.
func (w *world) prompt() bool {
	return !w.plan.Faults.any() && w.plan.Delay != "long" && !w.killed && !w.jumped
}
