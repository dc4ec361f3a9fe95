// Package budget is a key's part in the budgets above it. Each level of the path from the deployment to the project has
// a Ledger, which grants slices of its budget to the key's meter. A request is admitted when its cost is reserved in
// the slices of all levels.
//
// A request that finds too little at a level asks that level's Ledger, and all Ledgers at once if several levels lack
// budget. If one of them has nothing left, two requests could each hold what the other needs. From then on, a request
// is ordered: it reserves the levels from the root down and asks only for the first that lacks budget. Two requests
// that compete at a level share all levels above it, so only a request that has reserved these can wait for it, and
// nobody waits in a circle.
package budget

import (
	"slices"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

// HoldMs is how long an incomplete reservation lasts unless its request repeats it. It covers a call to a Ledger and the
// recall of idle slices.
const HoldMs = 2000

// Slice is a meter's part of one budget in one period, in picodollars. Granted >= Spent + Reserved, unless a request cost
// more than its reservation.
type Slice struct {
	Period                   calendar.Period
	Live                     bool // there is a grant, perhaps of 0
	Granted, Spent, Reserved int64
}

// Free returns the amount that can still be reserved. A negative amount is a debt.
func (s *Slice) Free() int64 { return s.Granted - money.Add(s.Spent, s.Reserved) }

// Level is a meter's state at one Ledger.
type Level struct {
	Slice, Previous Slice
	Epoch           uint64 // a new one starts when the meter returns budget; grants of earlier epochs are void
	RecalledMs      uint64 // time of the last unconditional recall in the slice's period; 0: none
}

// Hold is an incomplete reservation of an ordered request. It has the request's amount at the first Levels levels.
type Hold struct {
	RequestID  string
	Levels     int
	AmountPico int64
	UntilMs    uint64
}

// Chain is a meter's state at all levels, from the root to the project.
type Chain struct {
	Levels []Level
	Holds  []Hold
}

// Grant is the total that a level's Ledger has granted to the meter in an epoch.
type Grant struct {
	Level     int
	Period    calendar.Period
	Epoch     uint64
	TotalPico int64
}

// Request asks for a reservation at all levels.
type Request struct {
	ID        string
	WantPico  int64
	LeastPico int64  // sufficient at the levels in Final
	Final     uint64 // bit n: the Ledger of level n has no more
	Ordered   bool   // a Ledger had nothing left
}

// Shortfall is a level with too little budget for a request: what to ask of its Ledger.
type Shortfall struct {
	Level     int
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64
	NeedPico  int64
	LeastPico int64
	WaitMs    uint64 // until the meter's other incomplete reservations at the level have ended; 0: there are none
}

// NewChain returns the chain of a new meter, which has no grants.
func NewChain(levels int) Chain {
	c := Chain{Levels: make([]Level, levels)}
	for i := range c.Levels {
		c.Levels[i].Epoch = 1
	}
	return c
}

// Accept raises the slice of a level to a granted total, and reports whether that changed the level.
func (c *Chain) Accept(g Grant) bool {
	l := &c.Levels[g.Level]
	before := *l
	c.rollover(g.Level, g.Period)
	if s := &l.Slice; g.Period == s.Period && g.Epoch == l.Epoch {
		s.Live, s.Granted = true, max(s.Granted, g.TotalPico)
	}
	return *l != before
}

// rollover starts a later period of a level with an empty slice. The previous period's unspent grant lapses, in the
// Ledger too, and so do incomplete reservations with this level.
func (c *Chain) rollover(level int, p calendar.Period) {
	l := &c.Levels[level]
	if p <= l.Slice.Period {
		return
	}
	c.drop(func(h *Hold) bool { return h.Levels > level })
	l.Previous, l.Slice, l.RecalledMs = l.Slice, Slice{Period: p}, 0
}

// Advance starts the levels' present periods, and ends the incomplete reservations that have lapsed.
func (c *Chain) Advance(now uint64, periods ...calendar.Period) {
	for i, p := range periods {
		c.rollover(i, p)
	}
	c.drop(func(h *Hold) bool { return h.UntilMs <= now })
}

// Release ends the incomplete reservation of a request.
func (c *Chain) Release(id string) { c.drop(func(h *Hold) bool { return h.RequestID == id }) }

// drop ends incomplete reservations without charging them.
func (c *Chain) drop(which func(*Hold) bool) {
	c.Holds = slices.DeleteFunc(c.Holds, func(h Hold) bool {
		if !which(&h) {
			return false
		}
		for i := range h.Levels {
			c.Levels[i].Slice.Reserved -= h.AmountPico
		}
		return true
	})
}

// Reserve reserves an amount at all levels and returns it, or returns the levels that lack budget and reserves nothing.
// For an ordered request, it returns only the first of these, and reserves the levels above it for HoldMs.
func (c *Chain) Reserve(now uint64, q *Request) (pico int64, short []Shortfall) {
	want := q.WantPico
	if h := c.holdOf(q.ID); h != nil {
		want = min(want, h.AmountPico) // a level above had no more
	}
	c.Release(q.ID)
	pico = want
	for i := range c.Levels {
		s := &c.Levels[i].Slice
		enough := want
		if q.Final>>i&1 == 1 {
			enough = min(want, q.LeastPico)
		}
		free := s.Free()
		if s.Live && (enough == 0 || free >= enough) {
			pico = min(pico, max(0, free))
			continue
		}
		short = append(short, c.shortfall(now, i, pico, min(pico, q.LeastPico)))
	}
	if len(short) == 0 {
		c.reserve(len(c.Levels), pico)
		return pico, nil
	}
	if q.Ordered {
		n := short[0].Level
		c.reserve(n, pico)
		c.Holds = append(c.Holds, Hold{q.ID, n, pico, now + HoldMs})
		short = short[:1]
	}
	return 0, short
}

func (c *Chain) holdOf(id string) *Hold {
	for i := range c.Holds {
		if c.Holds[i].RequestID == id {
			return &c.Holds[i]
		}
	}
	return nil
}

func (c *Chain) reserve(levels int, pico int64) {
	for i := range levels {
		c.Levels[i].Slice.Reserved += pico
	}
}

func (c *Chain) shortfall(now uint64, i int, want, least int64) Shortfall {
	l := &c.Levels[i]
	short := Shortfall{Level: i, Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted, WaitMs: c.heldMs(now, i)}
	if free := l.Slice.Free(); want > 0 {
		short.NeedPico, short.LeastPico = money.Add(want, max(-free, 0)), max(0, money.Add(least, -free))
	}
	return short
}

// heldMs returns the time until the incomplete reservations at a level have ended.
func (c *Chain) heldMs(now uint64, level int) (ms uint64) {
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels > level && h.UntilMs > now {
			ms = max(ms, h.UntilMs-now)
		}
	}
	return ms
}

