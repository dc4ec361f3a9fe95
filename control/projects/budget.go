package projects

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// budgetEdit is an edit of a project's budget and limits per budget period.
type budgetEdit struct {
	amount    money.Pico
	cycle     string // the API's word for it
	limits    doc.PeriodLimits
	soft      bool
	enforces  bool // says whether the budget and the limits stop requests
	hasAmount bool
	hasCycle  bool
	hasLimits bool
}

func takeBudget(f *kernel.Fields) (e budgetEdit) {
	e.amount, e.hasAmount = f.Budget(0)
	e.cycle, e.hasCycle = f.Choice("budgetPeriod", "", settings.CycleWords)
	e.limits, e.hasLimits = settings.TakePeriodLimits(f)
	e.soft, e.enforces = settings.TakeEnforce(f)
	return e
}

func (e *budgetEdit) apply(p *directory.Project) {
	kernel.Set(e.hasAmount, &p.BudgetPico, e.amount)
	if e.hasCycle {
		settings.SetCycle(&p.Cycle, &p.Epoch, e.cycle)
	}
	kernel.Set(e.hasLimits, &p.Limits, e.limits)
	kernel.Set(e.enforces, &p.Soft, e.soft)
}

// affectsKeys reports whether the keys' records contain the edit. They do not contain the amount.
func (e *budgetEdit) affectsKeys() bool { return e.hasCycle || e.hasLimits || e.enforces }

// flush makes the keys report their costs before a new budget period begins, because costs since its first day count.
func (h *handler) flush(c *kernel.Call, before, after *directory.Project) error {
	if after.Cycle == before.Cycle {
		return nil
	}
	_, err := reports.FlushMeters(c, h.Plane, before)
	return err
}

// recall returns the budget that meters may hold too much of. An amount or a limit that stays the same is in it, because
// an earlier attempt may have missed some meters. If the budget is set to hard, all of it is in it, because its Ledgers might
// not know what the meters have counted.
func (e *budgetEdit) recall(before, after *directory.Project) kernel.Recall {
	r := kernel.Recall{Projects: []string{after.ID}}
	hard := e.enforces && !after.Soft
	if hard {
		before = after
	}
	if (hard || e.hasAmount) && after.BudgetPico <= before.BudgetPico {
		r.Ledgers = append(r.Ledgers, "")
	}
	if hard || e.hasLimits {
		for _, u := range settings.LoweredUnits(&before.Limits, &after.Limits) {
			r.Ledgers = append(r.Ledgers, doc.LedgerName(after.ID, u))
		}
	}
	return r
}
