package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// placement is where an amount counts: in a period of the project's budget, and in periods of the budgets above it.
type placement struct {
	period calendar.Period
	above  []budget.Place
}

// place returns the present periods.
func (m *meter) place() placement { return placement{m.slice().Period, m.chain.Above()} }

// isPresent reports whether all periods of a placement are the present ones.
func (m *meter) isPresent(p *placement) bool {
	if p.period != m.slice().Period || len(p.above) != len(m.chain.Levels)-1 {
		return false
	}
	for i := range p.above {
		if l := &m.chain.Levels[i]; p.above[i] != (budget.Place{Slot: l.Slot, Period: l.Slice.Period}) {
			return false
		}
	}
	return true
}

// book adds to the reserved and the spent amounts of a placement.
func (m *meter) book(p *placement, reserved, spent int64) {
	m.chain.Book(p.period, p.above, reserved, spent)
}

// aboveFields lists the places above the project. They are the last fields of their message or row. If there are
// none, the list is omitted, because older versions do not know it.
func (p *placement) aboveFields(f *abi.Fields) {
	if f.Reading() && f.More() || len(p.above) > 0 {
		if abi.List(f, &p.above, placeFields); len(p.above) == 0 {
			f.Fail()
		}
	}
}

func placeFields(f *abi.Fields, p *budget.Place) {
	f.Uint(&p.Slot)
	ledger.PeriodFields(f, &p.Period)
}

func sliceFields(f *abi.Fields, s *budget.Slice) {
	ledger.PeriodFields(f, &s.Period)
	f.Bool(&s.Live)
	f.Int(&s.Granted)
	f.Int(&s.Spent)
	f.Int(&s.Reserved)
}

func levelFields(f *abi.Fields, l *budget.Level) {
	f.String(&l.Ledger)
	f.Uint(&l.Slot)
	sliceFields(f, &l.Slice)
	sliceFields(f, &l.Previous)
	f.Uint(&l.Epoch)
	f.Uint(&l.RecalledMs)
	f.Bool(&l.Unsent)
}

func holdFields(f *abi.Fields, h *budget.Hold) {
	f.String(&h.RequestID)
	levels := uint64(h.Levels)
	f.Uint(&levels)
	h.Levels = int(levels)
	f.Int(&h.AmountPico)
	f.Uint(&h.UntilMs)
}

// treeFields lists the levels above the project and the other fields that only a meter with such levels has.
func (m *meter) treeFields(f *abi.Fields) {
	c := &m.chain
	f.Uint(&c.Slots)
	f.Uint(&m.returnSeq)
	above := c.Levels[:len(c.Levels)-1]
	if abi.List(f, &above, levelFields); f.Reading() {
		c.Levels = append(above, *c.Project())
	}
	abi.List(f, &c.Former, levelFields)
	abi.List(f, &c.Holds, holdFields)
	for i := range c.Holds {
		if f.Reading() && c.Holds[i].Levels >= len(c.Levels) {
			f.Fail()
		}
	}
}
