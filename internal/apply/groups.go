package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/internal/admin"
	"github.com/postern-ai/postern/internal/yamltree"
)

// group is a group in the file. The deployment's own node is a group with the ID root.
type group struct {
	line     int
	id, name string
	parent   string                     // name or ID; empty: the deployment
	fields   map[string]json.RawMessage // without id, parent and status
	status   string
}

var groupShape = shape{
	"id": nil, "name": nil, "parent": nil, "budget": nil, "budgetPeriod": nil, "limits": periodLimits, "models": nil, "alerts": {"url": nil}, "enforce": nil, "hideNames": nil, "status": nil,
}

const maxNameBytes = 128 // of a group

// periodLimits are the limits per budget period.
var periodLimits = shape{"requestsPerPeriod": nil, "tokensPerPeriod": nil}

func (r *reader) groups(f *File, list *yamltree.Node) {
	if list == nil || list.Kind != yamltree.List {
		return
	}
	f.hasGroups = true
	for i, n := range list.List {
		path := fmt.Sprintf("groups[%d]", i)
		g := group{line: n.Line, fields: rest(n, "id", "parent", "status")}
		g.id, g.name = r.text(n, "id", path), r.text(n, "name", path)
		g.parent, g.status = r.text(n, "parent", path), r.choice(n, "status", path, "active", "archived")
		switch {
		case g.id == "" && g.name == "":
			r.fail(n.Line, "%s must have a name or an id", path)
		case g.id != "" && !admin.IsGroupID(g.id):
			r.fail(n.Line, "%s.id must be root or start with grp_, got %q", path, g.id)
		case g.id == admin.RootID && (g.parent != "" || g.status != ""):
			r.fail(n.Line, "%s is the deployment, which has no parent and no status", path)
		}
		r.amounts(n, path, false)
		if hide := n.Member("hideNames"); hide != nil && (g.id != admin.RootID || hide.Kind != yamltree.Bool) {
			r.fail(hide.Line, "%s.hideNames must be true or false, and can only be set on %s", path, admin.RootID)
		}
		if len(g.name) > maxNameBytes || strings.Contains(g.name, "/") {
			r.fail(n.Line, "%s.name must have at most %d bytes in UTF-8 and no \"/\"", path, maxNameBytes)
		}
		f.groups = append(f.groups, g)
	}
}

// node is a group of the deployment, of the file, or of both.
type node struct {
	id       string // empty until it is created
	name     string
	above    *node        // nil: this is the root
	declared *group       // nil: not in the file
	current  *admin.Group // nil: has to be created
}

// path returns the names from the top down, with / between them.
func (n *node) path() string {
	switch {
	case n.above == nil:
		return admin.RootID
	case n.above.above == nil:
		return n.name
	}
	return n.above.path() + "/" + n.name
}

// tree contains the groups as they will be after the changes. The first node is the root.
type tree struct{ nodes []*node }

// treeOf returns the tree of a deployment's groups. The first one is the root.
func treeOf(all []admin.Group) *tree {
	t := &tree{}
	for i := range all {
		t.nodes = append(t.nodes, &node{id: all[i].ID, name: all[i].Name, current: &all[i]})
	}
	for _, n := range t.nodes[1:] {
		n.above = t.nodes[0]
		if above := t.byID(*n.current.Parent); above != nil {
			n.above = above
		}
	}
	return t
}

func (t *tree) byID(id string) *node {
	for _, n := range t.nodes {
		if id != "" && n.id == id {
			return n
		}
	}
	return nil
}

// child returns the group with a name directly below another one. If several have the name but only one of them is not
// archived, it returns that one.
func (t *tree) child(above *node, name string) (found *node, err error) {
	var all, active []*node
	for _, n := range t.nodes {
		if n.above == above && n.name == name {
			all = append(all, n)
			if n.current == nil || !n.current.Archived {
				active = append(active, n)
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil
	case len(active) == 1:
		return active[0], nil
	case len(all) > 1:
		return nil, fmt.Errorf("group %q: %w: %s", name, admin.ErrAmbiguous, ids(all))
	}
	return all[0], nil
}

func ids(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.id)
	}
	return strings.Join(all, ", ")
}

// find returns the group that a project names by ID, path or name.
func (t *tree) find(ref string) (*node, error) {
	if admin.IsGroupID(ref) {
		if n := t.byID(ref); n != nil && n.above != nil {
			return n, nil
		}
		return nil, fmt.Errorf("there is no group %s", ref)
	}
	var at, named []*node
	for _, n := range t.nodes[1:] {
		if n.path() == ref {
			at = append(at, n)
		}
		if n.name == ref {
			named = append(named, n)
		}
	}
	if len(at) == 0 {
		at = named
	}
	switch {
	case len(at) == 0:
		return nil, fmt.Errorf("there is no group %q in the file and in the deployment", ref)
	case len(at) > 1:
		var paths []string
		for _, n := range at {
			paths = append(paths, n.path())
		}
		return nil, fmt.Errorf("group %q: the name is not unique; use the path or the ID: %s", ref, strings.Join(paths, ", "))
	}
	return at[0], nil
}

// label returns the path of a group, or its ID if another group has the same path.
func (t *tree) label(n *node) string {
	path := n.path()
	if n.id != "" && slices.ContainsFunc(t.nodes, func(other *node) bool { return other != n && other.path() == path }) {
		return n.id
	}
	return path
}
