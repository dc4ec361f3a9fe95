// Package storetest tests the behavior that all stores share.
package storetest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// StartMs is the time of a new Clock, in Unix milliseconds.
const StartMs = 1_700_000_000_000

// Clock is a clock that tests can set. It implements store.Clock and is safe for concurrent use.
type Clock struct{ ms atomic.Uint64 }

// NewClock returns a clock at StartMs.
func NewClock() *Clock {
	c := &Clock{}
	c.Set(StartMs)
	return c
}

// Now returns the time in Unix milliseconds.
func (c *Clock) Now() uint64 { return c.ms.Load() }

// Set sets the time.
func (c *Clock) Set(ms uint64) { c.ms.Store(ms) }

// Advance moves the time forward.
func (c *Clock) Advance(ms uint64) { c.ms.Add(ms) }

// Open opens an empty store that takes its time from the clock. Run closes the store.
type Open func(t *testing.T, clock *Clock) store.Store

// Run runs the shared tests, each on a new store.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"rows", rows}, {"isolation", isolation}, {"failed command", failedCommand}, {"panic", panics}, {"large object", largeObject},
		{"size limits", sizeLimits}, {"canceled", canceled}, {"one object", oneObject}, {"many objects", manyObjects}, {"readers wait", readersWait},
		{"alarm of a command", commandAlarm}, {"alarm order", alarmOrder}, {"failed alarm", failedAlarm}, {"failing alarm does not block", failingAlarm},
		{"alarms once", alarmsOnce}, {"key-value", keyValue}, {"expiry", expiry}, {"key-value in a command", commandKV}, {"check and close", checkAndClose},
		{"model", model},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := NewClock()
			s := open(t, clock)
			t.Cleanup(func() { _ = s.Close() })
			test.run(&fixture{T: t, clock: clock, store: s})
		})
	}
}

// fixture is a test's store with helpers. If something goes wrong, the helpers fail the test.
type fixture struct {
	*testing.T
	clock *Clock
	store store.Store
}

var errCommand = errors.New("the command's own error")

var everything = abi.Range{Start: "", End: "\x7f", Limit: 1 << 30}

func meter(name string) store.Object { return store.Object{Class: abi.ClassKeyMeter, Name: name} }

func (f *fixture) run(o store.Object, command store.Command) {
	f.Helper()
	if err := f.store.Run(context.Background(), o, command); err != nil {
		f.Fatalf("%v: %v", o, err)
	}
}

// commit puts rows, given as key, value, key, value, …, and sets an alarm.
func (f *fixture) commit(o store.Object, alarmMs uint64, keysAndValues ...string) {
	f.Helper()
	f.run(o, func(r store.Rows, _ uint64) error { return r.Commit(puts(keysAndValues...), nil, alarmMs) })
}

func puts(keysAndValues ...string) (rows []abi.Row) {
	for i := 0; i < len(keysAndValues); i += 2 {
		rows = append(rows, abi.Row{Key: keysAndValues[i], Value: []byte(keysAndValues[i+1])})
	}
	return rows
}

// list returns an object's rows in a range as key, value, key, value, ….
func (f *fixture) list(o store.Object, g abi.Range) (list []string) {
	f.Helper()
	f.run(o, func(r store.Rows, _ uint64) error {
		found, err := r.Read(g)
		for _, row := range found {
			list = append(list, row.Key, string(row.Value))
		}
		return err
	})
	return list
}

func (f *fixture) expect(o store.Object, g abi.Range, want ...string) {
	f.Helper()
	if got := f.list(o, g); !slices.Equal(got, want) {
		f.Errorf("%v %v: %q instead of %q", o, g, got, want)
	}
}

func (f *fixture) alarm(o store.Object) (at uint64) {
	f.Helper()
	f.run(o, func(r store.Rows, _ uint64) error { at = r.Alarm(); return nil })
	return at
}

func (f *fixture) next() uint64 {
	f.Helper()
	now, at, err := f.store.NextAlarm(context.Background())
	if err != nil || now != f.clock.Now() {
		f.Errorf("NextAlarm: %v, now %d instead of %d", err, now, f.clock.Now())
	}
	return at
}

func (f *fixture) value(key string) (string, bool) {
	f.Helper()
	value, ok, err := f.store.Read(context.Background(), key)
	if err != nil {
		f.Errorf("%s: %v", key, err)
	}
	return string(value), ok
}

// expectKV checks a value in the key-value store. An empty value means that the key is absent.
func (f *fixture) expectKV(key, want string) {
	f.Helper()
	if got, ok := f.value(key); got != want || ok != (want != "") {
		f.Errorf("%s: %q, %v instead of %q", key, got, ok, want)
	}
}

func (f *fixture) write(key, value string, ttlSeconds uint64) {
	f.Helper()
	if err := f.store.Write(context.Background(), key, []byte(value), ttlSeconds); err != nil {
		f.Errorf("%s: %v", key, err)
	}
}
