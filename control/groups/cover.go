package groups

import (
	"context"
	"slices"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// CoverAll brings the settings of the deployment itself to all projects that do not have them, after projects from
// another deployment were added, with or without that deployment's settings. It may be repeated.
func CoverAll(ctx context.Context, cp *kernel.Plane) error {
	if root, err := cp.Store.Group(ctx, doc.Root); err != nil || root.Version == 0 {
		return err
	}
	ids, err := cp.Store.ProjectsBelow(ctx, doc.Root)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, projectsPerCommit) {
		changed, err := cover(ctx, cp.Store, part)
		if err != nil {
			return err
		}
		if _, err := cp.Store.Update(ctx, changed); err != nil {
			return err
		}
	}
	return nil
}

// cover commits what projects have from the groups above them, if it has changed. It returns the IDs of these projects.
func cover(ctx context.Context, s kernel.Store, ids []string) (changed []string, err error) {
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
		changed = nil
		for i, id := range ids {
			if !samePlace(before[id], &after[i]) {
				changed = append(changed, id)
				made.Writes = append(made.Writes, kernel.WriteProject(&after[i]))
			}
		}
		if made.Republish, made.Later = changed, true; len(changed) == 0 {
			return kernel.Change{}, nil
		}
		return made, nil
	})
	return changed, err
}
