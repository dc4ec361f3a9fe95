package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// reference is the simplest possible store. Every store must behave in the same way.
type reference struct {
	rows   map[store.Object]map[string]string
	alarms map[store.Object]uint64
	kv     map[string]string
	expire map[string]uint64 // absent: never
}

// machine runs random operations on a store and on the reference.
type machine struct {
	*fixture
	prefix string // prefix of the names and keys of this run, because all runs use one store
	want   reference
}

var runs atomic.Int64

// model compares a store with the reference by running random operations on both.
func model(f *fixture) {
	rapid.Check(f.T, func(t *rapid.T) {
		m := &machine{fixture: f, prefix: fmt.Sprint("run", runs.Add(1), "/"), want: reference{
			rows: map[store.Object]map[string]string{}, alarms: map[store.Object]uint64{}, kv: map[string]string{}, expire: map[string]uint64{},
		}}
		t.Repeat(map[string]func(*rapid.T){
			"command": m.command, "read": m.read, "ring": m.ringOnce, "write": m.write, "value": m.value,
			"advance": func(t *rapid.T) { f.clock.Advance(rapid.Uint64Range(1, 3_000).Draw(t, "ms")) },
			"expire": func(t *rapid.T) {
				if _, err := f.store.Expire(context.Background()); err != nil {
					t.Fatal(err)
				}
			},
		})
		m.drain(t)
	})
}

func (m *machine) object(t *rapid.T) store.Object {
	return store.Object{
		Class: rapid.SampledFrom([]abi.Class{abi.ClassKeyMeter, abi.ClassLedger}).Draw(t, "class"),
		Name:  m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
	}
}

var modelKeys = rapid.SampledFrom([]string{"a", "b", "b/1", "b/2", "b0", "c", "~"})

// modelValue returns a random value of a row. Most values are short, but some are so long that the object no longer
// fits into a cache.
func modelValue(t *rapid.T) string {
	size := rapid.SampledFrom([]int{0, 1, 5, 300, 5_000, 200_000}).Draw(t, "size")
	return string(slices.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, size))
}

type change struct {
	puts    []abi.Row
	deletes []string
	alarmMs uint64
	kv      []abi.Row
	err     error
}

func (m *machine) change(t *rapid.T) (c change) {
	for range rapid.IntRange(0, 3).Draw(t, "puts") {
		c.puts = append(c.puts, abi.Row{Key: modelKeys.Draw(t, "key"), Value: []byte(modelValue(t))})
	}
	c.deletes = rapid.SliceOfN(modelKeys, 0, 2).Draw(t, "deletes")
	if rapid.Bool().Draw(t, "sets alarm") {
		c.alarmMs = m.clock.Now() + rapid.Uint64Range(0, 5_000).Draw(t, "alarm")
	}
	if rapid.Bool().Draw(t, "writes kv") {
		c.kv = puts(m.key(t), rapid.SampledFrom([]string{"", "own", "more"}).Draw(t, "value"))
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		c.err = errCommand
	}
	return c
}

func (m *machine) key(t *rapid.T) string { return m.prefix + modelKeys.Draw(t, "kv key") }

func (c *change) apply(r store.Rows) error {
	for _, row := range c.kv {
		r.WriteKV(row.Key, row.Value)
	}
	if err := r.Commit(c.puts, c.deletes, c.alarmMs); err != nil {
		return err
	}
	return c.err
}

func (w *reference) change(o store.Object, c *change) {
	if w.rows[o] == nil {
		w.rows[o] = map[string]string{}
	}
	for _, row := range c.puts {
		w.rows[o][row.Key] = string(row.Value)
	}
	for _, key := range c.deletes {
		delete(w.rows[o], key)
	}
	if at := w.alarms[o]; c.alarmMs != 0 && (at == 0 || c.alarmMs < at) {
		w.alarms[o] = c.alarmMs
	}
	for _, row := range c.kv {
		w.set(row.Key, string(row.Value), 0)
	}
}

