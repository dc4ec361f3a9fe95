package sim_test

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/doc"
)

// claim is the time in which a request tries to reserve money, or to count in a limited period. It begins with the
// request's first admit and ends when the request is admitted or ends.
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

// check402 checks I11 for a 402, and for a 429 because the requests or tokens of a period are used up. At some time after the request's arrival, the free balance must have been less than
// the request's smallest reservation. If other requests claimed amounts at that time and reserved them later, these
// amounts do not count as free. A response that says that a retry may succeed needs only a competitor, who may since have
// been refused at another level.
func (x *exchange) check402() {
	if x.w.clocksDisagree(x) {
		return
	}
	if f := x.streaming(); f != nil { // its first content would have cost more than was reserved
		x.checkCut(f)
		return
	}
	if x.outbidByStream() || x.history.mayPass && x.contended() {
		return
	}
	s, balances := &x.history, ""
	for _, n := range x.nodes() {
		if (n.unit != doc.Dollars) != s.usedUp {
			continue
		}
		need, least := s.least, x.leastFree(n)
		if n.unit != doc.Dollars {
			need = 1
		}
		if need >= 0 && least < need {
			return
		}
		balances += fmt.Sprintf(", %d in %s", least, n.id)
	}
	x.w.fail("I11 402", "%s got 402: its smallest reservation is %d, and the free balance was always at least%s", x.id, s.least, balances[1:])
}

// leastFree returns the least free balance of a node while the request claimed budget.
func (x *exchange) leastFree(n *node) int64 {
	s, least := &x.history, int64(1)<<62
	for i := x.freeFrom(n); i < len(n.free) && n.free[i].at <= s.endedAt; i++ {
		at := max(n.free[i].at, s.arrivedAt)
		least = min(least, n.free[i].free-x.othersClaim(n, at))
	}
	for _, o := range x.w.exchanges { // claims may also begin between two changes of the free balance
		if c := o.history.claim; c.from >= s.arrivedAt && c.from <= s.endedAt && o.mayUse(n) {
			least = min(least, n.freeAt(c.from)-x.othersClaim(n, c.from))
		}
	}
	return least
}

// outbidByStream reports whether a stream with the same budget asked for more budget at the same time. The amount that it
// asked for was not free until the stream returned it.
func (x *exchange) outbidByStream() bool {
	s := &x.history
	return slices.ContainsFunc(x.w.exchanges, func(o *exchange) bool {
		at := o.history.extends
		return o != x && at != 0 && at <= s.claim.until && o.sharesBudget(x) && (!o.done || o.history.arrivedAt+o.history.waits+slackMs >= s.arrivedAt)
	})
}

// freeAt returns the free balance after all changes up to a time.
func (n *node) freeAt(at uint64) int64 {
	free := n.free[0].free
	for _, l := range n.free {
		if l.at <= at {
			free = l.free
		}
	}
	return free
}

// othersClaim returns the sum of the amounts that other requests were claiming of a budget at a time. An amount counts if it was
// reserved later. It also counts if it was not reserved because the request's key was in debt.
func (x *exchange) othersClaim(n *node, at uint64) (sum int64) {
	for _, o := range x.w.exchanges {
		if h := &o.history; n.unit != doc.Dollars && o != x && h.arrivedAt <= at && (!o.done || at < h.endedAt) && o.mayUse(n) {
			sum++
		}
		if c := o.history.claim; n.unit == doc.Dollars && o != x && c.from != 0 && c.from <= at && at < c.until && o.mayUse(n) {
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
