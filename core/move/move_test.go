package move_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/move"
	"github.com/postern-ai/postern/core/object"
)

const nowMs = 1_800_000_000_000

// classes lists the classes of objects.
var classes = []abi.Class{abi.ClassKeyMeter, abi.ClassLedger, abi.ClassDirectory}

// reducer returns the reducer of a configured core.
var reducer = sync.OnceValue(func() object.Reducer {
	cfg := abi.Config{Catalog: catalog.Default}
	var w abi.Writer
	cfg.Encode(&w)
	c, _ := core.Configure(w.Buf)
	skip := func(f func([]byte) []byte) func([]byte) ([]byte, error) {
		return func(in []byte) ([]byte, error) { return f(in)[core.Headroom:], nil }
	}
	return object.FromEncoded(skip(c.Reads), skip(c.Apply))
})

func run(t *testing.T, class abi.Class, rows *object.Memory, command []byte) []byte {
	t.Helper()
	out, err := reducer().Run(rows, abi.ObjectInput{NowMs: nowMs, Class: class, Name: "x", Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return out.Reply
}

func dump(t *testing.T, class abi.Class, rows *object.Memory, d move.Dump) move.Page {
	t.Helper()
	p, err := move.DecodePage(run(t, class, rows, d.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load(t *testing.T, class abi.Class, rows *object.Memory, l move.Load) (removed bool) {
	t.Helper()
	loaded, err := move.DecodeLoaded(run(t, class, rows, l.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Removed
}

// TestCopy: dumping an object page by page and loading the pages results in an equal object, for every class and page
// size.
func TestCopy(t *testing.T) {
	for _, class := range classes {
		from := object.Memory{Rows: map[string][]byte{}}
		for i := range 40 {
			from.Rows[fmt.Sprintf("%c/%02d", 'a'+i%3, i)] = bytes.Repeat([]byte{byte(i)}, i)
		}
		for _, limit := range []uint64{1, 7, 40, 1000} {
			to, after, pages := object.Memory{}, "", 0
			for more := true; more; pages++ {
				p := dump(t, class, &from, move.Dump{After: after, Limit: limit})
				if load(t, class, &to, move.Load{Rows: p.Rows, Last: !p.More}) {
					t.Fatal("rows of an empty object were removed")
				}
				if more = p.More; len(p.Rows) > 0 {
					after = p.Rows[len(p.Rows)-1].Key
				}
				if to.AlarmMs != 0 && more {
					t.Error("the alarm is set before the last page")
				}
			}
			if !maps.EqualFunc(from.Rows, to.Rows, bytes.Equal) || to.AlarmMs != nowMs+1 || uint64(pages) < 40/limit {
				t.Errorf("class %d, limit %d: %d rows in %d pages, alarm %d", class, limit, len(to.Rows), pages, to.AlarmMs)
			}
		}
		if from.AlarmMs != 0 || len(from.Rows) != 40 {
			t.Errorf("class %d: dumping changed the object", class)
		}
	}
}

// TestPageBytes: a page ends before its values exceed the limit, but has at least one row.
func TestPageBytes(t *testing.T) {
	rows := object.Memory{Rows: map[string][]byte{}}
	for i := range 4 {
		rows.Rows[fmt.Sprint("a/", i)] = make([]byte, 100_000)
	}
	rows.Rows["b/"] = make([]byte, 1_000_000)
	for _, c := range []struct {
		after string
		want  int
		more  bool
	}{{"", 2, true}, {"a/1", 2, true}, {"a/3", 1, false}, {"b/", 0, false}} {
		if p := dump(t, abi.ClassLedger, &rows, move.Dump{After: c.after, Limit: 9}); len(p.Rows) != c.want || p.More != c.more {
			t.Errorf("after %q: %d rows, more %v, want %d, %v", c.after, len(p.Rows), p.More, c.want, c.more)
		}
	}
}

// TestRemove: for every class, if a load needs an empty object, it first removes all rows and then writes.
func TestRemove(t *testing.T) {
	for _, class := range classes {
		rows := object.Memory{Rows: map[string][]byte{}}
		for i := range 7 {
			rows.Rows[fmt.Sprint("q/", i)] = []byte{1}
		}
		l := move.Load{Remove: 3, Rows: []abi.Row{{Key: "q/3", Value: []byte{2}}}}
		for _, want := range []int{4, 1, 0} {
			if removed := load(t, class, &rows, l); !removed || len(rows.Rows) != want {
				t.Fatalf("class %d: %v, %d rows, want %d", class, removed, len(rows.Rows), want)
			}
		}
		if load(t, class, &rows, l) || len(rows.Rows) != 1 || rows.Rows["q/3"][0] != 2 || rows.AlarmMs != 0 {
			t.Errorf("class %d: %v, alarm %d", class, rows.Rows, rows.AlarmMs)
		}
	}
}

// TestRepublish: projects that are loaded into a Directory are marked, so that the Directory publishes their keys'
// records.
func TestRepublish(t *testing.T) {
	var rows object.Memory
	load(t, abi.ClassDirectory, &rows, move.Load{Rows: []abi.Row{{Key: "d/k/p/1"}, {Key: "d/p/one"}, {Key: "d/p/two"}}})
	var marks []string
	for key := range rows.Rows {
		if strings.HasPrefix(key, "f/") {
			marks = append(marks, key)
		}
	}
	slices.Sort(marks)
	if !slices.Equal(marks, []string{"f/one", "f/two"}) || len(rows.Rows) != 5 {
		t.Errorf("marks %q of %d rows", marks, len(rows.Rows))
	}
}

// TestMalformed: a command that is truncated or has trailing bytes is not run.
func TestMalformed(t *testing.T) {
	d, l := move.Dump{After: "k", Limit: 3}, move.Load{Remove: 1, Last: true, Rows: []abi.Row{{Key: "a", Value: []byte{1}}}}
	for _, command := range [][]byte{d.Encode(), l.Encode()} {
		in := &abi.ObjectInput{Command: command}
		if _, err := move.Apply(in); err != nil || !move.Is(command) {
			t.Errorf("%x: %v", command, err)
		}
		for n := 1; n < len(command); n++ {
			cut := command[:n]
			_, reads := move.Reads(cut)
			if _, err := move.Apply(&abi.ObjectInput{Command: cut}); err == nil || reads == nil {
				t.Errorf("%x was run", cut)
			}
		}
		long := append(bytes.Clone(command), 0)
		if _, err := move.Apply(&abi.ObjectInput{Command: long}); err == nil {
			t.Errorf("%x was run", long)
		}
	}
}
