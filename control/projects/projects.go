// Package projects is the project resource.
package projects

import (
	"encoding/json"
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// handler implements the endpoints.
type handler struct{ *kernel.Plane }

// Routes returns the endpoints for projects.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodPost, Path: kernel.ProjectsPath, For: kernel.Owners, Body: kernel.MaxBody, Audit: "project.create", Operation: "createProject", Serve: h.createProject},
		{Method: http.MethodGet, Path: kernel.ProjectsPath, For: kernel.Operators, Operation: "listProjects", Serve: h.listProjects},
		{Method: http.MethodGet, Path: kernel.ProjectPath, For: kernel.Operators, Operation: "getProject", Serve: h.getProject},
		{Method: http.MethodPatch, Path: kernel.ProjectPath, For: kernel.Owners, Body: kernel.MaxBody, Audit: "project.update", Operation: "changeProject", Serve: h.patchProject},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/archive", For: kernel.Owners, Audit: "project.archive", Operation: "archiveProject", Serve: h.archiveProject},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/restore", For: kernel.Owners, Audit: "project.restore", Operation: "restoreProject", Serve: h.restoreProject},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/credits", For: kernel.Owners, Body: kernel.MaxBody, Audit: "project.credit", Operation: "creditProject", Serve: h.creditProject},
	}
}

// projectView is a project as the API returns it.
type projectView struct {
	ID                   string                        `json:"id"`
	Name                 string                        `json:"name"`
	Plan                 string                        `json:"plan"`
	Region               *string                       `json:"region"` // null: near its first use
	Budget               json.RawMessage               `json:"budget"` // dollars per budget period, exact
	BudgetPeriod         string                        `json:"budgetPeriod"`
	Limits               settings.PeriodLimitsView     `json:"limits"` // per budget period
	Enforce              string                        `json:"enforce"`
	Cache                string                        `json:"cache"`
	CacheTTLSeconds      uint64                        `json:"cacheTtlSeconds"`      // 0 if and only if the cache is off
	Unbounded            bool                          `json:"unbounded"`            // responses have no length limit if the caller does not set one
	RecordProviderErrors bool                          `json:"recordProviderErrors"` // records of failed requests include the provider's message, for owners
	Contact              string                        `json:"contact"`              // who can raise limits and the budget; may be empty
	Models               []string                      `json:"models"`               // models and tiers that keys may use; empty: all
	Routes               map[string]settings.RouteView `json:"routes"`               // tiers that the project overrides
	Governor             settings.GovernorSummary      `json:"governor"`
	Group                *string                       `json:"group"` // null: the project belongs to no group
	Alerts               *settings.AlertsView          `json:"alerts"`
	Status               string                        `json:"status"`
	CreatedAt            string                        `json:"createdAt"` // RFC 3339, UTC, milliseconds
	Version              uint64                        `json:"version"`   // counts changes to the project but not to its keys
}

type projectsView struct {
	Projects []projectView `json:"projects"`
	Next     *string       `json:"next"` // cursor to pass as after; null: last page
}

func viewProject(p *directory.Project) projectView {
	v := projectView{
		ID: p.ID, Name: p.Name, Plan: p.Plan, Budget: money.Append(nil, p.BudgetPico, money.Dollar),
		BudgetPeriod: kernel.Translate(p.Cycle, settings.Cycles, settings.CycleWords), Limits: settings.ViewPeriodLimits(p.Limits), Enforce: settings.ViewEnforce(p.Soft), Cache: kernel.Translate(p.Cache, cacheScopes, scopeWords),
		CacheTTLSeconds: p.CacheTTLSeconds, Unbounded: p.Unbounded, RecordProviderErrors: p.RecordProviderErrors, Contact: p.Contact,
		Models: append([]string{}, p.Policy.Models...), Routes: settings.ViewRoutes(p.Policy.Routes), Governor: settings.SummarizeGovernor(&p.Policy),
		Group: kernel.NullIfEmpty(p.Group), Alerts: settings.ViewAlerts(&p.Alerts, &p.Alerts), Status: settings.ProjectStatus(p),
		CreatedAt: kernel.Timestamp(p.CreatedMs), Version: p.Revision + 1,
	}
	if p.Region != "" {
		v.Region = &p.Region
	}
	return v
}

// redacted returns the view for viewers and the audit log.
func (v projectView) redacted() projectView {
	v.Alerts = v.Alerts.Redacted()
	return v
}

