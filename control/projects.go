package control

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// projectView is a project in the API.
type projectView struct {
	ID              string               `json:"id"`
	Name            string               `json:"name"`
	Plan            string               `json:"plan"`
	Region          *string              `json:"region"` // null: near its first use
	Budget          json.RawMessage      `json:"budget"` // dollars per budget period, exact
	BudgetPeriod    string               `json:"budgetPeriod"`
	Cache           string               `json:"cache"`
	CacheTTLSeconds uint64               `json:"cacheTtlSeconds"` // 0 exactly if the cache is off
	Unbounded       bool                 `json:"unbounded"`       // responses are not limited if the caller sets no max tokens
	Models          []string             `json:"models"`          // models and tiers that its keys may use; empty: all
	Routes          map[string]routeView `json:"routes"`          // tiers that the project overrides
	Governor        governorSummary      `json:"governor"`
	Alerts          *alertsView          `json:"alerts"`
	Status          string               `json:"status"`
	CreatedAt       string               `json:"createdAt"` // RFC 3339, UTC, milliseconds
	Version         uint64               `json:"version"`   // counts changes of the project, but not of its keys
}

// alertsView is the webhook for alerts. Secret is set only in the response that creates it.
type alertsView struct {
	URL         string `json:"url"`
	SecretLast4 string `json:"secretLast4"`
	Secret      string `json:"secret,omitempty"`
}

type projectsView struct {
	Projects []projectView `json:"projects"`
	Next     *string       `json:"next"` // cursor for after; null: last page
}

func viewProject(p *project) projectView {
	v := projectView{
		ID: p.ID, Name: p.Name, Plan: p.Plan, Budget: money.Append(nil, p.BudgetPico, money.Dollar),
		BudgetPeriod: translate(p.Cycle, cycles, cycleWords), Cache: translate(p.Cache, cacheScopes, scopeWords),
		CacheTTLSeconds: p.CacheTTLSeconds, Unbounded: p.Unbounded,
		Models: append([]string{}, p.Policy.Models...), Routes: viewRoutes(p.Policy.Routes), Governor: summarizeGovernor(&p.Policy), Status: "active",
		CreatedAt: timestamp(p.CreatedMs), Version: p.Revision + 1,
	}
	if p.Region != "" {
		v.Region = &p.Region
	}
	if p.Archived {
		v.Status = "archived"
	}
	if p.Alerts.URL != "" {
		secret := webhookSecret(p.Alerts.Secret)
		v.Alerts = &alertsView{URL: p.Alerts.URL, SecretLast4: secret[len(secret)-4:]}
	}
	return v
}

// redacted is the view for viewers and the audit log. Only owners see the webhook's full URL: its path may
// contain a secret, as with chat services.
func (v projectView) redacted() projectView {
	if v.Alerts != nil {
		v.Alerts = &alertsView{URL: hostOf(v.Alerts.URL), SecretLast4: v.Alerts.SecretLast4}
	}
	return v
}

// visibleTo is the view for an identity.
func (v projectView) visibleTo(actor identity) projectView {
	if actor.Role == owner {
		return v
	}
	return v.redacted()
}

