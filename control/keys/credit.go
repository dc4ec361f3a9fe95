package keys

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
)

// creditKey serves POST …/keys/{key}/credits {"amount", "note"}. The credit can be spent by the time it responds.
func (h *handler) creditKey(c *kernel.Call) (kernel.Answer, error) {
	topUp, err := settings.ReadTopUp(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	var made settings.Credited
	err = h.Store.Change(c, func() (kernel.Change, error) {
		p, before, err := h.read(c)
		if err != nil {
			return kernel.Change{}, err
		}
		after, next := kernel.NextKey(before), kernel.NextProject(p)
		b := &after.Budget
		made, err = topUp.Add(c, h.Store, settings.Prepaid{ID: after.ID, Cycle: b.Cycle, Exists: &b.Budgeted, Amount: &b.BudgetPico})
		switch {
		case err != nil:
			return kernel.Change{}, err
		case made.Repeated: // perhaps the meter does not have it yet
			return h.commitOf(&after, &next), nil
		}
		entry, err := h.AuditWrite(c, c.Project, c.Key,
			map[string]any{"budget": settings.ViewBudget(before.Budget.Budgeted, before.Budget.BudgetPico)}, made.Audit)
		return h.commitOf(&after, &next, made.Write, entry), err
	})
	return kernel.Created(made.View), err
}
