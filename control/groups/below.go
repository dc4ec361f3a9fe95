package groups

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// projectPage is the number of projects that one call reads.
const projectPage = 100

// eachProject calls visit with each project, oldest first.
func eachProject(ctx context.Context, s kernel.Store, visit func(*directory.Project)) error {
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

// projectsBelow returns the IDs of the projects in a group and in the groups below it, oldest first. A project that
// enters the group after the group's commit need not be among them: its own commit has the current chain.
func projectsBelow(ctx context.Context, s kernel.Store, id string) (ids []string, err error) {
	all, err := s.Groups(ctx)
	if err != nil {
		return nil, err
	}
	below := []string{id}
	for i := range all {
		if all[i].Parent == id {
			below = append(below, all[i].ID)
		}
	}
	return ids, eachProject(ctx, s, func(p *directory.Project) {
		if id == doc.Root || slices.Contains(below, p.Group) {
			ids = append(ids, p.ID)
		}
	})
}

var errRootStays = kernel.Invalid(fault.Detail{Field: "group", Message: "must not be " + doc.Root + ", which cannot be deleted; to remove its budget, PATCH it with budget null"})

// isEmpty returns a 409 if a group has projects or groups. A project that enters the group meanwhile writes its
// document, so the commit that relies on this check fails.
func (h *handler) isEmpty(ctx context.Context, id string) error {
	all, err := h.Store.Groups(ctx)
	if err != nil {
		return err
	}
	var groups, projects int
	for i := range all {
		if all[i].Parent == id {
			groups++
		}
	}
	err = eachProject(ctx, h.Store, func(p *directory.Project) {
		if p.Group == id {
			projects++
		}
	})
	if err != nil || groups+projects == 0 {
		return err
	}
	return kernel.Refuse(fault.Conflict, "group", "must be empty, but has "+count(projects, "project")+" and "+count(groups, "group")+"; move the projects and delete the groups first")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// bringDown brings a change of a group to the projects below it, in order, and notes in the group's document that all
// of them have it. If recalls is set, their meters also return what they hold of the group's budget. If repeats is set,
// an earlier change may have missed some keys or not have waited for their leases, so all keys get their settings again.
func bringDown(ctx context.Context, cp *kernel.Plane, g *directory.Group, recalls, repeats bool) error {
	ids, err := projectsBelow(ctx, cp.Store, g.ID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := place(ctx, cp.Store, id, repeats); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if !recalls {
			break
		}
		if err := cp.Store.Recall(ctx, id, g.ID); err != nil {
			return err
		}
	}
	return finish(ctx, cp.Store, g)
}

// place commits a project's chain if it has changed. Otherwise, it repeats the deliveries to the keys if some are left.
func place(ctx context.Context, s kernel.Store, projectID string, repeats bool) error {
	return s.Change(ctx, func() (made kernel.Change, err error) {
		before, err := s.Project(ctx, projectID)
		if err != nil {
			return made, err
		}
		after := kernel.NextProject(before)
		if made, err = s.Place(ctx, &after); err != nil {
			return made, err
		}
		if !repeats && slices.Equal(before.Chain, after.Chain) && reflect.DeepEqual(before.Restrictions, after.Restrictions) {
			if done, err := s.Republished(ctx, projectID); err != nil || done {
				return kernel.Change{}, err
			}
		}
		made.Writes = append(made.Writes, kernel.WriteProject(&after))
		made.Republish = projectID
		return made, nil
	})
}

// finish notes that all projects below a group have its revision, unless it has changed again. A budget that stops
// nothing is delivered only now, because the projects' meters have asked for the earlier one until now.
func finish(ctx context.Context, s kernel.Store, done *directory.Group) error {
	return s.Change(ctx, func() (made kernel.Change, err error) {
		g, err := s.Group(ctx, done.ID)
		if err != nil || g.Revision != done.Revision || g.Applied == done.Revision {
			return made, err
		}
		after := kernel.NextGroup(g)
		after.Applied = done.Revision
		made.Writes = []directory.Write{kernel.WriteGroup(&after)}
		if !after.Stops() {
			made.Deliveries = append(made.Deliveries, s.BudgetsTo(&after)...)
		}
		return made, nil
	})
}

// Continue finishes the changes of groups that have not reached all projects, because the control plane stopped or a
// call failed. It skips the projects that earlier runs have finished, so it makes progress even if no run finishes all. It
// recalls what meters hold, because it does not know whether a budget was lowered.
func Continue(ctx context.Context, cp *kernel.Plane) error {
	all, err := cp.Store.Groups(ctx)
	failures := []error{err}
	for i := range all {
		if g := &all[i]; g.Applied < g.Revision {
			failures = append(failures, bringDown(ctx, cp, g, g.Stops(), false))
		}
	}
	return errors.Join(failures...)
}
