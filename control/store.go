package control

import (
	"context"
	"errors"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// maxAttempts is how often a change is tried again from fresh documents before it is a 409.
const maxAttempts = 10

// maxParallel is how many deliveries are under way at once: a Worker's request has six connections.
const maxParallel = 6

// store is the Directory's documents, and the deliveries of their changes.
//
// Every commit in a project writes the project's document, changed or not. So the project's version counts
// the project's commits: no two of them can be built on the same state, and a record's version, which is
// the key's version and the project's in sum, grows from each commit to the next. Without that, a PATCH of
// the plan and a deactivation at the same time could give a meter two records of one version, and it would
// drop the second, whichever that is.
type store struct{ objects Objects }

// project is a project's document at its version.
type project struct {
	doc.Project
	version uint64
}

// key is a key's document at its version.
type key struct {
	doc.Key
	version uint64
}

// change is a commit in the making.
type change struct {
	writes     []directory.Write
	deliveries []abi.Delivery
}

// list reads documents, in the order of their keys.
func (s store) list(ctx context.Context, query directory.List) ([]directory.Document, error) {
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", query.Encode())
	if err != nil {
		return nil, unavailable(err)
	}
	return directory.DecodeDocuments(reply)
}

// one reads a document, or refuses with 404. The id is part of the whole key, so what comes first under
// that prefix is that document or there is none.
func (s store) one(ctx context.Context, documentKey string) (directory.Document, error) {
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
	found, err := s.one(ctx, doc.ProjectKey(id))
	if err != nil {
		return project{}, err
	}
	return decodeProject(found)
}

func (s store) key(ctx context.Context, projectID, id string) (key, error) {
	found, err := s.one(ctx, doc.KeyKey(projectID, id))
	if err != nil {
		return key{}, err
	}
	return decodeKey(found)
}

// keys reads a page of a project's keys; a limit of 0 is all of them.
func (s store) keys(ctx context.Context, projectID, after string, limit int) ([]key, error) {
	query := directory.List{Prefix: doc.KeysOf(projectID), Limit: directory.MaxList}
	if limit > 0 {
		query.Limit = uint64(limit)
	}
	if after != "" {
		query.After = doc.KeyKey(projectID, after)
	}
	var found []key
	for {
		docs, err := s.list(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			k, err := decodeKey(d)
			if err != nil {
				return nil, err
			}
			found = append(found, k)
		}
		if limit > 0 || len(docs) < directory.MaxList {
			return found, nil
		}
		query.After = docs[len(docs)-1].Key
	}
}

func decodeProject(d directory.Document) (project, error) {
	p, err := doc.DecodeProject(d.Value)
	return project{p, d.Version}, err
}

func decodeKey(d directory.Document) (key, error) {
	k, err := doc.DecodeKey(d.Value)
	return key{k, d.Version}, err
}

// change commits what build makes of fresh documents, and makes the deliveries. If somebody else's commit
// came between, build is called again. After an error the change may stand: then the outbox carries it out.
func (s store) change(ctx context.Context, build func() (change, error)) error {
	for range maxAttempts {
		made, err := build()
		if err != nil {
			return err
		}
		held, err := s.commit(ctx, made)
		if err != nil {
			return err
		}
		if held {
			return s.deliver(ctx, made.deliveries)
		}
	}
	return errConflict
}

// commit is not repeated after an error: it may have been made, and would conflict with itself.
func (s store) commit(ctx context.Context, made change) (held bool, err error) {
	command := directory.Commit{Writes: made.writes, Deliveries: made.deliveries}
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", command.Encode())
	if err != nil {
		return false, unavailable(err)
	}
	conflict, err := directory.DecodeConflict(reply)
	return conflict == "", err
}

// deliver makes the deliveries to objects, a few at a time, and waits for all. Those to KV are left to the
// outbox: nothing depends on KV being fresh.
func (s store) deliver(ctx context.Context, deliveries []abi.Delivery) error {
	var (
		all   sync.WaitGroup
		slots = make(chan struct{}, maxParallel)
		errs  = make([]error, len(deliveries))
	)
	for i, d := range deliveries {
		if d.Class == abi.ClassKV {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			_, errs[i] = s.objects.Call(ctx, d.Class, d.Name, d.Region, d.Data)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return unavailable(err)
	}
	return nil
}
