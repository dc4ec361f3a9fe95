package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// group is a set of commands that become durable in one transaction. If the transaction fails, all of them fail.
// Commands join the open group while the previous group is being written.
type group struct {
	changes  map[*entry]*change
	order    []*change
	kv       []kvWrite
	kvLatest map[string]int // the last write of each key in kv
	tasks    []func(*writer) error
	probe    bool // true: the group is written even if it has no changes
	commands int
	bytes    int64

	done    chan struct{}     // closed when the group is durable or has failed
	err     error             // set before done is closed
	refused map[*entry]uint64 // objects whose changes were removed because they relied on a failed group; the epoch of those changes
}

// change contains a group's changes to one object. If several commands change a row, only the last change counts.
type change struct {
	entry    *entry
	id       int64
	create   bool // the database does not have the object yet
	rows     []changedRow
	setAlarm bool
	alarm    uint64 // after the group
	before   uint64 // the alarm before the group
	dropped  bool
}

type changedRow struct {
	abi.Row
	deleted bool
}

// kvWrite is a write to the key-value store. An empty value deletes the key.
type kvWrite struct {
	owner     *change // nil: no object wrote it
	key       string
	value     []byte
	expiresMs uint64 // 0: never
}

func newGroup() *group {
	return &group{changes: map[*entry]*change{}, done: make(chan struct{})}
}

// ticket is a command's membership in a group.
type ticket struct {
	group *group // nil: nothing to wait for
	entry *entry
	epoch uint64
}

// wait returns when the group is durable or has failed, or when the context ends. The end of the context does not
// undo the command.
func (t ticket) wait(ctx context.Context) error {
	if t.group == nil {
		return nil
	}
	select {
	case <-t.group.done:
	case <-ctx.Done():
		return fmt.Errorf("store: canceled before the change was durable: %w", ctx.Err())
	}
	if t.group.err != nil {
		return t.group.err
	}
	if epoch, refused := t.group.refused[t.entry]; refused && t.epoch <= epoch {
		return errRefused
	}
	return nil
}

var errRefused = fmt.Errorf("%w: an earlier change of the object could not be written", store.ErrUnavailable)

// join adds a command's changes to the open group. The caller holds entry.mu.
func (s *Store) join(r *rows) (ticket, error) {
	e := r.entry
	keep(r.kv)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := ticket{entry: e, epoch: r.epoch}
	after, setsAlarm := r.sets(s.alarms.at(e.object))
	switch {
	case e.epoch != r.epoch:
		return t, errRefused
	case !r.changes() && !setsAlarm && len(r.kv) == 0 && !r.ringing:
		t.group = e.last // the rows that the command has read become durable together with it
		return t, nil
	case s.closed:
		return t, errClosed
	}
	t.group = s.open
	c := s.open.change(s, e)
	c.apply(r)
	if setsAlarm {
		c.setAlarm, c.alarm = true, after
		s.alarms.set(e.object, after)
	}
	for _, row := range r.kv {
		s.open.write(kvWrite{owner: c, key: row.Key, value: row.Value})
	}
	s.joined(r.size())
	e.last = s.open
	e.apply(r, s.config.ObjectBytes)
	return t, nil
}

// keep copies the values, which may share memory with a message.
func keep(rows []abi.Row) {
	for i := range rows {
		rows[i].Value = bytes.Clone(rows[i].Value)
	}
}

func (g *group) change(s *Store, e *entry) *change {
	if c := g.changes[e]; c != nil {
		return c
	}
	c := &change{entry: e, before: s.alarms.at(e.object)}
	if e.id == 0 {
		s.nextID++
		e.id, c.create = s.nextID, true
	}
	c.id, c.alarm = e.id, c.before
	g.changes[e] = c
	g.order = append(g.order, c)
	return c
}

func (c *change) apply(r *rows) {
	for _, row := range r.puts {
		c.set(changedRow{Row: row})
	}
	for _, key := range r.deletes {
		c.set(changedRow{Row: abi.Row{Key: key}, deleted: true})
	}
}

func (c *change) set(row changedRow) {
	at, found := slices.BinarySearchFunc(c.rows, row.Key, func(r changedRow, key string) int { return strings.Compare(r.Key, key) })
	if found {
		c.rows[at] = row
	} else {
		c.rows = slices.Insert(c.rows, at, row)
	}
}

func (e *entry) apply(r *rows, limit int) {
	if e.large {
		return
	}
	for _, row := range r.puts {
		e.put(row)
	}
	for _, key := range r.deletes {
		e.delete(key)
	}
	if e.bytes > limit {
		e.forget()
		e.large = true
	}
}

func (r *rows) size() (n int64) {
	for i := range r.puts {
		n += int64(sizeOf(&r.puts[i]))
	}
	for i := range r.kv {
		n += int64(sizeOf(&r.kv[i]))
	}
	return n + int64(len(r.deletes))*rowBytes
}

func (g *group) write(w kvWrite) {
	if g.kvLatest == nil {
		g.kvLatest = map[string]int{}
	}
	g.kvLatest[w.key] = len(g.kv)
	g.kv = append(g.kv, w)
}

// joined counts a command in the open group. For the first command, it wakes the committer. The caller holds s.mu.
func (s *Store) joined(bytes int64) {
	g := s.open
	if g.commands++; g.commands == 1 {
		s.notify()
	}
	g.bytes += bytes
	s.stats.pendingBytes.Add(bytes)
}

func (s *Store) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pending returns the changes to an object that might not be durable yet. The older ones come first.
func (s *Store) pending(e *entry) (flushing, open *change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushing != nil {
		flushing = s.flushing.changes[e]
	}
	return flushing, s.open.changes[e]
}

// add adds work without an object to the open group and waits for it.
func (s *Store) add(ctx context.Context, bytes int64, join func(*group)) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.waiting.Add(-1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	g := s.open
	join(g)
	s.joined(bytes)
	s.mu.Unlock()
	return ticket{group: g}.wait(ctx)
}
