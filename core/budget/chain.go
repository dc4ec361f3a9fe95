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
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// HoldMs is how long an incomplete reservation lasts unless its request repeats it. It covers a call to a Ledger and the
// recall of idle slices.
const HoldMs = 2000

// Slice is a meter's part of one budget in one period, in the budget's unit; dollars are in picodollars. Granted >= Spent + Reserved, unless a request cost
// more than its reservation.
type Slice struct {
	Period                   calendar.Period
	Live                     bool // there is a grant, perhaps of 0
	Granted, Spent, Reserved int64
}

// Free returns the amount that can still be reserved. A negative amount is a debt.
func (s *Slice) Free() int64 { return s.Granted - money.Add(s.Spent, s.Reserved) }

// Amounts are counted at all levels, each in its unit.
type Amounts struct {
	Pico, Requests, Tokens int64
}

// Of returns the amount in a unit.
func (a *Amounts) Of(u doc.Unit) int64 {
	switch u {
	case doc.Requests:
		return a.Requests
	case doc.Tokens:
		return a.Tokens
	}
	return a.Pico
}

// Level is a meter's state at one Ledger, or at one of the key's own budgets.
type Level struct {
	Ledger          string // its name; empty for the Ledger of the key's project
	Slot            uint64 // identifies the level in the meter, even after the project has moved; 0 for the project's Ledger
	Soft            bool   // counts, but does not stop requests; the Ledger has no budget to grant
	Own             int64  // one more than the key's own budget per period, which has no Ledger; 0: there is a Ledger
	Slice, Previous Slice
	Epoch           uint64 // a new one starts when the meter returns budget; grants of earlier epochs are void
	RecalledMs      uint64 // time of the last unconditional recall in the slice's period; 0: none
	Unsent          bool   // the Ledger does not know the epoch or the spending yet
}

// Place is a period of a level other than the project's. A part of a reservation counts in it.
type Place struct {
	Slot   uint64
	Period calendar.Period
}

// Hold is an incomplete reservation of an ordered request. It reserves the request's amounts at the first Levels
// levels.
type Hold struct {
	RequestID string
	Levels    int
	Amounts   Amounts
	UntilMs   uint64
}

// Unit returns the unit that the level counts.
func (l *Level) Unit() doc.Unit {
	_, u := doc.UnitOf(l.Ledger)
	return u
}

// Chain is a meter's state at all levels, from the root to the project, followed by the key's own budgets.
type Chain struct {
	Levels []Level
	Owned  int     // the number of the key's own budgets
	Former []Level // levels above the project before it moved, oldest first, for the requests admitted then
	Holds  []Hold
	Slots  uint64 // the highest slot so far
}

// maxFormer limits the levels of former paths. If a level is forgotten, its settlements still count at the project, but
// the key's spending there is lost if the project comes back in the same period. Nobody moves a project that often.
const maxFormer = 64

// NewChain returns the chain of a new meter, which has no grants. Without names, the project is its only level.
func NewChain(ledgers ...string) Chain {
	c := Chain{Levels: []Level{{Epoch: 1}}}
	c.SetPath(1, ledgers, nil)
	return c
}

// Project returns the level of the key's project.
func (c *Chain) Project() *Level { return &c.Levels[c.ProjectAt()] }

// ProjectAt returns the index of the project's level.
func (c *Chain) ProjectAt() int { return len(c.Levels) - c.Owned - 1 }

// Above returns the levels above the project, and the levels that count the project's requests and tokens.
func (c *Chain) Above() []Level { return c.Levels[:c.ProjectAt()] }

// Free returns the dollars that can be reserved at all levels, in picodollars.
func (c *Chain) Free() int64 {
	free := int64(doc.Endless)
	for i := range c.Levels {
		if l := &c.Levels[i]; l.Unit() == doc.Dollars && !l.Soft {
			free = min(free, l.Slice.Free())
		}
	}
	return free
}

// Counts reports whether a level counts anything other than dollars.
func (c *Chain) Counts() bool {
	return slices.ContainsFunc(c.Levels, func(l Level) bool { return l.Unit() != doc.Dollars })
}

// Live reports whether all levels have a grant.
func (c *Chain) Live() bool {
	return !slices.ContainsFunc(c.Levels, func(l Level) bool { return !l.Slice.Live })
}

// Own is one of the key's own budgets.
type Own struct {
	Name  string // "key" and the suffix of its unit, see doc.LedgerName
	Limit int64  // per period, in the unit
}

// SetPath sets the Ledgers above the project, from the root down, and the key's own budgets. It reports whether the
// Ledgers changed. Levels that are no longer on the path return their unused budget. Incomplete reservations end.
func (c *Chain) SetPath(now uint64, ledgers []string, own []Own) bool {
	if c.hasPath(ledgers, own) {
		for i := range own {
			c.Levels[c.ProjectAt()+1+i].setOwn(own[i].Limit)
		}
		return false
	}
	c.drop(func(*Hold) bool { return true })
	leave(c.Former, now) // requests have been settled since
	project, moved := *c.Project(), !c.isBelow(ledgers)
	old := append(c.Former, c.Above()...)
	old = append(old, c.Levels[c.ProjectAt()+1:]...)
	c.Levels, c.Former, c.Owned = nil, nil, len(own)
	for _, name := range ledgers {
		c.Levels = append(c.Levels, c.take(&old, now, name))
	}
	c.Levels = append(c.Levels, project)
	for _, o := range own {
		l := c.take(&old, now, o.Name)
		l.setOwn(o.Limit)
		c.Levels = append(c.Levels, l)
	}
	leave(old, now)
	c.Former = old[max(0, len(old)-maxFormer):]
	return moved
}