func timestamp(ms uint64) string {
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// createProject is POST /api/admin/projects.
func (h *handler) createProject(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	p, err := h.newProject(f)
	if err != nil {
		return answer{}, err
	}
	view := viewProject(&p)
	entry, err := h.auditWrite(c, "project.create", p.ID, "", nil, view.redacted())
	if err != nil {
		return answer{}, err
	}
	err = h.store.change(c, func() (change, error) {
		made := change{writes: []directory.Write{writeProject(&p), entry}, deliveries: []abi.Delivery{h.store.settingsTo(&p)}}
		if p.Policy.Version != 0 {
			made.deliveries = append(made.deliveries, directory.PolicyTo(&p))
		}
		return made, nil
	})
	return answer{http.StatusCreated, view}, err
}

// newProject creates the first version of a project.
func (h *handler) newProject(f *fields) (project, error) {
	p := project{Version: 1}
	p.Name = f.requiredName()
	p.Plan, _ = f.choice("plan", h.Catalog.DefaultPlan, h.planNames())
	p.BudgetPico, _ = f.budget(h.Catalog.Plan(p.Plan).BudgetPico)
	cycle, _ := f.choice("budgetPeriod", cycleWords[0], cycleWords)
	p.Cycle = translate(cycle, cycleWords, cycles)
	if !f.null("region") { // as responses show it
		p.Region, _ = f.choice("region", "", regions)
	}
	p.Cache, p.CacheTTLSeconds = doc.CacheColo, defaultCacheTTLSeconds
	cache := f.cache()
	p.Unbounded, _ = f.boolean("unbounded")
	p.Policy.Models, _ = f.models()
	p.Policy.Routes, _ = h.routes(f)
	f.fixed("alerts", "cannot be set when the project is created; set it with PATCH afterwards")
	if err := f.err(); err != nil {
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
	p.ID, err = newID(projectPrefix, now, h.Rand)
	return p, err
}

// listProjects is GET /api/admin/projects?limit=&after=&status=&q=, oldest first.
func (h *handler) listProjects(c *call) (answer, error) {
	q, err := readQuery(c.request, projectPrefix, "status", "q")
	if err != nil {
		return answer{}, err
	}
	status := q.choice("status", []string{"active", "archived"})
	if err := q.err(); err != nil {
		return answer{}, err
	}
	found, more, err := scan(c, h.store, q, doc.ProjectKey(""), directory.DecodeProject, func(p *project) bool {
		return (status == "" || p.Archived == (status == "archived")) && q.matches(p.Name)
	})
	if err != nil {
		return answer{}, err
	}
	view := projectsView{Projects: []projectView{}}
	for i := range found {
		view.Projects = append(view.Projects, viewProject(&found[i]).visibleTo(c.actor))
	}
	view.Next = nextID(more, doc.ProjectKey(""))
	return answer{http.StatusOK, view}, nil
}

// getProject is GET /api/admin/projects/{project}.
func (h *handler) getProject(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, viewProject(&p).visibleTo(c.actor)}, nil
}

// patchProject is PATCH /api/admin/projects/{project}: omitted fields keep their values. The region cannot
// change: the project's objects do not move.
func (h *handler) patchProject(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	patch, err := h.readPatch(f)
	if err != nil {
		return answer{}, err
	}
	return h.changeProject(c, "project.update", patch)
}

// archiveProject is POST …/archive: all keys of the project are rejected until it is restored.
func (h *handler) archiveProject(c *call) (answer, error) {
	return h.changeProject(c, "project.archive", projectEdit{affectsKeys: true, apply: func(p *project) error { p.Archived = true; return nil }})
}

// restoreProject is POST …/restore.
func (h *handler) restoreProject(c *call) (answer, error) {
	return h.changeProject(c, "project.restore", projectEdit{affectsKeys: true, apply: func(p *project) error { p.Archived = false; return nil }})
}

// projectEdit is an edit of a project.
type projectEdit struct {
	version     uint64 // expected; 0: any
	affectsKeys bool   // even if nothing differs: an earlier attempt may have missed some keys
	setsBudget  bool
	apply       func(*project) error
}

// changeProject commits an edit of a project, and delivers it to the ledger, KV and, if they are affected, the keys.
func (h *handler) changeProject(c *call, action string, edit projectEdit) (answer, error) {
	var view projectView
	err := h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		if edit.version != 0 && edit.version != before.Revision+1 {
			return change{}, outdated(before.Revision+1, edit.version)
		}
		after := next(before)
		after.Revision++
		if err := edit.apply(&after); err != nil {
			return change{}, err
		}
		if err := h.keepsGovernor(&before, &after); err != nil {
			return change{}, err
		}
		h.versionPolicy(&before, &after)
		view = viewProject(&after)
		entry, err := h.auditWrite(c, action, c.project, "", viewProject(&before).redacted(), view.redacted())
		if err == nil && view.Alerts != nil && string(before.Alerts.Secret) != string(after.Alerts.Secret) {
			view.Alerts.Secret = webhookSecret(after.Alerts.Secret)
		}
		made := h.projectChange(&before, &after, entry)
		if edit.affectsKeys { // this response confirms that all keys have the change
			made.republish = c.project
		}
		if edit.setsBudget && after.BudgetPico <= before.BudgetPico { // an earlier attempt may have missed some meters
			made.recall = c.project
		}
		return made, err
	})
	return answer{http.StatusOK, view}, err
}

