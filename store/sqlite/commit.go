package sqlite

import (
	"fmt"
	"runtime"
	"time"

	"github.com/postern-ai/postern/store"
)

// commitGroups writes one group after another until the store is closed.
func (s *Store) commitGroups() {
	defer close(s.ended)
	for range s.wake {
		for {
			g, closed := s.next()
			if g == nil {
				if closed {
					return
				}
				break
			}
			s.finish(g, s.commit(g))
			runtime.Gosched() // the group's callers can then join the next group, which would otherwise start without them
		}
	}
}

// next takes the open group. It returns nil if the group is empty.
func (s *Store) next() (g *group, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.commands == 0 {
		return nil, s.closed
	}
	g, s.open = s.open, newGroup()
	s.flushing = g
	return g, s.closed
}

func (s *Store) commit(g *group) error {
	start := time.Now()
	err := s.db.commit(g)
	took := time.Since(start)
	s.stats.committed(g, took, err)
	if err == nil {
		s.figures.commits.Add(took)
	}
	if s.config.Observe != nil {
		s.config.Observe(Commit{Commands: g.commands, Duration: took, Err: err})
	}
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return nil
}

// finish completes the commands of a group. If the group has failed, changes in the open group that rely on it fail,
// too.
func (s *Store) finish(g *group, err error) {
	s.mu.Lock()
	g.err, s.flushing = err, nil
	for _, c := range g.order {
		switch e := c.entry; {
		case c.dropped:
		case err != nil:
			s.drop(e, c.before)
		case e.last == g:
			e.last = nil
		}
	}
	if err != nil && s.open.kv != nil {
		s.open.dropKV()
	}
	s.objects.evict()
	s.mu.Unlock()
	s.stats.pendingBytes.Add(-g.bytes)
	close(g.done)
}

// drop discards an object's rows in memory after a group has failed. Commands then read them from the database again.
// before is the alarm in the database.
func (s *Store) drop(e *entry, before uint64) {
	if c := s.open.changes[e]; c != nil {
		c.dropped = true
		delete(s.open.changes, e)
		if s.open.refused == nil {
			s.open.refused = map[*entry]uint64{}
		}
		s.open.refused[e] = e.epoch
	}
	e.epoch++
	e.last = nil
	s.alarms.set(e.object, before)
}

// dropKV removes the key-value writes of dropped commands.
func (g *group) dropKV() {
	kept := g.kv[:0]
	clear(g.kvLatest)
	for _, w := range g.kv {
		if w.owner == nil || !w.owner.dropped {
			g.kvLatest[w.key] = len(kept)
			kept = append(kept, w)
		}
	}
	g.kv = kept
}
