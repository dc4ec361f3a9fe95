package groups

import (
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// maxNameBytes limits a group's name, because the record of every key below the group contains it.
const maxNameBytes = 128

// edit is an edit of a group.
type edit struct {
	name       string
	budget     money.Pico
	cycle      string // the API's word for it
	soft       bool
	hasName    bool
	hasBudget  bool
	noBudget   bool // removes the budget
	hasCycle   bool
	hasEnforce bool
	hideNames  bool
	hasHide    bool
}

// readEdit decodes the fields that a new group and a PATCH have in common.
func readEdit(f *kernel.Fields) (e edit) {
	e.name, e.hasName = f.Name()
	if len(e.name) > maxNameBytes {
		f.Problem("name", "must have at most "+strconv.Itoa(maxNameBytes)+" bytes in UTF-8, got "+strconv.Itoa(len(e.name)))
	}
	if e.noBudget = f.Null("budget"); !e.noBudget {
		e.budget, e.hasBudget = f.Budget(0)
	}
	e.cycle, e.hasCycle = f.Choice("budgetPeriod", "", settings.CycleWords)
	word, hasEnforce := f.Choice("enforce", "", enforceWords)
	e.hasEnforce, e.soft = hasEnforce, word == enforceWords[1]
	return e
}

func (e *edit) apply(g *directory.Group) {
	kernel.Set(e.hasName, &g.Name, e.name)
	if e.hasBudget || e.noBudget {
		g.Budgeted, g.BudgetPico = e.hasBudget, e.budget
	}
	if e.hasCycle {
		settings.SetCycle(&g.Cycle, &g.Epoch, e.cycle)
	}
	kernel.Set(e.hasEnforce, &g.Soft, e.soft)
	kernel.Set(e.hasHide, &g.HideNames, e.hideNames)
}

// recalls reports whether meters have to return what they hold. That is not necessary if the budget only grew. It is if
// the budget stays the same, because an earlier attempt may have missed some meters.
func (e *edit) recalls(before, after *directory.Group) bool {
	return (e.hasBudget || e.hasEnforce) && after.Stops() && !(before.Stops() && after.BudgetPico > before.BudgetPico)
}

// patchGroup is PATCH /api/admin/groups/{group}. Omitted fields keep their values. The response confirms that all
// projects below have the change.
func (h *handler) patchGroup(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	version, _ := f.Integer("version", 1, 1<<53)
	e := readEdit(f)
	if c.Group == doc.Root {
		e.hideNames, e.hasHide = f.Boolean("hideNames")
	} else {
		f.Fixed("hideNames", "can only be set on "+doc.Root)
	}
	f.Fixed("parent", "cannot be changed after creation")
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	var before, after directory.Group
	err = h.Store.Change(c, func() (made kernel.Change, err error) {
		if before, err = h.Store.Group(c, c.Group); err != nil {
			return made, err
		}
		if version != 0 && version != before.Revision+1 {
			return made, kernel.Outdated(before.Revision+1, version)
		}
		after = h.edited(before, &e)
		return h.commitOf(c, &before, &after)
	})
	if err == nil {
		err = bringDown(c, h.Plane, &after, e.recalls(&before, &after), before.Applied < before.Revision)
	}
	return kernel.OK(viewGroup(&after)), err
}

func (h *handler) edited(before directory.Group, e *edit) directory.Group {
	after := kernel.NextGroup(before)
	after.Revision++
	if after.CreatedMs == 0 { // the root's first change
		after.CreatedMs = h.NowMs()
	}
	e.apply(&after)
	return after
}

// commitOf returns the commit of a group's change. The Ledger gets the budget before any project has it in its chain.
// A budget that no longer stops requests leaves the chains first.
func (h *handler) commitOf(c *kernel.Call, before, after *directory.Group) (kernel.Change, error) {
	entry, err := h.AuditWrite(c, "", "", audited(before), audited(after))
	made := kernel.Change{Writes: []directory.Write{kernel.WriteGroup(after), entry}}
	if after.Stops() {
		made.Deliveries = append(made.Deliveries, h.Store.BudgetsTo(after)...)
	}
	return made, err
}

// deleteGroup is DELETE /api/admin/groups/{group}. Only an empty group can be deleted. Its Ledger keeps its data, which
// nothing asks for.
func (h *handler) deleteGroup(c *kernel.Call) (kernel.Answer, error) {
	if c.Group == doc.Root {
		return kernel.Answer{}, errRootStays
	}
	return kernel.NoContent(), h.Store.Change(c, func() (kernel.Change, error) {
		g, err := h.Store.Group(c, c.Group)
		if err != nil {
			return kernel.Change{}, err
		}
		if err := h.isEmpty(c, g.ID); err != nil {
			return kernel.Change{}, err
		}
		entry, err := h.AuditWrite(c, "", "", audited(&g), nil)
		removal := directory.Write{Key: doc.GroupKey(g.ID), Version: g.Version}
		return kernel.Change{Writes: []directory.Write{removal, entry}}, err
	})
}
