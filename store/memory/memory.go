// Package memory is a store that keeps everything in memory, for tests.
package memory

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/store"
)

// Store implements store.Store in memory.
type Store struct {
	clock   store.Clock
	closed  atomic.Bool
	mu      sync.Mutex
	objects map[store.Object]*entry
	kv      map[string]value
}

// entry is one object. mu is held while a command runs.
type entry struct {
	mu sync.Mutex
	object.Memory
	ringing bool   // an alarm's command runs or waits for mu
	afterMs uint64 // time at which the alarm's command last failed; 0: it has not; alarms due before that time ring first
}

// New returns an empty store.
func New(clock store.Clock) *Store {
	return &Store{clock: clock, objects: map[store.Object]*entry{}, kv: map[string]value{}}
}

// rows is an object's storage during a command. It holds back the changes until the command has succeeded.
type rows struct {
	*entry
	alarm   uint64 // the alarm before the command; 0 in the command of a ringing alarm
	puts    []abi.Row
	deletes []string
	alarmMs uint64
	kv      []abi.Row
	err     error // of Commit
}

func (r *rows) Alarm() uint64 { return r.alarm }

func (r *rows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	r.puts, r.deletes, r.alarmMs = puts, deletes, alarmMs
	r.err = store.CheckSize(puts)
	return r.err
}

func (r *rows) WriteKV(key string, data []byte) { r.kv = append(r.kv, abi.Row{Key: key, Value: data}) }

func (s *Store) object(o store.Object) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[o] == nil {
		s.objects[o] = &entry{}
	}
	return s.objects[o]
}

// Run implements store.Store.
func (s *Store) Run(ctx context.Context, o store.Object, command store.Command) error {
	e := s.object(o)
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.run(ctx, &rows{entry: e, alarm: e.AlarmMs}, command)
}

func (s *Store) run(ctx context.Context, r *rows, command store.Command) error {
	if err := s.refuse(ctx); err != nil {
		return err
	}
	if err := command(r, s.clock.Now()); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.AlarmMs = r.alarm
	_ = r.Memory.Commit(r.puts, r.deletes, r.alarmMs)
	for _, row := range r.kv {
		s.put(row.Key, row.Value, 0)
	}
	return nil
}

// refuse returns an error if the store is closed or the caller's context has ended.
func (s *Store) refuse(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrUnavailable
	}
	return ctx.Err()
}

// Ring implements store.Store. If several alarms have the same time, the object whose name sorts first rings first.
func (s *Store) Ring(ctx context.Context, command func(store.Object, store.Rows, uint64) error) (bool, error) {
	o, e := s.due()
	if e == nil {
		return false, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	failed := true
	defer func() { s.rang(e, failed) }()
	err := s.run(ctx, &rows{entry: e}, func(r store.Rows, now uint64) error { return command(o, r, now) })
	failed = err != nil
	return !failed, err
}

// due returns the earliest alarm if it is due, and marks it as ringing. Otherwise, it returns nil.
func (s *Store) due() (store.Object, *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, e, _ := s.earliest(false)
	if e == nil || e.AlarmMs > s.clock.Now() {
		return o, nil
	}
	e.ringing = true
	return o, e
}

func (s *Store) rang(e *entry, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.ringing, e.afterMs = false, 0; failed {
		e.afterMs = s.clock.Now()
	}
}

// NextAlarm implements store.Store.
func (s *Store) NextAlarm(context.Context) (nowMs, alarmMs uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, e, _ := s.earliest(true); e != nil {
		alarmMs = e.AlarmMs
	}
	return s.clock.Now(), alarmMs, nil
}

// earliest returns the alarm that rings first. The caller holds s.mu, which also guards the alarms.
func (s *Store) earliest(ringing bool) (first store.Object, found *entry, at uint64) {
	for o, e := range s.objects {
		if e.AlarmMs == 0 || e.ringing && !ringing {
			continue
		}
		if order := max(e.AlarmMs, e.afterMs); found == nil || order < at || order == at && o.Name < first.Name {
			first, found, at = o, e, order
		}
	}
	return first, found, at
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error { return s.refuse(ctx) }

// Close implements store.Store.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}
