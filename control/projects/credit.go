package projects

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
)

// creditProject serves POST …/credits {"amount", "note"}. The credit can be spent by the time it responds.
func (h *handler) creditProject(c *kernel.Call) (kernel.Answer, error) {
	topUp, err := settings.ReadTopUp(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	var made settings.Credited
	err = h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		after := kernel.NextProject(before)
		after.Revision++
		made, err = topUp.Add(c, h.Store, settings.Prepaid{ID: after.ID, Cycle: after.Cycle, Amount: &after.BudgetPico})
		switch {
		case err != nil:
			return kernel.Change{}, err
		case made.Repeated:
			return kernel.Change{Deliveries: h.Store.SettingsOf(&before)}, nil
		}
		entry, err := h.AuditWrite(c, c.Project, "", map[string]any{"budget": settings.ViewBudget(true, before.BudgetPico)}, made.Audit)
		return kernel.Change{
			Writes: []directory.Write{kernel.WriteProject(&after), made.Write, entry}, Deliveries: h.Store.SettingsOf(&after),
		}, err
	})
	return kernel.Created(made.View), err
}
