package control

import (
	"context"
	"errors"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// maxAttempts is how often a change is retried on fresh documents before it is a 409. Of many concurrent
// changes, each round commits one.
const maxAttempts = 40

// store is the Directory's documents and the deliveries of their changes.
//
// Every commit in a project writes the project's document, changed or not. So the project's version counts
// the project's commits, no two commits are based on the same state, and a record's version, the sum of the
// key's and the project's, grows with each commit. Otherwise a PATCH of the plan and a concurrent
// deactivation could send a meter two different records of the same version, and the meter would drop the
// second.
type store struct {
	objects Objects
	now     func() uint64 // Unix milliseconds
	sleep   func(context.Context, time.Duration) error
}

// project and key are documents with their versions.
type (
	project = directory.Project
	key     = directory.Key
)

// change is a commit to be made.
type change struct {
	writes     []directory.Write
	deliveries []abi.Delivery
	republish  string // project ID: all keys of the project get its current settings
	recall     string // project ID: its meters return the slices of an earlier budget
	pending    *bool  // set by republish: the Directory still delivers to keys beyond maxUpdatedKeys
}

// next is a project with the version that its next write will have; nextKey is the same for a key.
func next(p project) project { return project{Project: p.Project, Version: p.Version + 1} }

func nextKey(k key) key { return key{Key: k.Key, Version: k.Version + 1} }

// writeProject is the write of a project that next returned.
func writeProject(p *project) directory.Write {
	return directory.Write{Key: doc.ProjectKey(p.ID), Version: p.Version - 1, Value: p.Encode()}
}

// writeKey is the write of a key that nextKey returned. A removed key leaves no document; its tombstone is in
// its meter.
func writeKey(k *key) directory.Write {
	w := directory.Write{Key: doc.KeyKey(k.ProjectID, k.ID), Version: k.Version - 1}
	if k.Status != doc.Removed {
		w.Value = k.Encode()
	}
	return w
}

// list reads documents, in the order of their keys.
func (s store) list(ctx context.Context, query directory.List) ([]directory.Document, error) {
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", query.Encode())
	if err != nil {
		return nil, unavailable(err)
	}
	return directory.DecodeDocuments(reply)
}

// readForWrite returns a write with the version and value of a document as it is now, or with neither if it
// does not exist.
func (s store) readForWrite(ctx context.Context, key string) (directory.Write, error) {
	found, err := s.document(ctx, key)
	if errors.Is(err, errNotFound) {
		return directory.Write{Key: key}, nil
	}
	return directory.Write{Key: key, Version: found.Version, Value: found.Value}, err
}

// document reads a document; the error is a 404 if it does not exist. Listing with the whole key as the
// prefix returns that document first, if it exists.
func (s store) document(ctx context.Context, documentKey string) (directory.Document, error) {
	docs, err := s.list(ctx, directory.List{Prefix: documentKey, Limit: 1})
	if err != nil {
		return directory.Document{}, err
	}
	if len(docs) == 0 || docs[0].Key != documentKey {
		return directory.Document{}, errNotFound
	}
	return docs[0], nil
}

func (s store) project(ctx context.Context, id string) (project, error) {
	found, err := s.document(ctx, doc.ProjectKey(id))
	if errors.Is(err, errNotFound) {
		return project{}, missing("project", id)
	}
	if err != nil {
		return project{}, err
	}
	return directory.DecodeProject(found)
}

func (s store) key(ctx context.Context, projectID, id string) (key, error) {
	found, err := s.document(ctx, doc.KeyKey(projectID, id))
	if errors.Is(err, errNotFound) {
		return key{}, missing("key", id)
	}
	if err != nil {
		return key{}, err
	}
	return directory.DecodeKey(found)
}

// keys reads a page of a project's keys, oldest first.
func (s store) keys(ctx context.Context, projectID, after string, limit int) ([]key, error) {
	query := directory.List{Prefix: doc.KeysOf(projectID), Limit: uint64(limit)}
	if after != "" {
		query.After = doc.KeyKey(projectID, after)
	}
	docs, err := s.list(ctx, query)
	if err != nil {
		return nil, err
	}
	found := make([]key, len(docs))
	for i, d := range docs {
		if found[i], err = directory.DecodeKey(d); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// change commits the result of build and makes the deliveries. After a conflict it calls build again, on
// fresh documents. After an error the commit may exist; the outbox then makes its deliveries.
func (s store) change(ctx context.Context, build func() (change, error)) error {
	for range maxAttempts {
		made, err := build()
		if err != nil {
			return err
		}
		committed, err := s.commit(ctx, made)
		if err != nil {
			return err
		}
		if committed {
			return s.deliverAll(ctx, &made)
		}
	}
	return errConflict
}

// commit is not retried after an error: it may have succeeded, and the retry would conflict with it.
func (s store) commit(ctx context.Context, made change) (committed bool, err error) {
	command := directory.Commit{Writes: made.writes, Deliveries: made.deliveries, Republish: made.republish}
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", command.Encode())
	if err != nil {
		return false, unavailable(err)
	}
	conflict, err := directory.DecodeConflict(reply)
	return conflict == "", err
}

// maxUpdatedKeys is the number of keys that get a change of their project before it is acknowledged. The
// others get it from the Directory, within minutes.
const maxUpdatedKeys = 200

// settingsTo is the delivery of the project's settings to its ledger.
func (s store) settingsTo(p *project) abi.Delivery { return directory.SettingsTo(p, s.now()) }

// withSettings puts the settings, which contain the policy, before deliveries that name the policy to meters.
// The policy may be another operator's change that is committed and still being delivered.
func (s store) withSettings(p *project, deliveries ...abi.Delivery) []abi.Delivery {
	if p.Policy.Version == 0 {
		return deliveries
	}
	return append([]abi.Delivery{s.settingsTo(p)}, deliveries...)
}

// updateKeys delivers a project's current settings to its keys' meters, as the Directory will do as well. more reports
// that the project has more keys than maxUpdatedKeys; waitMs is as in deliver.
func (s store) updateKeys(ctx context.Context, projectID string) (more bool, waitMs uint64, err error) {
	p, all, err := s.snapshot(ctx, projectID)
	if err != nil {
		return false, 0, err
	}
	more = len(all) > maxUpdatedKeys
	all = all[:min(len(all), maxUpdatedKeys)]
	deliveries := make([]abi.Delivery, len(all))
	for i := range all {
		deliveries[i] = directory.StatusTo(&all[i], &p)
	}
	waitMs, err = s.deliverInOrder(ctx, s.withSettings(&p, deliveries...))
	return more, waitMs, err
}

// republished reports whether the last change of a project that affects its keys has reached all of them.
func (s store) republished(ctx context.Context, projectID string) (bool, error) {
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", directory.Progress(projectID))
	if err != nil {
		return false, unavailable(err)
	}
	return directory.DecodeProgress(reply)
}

// snapshot reads a project and its first keys, one more than maxUpdatedKeys, in one consistent state: every commit in the project changes
// its version. A record of documents from different states could have the version of another record.
func (s store) snapshot(ctx context.Context, projectID string) (p project, all []key, err error) {
	after, err := s.project(ctx, projectID)
	for range maxAttempts {
		if err != nil {
			return p, nil, err
		}
		p = after
		if all, err = s.keys(ctx, projectID, "", maxUpdatedKeys+1); err != nil {
			return p, nil, err
		}
		if after, err = s.project(ctx, projectID); err == nil && after.Version == p.Version {
			return p, all, nil
		}
	}
	return p, nil, unavailable(errBusy)
}

var errBusy = errors.New("the project kept changing while its keys were read")
