package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// KeyBudget is a key's own budget. The key's meter owns it, so it needs no Ledger.
type KeyBudget struct {
	Budgeted   bool
	BudgetPico int64 // per budget period
	Limits     PeriodLimits
	Cycle      calendar.Cycle
	Epoch      uint64 // how often the cycle was changed
	Soft       bool   // the budget and the limits are counted, but do not stop requests
}

// Period returns the budget period that contains a day.
func (b *KeyBudget) Period(day uint64) calendar.Period {
	return calendar.NewPeriod(b.Cycle, b.Epoch, day)
}

// Own returns the limits that stop requests, in the order of the units. Those of a soft budget are Endless, so that the
// meter counts and never refuses.
func (b *KeyBudget) Own() (own []Own) {
	if b.Budgeted {
		own = append(own, Own{Dollars, b.BudgetPico})
	}
	for u := Requests; u < units; u++ {
		if n := b.Limits.Of(u); n > 0 {
			own = append(own, Own{u, int64(n)})
		}
	}
	for i := range own {
		if b.Soft {
			own[i].Limit = Endless
		}
	}
	return own
}

// Endless is a limit that no spending reaches. Sums of it and of any spending do not overflow.
const Endless = 1 << 61

// Own is one of a key's own limits per budget period.
type Own struct {
	Unit  Unit
	Limit int64 // in the unit; dollars in picodollars
}

func (b *KeyBudget) fields(f *abi.Fields) {
	f.Flags(&b.Budgeted, &b.Soft)
	f.Int(&b.BudgetPico)
	b.Limits.fields(f)
	abi.Enum(f, &b.Cycle)
	f.Uint(&b.Epoch)
}

// MaxPeriodLimit is the highest limit of requests or tokens per budget period. JavaScript can represent all numbers up to it.
const MaxPeriodLimit = 1 << 53
