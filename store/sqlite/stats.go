package sqlite

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stats are a store's statistics since it was opened.
type Stats struct {
	Commits            int64   // groups that became durable
	Failures           int64   // groups that failed
	Commands           int64   // commands in the groups of Commits
	CommitSeconds      float64 // total time of writing the groups of Commits
	LargestGroup       int64   // commands
	Overloaded         int64   // commands refused because too many others were waiting
	Recoveries         int64   // number of times that the connections were reopened after a failure
	CheckpointFailures int64
	Waiting            int64 // commands in progress now
	PendingBytes       int64 // changes that are not durable yet
	CacheBytes         int64 // objects in memory that are not in use
	CachedObjects      int64
	Alarms             int64
	LogPages           int64 // pages of 4 KiB in the write-ahead log after the last commit
	DatabaseBytes      int64 // size of the file without its log
	ExpiringBytes      int64 // values with an expiry in the key-value store
}

// Commit describes one group that is durable or has failed. It is for histograms.
type Commit struct {
	Commands int
	Duration time.Duration // duration of the write, including its sync
	Err      error
}

// counters contains the counted parts of Stats.
type counters struct {
	pendingBytes, overloaded, commits, failures, commands, commitNanos, largest atomic.Int64
	recoveries, checkpointFailures, logPages, expiring                          atomic.Int64
}

func (c *counters) committed(g *group, took time.Duration, err error) {
	if err != nil {
		c.failures.Add(1)
		return
	}
	c.commits.Add(1)
	c.commands.Add(int64(g.commands))
	c.commitNanos.Add(int64(took))
	c.largest.Store(max(c.largest.Load(), int64(g.commands)))
}

// Stats returns the statistics.
func (s *Store) Stats() Stats {
	c := &s.stats
	stats := Stats{
		Commits: c.commits.Load(), Failures: c.failures.Load(), Commands: c.commands.Load(),
		CommitSeconds: time.Duration(c.commitNanos.Load()).Seconds(), LargestGroup: c.largest.Load(), Overloaded: c.overloaded.Load(),
		Recoveries: c.recoveries.Load(), CheckpointFailures: c.checkpointFailures.Load(), Waiting: s.waiting.Load(),
		PendingBytes: c.pendingBytes.Load(), LogPages: c.logPages.Load(), ExpiringBytes: c.expiring.Load(),
	}
	s.mu.Lock()
	stats.CacheBytes, stats.CachedObjects, stats.Alarms = int64(s.objects.bytes), int64(len(s.objects.all)), int64(len(s.alarms.of))
	s.mu.Unlock()
	stats.DatabaseBytes = s.config.size()
	return stats
}

// size returns the size of the database file, or 0 if it is unknown.
func (c *Config) size() int64 {
	info, err := os.Stat(c.path())
	if err != nil {
		return 0
	}
	return info.Size()
}

// running contains the long operations that a recovery interrupts.
type running struct {
	mu  sync.Mutex
	all map[*context.CancelFunc]bool
}

func (r *running) add(cancel *context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*context.CancelFunc]bool{}
	}
	r.all[cancel] = true
}

func (r *running) remove(cancel *context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, cancel)
}

func (r *running) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for cancel := range r.all {
		(*cancel)()
	}
}
