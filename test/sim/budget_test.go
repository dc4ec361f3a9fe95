package sim_test

import "slices"

// claim is the time in which a request tries to reserve money. It begins with the request's first admit and ends when
// the request is admitted or ends.
type claim struct{ from, until uint64 }

func (x *exchange) startClaim() {
	if c := &x.history.claim; c.from == 0 {
		c.from = x.w.now
	}
}

func (c *claim) end(now uint64) {
	if c.from != 0 && c.until == 0 {
		c.until = now
	}
}

// check402 checks I11 for a 402. At some time after the request's arrival, the free balance must have been less than
// the request's smallest reservation. If other requests claimed amounts at that time and reserved them later, these
// amounts do not count as free.
func (x *exchange) check402() {
	if x.w.clocksDisagree(x) {
		return
	}
	if f := x.streaming(); f != nil { // its first content would have cost more than was reserved
		x.checkCut(f)
		return
	}
	if x.outbidByStream() {
		return
	}
	s, p := &x.history, x.project
	least := int64(1) << 62
	for i := max(0, s.freeFrom); i < len(p.free) && p.free[i].at <= s.claim.until; i++ {
		at := max(p.free[i].at, s.arrivedAt)
		least = min(least, p.free[i].free-x.othersClaim(at))
	}
	for _, o := range x.w.exchanges { // claims may also begin between two changes of the free balance
		if c := o.history.claim; o.project == p && c.from >= s.arrivedAt && c.from <= s.claim.until {
			least = min(least, p.freeAt(c.from)-x.othersClaim(c.from))
		}
	}
	if s.least < 0 || least >= s.least {
		x.w.fail("I11 402", "%s got 402: its smallest reservation is %d, and the free balance was always at least %d in %s", x.id, s.least, least, p.id)
	}
}

// outbidByStream reports whether a stream of the project asked for more budget at the same time. The amount that it
// asked for was not free until the stream returned it.
func (x *exchange) outbidByStream() bool {
	s := &x.history
	return slices.ContainsFunc(x.w.exchanges, func(o *exchange) bool {
		at := o.history.extends
		return o != x && o.project == x.project && at != 0 && at <= s.claim.until && (!o.done || o.history.arrivedAt+o.history.waits+slackMs >= s.arrivedAt)
	})
}

// freeAt returns the free balance after all changes up to a time.
func (p *project) freeAt(at uint64) int64 {
	free := p.free[0].free
	for _, l := range p.free {
		if l.at <= at {
			free = l.free
		}
	}
	return free
}

// othersClaim returns the sum of the amounts that other requests were claiming at a time. An amount counts if it was
// reserved later. It also counts if it was not reserved because the request's key was in debt.
func (x *exchange) othersClaim(at uint64) (sum int64) {
	for _, o := range x.w.exchanges {
		if c := o.history.claim; o != x && o.project == x.project && c.from != 0 && c.from <= at && at < c.until {
			sum += o.claimed()
		}
	}
	return sum
}

func (x *exchange) claimed() int64 {
	switch s := &x.history; {
	case s.resv != nil:
		return s.resv.first
	case s.indebted:
		return s.least
	}
	return 0
}
