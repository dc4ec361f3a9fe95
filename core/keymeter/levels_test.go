package keymeter_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// effects returns the number of rows that a command writes, and its reply.
func (k *key) effects(command []byte) (puts int, reply []byte) {
	k.Helper()
	apply := k.Apply
	k.Apply = func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		out, err := apply(in)
		puts += len(out.Puts)
		return out, err
	}
	reply = k.call(command)
	k.Apply = apply
	return puts, reply
}

// funded returns a key below the deployment and a weekly group, with the given slices of the deployment, the group and
// the project.
func funded(t *testing.T, plan string, own doc.KeyBudget, slices ...money.Pico) (*tree, *key) {
	w := newTree(t)
	w.own = own
	w.give("root", calendar.Monthly, money.Dollar)
	w.give("grp_1", calendar.Weekly, money.Dollar)
	w.give("proj_1", calendar.Monthly, money.Dollar)
	k := w.place("key_1", plan, "root", "grp_1", "proj_1")
	reply := k.admit(keymeter.Admit{RequestID: "req_0", Mode: keymeter.ModeReserve, AmountPico: 1})
	var grants []keymeter.LevelGrant
	for i, l := range reply.Levels {
		grants = append(grants, keymeter.LevelGrant{Ledger: l.Ledger, Grant: keymeter.Grant{Period: l.Period, Epoch: l.Epoch, TotalPico: slices[i]}})
	}
	k.admit(keymeter.Admit{RequestID: "req_0", Mode: keymeter.ModeCheck, Tree: keymeter.Tree{Grants: grants}})
	return w, k
}

// borrowLease admits a request that reserves 100 picodollars and asks for a lease.
func (w *tree) borrowLease(k *key, id string, lease uint64) keymeter.AdmitReply {
	w.Helper()
	return k.borrowAs(keymeter.Admit{RequestID: id, Version: w.version, Mode: keymeter.ModeReserve, AmountPico: 100}, lease)
}

// TestFirstPeriods checks that a new key asks each Ledger for a period of its own cycle.
func TestFirstPeriods(t *testing.T) {
	w := newTree(t)
	for name, cycle := range map[string]calendar.Cycle{"root": calendar.Daily, "grp_1": calendar.Weekly, "proj_1": calendar.Monthly} {
		w.give(name, cycle, 100)
	}
	k := w.place("key_1", "wide", "root", "grp_1", "proj_1")
	reply := k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 1})
	if len(reply.Levels) != 3 {
		t.Fatalf("%+v", reply)
	}
	for i, cycle := range []calendar.Cycle{calendar.Daily, calendar.Weekly, calendar.Monthly} {
		if got := reply.Levels[i].Period; got != calendar.NewPeriod(cycle, 0, today) {
			t.Errorf("level %d: cycle %d, want %d", i, got.Cycle(), cycle)
		}
	}
}

// TestAsksToLendWhereItLacks checks that a meter asks for budget to lend at the levels with less than 32 reservations in
// addition to the request's own.
func TestAsksToLendWhereItLacks(t *testing.T) {
	w, k := funded(t, "lending", doc.KeyBudget{}, 3300, 3299, 100_000)
	if reply := w.borrowLease(k, "req_1", 7); len(reply.Levels) != 1 || reply.Levels[0].Ledger != "grp_1" {
		t.Errorf("%+v", reply)
	}
}

// TestOverOwnWhileLent checks that the refusal of a key whose own budget is lent says how long to wait.
func TestOverOwnWhileLent(t *testing.T) {
	w, k := funded(t, "lending", doc.KeyBudget{Budgeted: true, BudgetPico: 10_000, Cycle: calendar.Monthly}, 100_000, 100_000, 100_000)
	lent := w.borrowLease(k, "req_1", 7)
	if lent.Verdict != keymeter.Admitted || lent.Lease.AmountPico == 0 {
		t.Fatalf("%+v", lent)
	}
	over := keymeter.Admit{RequestID: "req_2", Mode: keymeter.ModeReserve, AmountPico: 10_000 - lent.Lease.AmountPico}
	if reply := k.admit(over); reply.Verdict != keymeter.OverOwn || reply.LentMs == 0 {
		t.Errorf("%+v", reply)
	}
}

// TestReleaseOfNothing checks that the end of a request without an incomplete reservation writes nothing.
func TestReleaseOfNothing(t *testing.T) {
	_, k := funded(t, "wide", doc.KeyBudget{}, 10, 10, 5)
	ordered := keymeter.Admit{RequestID: "req_1", Version: 1 << 40, Mode: keymeter.ModeReserve, AmountPico: 8, Tree: keymeter.Tree{Ordered: true}}
	k.admit(ordered)
	for _, row := range []struct {
		id   string
		puts int
	}{{"req_2", 0}, {"req_1", 1}, {"req_1", 0}} {
		release := keymeter.Admit{RequestID: row.id, Version: 1 << 40, Mode: keymeter.ModeReserve, Tree: keymeter.Tree{Release: true}}
		if puts, _ := k.effects(release.Encode()); puts != row.puts {
			t.Errorf("%s: %d rows, want %d", row.id, puts, row.puts)
		}
	}
}

