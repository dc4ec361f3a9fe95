package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/store"
)

type figures struct {
	commands, failed, retries, grouped, unknown, hits, misses atomic.Uint64
	durations                                                 store.Durations
	bytes                                                     atomic.Uint64
	measured                                                  atomic.Int64 // Unix nanoseconds at which bytes was measured
}

const (
	sizeAge      = time.Minute // maximum age of the figure that Measure returns
	sizePatience = time.Second
	sizeSQL      = `SELECT sum(pg_total_relation_size(name::regclass))::bigint
		FROM unnest(ARRAY['postern_objects', 'postern_rows', 'postern_kv']) AS t (name)`
)

// Measure implements store.Meter.
func (s *Store) Measure(ctx context.Context) store.Measurements {
	f := &s.figures
	return store.Measurements{
		Commands: f.commands.Load(), Failed: f.failed.Load(), Retries: f.retries.Load(), Commits: f.durations.Snapshot(),
		Grouped: f.grouped.Load(), Waiting: uint64(s.queue.length()), Bytes: s.size(ctx),
	}
}

// size returns the size of the tables. It is at most a minute old, unless the database is busy.
func (s *Store) size(ctx context.Context) uint64 {
	now := time.Now().UnixNano()
	if last := s.figures.measured.Load(); now-last > int64(sizeAge) && s.figures.measured.CompareAndSwap(last, now) {
		ctx, cancel := context.WithTimeout(ctx, sizePatience)
		defer cancel()
		var bytes int64
		if err := s.pool.QueryRow(ctx, sizeSQL).Scan(&bytes); err == nil {
			s.figures.bytes.Store(uint64(bytes))
		}
	}
	return s.figures.bytes.Load()
}

// Stats are figures of a Store beyond those of store.Meter.
type Stats struct {
	UnknownCommits uint64 // commits whose outcome is unknown
	CacheHits      uint64 // ranges read from memory
	CacheMisses    uint64 // ranges read from the database
	Conns          int    // open connections
	IdleConns      int    // of which idle
	MaxConns       int    // limit of open connections
	Down           bool   // the server is known to be down
	Outages        uint64 // number of times that the server went down
}

// Stats returns the figures.
func (s *Store) Stats() Stats {
	pool := s.pool.Stat()
	return Stats{
		UnknownCommits: s.figures.unknown.Load(), CacheHits: s.figures.hits.Load(), CacheMisses: s.figures.misses.Load(),
		Conns: int(pool.TotalConns()), IdleConns: int(pool.IdleConns()), MaxConns: int(pool.MaxConns()),
		Down: s.health.isDown(), Outages: s.health.outages.Load(),
	}
}
