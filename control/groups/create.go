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
		turn, all, err := h.claim(c, &g)
		if err != nil {
			return kernel.Change{}, err
		}
		above, err := h.parent(c, g.Parent, countGroups(all))
		made := kernel.Change{Writes: []directory.Write{kernel.WriteGroup(&g), kernel.KeepGroup(above), turn, entry}}
		made.Deliveries = h.Store.BudgetsTo(&g)
		return made, err
	})
	return kernel.Created(view), err
}

// createdKey is the key of a document that every commit of a group with a new name writes. Of two such commits that have read
// the same groups, only one succeeds.
const createdKey = "gn"

// claim reads all groups and returns the write of createdKey. The error is a 409 if another group with the same parent has
// the group's name, because paths of names must be unique. Archived groups keep their names, because they can be restored.
func (h *handler) claim(c *kernel.Call, g *directory.Group) (turn directory.Write, all []directory.Group, err error) {
	if turn, err = h.Store.ReadForWrite(c, createdKey); err == nil {
		turn.Value = []byte(g.ID)
		all, err = h.Store.Groups(c)
	}
	for i := range all {
		if o := &all[i]; o.ID != g.ID && o.Parent == g.Parent && o.Name == g.Name {
			err = kernel.Refuse(fault.Conflict, "name", "is that of "+o.ID+", which has the same parent"+kernel.Got(g.Name))
		}
	}
	return turn, all, err
}

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
func (h *handler) parent(c *kernel.Call, id string, groups int) (directory.Group, error) {
	above, err := h.Store.Group(c, id)
	switch {
	case kernel.IsMissing(err):
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: id + " does not exist"})
	case err == nil && above.Parent != "" && above.Parent != doc.Root:
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: "must be " + doc.Root + " or a group directly below it, because groups have at most " +
			strconv.Itoa(doc.MaxDepth) + " levels" + kernel.Got(id)})
	case err == nil && above.Archived:
		err = kernel.Invalid(fault.Detail{Field: "parent", Message: "must not be archived" + kernel.Got(id) + "; restore it first"})
	case err == nil && groups >= doc.MaxGroups:
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
