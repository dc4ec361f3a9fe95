package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/internal/admin"
)

// Field is a value that a change sets. Before is null for things that do not exist yet.
type Field struct {
	Name   string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// Change is one change to a deployment.
type Change struct {
	Action  string  `json:"action"`  // create, update, archive, restore, activate, deactivate or delete
	Kind    string  `json:"kind"`    // group, project, governor, key, model or enforcement
	Name    string  `json:"name"`    // the path of a group
	ID      string  `json:"id"`      // empty before it exists
	Project string  `json:"project"` // the project's name; empty for a group
	Fields  []Field `json:"fields"`
	Status  string  `json:"status"` // planned, applied, failed or skipped

	do func(ctx context.Context, r *run) error
}

// Plan is the difference between a file and a deployment.
type Plan struct {
	Changes []*Change
	// NewKeys reports whether there will be key values or webhook secrets that must be saved.
	NewKeys bool
	client  *admin.Client
}

// Options of a plan.
type Options struct {
	// Prune also archives projects that are not in the file. In projects that have "keys", it deactivates keys that
	// are not in the file. If the file has a list of groups, it deletes empty groups that are not in it.
	Prune bool
}

type planner struct {
	*Plan
	ctx     context.Context
	all     []admin.Project
	tree    *tree            // nil: the file is not about groups
	moved   map[string]*node // groups that projects will have, by the project's ID; nil: none
	rules   map[string]actionPair
	models  map[string]string // canonical name by name or alias
	problem []string
}

// target is a project during a run. Until the project exists, its ID is empty.
type target struct {
	id, name string
	version  uint64
	keyIDs   map[string]string // by name
	// setsGroup reports whether the file declares the project's group. If that is nil, the project is in no group.
	setsGroup bool
	group     *node
}

// New computes the changes that make the deployment match the file. It changes nothing.
func New(ctx context.Context, client *admin.Client, f *File, o Options) (*Plan, error) {
	p := &planner{Plan: &Plan{client: client}, ctx: ctx, moved: map[string]*node{}}
	var err error
	if p.all, err = client.Projects(ctx, ""); err != nil {
		return nil, err
	}
	if err := p.lookups(f); err != nil {
		return nil, err
	}
	if err := p.groups(f); err != nil {
		return nil, err
	}
	if err := p.projects(f, o); err != nil {
		return nil, err
	}
	if f.hasGroups {
		p.archiveGroups()
		if o.Prune {
			p.pruneGroups()
		}
	}
	return p.Plan, p.problems()
}

// problems returns an error with the problems of the file that only a comparison finds.
func (p *planner) problems() error {
	if len(p.problem) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(p.problem, "\n"))
}

// projects plans the projects of the file and, with Prune, the end of all others.
func (p *planner) projects(f *File, o Options) error {
	named := map[string]bool{}
	for i := range f.projects {
		current, err := p.find(&f.projects[i])
		if err != nil {
			return err
		}
		if current != nil {
			if named[current.ID] {
				return fmt.Errorf("the file names project %s twice", current.ID)
			}
			named[current.ID] = true
		}
		if err := p.project(&f.projects[i], current, o); err != nil {
			return err
		}
	}
	if o.Prune {
		p.pruneProjects(named)
	}
	return nil
}

// lookups reads the lists that the comparison needs: the Governor's rules and the catalog's models.
func (p *planner) lookups(f *File) error {
	needRules, needModels := false, false
	for i := range f.projects {
		_, overrides := f.projects[i].governor["rules"]
		needRules = needRules || overrides
		needModels = needModels || f.projects[i].registry != nil
	}
	if needRules {
		var reply struct{ Rules []actionPair }
		if err := p.client.Do(p.ctx, http.MethodGet, "/api/admin/governor/rules", nil, &reply); err != nil {
			return err
		}
		p.rules = map[string]actionPair{}
		for _, rule := range reply.Rules {
			p.rules[rule.Name] = rule
			if _, seen := p.rules[rule.Category]; !seen {
				p.rules[rule.Category] = actionPair{rule.Category, rule.Category, rule.Input, rule.Output}
			}
		}
	}
	if !needModels {
		return nil
	}
	var reply struct {
		Models []struct {
			Name, Provider string
			Aliases        []string
		}
	}
	if err := p.client.Do(p.ctx, http.MethodGet, "/api/admin/catalog", nil, &reply); err != nil {
		return err
	}
	p.models = map[string]string{}
	for _, m := range reply.Models {
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			p.models[name], p.models[m.Provider+"/"+name] = m.Name, m.Name
		}
	}
	return nil
}

// find returns the declared project in the deployment, or nil if it has to be created.
func (p *planner) find(declared *project) (*admin.Project, error) {
	if declared.id != "" {
		for i := range p.all {
			if p.all[i].ID == declared.id {
				return &p.all[i], nil
			}
		}
		return nil, fmt.Errorf("line %d: there is no project %s", declared.line, declared.id)
	}
	if !slices.ContainsFunc(p.all, func(one admin.Project) bool { return one.Name == declared.name }) {
		return nil, nil
	}
	found, err := admin.PickProject(p.all, declared.name)
	return &found, err
}

func (p *planner) add(c *Change) {
	c.Status = "planned"
	if c.Fields == nil {
		c.Fields = []Field{}
	}
	p.Changes = append(p.Changes, c)
}

