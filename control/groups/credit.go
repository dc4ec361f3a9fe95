package groups

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
)

// creditGroup is POST …/credits {"amount", "note"}. The credit can be spent by the time it responds.
func (h *handler) creditGroup(c *kernel.Call) (kernel.Answer, error) {
	topUp, err := settings.ReadTopUp(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	var made settings.Credited
	var before, after directory.Group
	err = h.Store.Change(c, func() (kernel.Change, error) {
		if before, err = h.Store.Group(c, c.Group); err != nil {
			return kernel.Change{}, err
		}
		after = h.next(before)
		made, err = topUp.Add(c, h.Store, settings.Prepaid{ID: after.ID, Cycle: after.Cycle, Exists: &after.Budgeted, Amount: &after.BudgetPico})
		switch {
		case err != nil:
			return kernel.Change{}, err
		case made.Repeated:
			after = before
			return kernel.Change{Deliveries: h.Store.BudgetsTo(&after)}, nil
		case before.Budgeted: // the chains below stay the same
			keepApplied(&before, &after)
		}
		made.Audit["groupId"] = after.ID
		entry, err := h.AuditWrite(c, "", "", map[string]any{"groupId": after.ID, "budget": settings.ViewBudget(before.Budgeted, before.BudgetPico)}, made.Audit)
		return kernel.Change{
			Writes: []directory.Write{kernel.WriteGroup(&after), made.Write, entry}, Deliveries: h.Store.BudgetsTo(&after),
		}, err
	})
	if err == nil && after.Applied < after.Revision {
		_, err = bringDown(c, h.Plane, &descent{group: &after, repeats: before.Applied < before.Revision})
	}
	return kernel.Created(made.View), err
}

// keepApplied notes that the projects below need nothing for a change.
func keepApplied(before, after *directory.Group) {
	kernel.Set(before.Applied == before.Revision, &after.Applied, after.Revision)
	kernel.Set(before.Delivered == before.Revision, &after.Delivered, after.Revision)
}