// leave returns the unused budget of levels that leave the path. If they come back, their budgets may be lower, so
// requests in progress return what they do not need.
func leave(levels []Level, now uint64) {
	for i := range levels {
		if l := &levels[i]; l.Own == 0 {
			l.Return()
			l.RecalledMs = now
		}
	}
}

// take removes a level from a list, or creates it.
func (c *Chain) take(from *[]Level, now uint64, name string) Level {
	at := slices.IndexFunc(*from, func(l Level) bool { return l.Ledger == name })
	if at >= 0 {
		l := (*from)[at]
		*from = slices.Delete(*from, at, at+1)
		return l
	}
	c.Slots++
	// A key may come back to a Ledger that remembers the key's earlier epochs. The current time is later than all of
	// them.
	return Level{Ledger: name, Slot: c.Slots, Epoch: max(1, now)}
}

// setOwn sets the limit of a key's own budget. It keeps the spending of the period.
func (l *Level) setOwn(limit int64) {
	l.Own, l.Slice.Live, l.Slice.Granted = limit+1, true, limit
}

// Soften sets whether a level stops requests. A level that begins to stop them keeps what it has counted in its period
// and what requests in progress have reserved, so that the Ledger learns of both. hardened reports whether it begins.
func (l *Level) Soften(soft bool) (hardened bool) {
	hardened = l.Soft && !soft
	if l.Soft = soft; hardened {
		l.Slice.Granted = max(l.Slice.Granted, money.Add(l.Slice.Spent, l.Slice.Reserved))
		l.Return()
	}
	return hardened
}

func (c *Chain) isBelow(ledgers []string) bool {
	return slices.EqualFunc(c.Above(), ledgers, func(l Level, name string) bool { return l.Ledger == name })
}

func (c *Chain) hasPath(ledgers []string, own []Own) bool {
	return c.isBelow(ledgers) &&
		slices.EqualFunc(c.Levels[c.ProjectAt()+1:], own, func(l Level, o Own) bool { return l.Ledger == o.Name })
}

// Places returns the present periods of all levels but the project's.
func (c *Chain) Places() (places []Place) {
	for i := range c.Levels {
		if l := &c.Levels[i]; i != c.ProjectAt() {
			places = append(places, Place{l.Slot, l.Slice.Period})
		}
	}
	return places
}

// Book adds to the reserved and the spent amounts of a period of the project and of other places. Periods that are no
// longer tracked are skipped. Requests are spent when they are admitted, so they are not among the amounts.
func (c *Chain) Book(project calendar.Period, places []Place, reserved, spent Amounts) {
	c.Project().book(project, reserved, spent)
	for _, p := range places {
		if l := c.bySlot(p.Slot); l != nil {
			l.book(p.Period, reserved, spent)
		}
	}
	for i := range c.Former {
		l := &c.Former[i]
		l.Unsent = l.Unsent || l.Own == 0 && l.Slice.Free() > 0 // no request will use it
	}
}

func (l *Level) book(p calendar.Period, reserved, spent Amounts) {
	u := l.Unit()
	if s := l.Of(p); s != nil {
		s.Reserved = money.Add(s.Reserved, reserved.Of(u))
		s.Spent = money.Add(s.Spent, spent.Of(u))
		l.Unsent = l.Unsent || spent.Of(u) != 0
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

// FreeAt returns the dollars that can be reserved in a period of the project and at other places, in picodollars. It is
// 0 if one of them is no longer tracked.
func (c *Chain) FreeAt(project calendar.Period, places []Place) int64 {
	free := int64(doc.Endless)
	if l := c.Project(); !l.Soft {
		free = l.freeIn(project)
	}
	for _, p := range places {
		l := c.bySlot(p.Slot)
		if l == nil {
			return 0
		}
		if l.Unit() == doc.Dollars && !l.Soft {
			free = min(free, l.freeIn(p.Period))
		}
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
// One that lasts longer than HoldMs is from before the clock went back.
func (c *Chain) Advance(now uint64, periods ...calendar.Period) {
	for i, p := range periods {
		c.rollover(i, p)
	}
	c.drop(func(h *Hold) bool { return h.UntilMs <= now || h.UntilMs > now+HoldMs })
}

// rollover starts a later period of a level with an empty slice. The previous period's unspent grant lapses, also in
// the Ledger. Incomplete reservations with this level lapse too.
func (c *Chain) rollover(level int, p calendar.Period) {
	l := &c.Levels[level]
	if p <= l.Slice.Period {
		return
	}
	c.drop(func(h *Hold) bool { return h.Levels > level })
	l.Previous, l.Slice, l.RecalledMs = l.Slice, Slice{Period: p, Live: l.Own > 0, Granted: max(0, l.Own-1)}, 0
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
		c.hold(&h, -1)
		return true
	})
}

// hold adds an incomplete reservation to the reserved amounts, or subtracts it.
func (c *Chain) hold(h *Hold, sign int64) {
	for i := range h.Levels {
		l := &c.Levels[i]
		l.Slice.Reserved += sign * h.Amounts.Of(l.Unit())
	}
}
