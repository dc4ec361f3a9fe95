package keymeter_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

func (w *tree) expect(k *key, a keymeter.Admit, wantSpent string) {
	w.Helper()
	if _, spent := w.admit(k, a); spent != wantSpent {
		w.Errorf("%s: %q has nothing left, want %q", a.RequestID, spent, wantSpent)
	}
}

// TestRequestsAreCountedAtAdmission checks that two keys of a group share its requests. Cache hits, rejected requests and
// failed ones count. Repeats and requests that another level refuses do not.
func TestRequestsAreCountedAtAdmission(t *testing.T) {
	w := newTree(t)
	w.give("grp_1#requests", calendar.Daily, 5)
	w.give("proj_1", calendar.Monthly, 100)
	w.give("proj_2", calendar.Monthly, 100)
	first, second := w.place("key_1", "wide", "grp_1#requests", "proj_1"), w.place("key_2", "wide", "grp_1#requests", "proj_2")
	w.expectAdmit(first, "req_1", 60, 60, "")
	w.expectAdmit(first, "req_1", 60, 60, "") // a repeat
	w.expectAdmit(first, "req_2", 60, 0, "proj_1")
	release := keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Released, Model: "m"}
	first.call(release.Encode())
	w.expect(second, keymeter.Admit{RequestID: "req_3", Mode: keymeter.ModeHit}, "")
	w.expect(second, keymeter.Admit{RequestID: "req_4", Mode: keymeter.ModeCount}, "")
	w.expect(second, keymeter.Admit{RequestID: "req_5", Mode: keymeter.ModeCheck}, "")
	w.expectAdmit(second, "req_6", 1, 1, "")
	w.expectAdmit(first, "req_7", 1, 1, "") // the second key returns what it has left
	for _, mode := range []keymeter.Mode{keymeter.ModeReserve, keymeter.ModeHit, keymeter.ModeCount} {
		w.expect(first, keymeter.Admit{RequestID: fmt.Sprint("req_8", mode), Mode: mode, AmountPico: 1}, "grp_1#requests")
	}
	second.settle("req_6", 2, 1)
	w.pass(10_000)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"grp_1#requests": 5})
	w.pass(calendar.DayMs)
	w.expectAdmit(first, "req_9", 1, 1, "")
}

// TestRejectedRequestIsReported checks that the Ledger learns of a request that has no usage.
func TestRejectedRequestIsReported(t *testing.T) {
	w := newTree(t)
	w.give("grp_1#requests", calendar.Daily, 5)
	w.give("proj_1", calendar.Monthly, 100)
	w.expect(w.place("key_1", "wide", "grp_1#requests", "proj_1"), keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount}, "")
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"grp_1#requests": 1})
}

// TestRecallOfASpentSlice checks that a recalled meter tells the Ledger once that the slice is spent. A Ledger that takes it
// for unused would let requests try again instead of refusing them.
func TestRecallOfASpentSlice(t *testing.T) {
	w := newTree(t)
	w.give("grp_1#requests", calendar.Daily, 5)
	w.give("proj_1", calendar.Monthly, 100)
	k := w.place("key_1", "wide", "grp_1#requests", "proj_1")
	w.expect(k, keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount}, "")
	for _, reports := range []bool{true, false} {
		recall := keymeter.Flush{Recall: true, Ledger: "grp_1#requests", HeldPico: 1}
		reply, err := keymeter.DecodeFlushReply(k.call(recall.Encode()))
		if err != nil || len(reply.Return) > 0 != reports {
			t.Errorf("%+v, %v, want a report: %t", reply, err, reports)
		}
	}
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"grp_1#requests": 1})
}

// TestTokensAreCountedAtSettlement checks that requests are admitted while tokens are left, and that a request counts in
// the period of its admission.
func TestTokensAreCountedAtSettlement(t *testing.T) {
	w := newTree(t)
	w.give("root#tokens", calendar.Daily, 1000)
	w.give("proj_1", calendar.Monthly, 100)
	k := w.place("key_1", "wide", "root#tokens", "proj_1")
	for i, tokens := range []uint64{300, 690} {
		id := fmt.Sprint("req_", i)
		w.expectAdmit(k, id, 1, 1, "")
		k.settle(id, tokens, 1)
	}
	w.expect(k, keymeter.Admit{RequestID: "hit", Mode: keymeter.ModeHit}, "")
	w.expectAdmit(k, "req_2", 1, 1, "")
	w.expectAdmit(k, "req_3", 1, 1, "")
	k.settle("req_2", 500, 1)
	w.expectAdmit(k, "req_4", 1, 0, "root#tokens")
	w.expect(k, keymeter.Admit{RequestID: "hit 2", Mode: keymeter.ModeHit}, "") // uses none
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root#tokens": 1490})
	w.now = (today + 1) * calendar.DayMs
	k.now = w.now
	w.expectAdmit(k, "req_5", 1, 1, "")
	k.settle("req_3", 7000, 1)
	k.settle("req_5", 10, 1)
	w.pass(10_000)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root#tokens": 10})
}

// ownKey is a key with its own budget, below a project with plenty.
func ownKey(t *testing.T, own doc.KeyBudget) (*tree, *key) {
	w := newTree(t)
	w.give("root", calendar.Monthly, 1_000_000)
	w.give("proj_1", calendar.Monthly, 1_000_000)
	w.own = own
	return w, w.place("key_1", "wide", "root", "proj_1")
}

