package projects

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// group takes the field "group", which is the ID of a group, or null for none.
func group(f *kernel.Fields) (id string, given bool) {
	if f.Null("group") {
		return "", true
	}
	id, given = f.Text("group", "")
	if given && !kernel.IsID(id, kernel.GroupPrefix) {
		f.Problem("group", "must be null or a group ID, which starts with "+kernel.GroupPrefix+kernel.Got(id))
	}
	return id, given
}

// place sets the project's chain if the edit sets its group. It returns what the commit needs in addition.
func (h *handler) place(c *kernel.Call, e *projectEdit, before, p *directory.Project) (kernel.Change, error) {
	switch {
	case !e.setsGroup:
		return kernel.Change{}, nil
	case before.Group == p.Group:
		return h.Store.Place(c, p)
	}
	return h.enter(c, p)
}

// enter sets the chain of a project that is new in its group. The error is a 400 if the group does not exist or no
// project may enter it.
func (h *handler) enter(c *kernel.Call, p *directory.Project) (kernel.Change, error) {
	needed, err := h.Store.Place(c, p)
	if err == nil && p.GroupArchived {
		err = kernel.Invalid(fault.Detail{Field: "group", Message: "must not be archived or in an archived group" + kernel.Got(p.Group) + "; restore the group first"})
	}
	return needed, err
}
