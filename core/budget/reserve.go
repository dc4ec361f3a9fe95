package budget

import (
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

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

// Shortfall is a level with too little budget for a request, with the amounts to request from its Ledger.
type Shortfall struct {
	Level     int
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64
	NeedPico  int64
	LeastPico int64
	WaitMs    uint64 // until the meter's other incomplete reservations at the level have ended; 0: there are none
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

// Reserve reserves an amount at all levels and returns the amount. If levels lack budget, it reserves nothing and
// returns these levels. For an ordered request, it returns only the first level that lacks budget, and reserves the
// levels above it for HoldMs.
func (c *Chain) Reserve(now uint64, q *Request) (pico int64, short []Shortfall) {
	pico = q.WantPico
	if h := c.holdOf(q.ID); h != nil {
		pico = min(pico, h.AmountPico) // a level above had no more
	}
	c.Release(q.ID)
	for i := range c.Levels {
		s := &c.Levels[i].Slice
		enough := pico
		if q.Final>>i&1 == 1 {
			enough = min(pico, q.LeastPico)
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

// shortfall asks for all of want plus any debt. The free part is not subtracted, because other requests that wait for a
// grant also count on it.
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

// awaitedMs returns the time until all ordered requests that are asking a level's Ledger have lapsed.
func (c *Chain) awaitedMs(now uint64, level int) (ms uint64) {
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels == level && h.UntilMs > now {
			ms = max(ms, h.UntilMs-now)
		}
	}
	return ms
}

// Recall returns the free part of a level's slice to its Ledger. heldPico is the amount that the Ledger has granted.
// If the slice has a different amount, a grant is in flight or was lost. That grant becomes void, unless an ordered
// request waits for it. If heldPico is 0, the recall is unconditional. returned is false if the whole slice is in use
// and the Ledger knows its amount. waitMs is the time until incomplete reservations may be free again, or 0 if there
// are none.
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
	l.Unsent = true
	l.Slice.Granted -= max(0, l.Slice.Free())
}
