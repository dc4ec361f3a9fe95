package kernel

import (
	"context"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// projectPage is the number of projects that one call reads.
const projectPage = 100

// EachProject calls visit with each project, oldest first.
func (s Store) EachProject(ctx context.Context, visit func(*directory.Project)) error {
	page := directory.List{Prefix: doc.ProjectKey(""), Limit: projectPage}
	for {
		docs, err := s.List(ctx, page)
		if err != nil {
			return err
		}
		for _, d := range docs {
			p, err := directory.DecodeProject(d)
			if err != nil {
				return err
			}
			visit(&p)
			page.After = d.Key
		}
		if len(docs) < projectPage {
			return nil
		}
	}
}

// GroupsBelow returns the groups directly below a group, oldest first.
func (s Store) GroupsBelow(ctx context.Context, id string) (below []directory.Group, err error) {
	all, err := s.Groups(ctx)
	for i := range all {
		if all[i].Parent == id {
			below = append(below, all[i])
		}
	}
	return below, err
}

// ProjectsBelow returns the IDs of the projects in a group and in the groups below it, oldest first. A project that
// enters the group after the group's commit need not be among them: its own commit has the current chain.
func (s Store) ProjectsBelow(ctx context.Context, id string) (ids []string, err error) {
	ids, _, err = s.below(ctx, id)
	return ids, err
}

// ReportersBelow returns the projects whose usage may still arrive at a node: the projects below it, and then those of the
// last moves that have left it.
func (s Store) ReportersBelow(ctx context.Context, id string) ([]string, error) {
	ids, left, err := s.below(ctx, id)
	return append(ids, left...), err
}

func (s Store) below(ctx context.Context, id string) (ids, left []string, err error) {
	groups, err := s.GroupsBelow(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	inside := map[string]bool{id: true}
	for i := range groups {
		inside[groups[i].ID] = true
	}
	err = s.EachProject(ctx, func(p *directory.Project) {
		switch {
		case id == doc.Root || inside[p.Group]:
			ids = append(ids, p.ID)
		case p.WasBelow(id):
			left = append(left, p.ID)
		}
	})
	return ids, left, err
}
