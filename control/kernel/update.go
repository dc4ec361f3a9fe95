package kernel

import (
	"context"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
)

// keysOf is a project with some of its keys, in a consistent state.
type keysOf struct {
	project directory.Project
	keys    []directory.Key
}

// parallelReads is the number of projects whose keys are read together.
const parallelReads = 4 * maxParallel

// firstKeys reads the first keys of projects, at most MaxUpdatedKeys in all. more reports whether there are others.
func (s Store) firstKeys(ctx context.Context, ids []string) (all []keysOf, more bool, err error) {
	room := MaxUpdatedKeys
	for len(ids) > 0 && room > 0 {
		part, err := s.snapshots(ctx, ids[:min(len(ids), parallelReads)])
		if err != nil {
			return nil, false, err
		}
		for i := range part {
			n := min(len(part[i].keys), room)
			more = more || n < len(part[i].keys)
			part[i].keys, room = part[i].keys[:n], room-n
		}
		all, ids = append(all, part...), ids[len(part):]
	}
	return all, more || len(ids) > 0, nil
}

// snapshots does the same as snapshot for several projects, in fewer calls.
func (s Store) snapshots(ctx context.Context, ids []string) ([]keysOf, error) {
	all := make([]keysOf, len(ids))
	before, err := s.Projects(ctx, ids)
	if err != nil {
		return nil, err
	}
	err = Parallel(Indexes(all), func(i int) (err error) {
		all[i].project = before[ids[i]]
		all[i].keys, err = s.Keys(ctx, ids[i], "", MaxUpdatedKeys+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := s.Projects(ctx, ids)
	if err != nil {
		return nil, err
	}
	err = Parallel(Indexes(all), func(i int) (err error) {
		if p := after[ids[i]]; p.Version != all[i].project.Version || p.Version == 0 { // changed meanwhile, or missing
			all[i].project, all[i].keys, err = s.snapshot(ctx, ids[i], MaxUpdatedKeys+1)
		}
		return err
	})
	return all, err
}

// Update delivers the current settings of projects to the meters of their first keys, at most MaxUpdatedKeys in all,
// and waits for these keys' leases. The Directory will deliver the settings as well. more reports whether there are
// other keys.
func (s Store) Update(ctx context.Context, projectIDs []string) (more bool, err error) {
	more, waitMs, err := s.updateKeys(ctx, projectIDs)
	if err != nil {
		return more, err
	}
	return more, s.Wait(ctx, waitMs)
}

// updateKeys is Update without the wait. waitMs is the same as in Deliver.
func (s Store) updateKeys(ctx context.Context, projectIDs []string) (more bool, waitMs uint64, err error) {
	all, more, err := s.firstKeys(ctx, projectIDs)
	if err != nil {
		return false, 0, err
	}
	var deliveries []abi.Delivery
	for i := range all {
		p, keys := &all[i].project, all[i].keys
		to := make([]abi.Delivery, len(keys))
		for i := range keys {
			to[i] = directory.StatusTo(&keys[i], p)
		}
		deliveries = append(deliveries, s.WithSettings(p, to...)...)
	}
	waitMs, err = s.deliverInOrder(ctx, deliveries)
	return more, waitMs, err
}

// Republished reports whether the last change of a project that affects its keys has reached all of them.
func (s Store) Republished(ctx context.Context, projectID string) (bool, error) {
	reply, err := s.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", directory.Progress(projectID))
	if err != nil {
		return false, Unavailable(err)
	}
	return directory.DecodeProgress(reply)
}

// Unpublished returns the projects whose last change that affects their keys has not reached all of them.
func (s Store) Unpublished(ctx context.Context, projectIDs []string) (left []string, err error) {
	for len(projectIDs) > 0 {
		part := projectIDs[:min(len(projectIDs), directory.MaxUnpublished)]
		projectIDs = projectIDs[len(part):]
		reply, err := s.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", directory.Unpublished(part))
		if err != nil {
			return nil, Unavailable(err)
		}
		ids, err := directory.DecodeUnpublished(reply)
		if err != nil {
			return nil, err
		}
		left = append(left, ids...)
	}
	return left, nil
}

// Reporters reads the projects that may have usage to report, with at most MaxUpdatedKeys keys in all. A project without keys
// counts as one: it may have usage of keys that were deleted. complete reports whether these are all.
func (s Store) Reporters(ctx context.Context, ids []string) (projects []directory.Project, complete bool, err error) {
	all, more, err := s.firstKeys(ctx, ids)
	room := MaxUpdatedKeys
	for i := range all {
		room -= len(all[i].keys)
	}
	for i := range all {
		if len(all[i].keys) == 0 {
			room--
		}
		if len(all[i].keys) > 0 || room >= 0 {
			projects = append(projects, all[i].project)
		} else {
			more = true
		}
	}
	return projects, !more, err
}
