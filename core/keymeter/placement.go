package keymeter

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// placement is where amounts count: in a period of the project's budget, and in periods of the budgets above it and of
// the key's own.
type placement struct {
	period calendar.Period
	others []budget.Place
	path   ledger.Path
}

// place returns the present periods.
func (m *meter) place() placement { return placement{m.slice().Period, m.chain.Places(), m.path()} }

// path returns the path of the requests that are admitted now.
func (m *meter) path() ledger.Path {
	p, shift := ledger.Path{Number: m.record.Path}, 0
	for i := range m.record.Chain {
		n := &m.record.Chain[i]
		if p.Number == 0 || n.Unit != doc.Dollars {
			continue
		}
		epoch := m.chain.Levels[i].Slice.Period.Epoch()
		p.Ahead |= min(epoch-min(epoch, n.Epoch), 1<<ledger.AheadBits-1) << shift
		shift += ledger.AheadBits
	}
	return p
}

// periods returns the present periods of all levels.
func (m *meter) periods() []calendar.Period {
	rec := &m.record
	periods := make([]calendar.Period, 0, len(m.chain.Levels))
	for i := range rec.Chain {
		p := rec.Chain[i].Period(m.day)
		if granted := m.chain.Levels[i].Slice.Period; granted.Epoch() > p.Epoch() {
			p = granted.At(m.day) // the record does not have the node's new cycle yet
		}
		periods = append(periods, p)
	}
	periods = append(periods, rec.Period(m.day))
	for len(periods) < len(m.chain.Levels) {
		periods = append(periods, rec.Own.Period(m.day))
	}
	return periods
}

// isPresent reports whether all periods of a placement are the present ones.
func (m *meter) isPresent(p *placement) bool {
	return p.period == m.slice().Period && slices.Equal(p.others, m.chain.Places())
}

// book adds to the reserved and the spent amounts of a placement.
func (m *meter) book(p *placement, reserved, spent budget.Amounts) {
	m.chain.Book(p.period, p.others, reserved, spent)
	m.returnSpent(min(spent.Pico, spent.Requests, spent.Tokens) < 0)
}

// othersFields lists the places other than the project's and the path. They are the last fields of their message or row.
// They are omitted if there are none, because older versions do not know them.
func (p *placement) othersFields(f *abi.Fields) {
	if f.Reading() && f.More() || len(p.others) > 0 || p.path.Used() {
		abi.List(f, &p.others, placeFields)
		if f.Reading() && f.More() || p.path.Used() {
			p.path.Fields(f)
		} else if len(p.others) == 0 {
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
	f.Int(&l.Own)
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
	f.Int(&h.Amounts.Pico)
	f.Int(&h.Amounts.Requests)
	f.Int(&h.Amounts.Tokens)
	f.Uint(&h.UntilMs)
}

// treeFields lists the levels other than the project's and the other fields that only a meter with such levels has.
func (m *meter) treeFields(f *abi.Fields) {
	c := &m.chain
	f.Uint(&c.Slots)
	f.Uint(&m.returns.seq)
	f.Uint(&m.returns.lastMs)
	f.Uint(&m.returns.dueMs)
	f.Bool(&m.returns.direct)
	m.crossed.fields(f)
	above, own := c.Above(), c.Levels[c.ProjectAt()+1:]
	abi.List(f, &above, levelFields)
	if abi.List(f, &own, levelFields); f.Reading() {
		c.Levels, c.Owned = append(append(above, *c.Project()), own...), len(own)
	}
	abi.List(f, &c.Former, levelFields)
	abi.List(f, &c.Holds, holdFields)
	for i := range c.Holds {
		if f.Reading() && c.Holds[i].Levels >= len(c.Levels) {
			f.Fail()
		}
	}
}
