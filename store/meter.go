package store

import (
	"context"
	"sync/atomic"
	"time"
)

// Meter is implemented by stores that measure their work, for metrics.
type Meter interface {
	// Measure returns the figures of this process. It must not wait for commands.
	Measure(ctx context.Context) Measurements
}

// Measurements are the figures of a store. All except Waiting and Bytes only increase.
type Measurements struct {
	Commands uint64   // commands that ended, including those of alarms
	Failed   uint64   // commands that failed with ErrUnavailable or ErrOverloaded; included in Commands
	Retries  uint64   // transactions repeated after a conflict with another replica
	Commits  Snapshot // durations of the transactions that became durable; a group commit counts once
	Grouped  uint64   // commands in these transactions; Grouped divided by the number of Commits is the average group size
	Waiting  uint64   // commands that wait for their turn or for their commit
	Bytes    uint64   // size of the database; 0: unknown
}

// DurationBounds are the upper bounds of the buckets of Durations.
var DurationBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
}

// Durations is a histogram of durations. The zero value is empty. It is safe for concurrent use.
type Durations struct {
	counts [len(DurationBounds) + 1]atomic.Uint64 // by bucket; the last has no upper bound
	nanos  atomic.Uint64
}

// Snapshot is the content of Durations at a point in time.
type Snapshot struct {
	Counts [len(DurationBounds) + 1]uint64 // by bucket, not cumulative; the last has no upper bound
	Total  time.Duration                   // sum of all durations
}

// Add counts a duration.
func (d *Durations) Add(duration time.Duration) {
	duration = max(0, duration)
	i := 0
	for i < len(DurationBounds) && duration > DurationBounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.nanos.Add(uint64(duration))
}

// Snapshot returns the current content.
func (d *Durations) Snapshot() (s Snapshot) {
	for i := range d.counts {
		s.Counts[i] = d.counts[i].Load()
	}
	s.Total = time.Duration(d.nanos.Load())
	return s
}

// Count returns the number of durations.
func (s *Snapshot) Count() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}
