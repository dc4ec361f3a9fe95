package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
)

// pinChanged records a change that a step of an exchange has made to the pinned entry of its key. The change is an
// admission by the lease, a larger reservation, or a settlement.
func (x *exchange) pinChanged(entry []byte) {
	if len(entry) == 0 {
		return
	}
	v := lease.Look(entry)
	x.w.logf("%s: changes the entry: lease %x, %d requests, %d settlements", x.id, v.ID, len(v.Requests), len(v.RequestIDs))
	if slices.Contains(v.RequestIDs, x.id) {
		x.history.settled = true
	}
	at := slices.IndexFunc(v.Requests, func(q keymeter.Leased) bool { return q.RequestID == x.id })
	if at < 0 {
		return
	}
	q, r := &v.Requests[at], x.history.resv
	if r == nil {
		r = x.lend(&v, q)
	}
	if r.lease == nil {
		x.w.fail("I6", "%s is admitted by its meter and by a lease", x.id)
	}
	if len(q.Settle) > 0 {
		x.leftSettle(r, q)
		return
	}
	r.lease.used += q.AmountPico - r.amount
	r.amount = q.AmountPico
	r.lease.check(x)
}

// lend records an admission by a lease. It also checks I1, I3 and I4.
func (x *exchange) lend(v *lease.View, q *keymeter.Leased) *reservation {
	w, k := x.w, x.key
	l := k.leases[v.ID]
	if l == nil {
		w.fail("I1 lease", "%s is admitted by lease %x, which its meter has not granted", x.id, v.ID)
	}
	w.logf("%s: admitted by lease %x, reserved %d", x.id, l.id, q.AmountPico)
	w.stats.Leased++
	l.isolate = x.isolate
	l.taken++
	l.used += q.AmountPico
	r := &reservation{x: x, lease: l, amount: q.AmountPico, first: q.AmountPico, model: q.Model, places: l.places}
	x.history.resv = r
	x.history.claim.end(w.now)
	k.leased[x.id] = r
	l.check(x)
	if l.trusted() {
		k.checkLeased(x, l)
	}
	k.changed()
	return r
}

// check checks that the requests of a lease do not exceed it.
func (l *lent) check(x *exchange) {
	if l.taken > l.requests {
		x.w.fail("I1 lease", "%s: %d requests are admitted by lease %x of %d", x.id, l.taken, l.id, l.requests)
	}
	if l.used > l.amount+l.excess {
		x.w.fail("I3 lease", "%s: lease %x of %d has reserved and spent %d; the allowed excess is %d", x.id, l.id, l.amount, l.used, l.excess)
	}
}

// checkLeased checks an admission by a lease against the key's status and limits. At least one of the key's states
// since the start of the lease must allow it. A state does not count if an acknowledged change has replaced it.
func (k *key) checkLeased(x *exchange, l *lent) {
	w := k.w
	clockMs := uint64(int64(w.now) + w.objectOffset)
	if l.version < k.acked {
		w.fail("I4", "%s is admitted by a lease under version %d of %s; version %d is acknowledged", x.id, l.version, k.id, k.acked)
	}
	if clockMs >= l.endMs {
		w.fail("I1 lease", "%s is admitted by lease %x of %s, which has ended at its meter %d ms ago", x.id, l.id, k.id, clockMs-l.endMs)
	}
	if l.day != clockMs/dayMs && k.jumped == 0 {
		w.fail("I1 lease", "%s is admitted by a lease of the day before", x.id)
	}
	k.admitted = append(k.admitted, admission{w.now, max(k.day, clockMs/dayMs), k.jumped, true})
	states := k.statesSinceVersion(l.version)
	second, day := k.counts()
	running := k.running()
	if !slices.ContainsFunc(states, func(st keyState) bool {
		return st.status == doc.Active && (st.record.ExpiresMs == 0 || st.record.ExpiresMs > clockMs)
	}) {
		w.fail("I4", "%s is admitted by a lease of %s, which is not active", x.id, k.id)
	}
	if !slices.ContainsFunc(states, func(st keyState) bool {
		limits, concurrent := limitsOf(&st.record), worldConfig.Plan(st.record.Plan).Concurrent
		return (limits.PerSecond == 0 || second <= limits.PerSecond) && (limits.PerDay == 0 || day <= limits.PerDay) && running <= concurrent
	}) {
		w.fail("I1", "%s: %d admissions in a second, %d in a day and %d concurrent requests of %s, the last of them by a lease", x.id, second, day, running, k.id)
	}
}

