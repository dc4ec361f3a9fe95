package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// MaxAttempts is the number of attempts to make a change on fresh documents before it fails with a 409. In each round
// of concurrent attempts, one of them is committed.
const MaxAttempts = 40

// Store reads and changes the Directory's documents and delivers the changes.
//
// Every commit in a project writes the project's document, even if the document does not change. The project's
// version therefore counts the project's commits, and no two commits are based on the same state. A record's version,
// which is the sum of the key's and the project's versions, grows with each commit. Otherwise, a PATCH of the plan
// and a concurrent deactivation could send a meter two different records with the same version, and the meter would
// drop the second.
type Store struct {
	Objects Objects
	now     func() uint64 // Unix milliseconds
	sleep   func(context.Context, time.Duration) error
}

// Change is a commit to be made.
type Change struct {
	Writes     []directory.Write
	Deliveries []abi.Delivery
	Republish  []string // IDs of projects, all of whose keys get the projects' current settings
	Recall     Recall   // budget that meters return
	Later      bool     // the caller makes more commits and then calls Store.Update for the keys
	Pending    *bool    // set by Store.Change if Republish is set: the Directory has yet to deliver to keys beyond MaxUpdatedKeys
}

// NextProject returns a project with the version that its next write will have. NextKey does the same for a key.
func NextProject(p directory.Project) directory.Project {
	return directory.Project{Project: p.Project, Version: p.Version + 1}
}

// NextKey returns a key with the version that its next write will have.
func NextKey(k directory.Key) directory.Key { return directory.Key{Key: k.Key, Version: k.Version + 1} }

// WriteProject returns the write that stores a project returned by NextProject.
func WriteProject(p *directory.Project) directory.Write {
	return directory.Write{Key: doc.ProjectKey(p.ID), Version: p.Version - 1, Value: p.Encode()}
}

// WriteKey returns the write that stores a key returned by NextKey. For a removed key, it deletes the document. The
// key's tombstone is in its meter.
func WriteKey(k *directory.Key) directory.Write {
	w := directory.Write{Key: doc.KeyKey(k.ProjectID, k.ID), Version: k.Version - 1}
	if k.Status != doc.Removed {
		w.Value = k.Encode()
	}
	return w
}

// List reads documents in the order of their keys.
func (s Store) List(ctx context.Context, query directory.List) ([]directory.Document, error) {
	reply, err := s.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", query.Encode())
	if err != nil {
		return nil, Unavailable(err)
	}
	return directory.DecodeDocuments(reply)
}

// ReadForWrite returns a write with a document's current version and value, or with neither if the document does not
// exist.
func (s Store) ReadForWrite(ctx context.Context, key string) (directory.Write, error) {
	found, err := s.Document(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return directory.Write{Key: key}, nil
	}
	return directory.Write{Key: key, Version: found.Version, Value: found.Value}, err
}

// Document reads a document. The error is a 404 if it does not exist. If the document exists, it is the first result
// of a list that has the complete key as its prefix.
func (s Store) Document(ctx context.Context, documentKey string) (directory.Document, error) {
	docs, err := s.List(ctx, directory.List{Prefix: documentKey, Limit: 1})
	if err != nil {
		return directory.Document{}, err
	}
	if len(docs) == 0 || docs[0].Key != documentKey {
		return directory.Document{}, ErrNotFound
	}
	return docs[0], nil
}

// Project reads a project. The error is a 404 if it does not exist.
func (s Store) Project(ctx context.Context, id string) (directory.Project, error) {
	found, err := s.Document(ctx, doc.ProjectKey(id))
	if errors.Is(err, ErrNotFound) {
		return directory.Project{}, Missing("project", id)
	}
	if err != nil {
		return directory.Project{}, err
	}
	return directory.DecodeProject(found)
}

// Projects reads the projects with the given IDs. It omits projects that do not exist.
func (s Store) Projects(ctx context.Context, ids []string) (map[string]directory.Project, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = doc.ProjectKey(id)
	}
	found := map[string]directory.Project{}
	return found, s.readEach(ctx, names, func(d directory.Document) error {
		p, err := directory.DecodeProject(d)
		found[p.ID] = p
		return err
	})
}

// KeysByID reads the keys with the given IDs. It omits keys that do not exist.
func (s Store) KeysByID(ctx context.Context, projectID string, ids []string) (map[string]directory.Key, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = doc.KeyKey(projectID, id)
	}
	found := map[string]directory.Key{}
	return found, s.readEach(ctx, names, func(d directory.Document) error {
		k, err := directory.DecodeKey(d)
		found[k.ID] = k
		return err
	})
}

// maxRead is the maximum number of documents that one directory.Read may request.
const maxRead = 1000

