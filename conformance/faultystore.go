package conformance

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// faultyStore is a store whose KV can be down or frozen. While the KV is frozen, reads return the values from before
// the freeze.
type faultyStore struct {
	store.Store
	local     *Local
	mu        sync.Mutex
	written   map[string][]byte // the old values of keys written while frozen
	corrupted bool
}

func (f *faultyStore) Read(ctx context.Context, key string) ([]byte, bool, error) {
	if f.local.kvFault() == "down" {
		return nil, false, errInjected
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old, changed := f.written[key]; changed && f.local.kvFault() == "frozen" {
		return old, len(old) > 0, nil
	}
	value, ok, err := f.Store.Read(ctx, key)
	if f.corrupted && ok && strings.HasPrefix(key, "cache/") {
		value = bytes.Clone(value)
		value[len(value)/2] ^= 0x20
	}
	return value, ok, err
}

func (f *faultyStore) Write(ctx context.Context, key string, value []byte, ttl uint64) error {
	if f.local.kvFault() == "down" {
		return errInjected
	}
	f.remember(ctx, key)
	return f.Store.Write(ctx, key, value, ttl)
}

// remember keeps the value that a frozen KV continues to return.
func (f *faultyStore) remember(ctx context.Context, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, changed := f.written[key]; changed || f.local.kvFault() != "frozen" {
		return
	}
	old, _, _ := f.Store.Read(ctx, key)
	if f.written == nil {
		f.written = map[string][]byte{}
	}
	f.written[key] = old
}

// Run injects KV and delivery faults into commands that write to KV. It also injects faults of the store itself:
//
//	down       commands do not run
//	undurable  commands run, but their changes are not committed
//	unknown    commands are committed, but the store reports a failure
func (f *faultyStore) Run(ctx context.Context, o store.Object, command store.Command) error {
	fault := f.local.storeFault()
	if fault == "down" {
		return errStore
	}
	err := f.Store.Run(ctx, o, func(rows store.Rows, now uint64) error {
		err := command(&faultyRows{Rows: rows, store: f}, now)
		if fault == "undurable" {
			return errStore
		}
		return err
	})
	if fault == "unknown" {
		return errStore
	}
	return err
}

var errStore = errors.Join(store.ErrUnavailable, errInjected)

type faultyRows struct {
	store.Rows
	store *faultyStore
	fails bool
}

func (r *faultyRows) WriteKV(key string, value []byte) {
	r.fails = r.store.local.kvFault() == "down" || r.store.local.deliveriesFail()
	r.store.remember(context.Background(), key)
	r.Rows.WriteKV(key, value)
}

func (r *faultyRows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	if r.fails {
		return errInjected
	}
	return r.Rows.Commit(puts, deletes, alarmMs)
}

// Close does nothing, because the store outlives a server. Local closes it.
func (f *faultyStore) Close() error { return nil }

func (f *faultyStore) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written, f.corrupted = nil, false
}

// corrupt flips a bit in every cached response read from now on.
func (f *faultyStore) corrupt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.corrupted = true
}
