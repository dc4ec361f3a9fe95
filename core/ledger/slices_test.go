package ledger_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// slice is a meter's report to a node.
func slice(node, key string, seq uint64, held, spent int64) ledger.Returned {
	return ledger.Returned{Ledger: node, Return: ledger.Return{
		Key: key, Seq: seq, Period: month(), Epoch: seq, HeldPico: held * money.Cent, SpentPico: spent * money.Cent,
	}}
}

// report absorbs a batch with slices of a key and without usage.
func (f *family) report(key string, seq uint64, list ...ledger.Returned) {
	f.Helper()
	a := ledger.Absorb{Key: key, Seq: seq, Period: month(), Epoch: 1, Returned: list}
	f.call(a.Encode())
}

// expectRoom checks what a node can grant to another key without a recall.
func (f *family) expectRoom(node string, cents int64) {
	f.Helper()
	for _, row := range []struct {
		need    int64
		granted bool
	}{{cents + 1, false}, {cents, true}} {
		ask := ledger.Grant{Key: "other", Period: month(), Epoch: 1, NeedPico: row.need * money.Cent, LeastPico: row.need * money.Cent}
		g, err := ledger.DecodeGrantReply(f.nodes[node].call(ask.Encode()))
		if err != nil || g.Granted != row.granted {
			f.Errorf("%d cents: %v %+v", row.need, err, g)
		}
	}
}

// TestSlicesTravelWithUsage checks that the slices in a batch reach their nodes in the same calls as the usage. The newest
// report of a slice counts, even if it arrives first and on another way.
func TestSlicesTravelWithUsage(t *testing.T) {
	f := newFamily(t, path(1, "root", "grp_1"))
	f.budget("root", 1, month(), doc.Alerts{})
	f.budget("grp_1", 1, month(), hook)
	f.pass(1)
	a := ledger.Absorb{Key: "key_1", KeyID: "key_1", Seq: 1, Period: month(), Epoch: 1, Usage: []ledger.Usage{use(1, today, "a", 7)},
		Returned: []ledger.Returned{slice("root", "key_1", 1, 40, 7), slice("grp_1", "key_1", 2, 60, 7)}}
	f.call(a.Encode())
	f.call(a.Encode()) // a repeat
	f.deliver()
	f.spent("root", 7)
	f.spent("grp_1", 7)
	f.has("grp_1", use(1, today, "a", 7))
	if f.sent != 2 {
		t.Errorf("%d Contributions", f.sent)
	}
	f.report("key_1", 2, slice("root", "key_1", 3, 40, 20))
	f.report("key_1", 3, slice("root", "key_1", 5, 30, 25), slice("grp_1", "key_1", 6, 82, 82))
	f.report("key_2", 1, slice("root", "key_2", 1, 10, 10))
	direct := slice("grp_1", "key_1", 7, 83, 83)
	f.nodes["grp_1"].call(direct.Return.Encode())
	f.pass(60_000)
	f.spent("root", 25+10)
	f.spent("grp_1", 83)
	if posts := f.nodes["grp_1"].takePosts(); f.sent != 4 || len(posts) != 1 {
		t.Errorf("%d Contributions, %d alerts", f.sent, len(posts))
	}
	f.expectRoom("root", 100-30-10)
}

// TestManySlices checks that many slices are sent at once, in parts that a commit can hold.
func TestManySlices(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	f.budget("root", 100, month(), doc.Alerts{})
	f.absorb(use(1, today, "a", 1))
	f.deliver()
	for i := range 95 {
		f.report(fmt.Sprint("key_", i), 1, slice("root", fmt.Sprint("key_", i), 1, 9, 1))
	}
	f.deliver()
	if f.sent != 1 {
		t.Errorf("%d Contributions", f.sent)
	}
	f.report("key_95", 1, slice("root", "key_95", 1, 9, 1))
	f.deliver()
	f.spent("root", 96)
	if f.sent != 2 {
		t.Errorf("%d Contributions", f.sent)
	}
	var absorbs [][]byte
	for seq := range uint64(300) {
		a := ledger.Absorb{Key: "key", Seq: seq + 1, Period: month(), Epoch: 1, Returned: []ledger.Returned{slice("root", fmt.Sprint("x_", seq), 1, 1, 1)}}
		absorbs = append(absorbs, a.Encode())
	}
	f.call(ledger.Batch(absorbs))
	f.deliver()
	f.spent("root", 96+300)
	if f.sent != 2+3 {
		t.Errorf("%d Contributions", f.sent)
	}
}

// TestSliceOfANewCycle checks that a slice waits for the Put with the node's new cycle, and that the usage waits with it.
func TestSliceOfANewCycle(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	f.budget("root", 9, month(), doc.Alerts{})
	next := calendar.NewPeriod(calendar.Daily, 1, today)
	q := ledger.Contribution{Project: "proj_1", Seq: 1, Usage: []ledger.Usage{use(0, today, "a", 4)}, Slices: []ledger.Return{
		{Key: "key_1", Seq: 1, Period: next, Epoch: 2, HeldPico: 5 * money.Cent, SpentPico: 4 * money.Cent},
	}}
	if _, err := f.nodes["root"].Call(f.now, q.Encode()); err == nil {
		t.Error("the cycle is unknown")
	}
	f.has("root")
	f.budget("root", 9, next, doc.Alerts{})
	for range 2 {
		f.send(abi.Delivery{Class: abi.ClassLedger, Name: "root", Data: q.Encode()})
	}
	f.has("root", use(0, today, "a", 4))
	f.spent("root", 4)
}

// TestClockGoesBack checks that usage and slices are sent even if the last were sent in the future.
func TestClockGoesBack(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	f.budget("root", 9, month(), doc.Alerts{})
	f.absorb(use(1, today, "a", 1))
	f.deliver()
	f.now -= calendar.HourMs
	f.absorb(use(1, today, "a", 2))
	f.deliver()
	two := use(1, today, "a", 3)
	two.Requests = 2
	f.has("root", two)
}

// TestMalformedSlices checks the limits of batches and Contributions.
func TestMalformedSlices(t *testing.T) {
	f := newFamily(t, path(1, "root"))
	a := ledger.Absorb{Key: "key_1", Seq: 1, Period: month(), Epoch: 1}
	for range ledger.MaxReturned + 1 {
		a.Returned = append(a.Returned, slice("root", "key_1", 1, 1, 1))
	}
	q := ledger.Contribution{Project: "proj_1", Seq: 1, Slices: make([]ledger.Return, 129)}
	none := ledger.Contribution{Project: "proj_1", Seq: 1}
	for _, command := range [][]byte{a.Encode(), q.Encode(), none.Encode()} {
		if _, err := f.Call(f.now, command); err == nil {
			t.Errorf("accepted %x", command)
		}
	}
	a.Returned = a.Returned[:1]
	whole := a.Encode()
	for n := 1; n < len(whole); n++ {
		if _, err := f.Call(f.now, whole[:n]); err == nil {
			t.Errorf("accepted %x", whole[:n])
		}
	}
}
