package groups

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// maxNameBytes limits a group's name, because the record of every key below the group contains it.
const maxNameBytes = 128

// edit is an edit of a group.
type edit struct {
	name      string
	budget    settings.BudgetEdit
	limits    doc.PeriodLimits
	models    []string
	webhook   string
	secret    []byte // for a new webhook
	hasName   bool
	hasLimits bool
	hasModels bool
	hasAlerts bool
	hideNames bool
	hasHide   bool
}

// readEdit decodes the fields that a new group and a PATCH have in common.
func (h *handler) readEdit(f *kernel.Fields) (e edit, err error) {
	e.name, e.hasName = f.Name()
	if len(e.name) > maxNameBytes {
		f.Problem("name", "must have at most "+strconv.Itoa(maxNameBytes)+" bytes in UTF-8, got "+strconv.Itoa(len(e.name)))
	}
	if strings.Contains(e.name, "/") {
		f.Problem("name", "must not contain \"/\", which separates the names in the path of a group")
	}
	e.budget = settings.TakeBudget(f)
	e.limits, e.hasLimits = settings.TakePeriodLimits(f)
	e.models, e.hasModels = f.Models()
	e.webhook, e.hasAlerts = settings.TakeAlerts(h.Plane, f)
	e.secret, err = settings.NewWebhookSecret(h.Rand)
	return e, err
}

func (e *edit) apply(g *directory.Group) {
	kernel.Set(e.hasName, &g.Name, e.name)
	e.budget.Apply(&g.Budgeted, &g.BudgetPico, &g.Cycle, &g.Epoch, &g.Soft)
	kernel.Set(e.hasLimits, &g.Limits, e.limits)
	kernel.Set(e.hasModels, &g.Models, e.models)
	if e.hasAlerts {
		settings.SetAlerts(&g.Alerts, e.webhook, e.secret)
	}
	kernel.Set(e.hasHide, &g.HideNames, e.hideNames)
}

// lowers reports whether meters may hold too much of the budget or a limit after a change. They may also hold a part of an
// earlier one, if it was removed and is set again before they know.
func lowers(before, after *directory.Group) bool {
	return slices.ContainsFunc(after.Nodes(), func(n doc.Node) bool {
		was := limitOf(before, n.Unit)
		return !before.Stops() || was < 0 || limitOf(after, n.Unit) < was
	})
}

// limitOf returns a group's limit in a unit, or -1 if there is none.
func limitOf(g *directory.Group, u doc.Unit) int64 {
	switch {
	case u == doc.Dollars && g.Budgeted:
		return g.BudgetPico
	case u != doc.Dollars && g.Limits.Of(u) > 0:
		return int64(g.Limits.Of(u))
	}
	return -1
}

// patchGroup is PATCH /api/admin/groups/{group}. Omitted fields keep their values. The response confirms that all
// projects below have the change.
func (h *handler) patchGroup(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	version, _ := f.Integer("version", 1, 1<<53)
	e, err := h.readEdit(f)
	if err != nil {
		return kernel.Answer{}, err
	}
	if c.Group == doc.Root {
		e.hideNames, e.hasHide = f.Boolean("hideNames")
	} else {
		f.Fixed("hideNames", "can only be set on "+doc.Root)
	}
	f.Fixed("parent", "cannot be changed after creation")
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	return h.changeGroup(c, version, e.apply)
}

// changeGroup commits an edit of a group and brings it down to the projects below. The group must have the expected
// version, unless that is 0.
func (h *handler) changeGroup(c *kernel.Call, version uint64, apply func(*directory.Group)) (kernel.Answer, error) {
	var before, after directory.Group
	err := h.Store.Change(c, func() (made kernel.Change, err error) {
		if before, err = h.Store.Group(c, c.Group); err != nil {
			return made, err
		}
		if version != 0 && version != before.Revision+1 {
			return made, kernel.Outdated(before.Revision+1, version)
		}
		after = h.next(before)
		apply(&after)
		if after.Budgeted && (after.Cycle != before.Cycle || before.Soft && !after.Soft) { // earlier costs count
			if _, err := reports.FlushBelow(c, h.Plane, c.Group); err != nil {
				return made, err
			}
		}
		kernel.Set(lowers(&before, &after), &after.Lowered, after.Revision)
		return h.commitOf(c, &before, &after)
	})
	if err != nil {
		return kernel.Answer{}, err
	}
	pending, err := bringDown(c, h.Plane, &descent{&after, before.Applied < before.Revision})
	view := viewGroup(&after)
	view.Alerts = settings.ViewAlerts(&after.Alerts, &before.Alerts)
	view.Delivery = deliveryWord(pending)
	return kernel.OK(view), err
}

// next returns a group for the next change.
func (h *handler) next(before directory.Group) directory.Group {
	after := kernel.NextGroup(before)
	after.Revision++
	if after.CreatedMs == 0 { // the root's first change
		after.CreatedMs = h.NowMs()
	}
	return after
}

// archiveGroup is POST …/archive. It rejects the keys of all projects below the group until the group is restored.
func (h *handler) archiveGroup(c *kernel.Call) (kernel.Answer, error) {
	if c.Group == doc.Root {
		return kernel.Answer{}, errRootIsActive
	}
	return h.changeGroup(c, 0, func(g *directory.Group) { g.Archived = true })
}

// restoreGroup is POST …/restore.
func (h *handler) restoreGroup(c *kernel.Call) (kernel.Answer, error) {
	return h.changeGroup(c, 0, func(g *directory.Group) { g.Archived = false })
}

var errRootIsActive = kernel.Invalid(fault.Detail{Field: "group", Message: "must not be " + doc.Root + ", which cannot be archived; archive the groups below it"})

// commitOf returns the commit of a group's change. The Ledger gets the budget before any project has it in its chain.
// A budget that no longer stops requests leaves the chains first.
func (h *handler) commitOf(c *kernel.Call, before, after *directory.Group) (kernel.Change, error) {
	entry, err := h.AuditWrite(c, "", "", audited(before), audited(after))
	made := kernel.Change{Writes: []directory.Write{kernel.WriteGroup(after), entry}}
	if after.Stops() {
		made.Deliveries = append(made.Deliveries, h.Store.BudgetsTo(after)...)
	}
	if err == nil && after.Name != before.Name {
		var turn directory.Write
		turn, _, err = h.claim(c, after)
		made.Writes = append(made.Writes, turn)
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
