package kernel

import (
	"context"
	"slices"

	"github.com/postern-ai/postern/core/directory"
)

// Limits on how much one run reads and removes. The next run continues.
const (
	prunePageDocuments = 500
	maxPrunePages      = 20
)

// Prune deletes those results of a query for which isOld returns true.
func (cp *Plane) Prune(ctx context.Context, query directory.List, isOld func(directory.Document) bool) error {
	query.Limit = prunePageDocuments
	for range maxPrunePages {
		docs, err := cp.Store.List(ctx, query)
		if err != nil {
			return err
		}
		var removals []directory.Write
		for _, d := range docs {
			if isOld(d) {
				removals = append(removals, directory.Write{Key: d.Key, Version: d.Version})
			}
		}
		if err := cp.remove(ctx, removals); err != nil {
			return err
		}
		if len(docs) < prunePageDocuments {
			return nil
		}
		query.After = docs[len(docs)-1].Key
	}
	return nil
}

// remove deletes documents in as few commits as possible. If one of them has changed in the meantime and so is no
// longer old, the next run handles the batch that contains it.
func (cp *Plane) remove(ctx context.Context, removals []directory.Write) error {
	for batch := range slices.Chunk(removals, directory.MaxWrites) {
		if _, err := cp.Store.Commit(ctx, Change{Writes: batch}); err != nil {
			return err
		}
	}
	return nil
}
