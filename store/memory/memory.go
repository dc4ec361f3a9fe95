// Package memory is a store that keeps everything in memory, for tests.
package memory

import (
	"bytes"
	"context"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/store"
)

// Store implements store.Store in memory.
type Store struct {
	clock   store.Clock
	mu      sync.Mutex
	objects map[store.Object]*entry
	kv      map[string]value
}

// entry is one object. mu is held while a command runs.
type entry struct {
	mu sync.Mutex
	object.Memory
}

type value struct {
	data      []byte
	expiresMs uint64
}

// New returns an empty store.
func New(clock store.Clock) *Store {
	return &Store{clock: clock, objects: map[store.Object]*entry{}, kv: map[string]value{}}
}

// rows is an object's storage during a command. It holds the changes back until the command has succeeded.
type rows struct {
	*entry
	puts    []abi.Row
	deletes []string
	alarmMs uint64
	kv      []abi.Row
}

func (r *rows) Alarm() uint64 { return r.AlarmMs }

func (r *rows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	r.puts, r.deletes, r.alarmMs = puts, deletes, alarmMs
	return store.CheckSize(puts)
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
	return s.run(ctx, &rows{entry: e}, command)
}

func (s *Store) run(ctx context.Context, r *rows, command store.Command) error {
	if err := command(r, s.clock.Now()); err != nil {
		return err
	}
	_ = r.entry.Memory.Commit(r.puts, r.deletes, r.alarmMs)
	for _, row := range r.kv {
		_ = s.Write(ctx, row.Key, row.Value, 0)
	}
	return nil
}

// Ring implements store.Store. Of alarms at the same time, the one of the first name in order runs first.
func (s *Store) Ring(ctx context.Context, command func(store.Object, store.Rows, uint64) error) (bool, error) {
	o, at := s.earliest()
	if at == 0 || at > s.clock.Now() {
		return false, nil
	}
	e := s.object(o)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.AlarmMs != at { // another call was faster
		return true, nil
	}
	e.AlarmMs = 0
	err := s.run(ctx, &rows{entry: e}, func(r store.Rows, now uint64) error { return command(o, r, now) })
	if err != nil {
		e.AlarmMs = at
	}
	return err == nil, err
}

// NextAlarm implements store.Store.
func (s *Store) NextAlarm(context.Context) (nowMs, alarmMs uint64, err error) {
	_, at := s.earliest()
	return s.clock.Now(), at, nil
}

func (s *Store) earliest() (first store.Object, at uint64) {
	s.mu.Lock()
	all := make(map[store.Object]*entry, len(s.objects))
	for o, e := range s.objects {
		all[o] = e
	}
	s.mu.Unlock()
	for o, e := range all {
		e.mu.Lock()
		if alarm := e.AlarmMs; alarm != 0 && (at == 0 || alarm < at || alarm == at && o.Name < first.Name) {
			first, at = o, alarm
		}
		e.mu.Unlock()
	}
	return first, at
}

// Read implements store.KV.
func (s *Store) Read(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.kv[key]
	if !ok || v.expired(s.clock.Now()) {
		return nil, false, nil
	}
	return v.data, true, nil
}

func (v *value) expired(now uint64) bool { return v.expiresMs != 0 && v.expiresMs <= now }

// Write implements store.KV.
func (s *Store) Write(_ context.Context, key string, data []byte, ttlSeconds uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) == 0 {
		delete(s.kv, key)
		return nil
	}
	v := value{data: bytes.Clone(data)}
	if ttlSeconds > 0 {
		v.expiresMs = s.clock.Now() + ttlSeconds*1000
	}
	s.kv[key] = v
	return nil
}

// Expire implements store.Store.
func (s *Store) Expire(context.Context) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, v := range s.kv {
		if v.expired(s.clock.Now()) {
			delete(s.kv, key)
			removed++
		}
	}
	return removed, nil
}

// Check implements store.Store.
func (s *Store) Check(context.Context) error { return nil }

// Close implements store.Store.
func (s *Store) Close() error { return nil }
