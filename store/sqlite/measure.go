package sqlite

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/postern-ai/postern/store"
)

// figures contains the parts of store.Measurements that are not in Stats.
type figures struct {
	commands, failed atomic.Uint64
	commits          store.Durations
}

func (f *figures) ended(err error) {
	f.commands.Add(1)
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOverloaded) {
		f.failed.Add(1)
	}
}

// Measure implements store.Meter.
func (s *Store) Measure(context.Context) store.Measurements {
	stats := s.Stats()
	return store.Measurements{
		Commands: s.figures.commands.Load(), Failed: s.figures.failed.Load(), Commits: s.figures.commits.Snapshot(),
		Grouped: uint64(stats.Commands), Waiting: uint64(max(0, stats.Waiting)), Bytes: uint64(max(0, stats.DatabaseBytes)),
	}
}