// awaitedMs returns the time until all ordered requests that ask a level's Ledger now have lapsed.
func (c *Chain) awaitedMs(now uint64, level int) (ms uint64) {
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels == level && h.UntilMs > now {
			ms = max(ms, h.UntilMs-now)
		}
	}
	return ms
}

// Recall returns the free part of a level's slice to its Ledger. heldPico is the amount that the Ledger has granted: if
// it differs, a grant is in flight or was lost. The grant becomes void, unless an ordered request waits for it. With 0,
// the recall is unconditional. returned is false if the whole slice is in use and the Ledger knows its amount. waitMs
// is the time until incomplete reservations may be free again; 0 if there are none.
func (c *Chain) Recall(now uint64, level int, heldPico int64) (returned bool, waitMs uint64) {
	l := &c.Levels[level]
	waitMs = c.heldMs(now, level)
	inFlight := l.Slice.Granted != heldPico
	if awaitedMs := c.awaitedMs(now, level); inFlight && heldPico != 0 && awaitedMs > 0 {
		return false, max(waitMs, awaitedMs)
	}
	if l.Slice.Free() <= 0 && !inFlight && heldPico != 0 {
		return false, waitMs
	}
	l.Return()
	if heldPico == 0 {
		l.RecalledMs = now
	}
	return true, waitMs
}

// Return gives the free part of the slice back to the Ledger by starting a new epoch.
func (l *Level) Return() {
	l.Epoch++
	l.Slice.Granted -= max(0, l.Slice.Free())
}

// Settle books the cost of a reservation at all levels, in the periods of its admission.
func (c *Chain) Settle(periods []calendar.Period, reserved, cost int64) {
	for i := range c.Levels {
		if s := c.Levels[i].Of(periods[i]); s != nil {
			s.Reserved -= reserved
			s.Spent = money.Add(s.Spent, cost)
		}
	}
}

// Of returns the slice of a period, or nil if the period is not tracked any more.
func (l *Level) Of(p calendar.Period) *Slice {
	switch p {
	case l.Slice.Period:
		return &l.Slice
	case l.Previous.Period:
		return &l.Previous
	}
	return nil
}
