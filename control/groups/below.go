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
	err = h.Store.EachProject(ctx, func(p *directory.Project) {
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

// descent is a change that is brought down to the projects below a group.
type descent struct {
	group *directory.Group
	// repeats is set if an earlier change may have missed some keys or not have waited for their leases. All keys then get
	// their settings again.
	repeats bool
}

// bringDown brings a change of a group to the projects below it and notes in the group's document that all
// of them have it. pending reports whether the Directory has yet to deliver it to some of the keys.
func bringDown(ctx context.Context, cp *kernel.Plane, d *descent) (pending bool, err error) {
	ids, err := cp.Store.ProjectsBelow(ctx, d.group.ID)
	if err != nil {
		return false, err
	}
	var changed []string
	for part := range slices.Chunk(ids, projectsPerCommit) {
		placed, err := place(ctx, cp.Store, part, d.repeats)
		if err != nil {
			return false, err
		}
		changed = append(changed, placed...)
	}
	if pending, err = cp.Store.Update(ctx, changed); err != nil {
		return false, err
	}
	return pending, finish(ctx, cp.Store, d.group, pending)
}

// projectsPerCommit is the number of projects that one commit changes. With the groups on their paths, of which each
// project has at most three, a commit stays below directory.MaxWrites.
const projectsPerCommit = 250

// place commits what projects have from the groups above them. It skips projects in which nothing changes and whose
// keys have all of it, unless repeats is set. It returns the IDs of the others.
func place(ctx context.Context, s kernel.Store, ids []string, repeats bool) (placed []string, err error) {
	return placeIf(ctx, s, ids, func(id string, changed bool, left []string) bool {
		return repeats || changed || slices.Contains(left, id)
	})
}

// placeIf is place for the projects that wanted selects. changed reports whether something changes in the project. left
// contains the projects whose keys do not all have the last change.
func placeIf(ctx context.Context, s kernel.Store, ids []string, wanted func(id string, changed bool, left []string) bool) (placed []string, err error) {
	err = s.Change(ctx, func() (made kernel.Change, err error) {
		before, err := s.Projects(ctx, ids)
		if err != nil {
			return made, err
		}
		after := make([]directory.Project, len(ids))
		for i, id := range ids {
			after[i] = kernel.NextProject(before[id])
		}
		if made, err = s.PlaceAll(ctx, after); err != nil {
			return made, err
		}
		left, err := s.Unpublished(ctx, ids)
		if err != nil {
			return made, err
		}
		placed = nil
		for i, id := range ids {
			if wanted(id, !samePlace(before[id], &after[i]), left) {
				placed = append(placed, id)
				made.Writes = append(made.Writes, kernel.WriteProject(&after[i]))
				if before[id].Path != after[i].Path {
					made.Deliveries = append(made.Deliveries, s.SettingsTo(&after[i]))
				}
			}
		}
		if made.Republish, made.Later = placed, true; len(placed) == 0 {
			return kernel.Change{}, nil
		}
		return made, nil
	})
	return placed, err
}

func samePlace(before directory.Project, after *directory.Project) bool {
	return before.Path == after.Path && slices.Equal(before.Chain, after.Chain) && reflect.DeepEqual(before.Restrictions, after.Restrictions) && before.GroupArchived == after.GroupArchived
}

// finish notes that all projects below a group have its revision, unless it has changed again. A budget that stops
// nothing is delivered only now, because the projects' meters have asked for the earlier one until now.
func finish(ctx context.Context, s kernel.Store, done *directory.Group, pending bool) error {
	return s.Change(ctx, func() (made kernel.Change, err error) {
		g, err := s.Group(ctx, done.ID)
		if err != nil || g.Revision != done.Revision || g.Delivered == done.Revision || pending && g.Applied == done.Revision {
			return made, err
		}
		after := kernel.NextGroup(g)
		after.Applied = done.Revision
		if !pending {
			after.Delivered = done.Revision
		}
		made.Writes = []directory.Write{kernel.WriteGroup(&after)}
		if !after.Stops() {
			made.Deliveries = append(made.Deliveries, s.BudgetsTo(&after)...)
		}
		return made, nil
	})
}

// Continue finishes the changes of groups that have not reached all projects, because the control plane stopped or a
// call failed. It skips the projects that earlier runs have finished, so it makes progress even if no run finishes all.
func Continue(ctx context.Context, cp *kernel.Plane) error {
	all, err := cp.Store.Groups(ctx)
	failures := []error{err}
	for i := range all {
		g := &all[i]
		if g.Applied < g.Revision {
			_, err := bringDown(ctx, cp, &descent{group: g})
			failures = append(failures, err)
		} else if done, err := isDelivered(ctx, cp.Store, g); err != nil || done && g.Delivered < g.Revision {
			failures = append(failures, err, finish(ctx, cp.Store, g, !done))
		}
	}
	return errors.Join(failures...)
}

// isDelivered reports whether all keys below a group have its present settings.
func isDelivered(ctx context.Context, s kernel.Store, g *directory.Group) (bool, error) {
	if g.Delivered == g.Revision || g.Applied < g.Revision {
		return g.Delivered == g.Revision, nil
	}
	ids, err := s.ProjectsBelow(ctx, g.ID)
	if err != nil {
		return false, err
	}
	left, err := s.Unpublished(ctx, ids)
	return len(left) == 0, err
}
