// Package groups is the resource of groups of projects, which have budgets above those of the projects.
package groups

import (
	"encoding/json"
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
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
		{Method: http.MethodPost, Path: kernel.GroupPath + "/archive", For: kernel.Owners, Audit: "group.archive", Operation: "archiveGroup", Serve: h.archiveGroup},
		{Method: http.MethodPost, Path: kernel.GroupPath + "/restore", For: kernel.Owners, Audit: "group.restore", Operation: "restoreGroup", Serve: h.restoreGroup},
		{Method: http.MethodPost, Path: kernel.GroupPath + "/credits", For: kernel.Owners, Body: kernel.MaxBody, Audit: "group.credit", Operation: "creditGroup", Serve: h.creditGroup},
	}
}

// groupView is a group as the API returns it.
type groupView struct {
	ID           string                    `json:"id"`
	Name         string                    `json:"name"`
	Parent       *string                   `json:"parent"` // null: this is the root
	Budget       json.RawMessage           `json:"budget"` // dollars per budget period, exact; null: none
	BudgetPeriod string                    `json:"budgetPeriod"`
	Limits       settings.PeriodLimitsView `json:"limits"` // per budget period
	Models       []string                  `json:"models"` // models and tiers that the keys below may use; empty: all
	Alerts       *settings.AlertsView      `json:"alerts"`
	Enforce      string                    `json:"enforce"`
	HideNames    *bool                     `json:"hideNames,omitempty"` // only of the root
	Archived     bool                      `json:"archived"`
	CreatedAt    *string                   `json:"createdAt"` // null: the root, before its first change
	Version      uint64                    `json:"version"`   // counts changes
	Delivery     string                    `json:"delivery"`
	// Spent is set only in the response to GET of a group whose budget or limits stop requests.
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

func viewGroup(g *directory.Group) groupView {
	v := groupView{
		ID: g.ID, Name: g.Name, Parent: kernel.NullIfEmpty(g.Parent), Budget: settings.ViewBudget(g.Budgeted, g.BudgetPico),
		BudgetPeriod: kernel.Translate(g.Cycle, settings.Cycles, settings.CycleWords), Limits: settings.ViewPeriodLimits(g.Limits),
		Models: append([]string{}, g.Models...), Alerts: settings.ViewAlerts(&g.Alerts, &g.Alerts), Enforce: settings.ViewEnforce(g.Soft), Archived: g.Archived,
		CreatedAt: kernel.TimestampOrNull(g.CreatedMs), Version: g.Revision + 1, Delivery: deliveryWord(false),
	}
	if g.ID == doc.Root {
		v.HideNames = &g.HideNames
	}
	return v
}

func audited(g *directory.Group) auditedGroup {
	v := viewGroup(g)
	v.Alerts = v.Alerts.Redacted()
	return auditedGroup{g.ID, v}
}

// visibleTo returns the view with the fields that the identity may see.
func (v groupView) visibleTo(actor kernel.Identity) groupView {
	if actor.Role != kernel.Owner {
		v.Alerts = v.Alerts.Redacted()
	}
	return v
}

func deliveryWord(pending bool) string {
	if pending {
		return "pending"
	}
	return "delivered"
}

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
		if all[i].ID == doc.Root {
			continue
		}
		delivered, err := isDelivered(c, h.Store, &all[i])
		if err != nil {
			return kernel.Answer{}, err
		}
		v := viewGroup(&all[i]).visibleTo(c.Actor)
		v.Delivery = deliveryWord(!delivered)
		view.Groups = append(view.Groups, v)
	}
	return kernel.OK(view), nil
}

// getGroup is GET /api/admin/groups/{group}.
func (h *handler) getGroup(c *kernel.Call) (kernel.Answer, error) {
	g, err := h.Store.Group(c, c.Group)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := viewGroup(&g).visibleTo(c.Actor)
	delivered, err := isDelivered(c, h.Store, &g)
	if err != nil {
		return kernel.Answer{}, err
	}
	view.Delivery = deliveryWord(!delivered)
	view.Spent, err = h.spent(c, &g)
	return kernel.OK(view), err
}