// visibleTo returns the view with the fields that the identity may see.
func (v projectView) visibleTo(actor kernel.Identity) projectView {
	if actor.Role == kernel.Owner {
		return v
	}
	return v.redacted()
}

// createProject serves POST /api/admin/projects.
func (h *handler) createProject(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.newProject(f)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := viewProject(&p)
	entry, err := h.AuditWrite(c, p.ID, "", nil, view.redacted())
	if err != nil {
		return kernel.Answer{}, err
	}
	err = h.Store.Change(c, func() (kernel.Change, error) {
		made, err := h.enter(c, &p)
		if err != nil {
			return made, err
		}
		made.Writes = append(made.Writes, kernel.WriteProject(&p), entry)
		made.Deliveries = append(made.Deliveries, h.Store.SettingsOf(&p)...)
		if p.Policy.Version != 0 {
			made.Deliveries = append(made.Deliveries, directory.PolicyTo(&p))
		}
		return made, nil
	})
	return kernel.Created(view), err
}

// newProject returns the first version of a project.
func (h *handler) newProject(f *kernel.Fields) (directory.Project, error) {
	p := directory.Project{Version: 1}
	p.Name = f.RequiredName()
	p.Plan, _ = f.Choice("plan", h.Catalog.DefaultPlan, settings.PlanNames(h.Plane))
	p.BudgetPico, _ = f.Budget(h.Catalog.Plan(p.Plan).BudgetPico)
	cycle, _ := f.Choice("budgetPeriod", settings.CycleWords[0], settings.CycleWords)
	p.Cycle = kernel.Translate(cycle, settings.CycleWords, settings.Cycles)
	p.Limits, _ = settings.TakePeriodLimits(f)
	p.Soft, _ = settings.TakeEnforce(f)
	if !f.Null("region") { // null, as in responses
		p.Region, _ = f.Choice("region", "", kernel.Regions)
	}
	p.Cache, p.CacheTTLSeconds = doc.CacheColo, defaultCacheTTLSeconds
	cache := takeCache(f)
	p.Unbounded, _ = f.Boolean("unbounded")
	p.RecordProviderErrors, _ = f.Boolean("recordProviderErrors")
	p.Contact, _ = contact(f)
	p.Policy.Models, _ = f.Models()
	p.Policy.Routes, _ = h.routes(f)
	p.Group, _ = group(f)
	f.Fixed("alerts", "cannot be set when the project is created; set it with PATCH afterwards")
	if err := f.Err(); err != nil {
		return p, err
	}
	if !p.Policy.Empty() {
		p.Policy.Version = 1
	}
	err := cache.apply(&p)
	if err != nil {
		return p, err
	}
	now := h.Now()
	p.CreatedMs = uint64(now.UnixMilli())
	p.ID, err = kernel.NewID(kernel.ProjectPrefix, now, h.Rand)
	return p, err
}

// listProjects serves GET /api/admin/projects?limit=&after=&status=&q=, which lists projects, oldest first.
func (h *handler) listProjects(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, kernel.ProjectPrefix, "status", "q")
	if err != nil {
		return kernel.Answer{}, err
	}
	status := q.Choice("status", []string{"active", "archived"})
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	found, more, err := kernel.Scan(c, h.Store, q, doc.ProjectKey(""), directory.DecodeProject, func(p *directory.Project) bool {
		return (status == "" || p.Archived == (status == "archived")) && q.Matches(p.Name)
	})
	if err != nil {
		return kernel.Answer{}, err
	}
	view := projectsView{Projects: []projectView{}}
	for i := range found {
		view.Projects = append(view.Projects, viewProject(&found[i]).visibleTo(c.Actor))
	}
	view.Next = kernel.NextID(more, doc.ProjectKey(""))
	return kernel.OK(view), nil
}

// getProject serves GET /api/admin/projects/{project}.
func (h *handler) getProject(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	return kernel.OK(viewProject(&p).visibleTo(c.Actor)), nil
}

// patchProject serves PATCH /api/admin/projects/{project}. Omitted fields keep their values. The region cannot
// change, because the project's objects cannot move.
func (h *handler) patchProject(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	patch, err := h.readPatch(f)
	if err != nil {
		return kernel.Answer{}, err
	}
	return h.changeProject(c, patch)
}

