package groups

import (
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// createGroup is POST /api/admin/groups.
func (h *handler) createGroup(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	g, err := h.newGroup(f)
	if err != nil {
		return kernel.Answer{}, err
	}
	entry, err := h.AuditWrite(c, "", "", nil, audited(&g))
	if err != nil {
		return kernel.Answer{}, err
	}
	view := viewGroup(&g)
	view.Alerts = settings.ViewAlerts(&g.Alerts, &doc.Alerts{})
	err = h.Store.Change(c, func() (kernel.Change, error) {
		turn, err := h.Store.ReadForWrite(c, createdKey)
		if err != nil {
			return kernel.Change{}, err
		}
		turn.Value = []byte(g.ID)
		above, err := h.parent(c, g.Parent)
		made := kernel.Change{Writes: []directory.Write{kernel.WriteGroup(&g), kernel.KeepGroup(above), turn, entry}}
		made.Deliveries = h.Store.BudgetsTo(&g)
		return made, err
	})
	return kernel.Created(view), err
}

// createdKey is the key of a document that every creation of a group writes. Of two creations that have counted the same
// groups, only one is committed.
const createdKey = "gn"

// newGroup creates the first version of a group.
func (h *handler) newGroup(f *kernel.Fields) (directory.Group, error) {
	g := directory.Group{Version: 1}
	edit, err := h.readEdit(f)
	if err != nil {
		return g, err
	}
	if !edit.hasName && len(f.Problems) == 0 {
		f.Problem("name", "is required")
	}
	g.Parent, _ = f.Text("parent", doc.Root)
	if !kernel.IsGroupID(g.Parent) {
		f.Problem("parent", kernel.BadGroupID+kernel.Got(g.Parent))
	}
	if err := f.Err(); err != nil {
		return g, err
	}
	edit.apply(&g)
	g.Epoch = 0 // the first cycle is not a change
	now := h.Now()
	g.CreatedMs = uint64(now.UnixMilli())
	g.ID, err = kernel.NewID(kernel.GroupPrefix, now, h.Rand)
	return g, err
}

// parent returns the group above a new group. The error is a 400 if there is none, if it is archived or too deep, or if
// the deployment has the maximum number of groups.
func (h *handler) parent(c *kernel.Call, id string) (directory.Group, error) {
	all, err := h.Store.Groups(c)
	if err != nil {
		return directory.Group{}, err
	}
	above, err := h.Store.Group(c, id)
	switch {
	case kernel.IsMissing(err):
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: id + " does not exist"})
	case err == nil && above.Parent != "" && above.Parent != doc.Root:
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: "must be " + doc.Root + " or a group directly below it, because groups have at most " +
			strconv.Itoa(doc.MaxDepth) + " levels" + kernel.Got(id)})
	case err == nil && above.Archived:
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: "must not be archived" + kernel.Got(id) + "; restore it first"})
	case err == nil && countGroups(all) >= doc.MaxGroups:
		err = kernel.Invalid(fault.Detail{Field: "groups", Message: "cannot be added: the deployment has " + strconv.Itoa(doc.MaxGroups) + " groups, the maximum; delete one first"})
	}
	return above, err
}

// countGroups counts groups without the root.
func countGroups(all []directory.Group) (n int) {
	for i := range all {
		if all[i].ID != doc.Root {
			n++
		}
	}
	return n
}
