package control

import (
	"context"
	"slices"

	"github.com/postern-ai/postern/core/directory"
)

// How much one pruning reads and removes at most; the rest is for the next day's.
const (
	prunePageDocuments = 500
	maxPrunePages      = 20
)

// prune removes what is old of the documents that a query names.
func (h *handler) prune(ctx context.Context, query directory.List, isOld func(directory.Document) bool) error {
	query.Limit = prunePageDocuments
	for range maxPrunePages {
		docs, err := h.store.list(ctx, query)
		if err != nil {
			return err
		}
		var removals []directory.Write
		for _, d := range docs {
			if isOld(d) {
				removals = append(removals, directory.Write{Key: d.Key, Version: d.Version})
			}
		}
		if err := h.remove(ctx, removals); err != nil {
			return err
		}
		if len(docs) < prunePageDocuments {
			return nil
		}
		query.After = docs[len(docs)-1].Key
	}
	return nil
}

// remove takes documents away, as many at once as fit in a commit. If one of them changed meanwhile, which
// makes it new, it and those beside it stay until the next time.
func (h *handler) remove(ctx context.Context, removals []directory.Write) error {
	for batch := range slices.Chunk(removals, directory.MaxWrites) {
		if _, err := h.store.commit(ctx, change{writes: batch}); err != nil {
			return err
		}
	}
	return nil
}