// readEach reads the documents with the given keys in as few calls as possible. It skips documents that do not exist.
func (s Store) readEach(ctx context.Context, names []string, each func(directory.Document) error) error {
	for part := range slices.Chunk(names, maxRead) {
		command := directory.Read{Keys: part}
		reply, err := s.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", command.Encode())
		if err != nil {
			return Unavailable(err)
		}
		docs, err := directory.DecodeDocuments(reply)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := each(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// Key reads a key of a project. The error is a 404 if it does not exist.
func (s Store) Key(ctx context.Context, projectID, id string) (directory.Key, error) {
	found, err := s.Document(ctx, doc.KeyKey(projectID, id))
	if errors.Is(err, ErrNotFound) {
		return directory.Key{}, Missing("key", id)
	}
	if err != nil {
		return directory.Key{}, err
	}
	return directory.DecodeKey(found)
}

// Keys reads a page of a project's keys, oldest first.
func (s Store) Keys(ctx context.Context, projectID, after string, limit int) ([]directory.Key, error) {
	query := directory.List{Prefix: doc.KeysOf(projectID), Limit: uint64(limit)}
	if after != "" {
		query.After = doc.KeyKey(projectID, after)
	}
	docs, err := s.List(ctx, query)
	if err != nil {
		return nil, err
	}
	found := make([]directory.Key, len(docs))
	for i, d := range docs {
		if found[i], err = directory.DecodeKey(d); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Change commits the result of build and makes the deliveries. After a conflict, it calls build again to work on
// fresh documents. Even if Change returns an error, the commit may have succeeded. In that case, the outbox makes the
// deliveries.
func (s Store) Change(ctx context.Context, build func() (Change, error)) error {
	for range MaxAttempts {
		made, err := build()
		if err != nil {
			return err
		}
		committed, err := s.Commit(ctx, made)
		if err != nil {
			return err
		}
		if committed {
			return s.deliverAll(ctx, &made)
		}
	}
	return ErrConflict
}

// Commit makes one attempt to commit a change and reports whether there was no conflict. It does not retry after an
// error: the commit may have succeeded, and the retry would then conflict with it. A change without writes needs no
// commit.
func (s Store) Commit(ctx context.Context, made Change) (committed bool, err error) {
	if len(made.Writes) == 0 {
		return true, nil
	}
	command := directory.Commit{Writes: made.Writes, Deliveries: made.Deliveries, Republish: made.Republish}
	reply, err := s.Objects.Call(ctx, abi.ClassDirectory, directory.Name, "", command.Encode())
	if err != nil {
		return false, Unavailable(err)
	}
	conflict, err := directory.DecodeConflict(reply)
	return conflict == "", err
}

// MaxUpdatedKeys is the maximum number of keys that get a change of their project or of a group above it before the
// change is acknowledged. The other keys get the change from the Directory within minutes.
const MaxUpdatedKeys = 200

// SettingsTo returns the delivery of the project's settings to its ledger.
func (s Store) SettingsTo(p *directory.Project) abi.Delivery { return directory.SettingsTo(p, s.now()) }

// SettingsOf returns the deliveries of the project's settings to all of its Ledgers.
func (s Store) SettingsOf(p *directory.Project) []abi.Delivery {
	return append([]abi.Delivery{s.SettingsTo(p)}, directory.LimitsTo(p, s.now())...)
}

// WithSettings puts the delivery of the settings, which contain the policy and the paths, before deliveries that tell
// meters the policy's version and the path's number. The policy may come from another operator's change, which is
// committed but still being delivered.
func (s Store) WithSettings(p *directory.Project, deliveries ...abi.Delivery) []abi.Delivery {
	if p.Policy.Version == 0 && p.Path == 0 {
		return deliveries
	}
	return append([]abi.Delivery{s.SettingsTo(p)}, deliveries...)
}

// snapshot reads a project and its first keys, at most limit, in a consistent state. It relies on the fact that
// every commit in the project changes the project's version. A record that mixes documents from different states could
// have the same version as a different record.
func (s Store) snapshot(ctx context.Context, projectID string, limit int) (p directory.Project, all []directory.Key, err error) {
	after, err := s.Project(ctx, projectID)
	for range MaxAttempts {
		if err != nil {
			return p, nil, err
		}
		p = after
		if all, err = s.Keys(ctx, projectID, "", limit); err != nil {
			return p, nil, err
		}
		if after, err = s.Project(ctx, projectID); err == nil && after.Version == p.Version {
			return p, all, nil
		}
	}
	return p, nil, Unavailable(errBusy)
}

var errBusy = errors.New("the project kept changing while its keys were read")
