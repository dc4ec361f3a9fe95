package apply

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/postern-ai/postern/internal/admin"
)

// groups finds the groups of the file in the deployment and plans their changes, parents first. It reads the
// deployment's groups only if the file is about groups.
func (p *planner) groups(f *File) error {
	if !f.hasGroups && !slices.ContainsFunc(f.projects, func(one project) bool { return !isNull(one.fields["group"]) }) {
		return nil
	}
	all, err := p.client.Groups(p.ctx)
	if err != nil {
		return err
	}
	p.tree = treeOf(all)
	var byName []*group
	for i := range f.groups {
		if g := &f.groups[i]; g.id != "" {
			p.claimByID(g)
		} else {
			byName = append(byName, g)
		}
	}
	for _, nested := range []bool{false, true} {
		for _, g := range byName {
			if nested != (g.parent != "" && g.parent != admin.RootID) {
				continue
			}
			if above := p.parent(g, byName); above != nil {
				p.claimByName(g, above)
			}
		}
	}
	if err := p.problems(); err != nil { // the plan would be about the wrong groups
		return err
	}
	for _, depth := range []int{0, 1, 2} {
		for _, n := range p.tree.nodes {
			if n.declared != nil && n.depth() == depth {
				p.group(n)
			}
		}
	}
	return nil
}

// depth returns the number of groups above a group, including the root.
func (n *node) depth() (depth int) {
	for at := n.above; at != nil; at = at.above {
		depth++
	}
	return depth
}

// claimByID finds a group that the file names by ID. A name in addition renames it.
func (p *planner) claimByID(g *group) {
	n := p.tree.byID(g.id)
	switch {
	case n == nil:
		p.fail(g.line, "there is no group %s", g.id)
		return
	case n.declared != nil:
		p.fail(g.line, "the group %q is there twice", g.id)
		return
	case g.parent != "" && g.parent != n.above.id && g.parent != n.above.name:
		p.fail(g.line, "the parent of group %s cannot be changed from %q to %q; create another group and move its projects", g.id, n.above.path(), g.parent)
	}
	if n.declared = g; g.name == "" || g.name == n.name {
		return
	}
	if other, err := p.tree.child(n.above, g.name); other != nil || err != nil {
		p.fail(g.line, "group %s cannot be renamed, because there is another group %q", g.id, g.name)
	}
	n.name = g.name
}

// claimByName finds a group by its parent and name, or adds it to the tree if it has to be created.
func (p *planner) claimByName(g *group, above *node) {
	n, err := p.tree.child(above, g.name)
	switch {
	case err != nil:
		p.fail(g.line, "%v", err)
	case n == nil:
		p.tree.nodes = append(p.tree.nodes, &node{name: g.name, above: above, declared: g})
	case n.declared != nil:
		p.fail(g.line, "the group %q is there twice", n.path())
	default:
		n.declared = g
	}
}

// parent finds the group above a group that the file names by its name. Only a group directly below the root can be
// one, because groups have two levels.
func (p *planner) parent(g *group, byName []*group) *node {
	if g.parent == "" || g.parent == admin.RootID {
		return p.tree.nodes[0]
	}
	above := p.tree.byID(g.parent)
	if above == nil && !admin.IsGroupID(g.parent) {
		var err error
		if above, err = p.tree.child(p.tree.nodes[0], g.parent); err != nil {
			p.fail(g.line, "%v", err)
			return nil
		}
	}
	if above != nil && above.above == p.tree.nodes[0] {
		return above
	}
	switch _, err := p.tree.find(g.parent); {
	case isCycle(g, byName):
		p.fail(g.line, "the group %q is its own parent, directly or through others", g.name)
	case above != nil, err == nil, slices.ContainsFunc(byName, func(other *group) bool { return other.name == g.parent }):
		p.fail(g.line, "the parent %q of group %q is not directly below the deployment; groups have at most 2 levels", g.parent, g.name)
	default:
		p.fail(g.line, "the parent %q of group %q is neither in the file nor in the deployment", g.parent, g.name)
	}
	return nil
}

// isCycle reports whether the parents of a group lead back to it.
func isCycle(g *group, byName []*group) bool {
	at := g
	for range byName {
		i := slices.IndexFunc(byName, func(other *group) bool { return other.name == at.parent })
		if at.parent == "" || i < 0 {
			return false
		}
		if at = byName[i]; at == g {
			return true
		}
	}
	return false
}

// groupField returns a declared field of a group, or a field of a project, as the API shows it.
func groupField(name string, raw json.RawMessage) json.RawMessage {
	if name != "limits" {
		return raw
	}
	if isNull(raw) {
		raw = json.RawMessage("{}")
	}
	return withDefaults(raw, periodDefaults)
}

