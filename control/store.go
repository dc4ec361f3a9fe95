package control

import (
	"context"
	"errors"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// maxAttempts is how often a change is tried again from fresh documents before it is a 409: of so many that
// are made at once, each round lets one through.
const maxAttempts = 40

// store is the Directory's documents, and the deliveries of their changes.
//
// Every commit in a project writes the project's document, changed or not. So the project's version counts
// the project's commits: no two of them can be built on the same state, and a record's version, which is
// the key's version and the project's in sum, grows from each commit to the next. Without that, a PATCH of
// the plan and a deactivation at the same time could give a meter two records of one version, and it would
// drop the second, whichever that is.
type store struct {
	objects Objects
	now     func() uint64 // Unix milliseconds
}

// project and key are documents at their versions.
type (
	project = directory.Project
	key     = directory.Key
)

// change is a commit in the making.
type change struct {
	writes     []directory.Write
	deliveries []abi.Delivery
	republish  string // a project's id: all its keys are told what it says now
}

// next is a document as it will stand after the commit that writes it.
func next(p project) project { return project{Project: p.Project, Version: p.Version + 1} }

func nextKey(k key) key { return key{Key: k.Key, Version: k.Version + 1} }

// writeProject puts a project into a commit: p is what next returned.
func writeProject(p *project) directory.Write {
	return directory.Write{Key: doc.ProjectKey(p.ID), Version: p.Version - 1, Value: p.Encode()}
}

// writeKey puts a key into a commit. A removed key leaves no document; its tombstone is in its meter.
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

// asRead is the write that stands for a document as it is now: its version and value, or neither if it is not there.
func (s store) asRead(ctx context.Context, key string) (directory.Write, error) {
	found, err := s.one(ctx, key)
	if errors.Is(err, errNotFound) {
		return directory.Write{Key: key}, nil
	}
	return directory.Write{Key: key, Version: found.Version, Value: found.Value}, err
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
	return directory.DecodeProject(found)
}

func (s store) key(ctx context.Context, projectID, id string) (key, error) {
	found, err := s.one(ctx, doc.KeyKey(projectID, id))
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
			return s.carryOut(ctx, &made)
		}
	}
	return errConflict
}

// commit is not repeated after an error: it may have been made, and would conflict with itself.
func (s store) commit(ctx context.Context, made change) (held bool, err error) {
	command := directory.Commit{Writes: made.writes, Deliveries: made.deliveries, Republish: made.republish}
	reply, err := s.objects.Call(ctx, abi.ClassDirectory, directory.Name, "", command.Encode())
	if err != nil {
		return false, unavailable(err)
	}
	conflict, err := directory.DecodeConflict(reply)
	return conflict == "", err
}

// carryOut makes a change's deliveries. The ledger is first: the meters' questions to it presume what the
// change says.
func (s store) carryOut(ctx context.Context, made *change) error {
	ledgers := slices.DeleteFunc(slices.Clone(made.deliveries), func(d abi.Delivery) bool { return d.Class != abi.ClassLedger })
	if err := s.deliver(ctx, ledgers); err != nil {
		return err
	}
	meters := slices.DeleteFunc(slices.Clone(made.deliveries), func(d abi.Delivery) bool { return d.Class != abi.ClassKeyMeter })
	if err := s.deliver(ctx, meters); err != nil || made.republish == "" {
		return err
	}
	return s.tellKeys(ctx, made.republish)
}

// maxTold is how many keys are told of their project's change before it is acknowledged. Those of a larger
// project hear of it from the Directory, within minutes.
const maxTold = 200

// settingsTo tells the project's ledger what the project says.
func (s store) settingsTo(p *project) abi.Delivery { return directory.SettingsTo(p, s.now()) }

// afterPolicy are deliveries that name the project's policy to meters, behind the one that gives the ledger that
// policy: it may be another operator's change, which is committed and still being delivered.
func (s store) afterPolicy(p *project, deliveries ...abi.Delivery) []abi.Delivery {
	if p.Policy.Version == 0 {
		return deliveries
	}
	return append([]abi.Delivery{s.settingsTo(p)}, deliveries...)
}

// tellKeys tells a project's keys what it says now, as the Directory will tell them too.
func (s store) tellKeys(ctx context.Context, projectID string) error {
	p, all, err := s.moment(ctx, projectID)
	if err != nil {
		return err
	}
	deliveries := make([]abi.Delivery, len(all))
	for i := range all {
		deliveries[i] = directory.StatusTo(&all[i], &p)
	}
	return s.carryOut(ctx, &change{deliveries: s.afterPolicy(&p, deliveries...)})
}

// moment reads a project and its first keys as they stood at one moment: every commit in the project changes
// its version. A record of documents that never stood together could have the version of another record.
func (s store) moment(ctx context.Context, projectID string) (p project, all []key, err error) {
	after, err := s.project(ctx, projectID)
	for range maxAttempts {
		if err != nil {
			return p, nil, err
		}
		p = after
		if all, err = s.keys(ctx, projectID, "", maxTold); err != nil {
			return p, nil, err
		}
		if after, err = s.project(ctx, projectID); err == nil && after.Version == p.Version {
			return p, all, nil
		}
	}
	return p, nil, unavailable(errBusy)
}

var errBusy = errors.New("the project does not stand still")

// deliver makes deliveries to objects, a few at a time, and waits for all. Those to KV are left to the
// outbox: nothing depends on KV being fresh.
func (s store) deliver(ctx context.Context, deliveries []abi.Delivery) error {
	err := parallel(deliveries, func(d abi.Delivery) error {
		_, err := s.objects.Call(ctx, d.Class, d.Name, d.Region, d.Data)
		return err
	})
	if err != nil {
		return unavailable(err)
	}
	return nil
}
