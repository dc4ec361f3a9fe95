package groups

import (
	"context"
	"slices"

	"github.com/postern-ai/postern/control/kernel"
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
		changed, err := placeIf(ctx, cp.Store, part, func(_ string, changed bool, _ []string) bool { return changed })
		if err != nil {
			return err
		}
		if _, err := cp.Store.Update(ctx, changed); err != nil {
			return err
		}
	}
	return nil
}
