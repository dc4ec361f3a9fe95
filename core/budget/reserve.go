package budget

import (
	"slices"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
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
	Want      Amounts
	LeastPico int64  // dollars that are sufficient at the levels in Final, and of the key's own budget
	Final     uint64 // bit n: the Ledger of level n has no more
	Ordered   bool   // a Ledger had nothing left
	Counted   bool   // nothing is reserved but requests, not even the right to spend nothing
}

// Shortfall is a level with too little budget for a request, with the amounts to request from its Ledger. They are in
// the level's unit.
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

// Reserve reserves amounts at all levels and returns the dollars reserved, in picodollars. If levels lack budget, it
// reserves nothing and returns these levels. If one of the key's own budgets is too small, that is the only one. For an
// ordered request, it returns only the first level that lacks budget, and reserves the levels above it for HoldMs. If
// only incomplete reservations take the budget of that level, it returns the first lower level that lacks more than
// that, and reserves nothing: the Ledger of the lower level may have spent its budget, and then the request need not wait
// for its turn.
func (c *Chain) Reserve(now uint64, q *Request) (pico int64, short []Shortfall) {
	want := q.Want
	if h := c.holdOf(q.ID); h != nil {
		want.Pico = min(want.Pico, max(h.Amounts.Pico, q.LeastPico)) // a level above had no more
	}
	c.Release(q.ID)
	for n := range c.Levels {
		i := (n + c.ProjectAt() + 1) % len(c.Levels) // the key's own budgets first
		if !c.suffices(i, q, &want) {
			short = append(short, c.shortfall(now, i, q, &want))
			if c.Levels[i].Own > 0 {
				return 0, short
			}
		}
	}
	if len(short) == 0 {
		c.spend(&want)
		return want.Pico, nil
	}
	if !q.Ordered {
		return 0, short
	}
	if at := slices.IndexFunc(short, func(s Shortfall) bool { return !c.onlyHeld(s.Level, q, &want) }); at > 0 {
		return 0, short[at : at+1]
	}
	h := Hold{q.ID, short[0].Level, want, now + HoldMs}
	c.hold(&h, 1)
	c.Holds = append(c.Holds, h)
	return 0, short[:1]
}

// onlyHeld reports whether a level would suffice without the incomplete reservations of other requests.
func (c *Chain) onlyHeld(level int, q *Request, want *Amounts) bool {
	l := &c.Levels[level]
	held := int64(0)
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels > level {
			held += h.Amounts.Of(l.Unit())
		}
	}
	return held > 0 && l.Slice.Live && l.Slice.Free()+held >= c.enough(level, q, want)
}

// suffices reports whether a level has enough. If the level has fewer dollars than wanted and its Ledger has no more, it
// lowers the wanted dollars.
func (c *Chain) suffices(i int, q *Request, want *Amounts) bool {
	l := &c.Levels[i]
	free, amount := l.Slice.Free(), want.Of(l.Unit())
	if l.Soft { // the project's Ledger is asked for nothing, but learns that the key is in use
		return i != c.ProjectAt() || l.Slice.Live || q.Counted
	}
	if l.Unit() != doc.Dollars {
		return amount == 0 || l.Slice.Live && free >= amount
	}
	if q.Counted {
		return true
	}
	enough := c.enough(i, q, want)
	if !l.Slice.Live || enough > 0 && free < enough {
		return false
	}
	want.Pico = min(amount, max(0, free))
	return true
}

// enough returns the amount without which a level does not suffice.
func (c *Chain) enough(i int, q *Request, want *Amounts) int64 {
	l := &c.Levels[i]
	if l.Unit() == doc.Dollars && (q.Final>>i&1 == 1 || l.Own > 0) {
		return min(want.Pico, q.LeastPico)
	}
	return want.Of(l.Unit())
}

// spend reserves at all levels. Requests are spent at once.
func (c *Chain) spend(a *Amounts) {
	for i := range c.Levels {
		switch l := &c.Levels[i]; l.Unit() {
		case doc.Requests:
			l.book(l.Slice.Period, Amounts{}, *a)
		case doc.Tokens:
			l.Slice.Reserved += a.Tokens
		default:
			l.Slice.Reserved += a.Pico
		}
	}
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
func (c *Chain) shortfall(now uint64, i int, q *Request, a *Amounts) Shortfall {
	l := &c.Levels[i]
	want := a.Of(l.Unit())
	least := want
	if l.Unit() == doc.Dollars {
		least = min(want, q.LeastPico)
	}
	short := Shortfall{Level: i, Period: l.Slice.Period, Epoch: l.Epoch, HeldPico: l.Slice.Granted, WaitMs: c.heldMs(now, i)}
	if free := l.Slice.Free(); want > 0 && !l.Soft {
		short.NeedPico = money.Add(want, max(-free, 0))
		if least > 0 { // otherwise the reservation is sufficient, even if the level is in debt
			short.LeastPico = max(0, money.Add(least, -free))
		}
	}
	return short
}

func (h *Hold) leftMs(now uint64) uint64 { return h.UntilMs - min(now, h.UntilMs) }

// heldMs returns the time until the incomplete reservations at a level have ended.
func (c *Chain) heldMs(now uint64, level int) (ms uint64) {
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels > level {
			ms = max(ms, h.leftMs(now))
		}
	}
	return ms
}

// awaitedMs returns the time until all ordered requests that are asking a level's Ledger have lapsed.
func (c *Chain) awaitedMs(now uint64, level int) (ms uint64) {
	for i := range c.Holds {
		if h := &c.Holds[i]; h.Levels == level {
			ms = max(ms, h.leftMs(now))
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

// Lower returns the free part of a level's slice, because its Ledger has a lower budget now. Incomplete reservations
// with the level end. Other requests return what they do not need when they end.
func (c *Chain) Lower(now uint64, level int) {
	c.drop(func(h *Hold) bool { return h.Levels > level })
	c.Recall(now, level, 0)
}

// ReturnAbove gives the free parts of the slices above the project back to their Ledgers.
func (c *Chain) ReturnAbove() {
	for i := range c.ProjectAt() {
		if l := &c.Levels[i]; l.Slice.Free() > 0 {
			l.Return()
		}
	}
}

// Return gives the free part of the slice back to the Ledger by starting a new epoch.
func (l *Level) Return() {
	l.Epoch++
	l.Unsent = true
	l.Slice.Granted -= max(0, l.Slice.Free())
}
