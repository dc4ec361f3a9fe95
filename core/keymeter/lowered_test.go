package keymeter_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// asks checks that a key asks exactly these Ledgers for a request of one picodollar.
func asks(t *testing.T, k *key, id string, want ...string) {
	t.Helper()
	reply := k.admit(keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: 1})
	var asked []string
	for _, l := range reply.Levels {
		asked = append(asked, l.Ledger)
	}
	if strings.Join(asked, " ") != strings.Join(want, " ") || (reply.Verdict == keymeter.Admitted) != (len(want) == 0) {
		t.Errorf("%s: %+v, want a question to %v", id, reply, want)
	}
}

// TestRecordLowersABudget checks that a meter returns what it holds of a lowered budget when it gets the record, and what
// its requests in progress do not need when they end. It keeps its slices of other budgets.
func TestRecordLowersABudget(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.expectAdmit(first, "req_2", 20, 20, "")
	first.settle("req_1", 2, 10)
	asks(t, first, "req_3")
	first.settle("req_3", 2, 0)
	w.give("grp_1", calendar.Weekly, 45)
	w.lowered["grp_1"] = 7
	w.place("key_1", "wide", "root", "grp_1", "proj_1")
	asks(t, first, "req_4", "grp_1")
	first.settle("req_2", 2, 5)
	asks(t, first, "req_5", "grp_1")
	w.pass(1000)
	grants := func(amount money.Pico, want bool) {
		t.Helper()
		ask := ledger.Grant{Key: second.Name, Period: w.periods["grp_1"].At(calendar.Day(w.now)), Epoch: 1, NeedPico: amount, LeastPico: amount}
		if reply, err := ledger.DecodeGrantReply(w.ledger("grp_1", ask.Encode())); err != nil || reply.Granted != want {
			t.Errorf("%d: %+v, %v", amount, reply, err)
		}
	}
	grants(31, false)
	grants(30, true)

	// A record with the same value, such as that of a raised budget, returns nothing.
	w.give("grp_1", calendar.Weekly, 90)
	w.expectAdmit(first, "req_7", 20, 20, "")
	first.settle("req_7", 2, 0)
	w.place("key_1", "wide", "root", "grp_1", "proj_1")
	asks(t, first, "req_8")
}

// TestLowerEndsIncompleteReservations checks that a record with a lowered budget ends a reservation that waits for a
// Ledger further down. Otherwise, its amount would stay in the slice.
func TestLowerEndsIncompleteReservations(t *testing.T) {
	w, first, _ := company(t)
	a := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 50, Tree: keymeter.Tree{Ordered: true}}
	for _, level := range []string{"root", "grp_1", ""} {
		reply := first.admit(a)
		if len(reply.Levels) != 1 || reply.Levels[0].Ledger != level {
			t.Fatalf("%+v, want a question to %q", reply, level)
		}
		grant, _ := w.ask(first, &reply.Levels[0])
		a.Tree.Grants = []keymeter.LevelGrant{grant}
	}
	w.lowered["grp_1"]++
	w.give("grp_1", calendar.Weekly, 10)
	w.place("key_1", "wide", "root", "grp_1", "proj_1")
	w.pass(1000)
	if reply := first.admit(a); reply.Verdict != keymeter.Short || len(reply.Levels) != 1 || reply.Levels[0].Ledger != "grp_1" || reply.Levels[0].HeldPico != 0 {
		t.Errorf("%+v", reply)
	}
}

// TestLevelThatComesBack checks that what a request does not need of a level that has left the path and come back is not
// spendable, however low the budget is by then, whether the request ends in between or later.
func TestLevelThatComesBack(t *testing.T) {
	for _, ended := range []bool{false, true} {
		w, k, _ := company(t)
		w.expectAdmit(k, "req_1", 40, 40, "")
		w.place("key_1", "wide", "root", "proj_1")
		if ended {
			k.settle("req_1", 2, 5)
		}
		w.give("grp_1", calendar.Weekly, 10)
		w.place("key_1", "wide", "root", "grp_1", "proj_1")
		if !ended {
			k.settle("req_1", 2, 5)
		}
		asks(t, k, "req_2", "grp_1")
		w.pass(1000)
		w.expectAdmit(k, "req_3", 6, 0, "grp_1")
		w.expectAdmit(k, "req_4", 5, 5, "")
	}
}

// TestRemovedKeyReturnsItsSlices checks that the meter of a removed key keeps only what its requests in progress have
// reserved, because it does not learn of lowered budgets.
func TestRemovedKeyReturnsItsSlices(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.expectAdmit(first, "req_2", 20, 20, "")
	first.settle("req_2", 2, 0)
	first.put(doc.Removed, w.record("key_1", "wide", w.paths["key_1"]))
	w.give("grp_1", calendar.Weekly, 45)
	extend := keymeter.Extend{RequestID: "req_1", TotalPico: 50}
	reply, err := keymeter.DecodeAdmitReply(first.call(extend.Encode()))
	if err != nil || reply.Verdict != keymeter.Short || len(reply.Levels) == 0 || reply.Levels[0].HeldPico != 40 {
		t.Errorf("a stream extends without its Ledgers: %+v, %v", reply, err)
	}
	w.pass(1000)
	w.expectAdmit(second, "req_3", 6, 0, "grp_1")
	w.expectAdmit(second, "req_4", 5, 5, "")
	first.settle("req_1", 2, 30)
	w.pass(1000)
	w.expectAdmit(second, "req_5", 10, 10, "")
}

