package lease

import "github.com/postern-ai/postern/core/keymeter"

// Ask decides whether an exchange that calls the meter asks for a lease. It returns the ID of the lease to extend, or
// random as the ID of a new lease. If the exchange should not ask, it returns 0. An exchange that asks for a new
// lease becomes the keeper. changed reports whether the entry has changed.
func (e *Entry) Ask(now, version, random, exchange uint64) (id uint64, changed bool) {
	e.tick(now)
	if e.deniedMs != 0 && e.lastMs < e.deniedMs+deniedMs {
		return 0, false
	}
	if e.id != 0 {
		granted := e.requests > 0
		if e.asking() || e.closing || granted && (!e.live() || e.version != version) {
			return 0, false // another request is asking, or the lease is being closed
		}
		if e.askedMs = e.lastMs; !granted { // the first reply is lost
			e.keeper, e.sinceMs, e.wakesMs = exchange, now, now+askMs
		}
		return e.id, true
	}
	hot := e.markMs != 0 && e.lastMs < e.markMs+hotMs
	if !hot {
		e.markMs = e.lastMs
		return 0, true
	}
	e.id, e.version, e.askedMs, e.markMs = max(1, random), version, e.lastMs, 0
	e.keeper, e.sinceMs, e.wakesMs = exchange, now, now+askMs
	return e.id, true
}

// Need says what a request does that the lease does not admit.
type Need uint8

const (
	Call  Need = iota // it calls the meter
	Await             // it waits: a command that may help is under way
	Renew             // it sends a report and waits: the reply renews the lease, or ends it
)

// Need returns what a request does that the lease has just not admitted. If all of them called the meter, they would
// wait for each other there, and the renewal would wait for them. version is that of the request's record.
func (e *Entry) Need(version uint64) Need {
	switch {
	case e.id == 0, e.requests > 0 && version != e.version:
		return Call
	case e.underway():
		return Await
	case e.InFlight(), e.requests == 0 && !e.closing, e.live() && (e.lean || !e.pending()):
		return Call // a reply is late, or it asks for the lease, or for more than a report has brought
	}
	return Renew
}

// Asked is the lease that an exchange has requested from the meter along with its admission.
type Asked struct {
	ID      uint64 // of the lease
	SentMs  uint64 // when the command was sent
	Version uint64 // of the key record in it; 0: the command was a report
}

// Granted takes the lease in the meter's reply to a command. A Lease without an ID means that the meter refuses to
// lend. Granted returns false if the entry cannot use the lease.
func (e *Entry) Granted(now uint64, asked Asked, l *keymeter.Lease, windows []keymeter.Window) bool {
	if e.tick(now); asked.ID == e.id {
		e.askedMs = 0
	}
	switch {
	case asked.ID != e.id || l.ID != 0 && l.ID != e.id:
		return l.ID == 0
	case l.ID == 0:
		// The meter may have refused the request. Such a refusal does not affect a lease that the meter granted
		// before.
		if e.deniedMs, e.lean = e.lastMs, false; e.requests == 0 {
			e.drop()
		}
		return true
	case e.closing:
		e.reclose = e.reclose || l.DurationMs > 0
		return true
	case e.requests == 0:
		e.version = asked.Version
	}
	e.requests, e.amountPico, e.slots = max(e.requests, l.Requests), max(e.amountPico, l.AmountPico), l.Slots
	e.windows, e.seen = windows, e.taken
	e.fresh, e.freshPico = e.requests-min(e.requests, e.taken), e.freePico()
	e.lean = asked.Version == 0 && e.freshPico < leanAmounts*e.typical
	if l.DurationMs > 0 {
		e.endMs = max(e.endMs, asked.SentMs+l.DurationMs)
	} else {
		// An earlier reply that extends the lease may still arrive. Others may be using the lease's slots by then, so
		// the lease must be closed.
		e.endMs, e.closing, e.deniedMs = 0, true, e.lastMs
	}
	return true
}

// Unknown records that the outcome of an admission that asked for a lease is unknown. If the lease is new, the keeper
// closes it.
func (e *Entry) Unknown(asked uint64) {
	if asked == e.id {
		e.askedMs = 0
	}
}

// drop forgets the lease. At that point, the meter must not have any of the lease's requests in progress.
func (e *Entry) drop() {
	e.id, e.endMs, e.requests, e.taken, e.amountPico, e.usedPico, e.seq, e.woken, e.open = 0, 0, 0, 0, 0, 0, 0, 0, nil
	e.windows, e.seen, e.askedMs, e.closing, e.reclose, e.done = nil, 0, 0, false, false, done{}
	e.fresh, e.freshPico, e.lean, e.recent, e.naps = 0, 0, false, false, 0
	e.rest()
}

// rest ends the keeper's duty if there is nothing to keep. The keeper's exchange stops sleeping, and the next
// settlement needs a new keeper.
func (e *Entry) rest() {
	if !e.Held() {
		e.keeper = 0
	}
}