// archiveProject serves POST …/archive. All keys of the project are rejected until the project is restored.
func (h *handler) archiveProject(c *kernel.Call) (kernel.Answer, error) {
	return h.changeProject(c, projectEdit{affectsKeys: true, apply: func(p *directory.Project) error { p.Archived = true; return nil }})
}

// restoreProject serves POST …/restore.
func (h *handler) restoreProject(c *kernel.Call) (kernel.Answer, error) {
	return h.changeProject(c, projectEdit{affectsKeys: true, apply: func(p *directory.Project) error { p.Archived = false; return nil }})
}

// projectEdit is an edit of a project.
type projectEdit struct {
	version     uint64 // expected; 0: any
	affectsKeys bool   // true even if nothing changes, because an earlier attempt may have missed some keys
	budget      budgetEdit
	setsGroup   bool
	apply       func(*directory.Project) error
}

// changeProject commits an edit of a project and delivers it to the ledger, to KV and, if they are affected, to the
// keys.
func (h *handler) changeProject(c *kernel.Call, edit projectEdit) (kernel.Answer, error) {
	var view projectView
	err := h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		if edit.version != 0 && edit.version != before.Revision+1 {
			return kernel.Change{}, kernel.Outdated(before.Revision+1, edit.version)
		}
		after := kernel.NextProject(before)
		after.Revision++
		if err := edit.apply(&after); err != nil {
			return kernel.Change{}, err
		}
		if err := h.flush(c, &before, &after); err != nil {
			return kernel.Change{}, err
		}
		if err := settings.KeepsGovernor(h.Plane, &before, &after); err != nil {
			return kernel.Change{}, err
		}
		settings.VersionPolicy(&before, &after)
		placed, err := h.place(c, &edit, &before, &after)
		if err != nil {
			return kernel.Change{}, err
		}
		view = viewProject(&after)
		entry, err := h.AuditWrite(c, c.Project, "", viewProject(&before).redacted(), view.redacted())
		view.Alerts = settings.ViewAlerts(&after.Alerts, &before.Alerts)
		made := settings.ProjectChange(h.Plane, &before, &after, entry)
		made.Writes, made.Deliveries = append(made.Writes, placed.Writes...), append(made.Deliveries, placed.Deliveries...)
		if edit.affectsKeys { // needed even if nothing changes, because the response confirms that all keys have the change
			made.Republish = []string{c.Project}
		}
		made.Recall = edit.budget.recall(&before, &after)
		return made, err
	})
	return kernel.OK(view), err
}

// readPatch decodes the fields of a PATCH.
func (h *handler) readPatch(f *kernel.Fields) (projectEdit, error) {
	version, _ := f.Integer("version", 1, 1<<53)
	name, hasName := f.Name()
	plan, hasPlan := f.Choice("plan", "", settings.PlanNames(h.Plane))
	budget := takeBudget(f)
	cache := takeCache(f)
	unbounded, hasUnbounded := f.Boolean("unbounded")
	errors, hasErrors := f.Boolean("recordProviderErrors")
	who, hasContact := contact(f)
	models, hasModels := f.Models()
	routes, hasRoutes := h.routes(f)
	above, hasGroup := group(f)
	url, hasAlerts := settings.TakeAlerts(h.Plane, f)
	f.Fixed("region", "cannot be changed after creation")
	secret, err := settings.NewWebhookSecret(h.Rand)
	if err != nil {
		return projectEdit{}, err
	}
	apply := func(p *directory.Project) error {
		kernel.Set(hasName, &p.Name, name)
		kernel.Set(hasPlan, &p.Plan, plan)
		budget.apply(p)
		kernel.Set(hasUnbounded, &p.Unbounded, unbounded)
		kernel.Set(hasErrors, &p.RecordProviderErrors, errors)
		kernel.Set(hasContact, &p.Contact, who)
		kernel.Set(hasModels, &p.Policy.Models, models)
		kernel.Set(hasRoutes, &p.Policy.Routes, routes)
		kernel.Set(hasGroup, &p.Group, above)
		if hasAlerts {
			settings.SetAlerts(&p.Alerts, url, secret)
		}
		return cache.apply(p)
	}
	affectsKeys := hasPlan || budget.affectsKeys() || cache.hasScope || cache.hasTTL || hasUnbounded || hasErrors || hasContact || hasModels || hasRoutes || hasGroup
	return projectEdit{version, affectsKeys, budget, hasGroup, apply}, f.Err()
}
