package postgres

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/store"
)

func sameRows(a, b []abi.Row) bool {
	return slices.EqualFunc(a, b, func(a, b abi.Row) bool { return a.Key == b.Key && string(a.Value) == string(b.Value) })
}

// TestFacts checks two things, whatever was read and committed before. Known rows match the object's rows. After a
// range was read, it is known.
func TestFacts(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		key := func() string { return string(rune('a' + random.IntN(12))) }
		truth, known := &object.Memory{}, &facts{}
		if seed%3 == 0 {
			known = noRows()
		}
		if seed%3 != 0 {
			for range 8 {
				_ = truth.Commit([]abi.Row{{Key: key(), Value: []byte("old")}}, nil, 0)
			}
		}
		for step := range 60 {
			switch random.IntN(4) {
			case 0:
				row := abi.Row{Key: key(), Value: []byte(fmt.Sprint(step))}
				_ = truth.Commit([]abi.Row{row}, nil, 0)
				known.put(row)
			case 1:
				k := key()
				_ = truth.Commit(nil, []string{k}, 0)
				known.delete(k)
			default:
				g := abi.Range{Start: key(), End: key(), Limit: uint64(random.IntN(6))}
				if random.IntN(3) == 0 {
					g = abi.Range{Start: key()}
				}
				want, _ := truth.Read(g)
				if got, ok := known.read(g); ok && !sameRows(got, want) {
					t.Fatalf("seed %d, step %d: %+v has %v, want %v", seed, step, g, got, want)
				}
				known.learn(g, want)
				if got, ok := known.read(g); !ok || !sameRows(got, want) {
					t.Fatalf("seed %d, step %d: learned %+v is %v %v, want %v", seed, step, g, got, ok, want)
				}
			}
		}
		bytes := 0
		for _, row := range known.rows {
			bytes += size(row)
		}
		for _, s := range known.spans {
			bytes += s.size()
		}
		if seed%3 != 0 && bytes != known.bytes {
			t.Fatalf("seed %d: counted %d bytes, want %d", seed, known.bytes, bytes)
		}
	}
}

// TestCacheIsBounded: the cache keeps the most recently used objects. It does not keep an object that would displace
// most of the others.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(100_000)
	add := func(name string, bytes int) {
		f := &facts{}
		f.put(abi.Row{Key: "k", Value: make([]byte, bytes)})
		c.put(&cached{object: store.Object{Name: name}, facts: f})
	}
	for i := range 200 {
		add(fmt.Sprint(i), 1000)
		add("often", 1000)
	}
	add("large", 20_000)
	if c.bytes > 100_000 || len(c.objects) > 100 || c.order.Len() != len(c.objects) {
		t.Errorf("%d bytes, %d objects, %d in order", c.bytes, len(c.objects), c.order.Len())
	}
	for name, want := range map[string]bool{"0": false, "199": true, "often": true, "large": false} {
		if got := c.take(store.Object{Name: name}) != nil; got != want {
			t.Errorf("%s is cached: %v", name, got)
		}
	}
	for name := range c.objects {
		c.take(name)
	}
	if c.bytes != 0 {
		t.Errorf("%d bytes in an empty cache", c.bytes)
	}
}

// TestHints: a row becomes a hint if most commands of a class read it. Other rows do not. When the commands change,
// so do the hints.
func TestHints(t *testing.T) {
	var h hints
	for i := range 1000 {
		h.note(abi.ClassKeyMeter, "h")
		h.note(abi.ClassKeyMeter, fmt.Sprint("i/", i))
	}
	if got := h.keys(abi.ClassKeyMeter); !slices.Equal(got, []string{"h"}) {
		t.Errorf("hints %q", got)
	}
	if got := h.keys(abi.ClassLedger); len(got) != 0 {
		t.Errorf("hints of another class: %q", got)
	}
	if n := len(h.classes[abi.ClassKeyMeter].counts); n > 2*habitReads {
		t.Errorf("%d keys are counted", n)
	}
	for range 1000 {
		h.note(abi.ClassKeyMeter, "new")
	}
	if got := h.keys(abi.ClassKeyMeter); !slices.Equal(got, []string{"new"}) {
		t.Errorf("hints after a change: %q", got)
	}
}
