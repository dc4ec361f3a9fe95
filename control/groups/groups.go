// Package groups is the resource of groups of projects, which have budgets above those of the projects.
package groups

import (
	"encoding/json"
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// handler has the endpoints.
type handler struct{ *kernel.Plane }

// Routes returns the endpoints for groups.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodPost, Path: kernel.GroupsPath, For: kernel.Owners, Body: kernel.MaxBody, Audit: "group.create", Operation: "createGroup", Serve: h.createGroup},
		{Method: http.MethodGet, Path: kernel.GroupsPath, For: kernel.Operators, Operation: "listGroups", Serve: h.listGroups},
		{Method: http.MethodGet, Path: kernel.GroupPath, For: kernel.Operators, Operation: "getGroup", Serve: h.getGroup},
		{Method: http.MethodPatch, Path: kernel.GroupPath, For: kernel.Owners, Body: kernel.MaxBody, Audit: "group.update", Operation: "changeGroup", Serve: h.patchGroup},
		{Method: http.MethodDelete, Path: kernel.GroupPath, For: kernel.Owners, Audit: "group.delete", Operation: "deleteGroup", Serve: h.deleteGroup},
	}
}

// groupView is a group as the API returns it.
type groupView struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Parent       *string         `json:"parent"` // null: this is the root
	Budget       json.RawMessage `json:"budget"` // dollars per budget period, exact; null: none
	BudgetPeriod string          `json:"budgetPeriod"`
	Enforce      string          `json:"enforce"`
	HideNames    *bool           `json:"hideNames,omitempty"` // only of the root
	CreatedAt    *string         `json:"createdAt"`           // null: the root, before its first change
	Version      uint64          `json:"version"`             // counts changes
	// Spent is set only in the response to GET of a group whose budget stops requests.
	Spent *spentView `json:"spent,omitempty"`
}

type groupsView struct {
	Groups []groupView `json:"groups"`
}

// auditedGroup is the view for the audit log. An entry has the group's ID even if it did not change.
type auditedGroup struct {
	GroupID string `json:"groupId"`
	groupView
}

// The API's words for whether a budget stops requests.
var enforceWords = []string{"hard", "soft"}

func viewGroup(g *directory.Group) groupView {
	v := groupView{
		ID: g.ID, Name: g.Name, Parent: kernel.NullIfEmpty(g.Parent), Budget: json.RawMessage("null"),
		BudgetPeriod: kernel.Translate(g.Cycle, settings.Cycles, settings.CycleWords), Enforce: enforceWords[0],
		CreatedAt: kernel.TimestampOrNull(g.CreatedMs), Version: g.Revision + 1,
	}
	if g.Budgeted {
		v.Budget = money.Append(nil, g.BudgetPico, money.Dollar)
	}
	if g.ID == doc.Root {
		v.HideNames = &g.HideNames
	}
	if g.Soft {
		v.Enforce = enforceWords[1]
	}
	return v
}

func audited(g *directory.Group) auditedGroup { return auditedGroup{g.ID, viewGroup(g)} }

// listGroups is GET /api/admin/groups: all groups except the root, oldest first.
func (h *handler) listGroups(c *kernel.Call) (kernel.Answer, error) {
	if _, err := kernel.ReadQuery(c.Request, ""); err != nil {
		return kernel.Answer{}, err
	}
	all, err := h.Store.Groups(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := groupsView{Groups: []groupView{}}
	for i := range all {
		if all[i].ID != doc.Root {
			view.Groups = append(view.Groups, viewGroup(&all[i]))
		}
	}
	return kernel.OK(view), nil
}

// getGroup is GET /api/admin/groups/{group}.
func (h *handler) getGroup(c *kernel.Call) (kernel.Answer, error) {
	g, err := h.Store.Group(c, c.Group)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := viewGroup(&g)
	view.Spent, err = h.spent(c, &g)
	return kernel.OK(view), err
}
