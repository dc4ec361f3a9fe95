// Package budget manages a key's share of the budgets above it. Each level of the path from the deployment to the
// project has a Ledger, which grants slices of its budget to the key's meter. A request is admitted when its cost is
// reserved in the slices of all levels.
//
// If a request finds too little budget at some levels, it asks the Ledgers of all these levels at once. If one of
// these Ledgers has nothing left, two requests could each hold what the other needs. From then on, the request is
// ordered: it reserves the levels from the root down, and asks only the Ledger of the first level that lacks budget.
// Two requests that compete at a level share all levels above it. Only a request that has reserved all of those can
// wait for the level, so requests never wait in a circle.
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
	Ledger          string // its name; empty for the Ledger of the key's project
	Slot            uint64 // identifies the level in the meter, even after the project has moved; 0 for the project's Ledger
	Slice, Previous Slice
	Epoch           uint64 // a new one starts when the meter returns budget; grants of earlier epochs are void
	RecalledMs      uint64 // time of the last unconditional recall in the slice's period; 0: none
	Unsent          bool   // the Ledger does not know the epoch or the spending yet
}

// Place is a period of a level above the project. A part of a reservation counts in it.
type Place struct {
	Slot   uint64
	Period calendar.Period
}

// Hold is an incomplete reservation of an ordered request. It reserves the request's amount at the first Levels
// levels.
type Hold struct {
	RequestID  string
	Levels     int
	AmountPico int64
	UntilMs    uint64
}

// Chain is a meter's state at all levels, from the root to the project.
type Chain struct {
	Levels []Level
	Former []Level // levels above the project before it moved, oldest first, for the requests admitted then
	Holds  []Hold
	Slots  uint64 // the highest slot so far
}

// maxFormer limits the levels of former paths. If a level is forgotten, its settlements still count at the project.
const maxFormer = 8

// NewChain returns the chain of a new meter, which has no grants. Without names, the project is its only level.
func NewChain(ledgers ...string) Chain {
	c := Chain{Levels: []Level{{Epoch: 1}}}
	if len(ledgers) > 0 {
		c.SetPath(1, ledgers)
	}
	return c
}

// Project returns the level of the key's project.
func (c *Chain) Project() *Level { return &c.Levels[len(c.Levels)-1] }

// Free returns the amount that can be reserved at all levels.
func (c *Chain) Free() int64 {
	free := c.Project().Slice.Free()
	for i := range c.Levels {
		free = min(free, c.Levels[i].Slice.Free())
	}
	return free
}

// Live reports whether all levels have a grant.
func (c *Chain) Live() bool {
	return !slices.ContainsFunc(c.Levels, func(l Level) bool { return !l.Slice.Live })
}

// SetPath sets the Ledgers above the project, from the root down, and reports whether that changed the path. Levels
// that are no longer on the path return their unused budget. Incomplete reservations end.
func (c *Chain) SetPath(now uint64, ledgers []string) bool {
	if c.hasPath(ledgers) {
		return false
	}
	c.drop(func(*Hold) bool { return true })
	old := append(c.Former, c.Levels[:len(c.Levels)-1]...)
	project := *c.Project()
	c.Levels, c.Former = nil, nil
	for _, name := range ledgers {
		at := slices.IndexFunc(old, func(l Level) bool { return l.Ledger == name })
		if at >= 0 {
			c.Levels = append(c.Levels, old[at])
			old = slices.Delete(old, at, at+1)
			continue
		}
		c.Slots++
		// A key may come back to a Ledger that remembers the key's earlier epochs. The current time is later than all
		// of them.
		c.Levels = append(c.Levels, Level{Ledger: name, Slot: c.Slots, Epoch: max(1, now)})
	}
	c.Levels = append(c.Levels, project)
	for i := range old {
		old[i].Return()
	}
	c.Former = old[max(0, len(old)-maxFormer):]
	return true
}

func (c *Chain) hasPath(ledgers []string) bool {
	if len(ledgers) != len(c.Levels)-1 {
		return false
	}
	for i, name := range ledgers {
		if c.Levels[i].Ledger != name {
			return false
		}
	}
	return true
}