// versionPolicy gives a changed policy the version of the revision that changed it.
func (h *handler) versionPolicy(before, after *project) {
	old := before.Policy
	after.Policy.Version = old.Version
	if string(after.Policy.Encode()) == string(old.Encode()) {
		return
	}
	after.Policy.Version = after.Revision + 1
	if after.Policy.Empty() {
		after.Policy = doc.Policy{}
	}
}

// projectChange is the commit of a project's change.
func (h *handler) projectChange(before, after *project, entry directory.Write) change {
	made := change{writes: []directory.Write{writeProject(after), entry}, deliveries: []abi.Delivery{h.store.settingsTo(after)}}
	if before.Policy.Version != after.Policy.Version {
		if after.Policy.Version != 0 {
			made.deliveries = append(made.deliveries, directory.PolicyTo(after))
		}
		if before.Policy.Version != 0 {
			made.deliveries = append(made.deliveries, directory.OldPolicyTo(before))
		}
	}
	if affectsKeys(&before.Project, &after.Project) {
		made.republish = after.ID
	}
	return made
}

// affectsKeys reports whether a change alters the keys' records or status.
func affectsKeys(before, after *doc.Project) bool {
	return doc.NewRecord(&doc.Key{}, 0, before, 0).Differs(doc.NewRecord(&doc.Key{}, 0, after, 0)) || before.Archived != after.Archived
}

// readPatch decodes the fields of a PATCH.
func (h *handler) readPatch(f *fields) (projectEdit, error) {
	version, _ := f.integer("version", 1, 1<<53)
	name, hasName := f.name()
	plan, hasPlan := f.choice("plan", "", h.planNames())
	budget, hasBudget := f.budget(0)
	cycle, hasCycle := f.choice("budgetPeriod", "", cycleWords)
	cache := f.cache()
	unbounded, hasUnbounded := f.boolean("unbounded")
	models, hasModels := f.models()
	routes, hasRoutes := h.routes(f)
	url, hasAlerts := h.alerts(f)
	f.fixed("region", "cannot be changed after creation")
	secret := make([]byte, webhookSecretBytes)
	if _, err := io.ReadFull(h.Rand, secret); err != nil {
		return projectEdit{}, err
	}
	apply := func(p *project) error {
		set(hasName, &p.Name, name)
		set(hasPlan, &p.Plan, plan)
		set(hasBudget, &p.BudgetPico, budget)
		if hasCycle && p.Cycle != translate(cycle, cycleWords, cycles) {
			p.Cycle = translate(cycle, cycleWords, cycles)
			p.Epoch++
		}
		set(hasUnbounded, &p.Unbounded, unbounded)
		set(hasModels, &p.Policy.Models, models)
		set(hasRoutes, &p.Policy.Routes, routes)
		if hasAlerts && url != p.Alerts.URL {
			p.Alerts = doc.Alerts{URL: url}
			set(url != "", &p.Alerts.Secret, secret)
		}
		return cache.apply(p)
	}
	affectsKeys := hasPlan || hasCycle || cache.hasScope || cache.hasTTL || hasUnbounded || hasModels || hasRoutes
	return projectEdit{version, affectsKeys, hasBudget, apply}, f.err()
}

// set assigns a field that the request contains.
func set[T any](present bool, field *T, value T) {
	if present {
		*field = value
	}
}

// The periods of budgets: the API's words and the calendar's cycles, in the same order.
var (
	cycleWords = []string{"month", "week", "day"}
	cycles     = []calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily}
)

func (h *handler) planNames() []string {
	names := []string{h.Catalog.DefaultPlan}
	for _, plan := range h.Catalog.Plans {
		if !strings.EqualFold(plan.Name, names[0]) {
			names = append(names, plan.Name)
		}
	}
	return names
}