// group plans the creation or the changes of a group. An archived group is archived after all other changes.
func (p *planner) group(n *node) {
	p.NewKeys = p.NewKeys || !isNull(n.declared.fields["alerts"]) && n.current == nil
	fields := declaredFields(n.declared.fields, groupField)
	if n.current == nil {
		if n.above.above != nil {
			fields = append(fields, Field{"parent", json.RawMessage("null"), encode(n.above.path())})
		}
		p.changeGroup(n, "create", fields)
	} else {
		now, _ := object(encode(n.current))
		now["alerts"] = withoutSecret(now["alerts"])
		if fields = differences(fields, now); len(fields) > 0 {
			p.NewKeys = p.NewKeys || slices.ContainsFunc(fields, func(f Field) bool { return f.Name == "alerts" && !isNull(f.After) })
			p.changeGroup(n, "update", fields)
		}
	}
	if n.declared.status == "active" && n.current != nil && n.current.Archived {
		p.moveGroup(n, "restore", "archived", "active")
	}
}

// withoutSecret returns the part of an alert endpoint that a file declares.
func withoutSecret(alerts json.RawMessage) json.RawMessage {
	if members, ok := object(alerts); ok {
		return encode(map[string]json.RawMessage{"url": members["url"]})
	}
	return alerts
}

func (p *planner) changeGroup(n *node, action string, fields []Field) {
	c := &Change{Action: action, Kind: "group", Name: n.path(), ID: n.id, Fields: fields}
	c.do = func(ctx context.Context, r *run) error {
		method, path, request := http.MethodPost, admin.GroupsPath, body(fields, 0)
		if action == "create" {
			request["parent"] = n.above.id
		} else {
			method, path, request = http.MethodPatch, admin.GroupPath(n.id), body(fields, n.current.Version)
		}
		var made admin.Group
		if err := r.client.Do(ctx, method, path, request, &made); err != nil {
			return err
		}
		n.id, c.ID = made.ID, made.ID
		var alerts struct{ Secret string }
		if json.Unmarshal(made.Alerts, &alerts) != nil || alerts.Secret == "" {
			return nil
		}
		return r.keep(Secret{Kind: "webhook", Group: c.Name, GroupID: made.ID, Name: "alerts", Value: alerts.Secret})
	}
	p.add(c)
}

func (p *planner) moveGroup(n *node, verb, before, after string) {
	c := &Change{Action: verb, Kind: "group", Name: n.path(), ID: n.id, Fields: []Field{{"status", encode(before), encode(after)}}}
	c.do = func(ctx context.Context, r *run) error {
		c.ID = n.id
		return r.client.Do(admin.WithRetry(ctx), http.MethodPost, admin.GroupPath(n.id)+"/"+verb, nil, nil)
	}
	p.add(c)
}

// archiveGroups plans to archive groups, after the projects have left them.
func (p *planner) archiveGroups() {
	for _, n := range p.tree.nodes {
		if n.declared != nil && n.declared.status == "archived" && (n.current == nil || !n.current.Archived) {
			p.moveGroup(n, "archive", "active", "archived")
		}
	}
}

// pruneGroups plans to delete the groups that the file does not name and that will have no projects and groups. The
// lower level comes first.
func (p *planner) pruneGroups() {
	used := map[*node]bool{}
	for i := range p.all {
		in, moves := p.moved[p.all[i].ID]
		if !moves && p.all[i].Group != nil {
			in = p.tree.byID(*p.all[i].Group)
		}
		used[in] = true
	}
	for _, depth := range []int{2, 1} {
		for _, n := range p.tree.nodes {
			if n.depth() != depth {
				continue
			}
			if n.declared != nil || used[n] {
				used[n.above] = true
				continue
			}
			p.add(&Change{Action: "delete", Kind: "group", Name: n.path(), ID: n.id, do: func(ctx context.Context, r *run) error {
				return r.client.Do(ctx, http.MethodDelete, admin.GroupPath(n.id), nil, nil)
			}})
		}
	}
}

// projectGroup finds the group that a project declares. It replaces the declared value with the group's label, which
// the difference shows. It returns the project's present group in the same form.
func (p *planner) projectGroup(t *target, declared *project, current *admin.Project) json.RawMessage {
	raw, sets := declared.fields["group"]
	if !sets {
		return nil
	}
	t.setsGroup = true
	var ref string
	if !isNull(raw) {
		if json.Unmarshal(raw, &ref) != nil || ref == "" {
			p.fail(declared.line, "the group of project %q must be null, or a group's name, path or ID", t.name)
			return nil
		}
		var err error
		if t.group, err = p.tree.find(ref); err != nil {
			p.fail(declared.line, "project %q: %v", t.name, err)
			return nil
		}
		declared.fields["group"] = encode(p.tree.label(t.group))
	}
	if current == nil {
		return nil
	}
	p.moved[current.ID] = t.group
	if current.Group == nil {
		return json.RawMessage("null")
	}
	if p.tree == nil { // the file only takes projects out of groups
		return encode(*current.Group)
	}
	if now := p.tree.byID(*current.Group); now != nil {
		return encode(p.tree.label(now))
	}
	return encode(*current.Group)
}

// body returns a request body with changed fields of the project.
func (t *target) body(fields []Field, version uint64) map[string]any {
	request := body(fields, version)
	if _, sets := request["group"]; !sets {
		return request
	}
	if request["group"] = nil; t.group != nil {
		request["group"] = t.group.id
	}
	return request
}