func (w *reference) set(key, value string, expireMs uint64) {
	delete(w.expire, key)
	if w.kv[key] = value; value == "" {
		delete(w.kv, key)
	} else if expireMs != 0 {
		w.expire[key] = expireMs
	}
}

func (m *machine) command(t *rapid.T) {
	o, c := m.object(t), m.change(t)
	err := m.store.Run(context.Background(), o, func(r store.Rows, _ uint64) error {
		if at := r.Alarm(); at != m.want.alarms[o] {
			t.Errorf("%v: alarm %d instead of %d", o, at, m.want.alarms[o])
		}
		return c.apply(r)
	})
	if !errors.Is(err, c.err) {
		t.Fatalf("%v: %v instead of %v", o, err, c.err)
	}
	if c.err == nil {
		m.want.change(o, &c)
	}
}

// read compares a range of one object, as part of a command that may also change it.
func (m *machine) read(t *rapid.T) {
	o := m.object(t)
	g := abi.Range{Start: modelKeys.Draw(t, "start"), Limit: uint64(rapid.IntRange(0, 9).Draw(t, "limit"))}
	if rapid.Bool().Draw(t, "range") {
		g.End = modelKeys.Draw(t, "end")
	}
	var want []string
	for _, key := range slices.Sorted(maps.Keys(m.want.rows[o])) {
		if inside := key >= g.Start && key < g.End && len(want) < 2*int(g.Limit); inside || g.End == "" && key == g.Start {
			want = append(want, key, m.want.rows[o][key])
		}
	}
	if got := m.list(o, g); !slices.Equal(got, want) {
		t.Fatalf("%v %v: %.200q instead of %.200q", o, g, got, want)
	}
}

// earliest returns the alarm that must ring next.
func (w *reference) earliest() (first store.Object, at uint64) {
	for o, alarm := range w.alarms {
		if alarm != 0 && (at == 0 || alarm < at || alarm == at && o.Name < first.Name) {
			first, at = o, alarm
		}
	}
	return first, at
}

func (m *machine) ringOnce(t *rapid.T) {
	_, at := m.want.earliest()
	if next := m.next(); next != at {
		t.Fatalf("next %d instead of %d", next, at)
	}
	c := m.change(t)
	c.err = nil
	rang, err := m.store.Ring(context.Background(), func(o store.Object, r store.Rows, _ uint64) error {
		if m.want.alarms[o] != at {
			t.Errorf("%v rang, whose alarm is %d, not %d", o, m.want.alarms[o], at)
		}
		delete(m.want.alarms, o)
		m.want.change(o, &c)
		return c.apply(r)
	})
	if due := at != 0 && at <= m.clock.Now(); rang != due || err != nil {
		t.Fatalf("rang %v, %v; alarm %d, now %d", rang, err, at, m.clock.Now())
	}
}

func (m *machine) write(t *rapid.T) {
	key, value, ttl := m.key(t), rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "value"), rapid.Uint64Range(0, 4).Draw(t, "ttl")
	m.fixture.write(key, value, ttl)
	expires := uint64(0)
	if ttl > 0 {
		expires = m.clock.Now() + ttl*1000
	}
	m.want.set(key, value, expires)
}

func (m *machine) value(t *rapid.T) {
	key := m.key(t)
	want := m.want.kv[key]
	if at, expires := m.want.expire[key]; expires && at <= m.clock.Now() {
		want = ""
	}
	if got, ok := m.fixture.value(key); got != want || ok != (want != "") {
		t.Fatalf("%s: %q, %v instead of %q", key, got, ok, want)
	}
}

// drain rings the remaining alarms so that the next run starts without any.
func (m *machine) drain(t *rapid.T) {
	m.clock.Advance(10_000)
	for range 20 {
		if rang, err := m.store.Ring(context.Background(), func(_ store.Object, r store.Rows, _ uint64) error { return r.Commit(nil, nil, 0) }); err != nil || !rang {
			break
		}
	}
	if next := m.next(); next != 0 {
		t.Fatalf("an alarm is left: %d", next)
	}
}