// Above returns the present periods of the levels above the project.
func (c *Chain) Above() (places []Place) {
	for i := range len(c.Levels) - 1 {
		l := &c.Levels[i]
		places = append(places, Place{l.Slot, l.Slice.Period})
	}
	return places
}

// Book adds to the reserved and the spent amounts of a period of the project and of places above it. Periods that are
// no longer tracked are skipped.
func (c *Chain) Book(project calendar.Period, above []Place, reserved, spent int64) {
	c.Project().book(project, reserved, spent)
	for _, p := range above {
		if l := c.bySlot(p.Slot); l != nil {
			l.book(p.Period, reserved, spent)
		}
	}
}

func (l *Level) book(p calendar.Period, reserved, spent int64) {
	if s := l.Of(p); s != nil {
		s.Reserved = money.Add(s.Reserved, reserved)
		s.Spent = money.Add(s.Spent, spent)
		l.Unsent = l.Unsent || spent != 0
	}
}

func (c *Chain) bySlot(slot uint64) *Level {
	for _, levels := range [...][]Level{c.Levels, c.Former} {
		for i := range levels {
			if levels[i].Slot == slot {
				return &levels[i]
			}
		}
	}
	return nil
}

// Named returns the index of a Ledger's level, or -1.
func (c *Chain) Named(ledger string) int {
	return slices.IndexFunc(c.Levels, func(l Level) bool { return l.Ledger == ledger })
}

// FormerNamed returns the level of a Ledger on a former path, or nil.
func (c *Chain) FormerNamed(ledger string) *Level {
	for i := range c.Former {
		if c.Former[i].Ledger == ledger {
			return &c.Former[i]
		}
	}
	return nil
}

// FreeAt returns the amount that can be reserved in a period of the project and at places above it. It is 0 if one of
// them is no longer tracked.
func (c *Chain) FreeAt(project calendar.Period, above []Place) int64 {
	free := c.Project().freeIn(project)
	for _, p := range above {
		l := c.bySlot(p.Slot)
		if l == nil {
			return 0
		}
		free = min(free, l.freeIn(p.Period))
	}
	return max(0, free)
}

func (l *Level) freeIn(p calendar.Period) int64 {
	if s := l.Of(p); s != nil {
		return s.Free()
	}
	return 0
}

// Of returns the slice of a period, or nil if the period is no longer tracked.
func (l *Level) Of(p calendar.Period) *Slice {
	switch p {
	case l.Slice.Period:
		return &l.Slice
	case l.Previous.Period:
		return &l.Previous
	}
	return nil
}

// Advance starts the levels' present periods, from the root down, and ends the incomplete reservations that have lapsed.
func (c *Chain) Advance(now uint64, periods ...calendar.Period) {
	for i, p := range periods {
		c.rollover(i, p)
	}
	c.drop(func(h *Hold) bool { return h.UntilMs <= now })
}

// rollover starts a later period of a level with an empty slice. The previous period's unspent grant lapses, also in
// the Ledger. Incomplete reservations with this level lapse too.
func (c *Chain) rollover(level int, p calendar.Period) {
	l := &c.Levels[level]
	if p <= l.Slice.Period {
		return
	}
	c.drop(func(h *Hold) bool { return h.Levels > level })
	l.Previous, l.Slice, l.RecalledMs = l.Slice, Slice{Period: p}, 0
}

// Release ends the incomplete reservation of a request.
func (c *Chain) Release(id string) { c.drop(func(h *Hold) bool { return h.RequestID == id }) }

// drop ends incomplete reservations without charging them.
func (c *Chain) drop(which func(*Hold) bool) {
	if len(c.Holds) == 0 {
		return
	}
	c.Holds = slices.DeleteFunc(c.Holds, func(h Hold) bool {
		if !which(&h) {
			return false
		}
		c.reserve(h.Levels, -h.AmountPico)
		return true
	})
}

// reserve adds to the reserved amount of the first levels.
func (c *Chain) reserve(levels int, pico int64) {
	for i := range levels {
		c.Levels[i].Slice.Reserved += pico
	}
}