// recallOf takes back a slice of a Ledger above the project. The Ledger has granted what the key has.
func (k *key) recallOf(ledger string, held money.Pico) (puts int, reply keymeter.FlushReply) {
	k.Helper()
	flush := keymeter.Flush{Recall: true, HeldPico: held, Ledger: ledger}
	puts, data := k.effects(flush.Encode())
	reply, err := keymeter.DecodeFlushReply(data)
	if err != nil {
		k.Fatal(err)
	}
	return puts, reply
}

// TestRecallOfBudgetInUse checks that a recall of a slice that is wholly in use writes nothing and sets no alarm.
func TestRecallOfBudgetInUse(t *testing.T) {
	_, k := funded(t, "wide", doc.KeyBudget{}, 10, 100, 100)
	k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 10})
	alarm := k.AlarmMs
	if puts, reply := k.recallOf("root", 10); puts > 0 || len(reply.Return) > 0 || reply.LentMs > 0 || k.AlarmMs != alarm {
		t.Errorf("%d rows, %+v, an alarm at %d", puts, reply, k.AlarmMs)
	}
	if puts, reply := k.recallOf("grp_1", 100); puts == 0 || len(reply.Return) == 0 || k.AlarmMs == 0 {
		t.Errorf("%d rows, %+v, an alarm at %d", puts, reply, k.AlarmMs)
	}
}

// TestRecallStopsLending checks that a meter whose budget above the project is recalled lends no more for 5 seconds, if
// the budget is lent. A recall of budget that is not lent does not matter.
func TestRecallStopsLending(t *testing.T) {
	w, k := funded(t, "lending", doc.KeyBudget{}, 1_000_000, 1_000_000, 1_000_000)
	k.recallOf("root", 1_000_000)
	lease := w.lend(k)
	if lease.DurationMs == 0 {
		t.Fatalf("%+v", lease)
	}
	if _, recalled := k.recallOf("grp_1", 1_000_000); recalled.LentMs == 0 {
		t.Errorf("%+v", recalled)
	}
	k.now += 3000 // the lease has ended
	k.report(keymeter.Report{SentMs: k.now, LeaseID: lease.ID, Seq: 1, Close: true})
	for _, lends := range []bool{false, true} {
		if lease = w.lend(k); (lease.DurationMs > 0) != lends {
			t.Errorf("want a lease: %t, %+v", lends, lease)
		}
		k.now += 5000
	}
}

// lend obtains budget for a key, and then admits a request that asks for a new lease.
func (w *tree) lend(k *key) keymeter.Lease {
	w.Helper()
	w.now = k.now
	w.expectAdmit(k, fmt.Sprint("first_", w.now), 1000, 1000, "")
	k.settle(fmt.Sprint("first_", w.now), 2, 0)
	a := keymeter.Admit{
		RequestID: fmt.Sprint("req_", w.now), Version: w.version, Mode: keymeter.ModeReserve, AmountPico: 1, Tree: keymeter.Tree{Ordered: true},
	}
	reply := k.borrowAs(a, w.now)
	if reply.Verdict != keymeter.Admitted {
		w.Errorf("%+v", reply)
	}
	k.settle(a.RequestID, 2, 0)
	return reply.Lease
}

// TestMalformedIncompleteReservation checks that a row with an incomplete reservation of all levels is an error. Such a
// reservation is a complete one.
func TestMalformedIncompleteReservation(t *testing.T) {
	_, k := funded(t, "wide", doc.KeyBudget{}, 10, 10, 5)
	k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 8, Tree: keymeter.Tree{Ordered: true}})
	row := k.Rows["h"]
	if _, holds, err := keymeter.LevelsOf(row); err != nil || holds != 1 {
		t.Fatalf("%d incomplete reservations, %v", holds, err)
	}
	at := bytes.LastIndex(row, []byte("req_1\x02")) // it has two levels
	if at < 0 {
		t.Fatal("the row does not contain the reservation")
	}
	for _, levels := range []byte{3, 4} {
		bad := bytes.Clone(row)
		bad[at+len("req_1")] = levels
		if _, _, err := keymeter.LevelsOf(bad); err == nil {
			t.Errorf("%d levels are accepted", levels)
		}
	}
}

// TestRecallSaysWhetherItFrees checks that a recall of the project's slice says whether the meter holds less than the
// Ledger has granted, unless the project is the only level.
func TestRecallSaysWhetherItFrees(t *testing.T) {
	for _, row := range []struct {
		granted, used, held money.Pico
		frees               bool
	}{{100, 10, 100, true}, {10, 10, 10, false}, {10, 10, 15, true}} {
		_, k := funded(t, "wide", doc.KeyBudget{}, 1000, 1000, row.granted)
		k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: row.used})
		if _, reply := k.recallOf("", row.held); reply.Frees != row.frees {
			t.Errorf("%+v: %+v", row, reply)
		}
	}
	k := newKey(t, record("wide"))
	k.fund(100)
	if _, reply := k.recallOf("", 100); reply.Frees {
		t.Errorf("without a tree: %+v", reply)
	}
}

// TestRequestFromBeforeARecall checks that a request that was admitted before an unconditional recall returns the rest of
// its reservation when it ends.
func TestRequestFromBeforeARecall(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 60, 60, "")
	w.recall("grp_1", first, 0)
	first.settle("req_1", 2, 5)
	w.pass(1000)
	delete(w.keys, "key_1") // a recall would fail
	w.expectAdmit(second, "req_2", 95, 95, "")
}
