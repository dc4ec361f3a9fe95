package projects

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
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
func (h *handler) place(c *kernel.Call, e *projectEdit, p *directory.Project) (kernel.Change, error) {
	if !e.setsGroup {
		return kernel.Change{}, nil
	}
	return h.Store.Place(c, p)
}
