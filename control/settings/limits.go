package settings

import (
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// PeriodLimitsView contains the limits per budget period. Null means that there is none.
type PeriodLimitsView struct {
	RequestsPerPeriod *uint64 `json:"requestsPerPeriod"`
	TokensPerPeriod   *uint64 `json:"tokensPerPeriod"`
}

// ViewPeriodLimits returns the API's view of limits.
func ViewPeriodLimits(l doc.PeriodLimits) PeriodLimitsView {
	return PeriodLimitsView{kernel.NullIfZero(l.Requests), kernel.NullIfZero(l.Tokens)}
}

// TakePeriodLimits takes the field "limits" of a project or a group. The field replaces both limits.
func TakePeriodLimits(f *kernel.Fields) (limits doc.PeriodLimits, given bool) {
	inner, given := f.Object("limits")
	if given {
		limits = TakePeriodFields(inner)
		f.AddProblems("limits", inner)
	}
	return limits, given
}

// TakePeriodFields takes the fields of the limits per budget period. A limit that is missing or null does not exist.
func TakePeriodFields(f *kernel.Fields) (limits doc.PeriodLimits) {
	for _, one := range []struct {
		field string
		to    *uint64
	}{{"requestsPerPeriod", &limits.Requests}, {"tokensPerPeriod", &limits.Tokens}} {
		if !f.Null(one.field) {
			*one.to, _ = f.Integer(one.field, 1, doc.MaxPeriodLimit)
		}
	}
	return limits
}

// ViewBudget returns the API's view of a budget that need not exist: dollars, or null.
func ViewBudget(exists bool, amount money.Pico) json.RawMessage {
	if !exists {
		return json.RawMessage("null")
	}
	return money.Append(nil, amount, money.Dollar)
}

// BudgetEdit is an edit of the budget of a group or a key, which need not have one.
type BudgetEdit struct {
	amount   money.Pico
	cycle    string // the API's word for it
	sets     bool   // sets or removes the budget
	exists   bool
	hasCycle bool
	enforces bool // says whether the budget stops requests
	soft     bool
}

// TakeBudget takes the fields "budget", which is an amount or null, "budgetPeriod" and "enforce".
func TakeBudget(f *kernel.Fields) (e BudgetEdit) {
	if e.sets = f.Null("budget"); !e.sets {
		e.amount, e.exists = f.Budget(0)
		e.sets = e.exists
	}
	e.cycle, e.hasCycle = f.Choice("budgetPeriod", "", CycleWords)
	e.soft, e.enforces = TakeEnforce(f)
	return e
}

// Apply changes a budget. A change of the cycle increments the epoch.
func (e *BudgetEdit) Apply(exists *bool, amount *money.Pico, cycle *calendar.Cycle, epoch *uint64, soft *bool) {
	kernel.Set(e.enforces, soft, e.soft)
	if e.sets {
		*exists, *amount = e.exists, e.amount
	}
	if e.hasCycle {
		SetCycle(cycle, epoch, e.cycle)
	}
}

// enforceWords are the API's words for whether a budget and its limits stop requests: false and true of "soft".
var enforceWords = []string{"hard", "soft"}

// ViewEnforce returns the API's word for whether a budget stops requests.
func ViewEnforce(soft bool) string {
	if soft {
		return enforceWords[1]
	}
	return enforceWords[0]
}

// TakeEnforce takes the field "enforce".
func TakeEnforce(f *kernel.Fields) (soft, given bool) {
	word, given := f.Choice("enforce", "", enforceWords)
	return word == enforceWords[1], given
}

// LoweredUnits returns the units whose limits a change did not raise. Meters may hold too much of them. That includes
// limits that stay the same, because an earlier attempt may have missed some meters.
func LoweredUnits(before, after *doc.PeriodLimits) (lowered []doc.Unit) {
	for _, u := range [...]doc.Unit{doc.Requests, doc.Tokens} {
		if old, now := before.Of(u), after.Of(u); now > 0 && old > 0 && now <= old {
			lowered = append(lowered, u)
		}
	}
	return lowered
}