// TestOwnBudget checks a key's own dollars: exact, without a call, kept when the limit changes, and new at midnight.
func TestOwnBudget(t *testing.T) {
	own := doc.KeyBudget{Budgeted: true, BudgetPico: 100, Cycle: calendar.Daily}
	w, k := ownKey(t, own)
	w.expectAdmit(k, "req_1", 60, 60, "")
	w.expectAdmit(k, "req_2", 41, 0, "key")
	if pico, spent := w.admit(k, keymeter.Admit{RequestID: "req_3", AmountPico: 60, LeastPico: 30}); pico != 40 || spent != "" {
		t.Errorf("%d are reserved, %q has nothing left", pico, spent)
	}
	k.settle("req_1", 2, 50)
	k.settle("req_3", 2, 40)
	w.expectAdmit(k, "req_4", 10, 10, "")
	k.settle("req_4", 2, 10)
	if reply := k.admit(keymeter.Admit{RequestID: "req_5", Mode: keymeter.ModeReserve, AmountPico: 1}); reply.Verdict != keymeter.OverOwn ||
		reply.Levels[0].HeldPico != 100 || reply.Levels[0].UsedPico != 100 || reply.Levels[0].LeastPico != 1 {
		t.Errorf("%+v", reply)
	}
	w.expect(k, keymeter.Admit{RequestID: "hit", Mode: keymeter.ModeHit}, "")
	w.own.BudgetPico = 130
	w.place("key_1", "wide", "root", "proj_1")
	w.expectAdmit(k, "req_6", 31, 0, "key")
	w.expectAdmit(k, "req_7", 30, 30, "")
	w.now += calendar.DayMs
	w.expectAdmit(k, "req_8", 130, 130, "")
	k.settle("req_7", 2, 30)
	k.settle("req_8", 2, 129)
	w.expectAdmit(k, "req_9", 2, 0, "key")
	w.expectAdmit(k, "req_10", 1, 1, "")
}

// TestOwnLimits checks a key's own requests and tokens, prepaid: they never reset.
func TestOwnLimits(t *testing.T) {
	own := doc.KeyBudget{Limits: doc.PeriodLimits{Requests: 3, Tokens: 50}, Cycle: calendar.Total}
	w, k := ownKey(t, own)
	w.expectAdmit(k, "req_1", 1, 1, "")
	k.settle("req_1", 49, 1)
	w.now += 400 * calendar.DayMs
	w.expectAdmit(k, "req_2", 1, 1, "")
	k.now = w.now
	k.settle("req_2", 30, 1)
	w.expectAdmit(k, "req_3", 1, 0, "key#tokens")
	w.expect(k, keymeter.Admit{RequestID: "hit", Mode: keymeter.ModeHit}, "")
	w.expect(k, keymeter.Admit{RequestID: "hit 2", Mode: keymeter.ModeHit}, "key#requests")
	w.own.Limits = doc.PeriodLimits{Requests: 4, Tokens: 80}
	w.place("key_1", "wide", "root", "proj_1")
	w.expectAdmit(k, "req_4", 1, 1, "")
	w.expectAdmit(k, "req_5", 1, 0, "key#requests")
}

// TestOwnBudgetOfAMovedKey checks that the key keeps its spending when its project moves, and that a settlement counts
// in it.
func TestOwnBudgetOfAMovedKey(t *testing.T) {
	w, k := ownKey(t, doc.KeyBudget{Budgeted: true, BudgetPico: 100, Cycle: calendar.Monthly})
	w.expectAdmit(k, "req_1", 60, 60, "")
	w.place("key_1", "wide", "proj_1")
	w.expectAdmit(k, "req_2", 41, 0, "key")
	k.settle("req_1", 2, 10)
	w.expectAdmit(k, "req_3", 91, 0, "key")
	w.expectAdmit(k, "req_4", 90, 90, "")
	w.own = doc.KeyBudget{}
	w.place("key_1", "wide", "root", "proj_1")
	w.expectAdmit(k, "req_5", 500, 500, "")
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 10, "proj_1": 10})
}

// TestCountedKeysDoNotLend checks that a key with a limit of requests or tokens per period gets no leases.
func TestCountedKeysDoNotLend(t *testing.T) {
	for _, path := range [][]string{{"proj_1"}, {"proj_1#requests", "proj_1"}, {"root#tokens", "proj_1"}} {
		w := newTree(t)
		for _, name := range path {
			w.give(name, calendar.Monthly, 100_000_000)
		}
		k, version := w.place("key_1", "lending", path...), w.version
		w.expectAdmit(k, "req_1", 100_000, 100_000, "")
		k.settle("req_1", 2, 1)
		a := keymeter.Admit{
			RequestID: "req_2", Version: version, Mode: keymeter.ModeReserve, AmountPico: 10, LeaseID: 7, LifetimeMs: 60_000,
		}
		if reply, err := keymeter.DecodeAdmitReply(k.call(a.Encode())); err != nil || reply.Verdict != keymeter.Admitted || reply.Lease.DurationMs > 0 != (len(path) == 1) {
			t.Errorf("%v: %+v", path, reply)
		}
	}
}

// TestKeyThatComesBack checks that a Ledger does not forget what a key has spent while its project was elsewhere.
func TestKeyThatComesBack(t *testing.T) {
	w, first, second := company(t)
	w.expectAdmit(first, "req_1", 60, 60, "")
	first.settle("req_1", 2, 60)
	w.pass(10_000)
	for i := range 20 {
		name := fmt.Sprint("grp_", 10+i)
		w.give(name, calendar.Weekly, 1000)
		w.place("key_1", "wide", "root", name, "proj_1")
		w.pass(10_000)
	}
	w.place("key_1", "wide", "root", "grp_1", "proj_1")
	w.pass(10_000)
	w.give("proj_1", calendar.Daily, 600)
	w.expectAdmit(first, "req_2", 41, 0, "grp_1")
	w.expectAdmit(first, "req_3", 20, 20, "")
	w.expectAdmit(second, "req_4", 21, 0, "grp_1")
	w.expectAdmit(second, "req_5", 20, 20, "")
}
