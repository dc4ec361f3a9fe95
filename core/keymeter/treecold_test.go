package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

// cost is the work of objects: their calls without alarms, and the rows that they put and delete.
type cost struct{ calls, rows int }

// count adds an object's work to a cost.
func (c *cost) count(o *testobject.Object) {
	apply := o.Apply
	o.Apply = func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		out, err := apply(in)
		if len(in.Command) > 0 && in.Round == 0 {
			c.calls++
		}
		c.rows += len(out.Puts) + len(out.Deletes)
		for i := range out.Puts {
			if len(out.Puts[i].Key) > 2 && out.Puts[i].Key[:2] == abi.OutboxPrefix {
				c.rows++ // its deletion
			}
		}
		return out, err
	}
}

// coldCost returns the cost of the only request of a key whose path has the given Ledgers.
func coldCost(t *testing.T, path ...string) (c cost) {
	w := newTree(t)
	for _, name := range append(path, "root") { // every project sends summaries to the root
		w.give(name, calendar.Monthly, 100*money.Dollar)
	}
	k := w.place("key_1", "wide", path...)
	w.pass(1000)
	c.count(k.Object)
	for _, l := range w.ledgers {
		c.count(l)
	}
	w.expectAdmit(k, "req_1", cent, cent, "")
	k.settle("req_1", 2, cent/2)
	for range 30 {
		w.pass(10_000)
	}
	total := c
	for _, name := range path {
		w.expectSpent(map[string]money.Pico{name: cent / 2})
	}
	return total
}

// TestColdRequestIsCheap counts what each further Ledger adds to the only request of a key: a Grant, and a call with the
// usage and the slice. The first one above the project also adds the row of pending usage.
func TestColdRequestIsCheap(t *testing.T) {
	t.Parallel()
	paths := [][]string{{"proj_1"}, {"root", "proj_1"}, {"root", "grp_1", "proj_1"}, {"root", "grp_1", "grp_2", "proj_1"}}
	before := coldCost(t, paths[0]...)
	for i, most := range []cost{{2, 9}, {2, 8}, {2, 8}} {
		c := coldCost(t, paths[i+1]...)
		added := cost{c.calls - before.calls, c.rows - before.rows}
		t.Logf("%d Ledgers: %+v, added %+v", i+2, c, added)
		if added.calls > most.calls || added.rows > most.rows {
			t.Errorf("want at most %+v", most)
		}
		before = c
	}
}

// TestRecallOvertakesATravellingSlice checks a slice on its way through the project's Ledger. Its Ledger still counts all of
// it, and a recall frees it at once. The report that arrives later changes nothing, even if the key has a new slice by then.
func TestRecallOvertakesATravellingSlice(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 60, 60, "")
	first.settle("req_1", 2, 5)
	w.pass(10_000)
	w.now += 60_000
	first.now = w.now
	flush := keymeter.Flush{} // of an idle key, which returns its slices
	reply, err := keymeter.DecodeFlushReply(first.call(flush.Encode()))
	if err != nil || len(reply.Absorbs) != 1 {
		t.Fatalf("%v %+v", err, reply)
	}
	travelling, err := ledger.DecodeAbsorb(reply.Absorbs[0])
	if err != nil || len(travelling.Returned) != 2 || travelling.Returned[1].HeldPico != 5 {
		t.Fatalf("%v %+v", err, travelling)
	}
	w.expectAdmit(second, "req_2", 70, 70, "") // recalls the slice
	w.expectAdmit(first, "req_3", 25, 25, "")
	for range 2 {
		w.deliver() // the project's Ledger, then the others
	}
	w.expectAdmit(second, "req_4", 1, 0, "grp_1")
	first.settle("req_3", 2, 20)
	second.settle("req_2", 2, 70)
	w.expectAdmit(second, "req_5", 5, 5, "")
	second.settle("req_5", 2, 5)
	for range 30 {
		w.pass(10_000)
	}
	w.expectSpent(map[string]money.Pico{"root": 100, "grp_1": 100, "proj_1": 25, "proj_2": 75})
}

// TestAwaitedSlicesAreSentDirectly checks which slices do not travel through the project's Ledger, because other
// requests may wait for them.
func TestAwaitedSlicesAreSentDirectly(t *testing.T) {
	for name, row := range map[string]struct {
		reserve, cost money.Pico
		withinMs      uint64
	}{
		"debt":    {10, 30, 500},
		"used up": {100, 100, 10_000},
	} {
		w := newTree(t)
		w.give("root", calendar.Monthly, 100)
		w.give("proj_1", calendar.Monthly, 500)
		k := w.place("key_1", "wide", "root", "proj_1")
		w.expectAdmit(k, "req_1", row.reserve, row.reserve, "")
		k.settle("req_1", 2, row.cost)
		w.now += row.withinMs
		if _, err := k.Ring(w.now); err != nil {
			t.Fatal(err)
		}
		_, deliveries, err := k.Outbox()
		if err != nil {
			t.Fatal(err)
		}
		direct := false
		for _, d := range deliveries {
			direct = direct || d.Name == "root"
		}
		if !direct {
			t.Errorf("%s: %d deliveries, none to the root", name, len(deliveries))
		}
	}
}
