package sqlite

import (
	"slices"
	"strings"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

type entry struct {
	object store.Object

	mu     sync.Mutex // held while a command runs; guards the fields below
	loaded uint64     // epoch of the rows below; 0: not loaded
	id     int64      // ID of the object in the database; 0: not there yet
	large  bool       // the rows are not kept in memory
	rows   []abi.Row  // all rows in order, unless large
	bytes  int        // of rows

	// Guarded by Store.mu.
	epoch        uint64 // starts at 1; if a group with the object's changes fails, it increases, and the rows are no longer valid
	last         *group // newest group with changes to the object; nil: all changes are durable
	users        int    // goroutines that use the entry
	counted      int    // bytes of this entry that objects.bytes includes
	newer, older *entry // neighbors in the list of unused entries
}

// entryBytes is the estimated size of an entry without its rows. rowBytes is the estimated size of a row without its
// key and value.
const (
	entryBytes = 300
	rowBytes   = 64
)

func sizeOf(r *abi.Row) int { return len(r.Key) + len(r.Value) + rowBytes }

func (e *entry) find(key string) (int, bool) {
	return slices.BinarySearchFunc(e.rows, key, func(r abi.Row, key string) int { return strings.Compare(r.Key, key) })
}

// read returns the rows of a range. The result shares e.rows.
func (e *entry) read(g abi.Range) []abi.Row {
	first, found := e.find(g.Start)
	if g.End == "" {
		if !found {
			return nil
		}
		return e.rows[first : first+1 : first+1]
	}
	last, _ := e.find(g.End)
	last = max(first, last)
	if uint64(last-first) > g.Limit {
		last = first + int(g.Limit)
	}
	return e.rows[first:last:last]
}

// put and delete change the rows in memory. They may overwrite slices that read has returned to earlier commands.
func (e *entry) put(row abi.Row) {
	at, found := e.find(row.Key)
	if found {
		e.bytes += len(row.Value) - len(e.rows[at].Value)
		e.rows[at].Value = row.Value
		return
	}
	e.rows = slices.Insert(e.rows, at, row)
	e.bytes += sizeOf(&row)
}

func (e *entry) delete(key string) {
	if at, found := e.find(key); found {
		e.bytes -= sizeOf(&e.rows[at])
		e.rows = slices.Delete(e.rows, at, at+1)
	}
}

// forget drops the rows from memory.
func (e *entry) forget() { e.rows, e.bytes = nil, 0 }

// objects contains the entries by name. The unused ones are in a list, from which the least recently used one is
// removed first.
type objects struct {
	limit  int
	bytes  int
	all    map[store.Object]*entry
	unused entry // start and end of the ring: its newer is the oldest entry, its older is the newest
}

func (o *objects) init(limit int) {
	o.limit, o.all = limit, map[store.Object]*entry{}
	o.unused.newer, o.unused.older = &o.unused, &o.unused
}

func (s *Store) use(o store.Object) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects.all[o]
	if e == nil {
		e = &entry{object: o, epoch: 1}
		s.objects.all[o] = e
	} else if e.users == 0 {
		e.unlink()
	}
	e.users++
	return e
}

func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	o := &s.objects
	size := e.bytes + len(e.object.Name) + entryBytes
	o.bytes += size - e.counted
	e.counted = size
	e.older, e.newer = o.unused.older, &o.unused
	e.older.newer, e.newer.older = e, e
	o.evict()
}

func (e *entry) unlink() { e.older.newer, e.newer.older = e.newer, e.older }

// evict removes entries until the limit is met. It keeps entries with changes that are not durable yet.
func (o *objects) evict() {
	for e := o.unused.newer; o.bytes > o.limit && e != &o.unused; {
		next := e.newer
		if e.last == nil {
			e.unlink()
			delete(o.all, e.object)
			o.bytes -= e.counted
		}
		e = next
	}
}
