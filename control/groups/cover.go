package groups

import (
	"bytes"
	"context"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// coverPage is the number of projects that one call reads.
const coverPage = 100

// CoverAll brings the deployment's own budget to all projects that do not have it in their chain, after projects from
// another deployment were added, with or without that deployment's budget. It may be repeated.
func CoverAll(ctx context.Context, cp *kernel.Plane) error {
	if root, err := cp.Store.Group(ctx, doc.Root); err != nil || root.Version == 0 {
		return err
	}
	page := directory.List{Prefix: doc.ProjectKey(""), Limit: coverPage}
	for {
		docs, err := cp.Store.List(ctx, page)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := cover(ctx, cp.Store, d.Key[len(page.Prefix):]); err != nil {
				return err
			}
			page.After = d.Key
		}
		if len(docs) < coverPage {
			return nil
		}
	}
}

// cover commits a project's chain if it has changed.
func cover(ctx context.Context, s kernel.Store, projectID string) error {
	return s.Change(ctx, func() (made kernel.Change, err error) {
		before, err := s.Project(ctx, projectID)
		if err != nil {
			return made, err
		}
		after := kernel.NextProject(before)
		if made, err = s.Place(ctx, &after); err != nil || bytes.Equal(before.Encode(), after.Encode()) {
			return kernel.Change{}, err
		}
		made.Writes = append(made.Writes, kernel.WriteProject(&after))
		made.Republish = projectID
		return made, nil
	})
}
