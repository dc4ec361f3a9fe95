package kernel

import (
	"context"
	"errors"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// NextGroup returns a group with the version that its next write will have.
func NextGroup(g directory.Group) directory.Group {
	return directory.Group{Group: g.Group, Version: g.Version + 1}
}

// WriteGroup returns the write of a group that NextGroup returned.
func WriteGroup(g *directory.Group) directory.Write {
	return directory.Write{Key: doc.GroupKey(g.ID), Version: g.Version - 1, Value: g.Encode()}
}

// KeepGroup returns a write of a group that changes only its version. A concurrent change of the group then makes one
// of the two commits fail. The root has no document before its first change. For it, the write is the condition that
// there is still none.
func KeepGroup(g directory.Group) directory.Write {
	if g.Version == 0 {
		return directory.Write{Key: doc.GroupKey(g.ID)}
	}
	next := NextGroup(g)
	return WriteGroup(&next)
}

// Group reads a group. The error is a 404 if it does not exist. The root always exists. It has version 0 before its
// first change.
func (s Store) Group(ctx context.Context, id string) (directory.Group, error) {
	found, err := s.Document(ctx, doc.GroupKey(id))
	switch {
	case errors.Is(err, ErrNotFound) && id == doc.Root:
		return directory.Group{Group: newRoot}, nil
	case errors.Is(err, ErrNotFound):
		return directory.Group{}, Missing("group", id)
	case err != nil:
		return directory.Group{}, err
	}
	return directory.DecodeGroup(found)
}

// newRoot is the root before its first change.
var newRoot = doc.Group{ID: doc.Root, Name: "Deployment"}

// Groups reads all groups that have a document, oldest first and the root last.
func (s Store) Groups(ctx context.Context) (all []directory.Group, err error) {
	page := directory.List{Prefix: doc.AllGroups, Limit: scanPage}
	for {
		docs, err := s.List(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			g, err := directory.DecodeGroup(d)
			if err != nil {
				return nil, err
			}
			all, page.After = append(all, g), d.Key
		}
		if len(docs) < scanPage {
			return all, nil
		}
	}
}

// path reads the groups on the path to the projects of a group, from the root down. An empty ID means the root.
func (s Store) path(ctx context.Context, id string) (path []directory.Group, err error) {
	for id != "" && id != doc.Root && len(path) < doc.MaxDepth {
		g, err := s.Group(ctx, id)
		if err != nil {
			return nil, err
		}
		path, id = append([]directory.Group{g}, path...), g.Parent
	}
	root, err := s.Group(ctx, doc.Root)
	return append([]directory.Group{root}, path...), err
}

// Place sets what a project has from the groups on its path: the chain, the path, the lists of models, and whether one of them is
// archived. It returns what the project's commit needs in addition: writes that make it fail if one of these groups
// changes, and the delivery of their budgets, so that every Ledger has its budget before a meter asks it. The error is a
// 400 if the project's group does not exist.
func (s Store) Place(ctx context.Context, p *directory.Project) (Change, error) {
	path, err := s.path(ctx, p.Group)
	if IsMissing(err) {
		return Change{}, noGroup(p)
	}
	if err != nil {
		return Change{}, err
	}
	var made placement
	made.add(s, p, path)
	return made.needed, nil
}

func noGroup(p *directory.Project) error {
	return Invalid(fault.Detail{Field: "group", Message: p.Group + " does not exist"})
}

// PlaceAll is Place for several projects of one commit.
func (s Store) PlaceAll(ctx context.Context, projects []directory.Project) (Change, error) {
	all, err := s.Groups(ctx)
	if err != nil {
		return Change{}, err
	}
	groups := map[string]*directory.Group{doc.Root: {Group: newRoot}}
	for i := range all {
		groups[all[i].ID] = &all[i]
	}
	var made placement
	for i := range projects {
		p := &projects[i]
		path := []directory.Group{*groups[doc.Root]}
		for id := p.Group; id != "" && id != doc.Root && len(path) <= doc.MaxDepth; {
			g := groups[id]
			if g == nil {
				return Change{}, noGroup(p)
			}
			path, id = slices.Insert(path, 1, *g), g.Parent
		}
		made.add(s, p, path)
	}
	return made.needed, nil
}

// placement collects what a commit of projects needs.
type placement struct {
	needed Change
	groups []string // IDs
}

func (m *placement) add(s Store, p *directory.Project, path []directory.Group) {
	p.Chain, p.Restrictions, p.GroupArchived = nil, nil, false
	p.SetAncestors(ancestors(path))
	for _, g := range path {
		p.GroupArchived = p.GroupArchived || g.Archived
		if len(g.Models) > 0 {
			p.Restrictions = append(p.Restrictions, doc.Restriction{ID: g.ID, Name: g.Name, Models: g.Models})
		}
		if g.Stops() {
			p.Chain = append(p.Chain, g.Nodes()...)
		}
		if slices.Contains(m.groups, g.ID) {
			continue
		}
		m.groups = append(m.groups, g.ID)
		m.needed.Writes = append(m.needed.Writes, KeepGroup(g))
		if g.Stops() {
			next := NextGroup(g)
			m.needed.Deliveries = append(m.needed.Deliveries, s.BudgetsTo(&next)...)
		}
	}
	if path[0].HideNames {
		hideNames(p)
	}
}

// hideNames removes the names of groups from a project's chain, because refusals contain them.
func hideNames(p *directory.Project) {
	for i := range p.Chain {
		p.Chain[i].Name = ""
	}
	for i := range p.Restrictions {
		p.Restrictions[i].Name = ""
	}
}

// ancestors returns the nodes to which a project's usage is added. The deployment is one of them if it has a document
// or if the project is in a group.
func ancestors(path []directory.Group) (nodes []doc.Ancestor) {
	if len(path) == 1 && path[0].Version == 0 {
		return nil
	}
	for _, g := range path {
		nodes = append(nodes, doc.Ancestor{ID: g.ID, Epoch: g.Epoch, Counted: g.Budgeted && !g.Soft})
	}
	return nodes
}

// BudgetsTo returns the deliveries of the group's budget and limits to its Ledgers.
func (s Store) BudgetsTo(g *directory.Group) []abi.Delivery { return directory.BudgetsTo(g, s.now()) }