func (p *planner) fail(line int, format string, args ...any) {
	p.problem = append(p.problem, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// project plans a project and everything in it.
func (p *planner) project(declared *project, current *admin.Project, o Options) error {
	t := &target{name: declared.name, keyIDs: map[string]string{}}
	if current == nil {
		p.projectGroup(t, declared, nil)
		p.createProject(t, declared)
	} else {
		t.id, t.version = current.ID, current.Version
		if t.name == "" {
			t.name = current.Name
		}
		p.updateProject(t, declared, current)
	}
	if declared.governor != nil {
		if err := p.governor(t, declared.governor); err != nil {
			return err
		}
	}
	if err := p.keys(t, declared, o); err != nil {
		return err
	}
	if declared.registry != nil {
		if err := p.registry(t, declared.registry); err != nil {
			return err
		}
	}
	p.projectStatus(t, declared, current)
	return nil
}

// declaredFields returns fields sorted by name, with their values as the API shows them.
func declaredFields(fields map[string]json.RawMessage, view func(string, json.RawMessage) json.RawMessage) []Field {
	var all []Field
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, Field{Name: name, Before: json.RawMessage("null"), After: view(name, fields[name])})
	}
	return all
}

// differences returns the declared fields that differ from the current ones.
func differences(declared []Field, current map[string]json.RawMessage) []Field {
	var all []Field
	for _, f := range declared {
		if before := current[f.Name]; !same(before, f.After) {
			f.Before = before
			if f.Before == nil {
				f.Before = json.RawMessage("null")
			}
			all = append(all, f)
		}
	}
	return all
}

// body returns a request body with the fields of a change. If version is 0, the body has no version.
func body(fields []Field, version uint64) map[string]any {
	b := map[string]any{}
	for _, f := range fields {
		b[f.Name] = f.After
	}
	if version != 0 {
		b["version"] = version
	}
	return b
}

func (p *planner) createProject(t *target, declared *project) {
	c := &Change{Action: "create", Kind: "project", Name: t.name, Project: t.name, Fields: declaredFields(declared.fields, projectField)}
	alerts, hasAlerts := declared.fields["alerts"]
	hasAlerts = hasAlerts && !isNull(alerts)
	p.NewKeys = p.NewKeys || hasAlerts
	c.do = func(ctx context.Context, r *run) error {
		request := t.body(c.Fields, 0)
		delete(request, "alerts") // only PATCH sets them
		var made admin.Project
		if err := r.client.Do(ctx, http.MethodPost, admin.ProjectsPath, request, &made); err != nil {
			return err
		}
		t.id, t.version, c.ID = made.ID, made.Version, made.ID
		if !hasAlerts {
			return nil
		}
		return r.patchProject(ctx, t, []Field{{Name: "alerts", After: alerts}})
	}
	p.add(c)
}

func (p *planner) updateProject(t *target, declared *project, current *admin.Project) {
	now, _ := object(encode(current))
	now["alerts"], now["group"] = withoutSecret(now["alerts"]), p.projectGroup(t, declared, current)
	fields := differences(declaredFields(declared.fields, projectField), now)
	for _, f := range fields {
		if f.Name == "region" {
			p.fail(declared.line, "the region of project %q cannot be changed from %s to %s; create another project", t.name, f.Before, f.After)
		}
		p.NewKeys = p.NewKeys || f.Name == "alerts" && !isNull(f.After)
	}
	if len(fields) == 0 {
		return
	}
	p.add(&Change{
		Action: "update", Kind: "project", Name: t.name, ID: t.id, Project: t.name, Fields: fields,
		do: func(ctx context.Context, r *run) error { return r.patchProject(ctx, t, fields) },
	})
}

// projectStatus plans to restore a project, or to archive it after all its other changes.
func (p *planner) projectStatus(t *target, declared *project, current *admin.Project) {
	before := "active"
	if current != nil {
		before = current.Status
	}
	if declared.status == "" || declared.status == before {
		return
	}
	p.move(t, before, declared.status)
}

func (p *planner) move(t *target, before, after string) {
	verb := map[string]string{"archived": "archive", "active": "restore"}[after]
	c := &Change{Action: verb, Kind: "project", Name: t.name, ID: t.id, Project: t.name, Fields: []Field{{"status", encode(before), encode(after)}}}
	c.do = func(ctx context.Context, r *run) error {
		c.ID = t.id
		return r.client.Do(admin.WithRetry(ctx), http.MethodPost, admin.ProjectPath(t.id)+"/"+verb, nil, nil)
	}
	p.add(c)
}

func (p *planner) pruneProjects(named map[string]bool) {
	for i := range p.all {
		if one := &p.all[i]; !named[one.ID] && one.Status == "active" {
			p.move(&target{id: one.ID, name: one.Name}, "active", "archived")
		}
	}
}

// governor plans the Governor's settings. Fields that are not declared keep their values.
func (p *planner) governor(t *target, declared map[string]json.RawMessage) error {
	current := map[string]json.RawMessage{}
	if t.id != "" {
		if err := p.client.Do(p.ctx, http.MethodGet, admin.ProjectPath(t.id)+"/governor", nil, &current); err != nil {
			return err
		}
	}
	view := func(name string, raw json.RawMessage) json.RawMessage { return governorField(name, raw, p.rules) }
	fields := declaredFields(declared, view)
	if t.id != "" {
		fields = differences(fields, current)
	}
	if len(fields) == 0 {
		return nil
	}
	p.add(&Change{
		Action: "update", Kind: "governor", Name: t.name, ID: t.id, Project: t.name, Fields: fields,
		do: func(ctx context.Context, r *run) error {
			request := map[string]any{}
			for name, value := range current {
				request[name] = value
			}
			maps.Copy(request, body(fields, t.version))
			var made struct{ Version uint64 }
			err := r.client.Do(ctx, http.MethodPut, admin.ProjectPath(t.id)+"/governor", request, &made)
			if err == nil {
				t.version = made.Version
			}
			return err
		},
	})
	return nil
}