// statesSinceVersion returns the states from the one with the given version on.
func (k *key) statesSinceVersion(version uint64) []keyState {
	at := slices.IndexFunc(k.states, func(st keyState) bool { return st.record.Version >= version })
	return k.states[at:]
}

// running returns the number of requests in progress. It leaves out a lease's requests if a jump of the meter's clock
// ended the lease too early.
func (k *key) running() (n uint64) {
	for _, v := range k.open {
		if !v.left {
			n++
		}
	}
	for _, v := range k.leased {
		gone := v.x.dead || v.x.done && v.lease.booked // lost with its lease, for example because the lease was removed from memory after a clock jump
		if !v.reported && !v.left && !gone && v.lease.forwards == k.forwards {
			n++
		}
	}
	return n
}

// leftSettle records a settlement that a request has left in the entry.
func (x *exchange) leftSettle(r *reservation, q *keymeter.Leased) {
	if r.left {
		return
	}
	s := readSettle(q.Settle)
	r.left, x.history.settled = true, true
	x.checkDelivered(r.amount)
	r.lease.used += s.cost - r.amount
	if s.cost > r.amount {
		r.lease.excess += s.cost - r.amount
	}
	r.cost, x.history.leaving = s.cost, s.outcome != keymeter.Hit
	x.key.changed()
}

// idle returns the part of the leases' reserved amounts that no request uses and that returns in time.
func (n *node) idle() (sum int64) {
	for _, k := range n.w.keys {
		for _, l := range k.lends {
			if l.lost || !l.lives() || !l.places.at(n) {
				continue
			}
			idle := l.held
			for _, v := range k.leased {
				if v.lease == l && !v.reported {
					idle -= v.needed()
				}
			}
			sum += max(0, idle)
		}
	}
	return sum
}

// needed returns the amount that a request of a lease has reserved or spent.
func (r *reservation) needed() int64 {
	if r.left {
		return r.cost
	}
	return r.amount
}

// forget records that an isolate has lost the entry of a key. The requests and settlements in the entry will not be
// reported.
func (w *world) forget(entry []byte) {
	v := lease.Look(entry)
	for _, id := range v.RequestIDs {
		w.byID[id].history.faulty = true
	}
	for i := range v.Requests {
		w.byID[v.Requests[i].RequestID].history.faulty = true
	}
	for _, k := range w.keys {
		if l := k.leases[v.ID]; l != nil {
			l.lost = true
		}
	}
}

// The actions of a keeper: one for its sleep and one for its report.
const (
	keeperSleep  = 6000
	keeperReport = 6001
)

// leaveUnkept records that the platform ends an exchange. If the exchange is the keeper of a lease, nobody keeps that
// lease.
func (x *exchange) leaveUnkept() {
	row, ok := x.isolate.pinned[x.pinned]
	if !ok || x.open[keeperSleep] == nil && x.open[keeperReport] == nil {
		return
	}
	if l := x.key.leases[lease.Look(row.value).ID]; l != nil {
		l.unkept = true
	}
}

// jumpBack records that the isolate's clock has gone back. If the next change to a lease's entry cannot detect this,
// the lease survives.
func (i *isolate) jumpBack() {
	i.wentBackAt = i.w.now
	for name := range i.pinned {
		i.back[name] = true
	}
}

// lookBack runs at the first change to an entry after a jump back. It records whether that change could not have
// detected the jump.
func (i *isolate) lookBack(name string, before []byte) {
	if !i.back[name] {
		return
	}
	delete(i.back, name)
	v := lease.Look(before)
	if i.w.clockOf(i)+stepBackMs < v.LastMs {
		return
	}
	for _, k := range i.w.keys {
		if l := k.leases[v.ID]; l != nil {
			l.blind = true
		}
	}
}

// stepBackMs is how far a clock may go back unnoticed.
const stepBackMs = 100