// TestRemovedKeyKeepsNoGrant checks that the meter of a removed key returns the part of a grant that a stream does not need,
// and the grants of a request that it refuses.
func TestRemovedKeyKeepsNoGrant(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 10, 10, "")
	first.put(doc.Removed, w.record("key_1", "wide", w.paths["key_1"]))
	extend := keymeter.Extend{RequestID: "req_1", TotalPico: 20}
	reply, err := keymeter.DecodeAdmitReply(first.call(extend.Encode()))
	if err != nil || reply.Verdict != keymeter.Short {
		t.Fatalf("%+v, %v", reply, err)
	}
	grant := func(i int, more money.Pico) keymeter.LevelGrant {
		s := &reply.Levels[i]
		return keymeter.LevelGrant{Ledger: s.Ledger, Grant: keymeter.Grant{Period: s.Period, Epoch: s.Epoch, TotalPico: s.HeldPico + more}}
	}
	extend.Tree.Grants = []keymeter.LevelGrant{grant(0, 50), grant(1, 10), grant(2, 10)}
	if reply, err := keymeter.DecodeAdmitReply(first.call(extend.Encode())); err != nil || reply.Verdict != keymeter.Admitted || reply.ReservedPico != 20 {
		t.Fatalf("%+v, %v", reply, err)
	}
	extend = keymeter.Extend{RequestID: "req_1", TotalPico: 21}
	if reply, err = keymeter.DecodeAdmitReply(first.call(extend.Encode())); err != nil || reply.Verdict != keymeter.Short || reply.Levels[0].HeldPico != 20 {
		t.Errorf("the stream grows without its Ledgers: %+v, %v", reply, err)
	}
	refused := keymeter.Admit{RequestID: "req_2", Mode: keymeter.ModeReserve, AmountPico: 30, Tree: keymeter.Tree{Grants: []keymeter.LevelGrant{grant(0, 30), grant(1, 30), grant(2, 30)}}}
	if reply := first.admit(refused); reply.Verdict != keymeter.Unknown {
		t.Errorf("%+v", reply)
	}
	if reply, err = keymeter.DecodeAdmitReply(first.call(extend.Encode())); err != nil || reply.Verdict != keymeter.Short || reply.Levels[0].HeldPico != 20 {
		t.Errorf("the stream grows with another request's grant: %+v, %v", reply, err)
	}
	w.pass(1000)
	w.expectAdmit(second, "req_3", 80, 80, "")
}

// TestRemovedKeyReturnsItsProjectSlice checks that the meter of a removed key keeps of its project's budget only what its
// requests in progress have reserved: not its slice, not the rest of a grant, and not what a request did not need.
func TestRemovedKeyReturnsItsProjectSlice(t *testing.T) {
	w := newTree(t)
	w.give("proj_1", calendar.Monthly, 100)
	first, second := w.place("key_1", "wide", "proj_1"), w.place("key_2", "wide", "proj_1")
	w.expectAdmit(first, "req_1", 40, 40, "")
	w.expectAdmit(first, "req_2", 30, 30, "")
	w.expectAdmit(first, "req_3", 30, 30, "")
	first.settle("req_3", 2, 0)
	first.put(doc.Removed, w.record("key_1", "wide", w.paths["key_1"]))
	w.give("proj_1", calendar.Monthly, 80)
	grow := func(total money.Pico, grants ...keymeter.LevelGrant) keymeter.AdmitReply {
		extend := keymeter.Extend{RequestID: "req_1", TotalPico: total, Tree: keymeter.Tree{Grants: grants}}
		reply, err := keymeter.DecodeAdmitReply(first.call(extend.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	expectShort := func(what string, held money.Pico) keymeter.AdmitReply {
		reply := grow(60)
		if reply.Verdict != keymeter.Short || reply.HeldPico != held {
			t.Errorf("%s: %+v, want %d held", what, reply, held)
		}
		return reply
	}
	short := expectShort("after the removal", 70)
	generous := keymeter.Grant{Period: short.Period, Epoch: short.Epoch, TotalPico: short.HeldPico + 50}
	if reply := grow(50, keymeter.LevelGrant{Grant: generous}); reply.Verdict != keymeter.Admitted || reply.ReservedPico != 50 {
		t.Fatalf("%+v", reply)
	}
	expectShort("after a grant", 80)
	first.settle("req_2", 2, 10)
	expectShort("after a settlement", 60)
	w.pass(10_000)
	w.expectAdmit(second, "req_4", 21, 0, "proj_1")
	w.expectAdmit(second, "req_5", 20, 20, "")
}
