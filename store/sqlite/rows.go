package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// rows implements store.Rows for one command. It holds back the changes until the command has succeeded.
type rows struct {
	ctx     context.Context
	store   *Store
	entry   *entry
	epoch   uint64
	alarm   uint64 // before the command
	ringing bool

	puts    []abi.Row
	deletes []string
	alarmMs uint64
	kv      []abi.Row
	err     error // the command fails with this error, even if its own code ignores the error
}

// begin prepares an object for a command. The caller holds entry.mu.
func (s *Store) begin(r *rows) error {
	e := r.entry
	s.mu.Lock()
	closed := s.closed
	r.epoch = e.epoch
	if !r.ringing {
		r.alarm = s.alarms.at(e.object)
	}
	s.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case e.loaded == r.epoch:
		return nil
	}
	return s.load(r)
}

var errClosed = fmt.Errorf("%w: closed", store.ErrUnavailable)

// load reads the object's rows unless the object is large.
func (s *Store) load(r *rows) error {
	e := r.entry
	e.forget()
	e.loaded, e.id, e.large = 0, 0, false
	err := s.db.read(r.ctx, func(db *reader) (err error) {
		if e.id, err = db.find(e.object); err != nil || e.id == 0 {
			return err
		}
		e.rows, e.bytes, err = db.load(e.id, s.config.ObjectBytes)
		return err
	})
	if err != nil {
		return err
	}
	if e.bytes > s.config.ObjectBytes {
		e.forget()
		e.large = true
	}
	e.loaded = r.epoch
	return nil
}

// Read implements store.Rows.
func (r *rows) Read(g abi.Range) ([]abi.Row, error) {
	if !r.entry.large {
		return r.entry.read(g), nil
	}
	found, err := r.readLarge(g)
	if err != nil && r.err == nil {
		r.err = err
	}
	return found, err
}

// readLarge reads a range from the database and adds the changes that are not durable yet. If a group becomes durable
// in the meantime, the database already has its changes. To apply them again is harmless.
func (r *rows) readLarge(g abi.Range) (found []abi.Row, err error) {
	flushing, open := r.store.pending(r.entry)
	limit := g.Limit
	for _, c := range []*change{flushing, open} {
		if c != nil {
			limit += uint64(len(c.rows)) // the pending changes delete at most this many of the rows
		}
	}
	err = r.store.db.read(r.ctx, func(db *reader) (err error) {
		found, err = db.readRange(r.entry.id, g, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	found = open.over(flushing.over(found, g), g)
	if g.End != "" && uint64(len(found)) > g.Limit {
		found = found[:g.Limit]
	}
	return found, nil
}

// over applies the changes in a range to rows, which are sorted.
func (c *change) over(found []abi.Row, g abi.Range) []abi.Row {
	if c == nil {
		return found
	}
	for i := range c.rows {
		row := &c.rows[i]
		if g.End == "" && row.Key != g.Start || g.End != "" && (row.Key < g.Start || row.Key >= g.End) {
			continue
		}
		at, present := slices.BinarySearchFunc(found, row.Key, func(r abi.Row, key string) int { return strings.Compare(r.Key, key) })
		switch {
		case row.deleted && present:
			found = slices.Delete(found, at, at+1)
		case !row.deleted && present:
			found[at].Value = row.Value
		case !row.deleted:
			found = slices.Insert(found, at, row.Row)
		}
	}
	return found
}

// Alarm implements store.Rows.
func (r *rows) Alarm() uint64 { return r.alarm }

// Commit implements store.Rows.
func (r *rows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	if err := store.CheckSize(puts); err != nil {
		r.err = err
		return err
	}
	r.puts, r.deletes, r.alarmMs = puts, deletes, alarmMs
	return nil
}

// changes reports whether the command changes rows. An object that is not in the database has no rows to delete.
func (r *rows) changes() bool { return len(r.puts) > 0 || len(r.deletes) > 0 && r.entry.id != 0 }

// WriteKV implements store.Rows.
func (r *rows) WriteKV(key string, value []byte) {
	r.kv = append(r.kv, abi.Row{Key: key, Value: value})
}

// sets returns the alarm after the command. It also reports whether the alarm has changed.
func (r *rows) sets(before uint64) (after uint64, changes bool) {
	after = r.alarm
	if r.alarmMs != 0 && (after == 0 || r.alarmMs < after) {
		after = r.alarmMs
	}
	return after, after != before
}
