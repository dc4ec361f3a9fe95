package control

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// projectView is a project as the API shows it.
type projectView struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Plan            string          `json:"plan"`
	Region          *string         `json:"region"`          // null: where it is first used
	Budget          json.RawMessage `json:"budget"`          // dollars a calendar month, exact
	CacheTTLSeconds uint64          `json:"cacheTtlSeconds"` // 0: answers are not cached
	CreatedAt       string          `json:"createdAt"`       // RFC 3339, UTC, milliseconds
	Version         uint64          `json:"version"`         // grows with each change of the project or its keys
}

type projectsView struct {
	Projects []projectView `json:"projects"`
	Next     *string       `json:"next"` // for after; null: that was all
}

func (p project) view() projectView {
	v := projectView{
		ID: p.ID, Name: p.Name, Plan: p.Plan, Budget: money.Append(nil, p.BudgetPico, money.Dollar),
		CacheTTLSeconds: p.CacheTTLSeconds, CreatedAt: timestamp(p.CreatedMs), Version: p.version,
	}
	if p.Region != "" {
		v.Region = &p.Region
	}
	return v
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
	err = h.store.change(c, func() (change, error) {
		return change{[]directory.Write{p.write()}, []abi.Delivery{budgetTo(p)}}, nil
	})
	return answer{http.StatusCreated, p.view()}, err
}

// newProject makes the first version of a project.
func (h *handler) newProject(f *fields) (project, error) {
	p := project{version: 1}
	p.Name = f.requiredName()
	p.Plan, _ = f.choice("plan", h.Plans[0].Name, h.planNames())
	p.BudgetPico, _ = f.budget(h.plan(p.Plan).BudgetPico)
	if string(f.values["region"]) == "null" { // as it is shown
		delete(f.values, "region")
	}
	p.Region, _ = f.choice("region", "", regions)
	p.CacheTTLSeconds, _ = f.cacheTTL(defaultCacheTTLSeconds)
	if err := f.refused(); err != nil {
		return p, err
	}
	now := h.Now()
	p.CreatedMs = uint64(now.UnixMilli())
	var err error
	p.ID, err = newID(projectPrefix, now, h.Rand)
	return p, err
}

func (h *handler) planNames() []string {
	names := make([]string, len(h.Plans))
	for i, plan := range h.Plans {
		names[i] = plan.Name
	}
	return names
}

func (h *handler) plan(name string) Plan {
	i := slices.IndexFunc(h.Plans, func(plan Plan) bool { return plan.Name == name })
	return h.Plans[max(i, 0)]
}

// listProjects is GET /api/admin/projects?limit=&after=, oldest first.
func (h *handler) listProjects(c *call) (answer, error) {
	page, err := readPage(c.request, projectPrefix)
	if err != nil {
		return answer{}, err
	}
	// One more than asked tells whether there is a next page.
	query := directory.List{Prefix: doc.ProjectKey(""), Limit: uint64(page.limit + 1)}
	if page.after != "" {
		query.After = doc.ProjectKey(page.after)
	}
	docs, err := h.store.list(c, query)
	if err != nil {
		return answer{}, err
	}
	view := projectsView{Projects: []projectView{}}
	for _, d := range docs[:min(len(docs), page.limit)] {
		p, err := decodeProject(d)
		if err != nil {
			return answer{}, err
		}
		view.Projects = append(view.Projects, p.view())
	}
	if len(docs) > page.limit {
		view.Next = &view.Projects[page.limit-1].ID
	}
	return answer{http.StatusOK, view}, nil
}

// getProject is GET /api/admin/projects/{project}.
func (h *handler) getProject(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	return answer{http.StatusOK, p.view()}, err
}

// patchProject is PATCH /api/admin/projects/{project}: what is not given stays. A project's region is not
// among the fields: its objects do not move.
func (h *handler) patchProject(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	patch, err := h.readPatch(f)
	if err != nil {
		return answer{}, err
	}
	var after project
	err = h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		after = before.next()
		patch(&after.Project)
		made := change{[]directory.Write{after.write()}, []abi.Delivery{budgetTo(after)}}
		if after.Plan != before.Plan || after.CacheTTLSeconds != before.CacheTTLSeconds {
			err = h.addRecords(c, after, &made)
		}
		return made, err
	})
	return answer{http.StatusOK, after.view()}, err
}

// readPatch makes the function that changes what the fields name.
func (h *handler) readPatch(f *fields) (func(*doc.Project), error) {
	name, named := f.name()
	plan, planned := f.choice("plan", "", h.planNames())
	budget, budgeted := f.budget(0)
	ttl, timed := f.cacheTTL(0)
	patch := func(p *doc.Project) {
		if named {
			p.Name = name
		}
		if planned {
			p.Plan = plan
		}
		if budgeted {
			p.BudgetPico = budget
		}
		if timed {
			p.CacheTTLSeconds = ttl
		}
	}
	return patch, f.refused()
}

// addRecords has a change reach all keys of its project. The keys' documents stay as they are. If one of
// them changes while they are read, so does the project's version, and the commit does not hold.
func (h *handler) addRecords(c *call, p project, made *change) error {
	all, err := h.store.keys(c, p.ID, "", 0)
	for _, k := range all {
		made.deliveries = append(made.deliveries, statusTo(k, p), recordTo(k, p))
	}
	return err
}
