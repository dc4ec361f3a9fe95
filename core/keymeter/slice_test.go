package keymeter_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

var (
	november = calendar.NewPeriod(calendar.Monthly, 0, today)
	december = calendar.NewPeriod(calendar.Monthly, 0, today+15)
)

// reserve admits a request that reserves an amount, with a grant.
func (k *key) reserve(amount, least money.Pico, final bool, grant keymeter.Grant) keymeter.AdmitReply {
	k.Helper()
	return budgetFields(k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: amount, LeastPico: least, Final: final, Grant: grant}))
}

// budgetFields returns a reply with only the verdict and the amounts.
func budgetFields(r keymeter.AdmitReply) keymeter.AdmitReply {
	r.Record, r.Windows, r.Answer = nil, nil, nil
	return r
}

func (k *key) expectReserve(amount money.Pico, grant keymeter.Grant, want keymeter.AdmitReply) {
	k.Helper()
	if got := k.reserve(amount, 0, false, grant); !reflect.DeepEqual(got, want) {
		k.Errorf("%d with %+v: %+v, want %+v", amount, grant, got, want)
	}
}

func admitted(reserved money.Pico) keymeter.AdmitReply {
	return keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: reserved}
}

func short(p calendar.Period, epoch uint64, held, need, least money.Pico) keymeter.AdmitReply {
	return keymeter.AdmitReply{Verdict: keymeter.Short, Period: p, Epoch: epoch, HeldPico: held, NeedPico: need, LeastPico: least}
}

// flush returns the last batch of a flush. ok is false if the flush created no new batch.
func (k *key) flush(recall bool) (batch ledger.Absorb, ok bool) {
	k.Helper()
	command := keymeter.Flush{Recall: recall}
	reply, err := keymeter.DecodeFlushReply(k.call(command.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	if len(reply.Absorbs) == k.flushed {
		return batch, false
	}
	k.flushed = len(reply.Absorbs)
	if batch, err = ledger.DecodeAbsorb(reply.Absorbs[k.flushed-1]); err != nil {
		k.Fatal(err)
	}
	return batch, true
}

// TestGrantsAreTotals checks that grants may be lost, repeated and reordered.
func TestGrantsAreTotals(t *testing.T) {
	k := newKey(t, record("wide"))
	k.expectReserve(50, keymeter.Grant{}, short(november, 1, 0, 50, 50))
	k.expectReserve(50, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 200}, admitted(50))
	k.expectReserve(50, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}, admitted(50)) // an older grant
	k.expectReserve(101, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 200}, short(november, 1, 200, 101, 1))
	k.expectReserve(100, keymeter.Grant{}, admitted(100))
	k.expectReserve(1, keymeter.Grant{Period: november, Epoch: 2, TotalPico: 900}, short(november, 1, 200, 1, 1)) // an unknown epoch
	k.expectReserve(1, keymeter.Grant{Period: november - 1, Epoch: 1, TotalPico: 900}, short(november, 1, 200, 1, 1))
}

// TestShortIncludesDebt checks that a Short reply asks for the amount plus the debt, and that a grant of that amount
// is enough.
func TestShortIncludesDebt(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_expensive", 100)
	k.settle("req_expensive", 2, 1000)
	k.expectReserve(30, keymeter.Grant{}, short(november, 1, 100, 930, 930))
	k.expectReserve(30, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 1030}, admitted(30))
	k.mustAdmit("req_vast", 0)
	k.settle("req_vast", 2, money.Max)
	k.expectReserve(30, keymeter.Grant{}, short(november, 1, 1030, money.Max-1000, money.Max-1000))
}

// TestRecallStartsAnEpoch checks that a recall starts an epoch, even if nothing is free, and voids grants in flight.
func TestRecallStartsAnEpoch(t *testing.T) {
	k := newKey(t, record("wide"))
	if _, ok := k.flush(false); ok {
		t.Error("a new key reported a batch")
	}
	k.expectReserve(40, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}, admitted(40))
	for i, want := range []uint64{2, 3} {
		if b, ok := k.flush(true); !ok || b.Epoch != want || b.HeldPico != 40 || b.Closed || b.Period != november {
			t.Errorf("recall %d: %+v", i, b)
		}
		if b, ok := k.flush(false); ok {
			t.Errorf("second batch: %+v", b)
		}
	}
	k.expectReserve(1, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 500}, short(november, 3, 40, 1, 1))
	k.expectReserve(1, keymeter.Grant{Period: november, Epoch: 2, TotalPico: 500}, short(november, 3, 40, 1, 1))
	k.expectReserve(1, keymeter.Grant{Period: november, Epoch: 3, TotalPico: 41}, admitted(1))
}

// TestRecallTakesWhatReservationsReturn checks that after an unconditional recall, settling an older reservation
// leaves nothing free, even if the settle is late. Settling a newer reservation frees its unused part. A recall with
// HeldPico has no such effect.
func TestRecallTakesWhatReservationsReturn(t *testing.T) {
	after := func(heldPico int64) *key {
		k := newKey(t, record("wide"))
		for _, id := range []string{"req_a", "req_b", "req_c"} {
			k.mustAdmit(id, 100)
		}
		command := keymeter.Flush{Recall: true, HeldPico: heldPico}
		k.call(command.Encode())
		k.now += 10
		k.settle("req_a", 2, 10)
		k.settle("req_b", 2, 10)
		k.ringUntil(start + 61_000) // req_c expires
		k.settle("req_c", 2, 10)
		return k
	}
	after(300).expectReserve(270, keymeter.Grant{}, admitted(270))
	k := after(0)
	k.expectReserve(1, keymeter.Grant{}, short(november, 5, 30, 1, 1))
	k.mustAdmit("req_d", 100)
	k.settle("req_d", 2, 20)
	k.expectReserve(80, keymeter.Grant{}, admitted(80))
}

// TestRecallTakesWhatALeaseReturns checks that after an unconditional recall, closing an older lease leaves nothing
// free.
func TestRecallTakesWhatALeaseReturns(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 2, 10)
	command := keymeter.Flush{Recall: true}
	k.call(command.Encode())
	k.now += 10
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{ended("a", 5, 100, 30)}})
	k.report(keymeter.Report{LeaseID: 1, Seq: 2, Close: true})
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: 1}); reply.Verdict != keymeter.Short || reply.HeldPico != 40 {
		t.Errorf("%+v", reply)
	}
}

// TestOverspentSliceIsReportedSoon checks that the Ledger learns within half a second that a key has overspent its
// slice.
func TestOverspentSliceIsReportedSoon(t *testing.T) {
	for cost, wantMs := range map[int64]uint64{100: 10_000, 101: 500} {
		k := newKey(t, record("wide"))
		k.mustAdmit("req_a", 100)
		k.settle("req_a", 2, cost)
		k.expectOutbox(start+wantMs-1, 0)
		k.expectOutbox(start+wantMs, 1)
	}
}

// TestRecallWithAFullOutbox checks a recall that cannot report its new epoch. The reply says that the recall must be
// repeated.
func TestRecallWithAFullOutbox(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_x", 1000)
	k.settle("req_x", 2, 1)
	for range 33 {
		k.serve(2)
		k.ringUntil(k.now + 251_000)
	}
	recall := func() keymeter.FlushReply {
		command := keymeter.Flush{Recall: true}
		reply, err := keymeter.DecodeFlushReply(k.call(command.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if reply := recall(); reply.LentMs == 0 || reply.Open != 1 || len(reply.Absorbs) != 32 {
		t.Errorf("a full outbox: wait %d ms, %d batches", reply.LentMs, len(reply.Absorbs))
	}
	k.expectReserve(500, keymeter.Grant{}, admitted(500))
	keys, _, err := k.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	k.Delete(keys...)
	if reply := recall(); reply.LentMs != 0 || reply.Open != 1 || len(reply.Absorbs) != 1 {
		t.Errorf("an empty outbox: wait %d ms, %d batches", reply.LentMs, len(reply.Absorbs))
	}
	k.expectReserve(400, keymeter.Grant{}, short(november, 2, 501, 400, 400))
}

// TestIdleSliceIsClosed checks that a flush closes the slice of an idle key. The key then needs a grant even for a
// reservation of 0.
func TestIdleSliceIsClosed(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_x", 100)
	k.settle("req_x", 2, 10)
	k.now += minuteMs - 1
	if b, ok := k.flush(false); !ok || b.Epoch != 1 || b.HeldPico != 100 || b.Closed {
		t.Errorf("just before: %+v", b)
	}
	k.now++
	if b, ok := k.flush(false); !ok || b.Epoch != 2 || b.HeldPico != 10 || !b.Closed {
		t.Errorf("%+v", b)
	}
	k.expectReserve(0, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}, short(november, 2, 10, 0, 0))
	k.expectReserve(0, keymeter.Grant{Period: november, Epoch: 2, TotalPico: 10}, admitted(0))
}

// TestGrantOfALaterPeriod checks that a grant of a later period starts that period, even if the grant is void.
func TestGrantOfALaterPeriod(t *testing.T) {
	k := newKey(t, record("wide"))
	k.expectReserve(40, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}, admitted(40))
	k.flush(true)
	k.expectReserve(40, keymeter.Grant{Period: december, Epoch: 1, TotalPico: 300}, short(december, 2, 0, 40, 40))
	k.expectReserve(40, keymeter.Grant{Period: november, Epoch: 2, TotalPico: 300}, short(december, 2, 0, 40, 40))
	k.expectReserve(40, keymeter.Grant{Period: december, Epoch: 2, TotalPico: 50}, admitted(40))
}

// TestRecallInALaterPeriod checks that a recall after the end of a period reports the new period's slice, which is 0.
func TestRecallInALaterPeriod(t *testing.T) {
	k := newKey(t, record("wide"))
	k.expectReserve(40, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}, admitted(40))
	k.now += 10 * calendar.DayMs
	if b, ok := k.flush(true); !ok || b.Period != december || b.Epoch != 2 || b.HeldPico != 0 || b.Closed {
		t.Errorf("%+v", b)
	}
}

// TestFinalReservesTheRest checks that a Final request reserves the rest of the slice if the rest is at least
// LeastPico.
func TestFinalReservesTheRest(t *testing.T) {
	grant := keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}
	for _, c := range []struct {
		amount, least money.Pico
		final         bool
		want          keymeter.AdmitReply
	}{
		{150, 90, false, short(november, 1, 100, 150, 0)},
		{150, 90, true, admitted(100)},
		{150, 100, true, admitted(100)},
		{150, 101, true, short(november, 1, 100, 150, 1)},
		{150, 0, true, short(november, 1, 100, 150, 50)},
		{90, 20, true, admitted(90)},
		{90, 200, true, admitted(90)},
	} {
		k := newKey(t, record("wide"))
		if got := k.reserve(c.amount, c.least, c.final, grant); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestRepeatedAdmissionKeepsItsReservation checks that the reply to a repeated admission has the first reservation.
func TestRepeatedAdmissionKeepsItsReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	a := keymeter.Admit{RequestID: "req_x", Mode: keymeter.ModeReserve, AmountPico: 150, LeastPico: 10, Final: true, Grant: keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}}
	for range 2 {
		if reply := k.admit(a); reply.Verdict != keymeter.Admitted || reply.ReservedPico != 100 {
			t.Errorf("%+v", reply)
		}
		a.Final, a.Grant.TotalPico = false, 500
	}
}

func (k *key) expectExtend(e keymeter.Extend, want keymeter.AdmitReply) {
	k.Helper()
	e.RequestID = "req_x"
	if got, err := keymeter.DecodeAdmitReply(k.call(e.Encode())); err != nil || !reflect.DeepEqual(budgetFields(got), want) {
		k.Errorf("%v, %+v: %+v, want %+v", err, e, got, want)
	}
}

// TestExtend checks that a reservation is raised to the total or, if the Ledger has no more, by the rest of the slice.
func TestExtend(t *testing.T) {
	k := newKey(t, record("wide"))
	k.expectExtend(keymeter.Extend{TotalPico: 5}, keymeter.AdmitReply{Verdict: keymeter.Unknown})
	k.mustAdmit("req_x", 40)
	grant := keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}
	k.expectExtend(keymeter.Extend{TotalPico: 30}, admitted(40))
	k.expectExtend(keymeter.Extend{TotalPico: 60}, short(november, 1, 40, 20, 20))
	k.expectExtend(keymeter.Extend{TotalPico: 60, LeastPico: 50, Final: true}, short(november, 1, 40, 20, 10))
	k.expectExtend(keymeter.Extend{TotalPico: 60, LeastPico: 30, Final: true}, admitted(40))
	for range 2 {
		k.expectExtend(keymeter.Extend{TotalPico: 60, Grant: grant}, admitted(60))
	}
	k.expectExtend(keymeter.Extend{TotalPico: 150, LeastPico: 101, Final: true}, short(november, 1, 100, 90, 1))
	k.expectExtend(keymeter.Extend{TotalPico: 150, LeastPico: 100, Final: true}, admitted(100))
	k.expectReserve(1, keymeter.Grant{}, short(november, 1, 100, 1, 1))
}

// TestExtendInThePeriodOfTheAdmission checks that a reservation of the previous period is raised by the rest of that
// period's slice, and is never charged to the new period.
func TestExtendInThePeriodOfTheAdmission(t *testing.T) {
	k := newKey(t, record("wide"))
	k.now = (today+10)*calendar.DayMs - 1 // the end of November
	a := keymeter.Admit{RequestID: "req_x", Mode: keymeter.ModeReserve, AmountPico: 40, Grant: keymeter.Grant{Period: november, Epoch: 1, TotalPico: 100}}
	if got := k.admit(a); got.Verdict != keymeter.Admitted {
		t.Fatalf("%+v", got)
	}
	k.now++
	k.expectExtend(keymeter.Extend{TotalPico: 30}, admitted(40))
	for range 2 {
		k.expectExtend(keymeter.Extend{TotalPico: 70}, admitted(70))
	}
	k.expectExtend(keymeter.Extend{TotalPico: 120, LeastPico: 101}, keymeter.AdmitReply{Verdict: keymeter.Unknown})
	for range 2 {
		k.expectExtend(keymeter.Extend{TotalPico: 120, LeastPico: 100}, admitted(100))
	}
	k.expectExtend(keymeter.Extend{TotalPico: 120}, keymeter.AdmitReply{Verdict: keymeter.Unknown})
	k.expectReserve(1, keymeter.Grant{}, short(december, 1, 0, 1, 1))
}

// TestAttempts checks that the cost of attempts is charged to the models tried, and that the request counts once, for the
// last model.
func TestAttempts(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, outcome := range []keymeter.Outcome{keymeter.Served, keymeter.Released} {
			k := newKey(t, record("counted"))
			k.mustAdmit("req_x", 100)
			if late {
				k.now += minuteMs
				if rang, err := k.Ring(k.now); !rang || err != nil {
					t.Fatalf("%v %v", rang, err)
				}
			}
			command := keymeter.Settle{
				RequestID: "req_x", Outcome: outcome, Model: "m", Tokens: keymeter.Tokens{Prompt: 1, Completion: 2}, CostPico: 3,
				PromptCache: ledger.PromptCache{Read: 1, SavedPico: 2}, Attempts: []keymeter.Charge{
					{Model: "a", Provider: "p", Tokens: keymeter.Tokens{Prompt: 10, Completion: 20}, CostPico: 30, Estimated: true},
					{Model: "b", Provider: "q", Tokens: keymeter.Tokens{Prompt: 100, Completion: 200}, CostPico: 300, PromptCache: ledger.PromptCache{Read: 60, Written: 30, SavedPico: 11}},
					{Model: "a", Provider: "p", Tokens: keymeter.Tokens{Prompt: 10}, CostPico: 7, Estimated: true, PromptCache: ledger.PromptCache{Written: 9, SavedPico: -20}},
				},
			}
			for range 2 {
				k.call(command.Encode())
			}
			served, failed := uint64(1), uint64(0)
			if outcome == keymeter.Released {
				served, failed = 0, 1
			}
			k.expectTokens("tokens", 1000-343, minuteMs)
			want := map[string]string{
				"a": fmt.Sprint(0, 0, 20, 20, 37, 2, " cached ", 0, 9, -20), "b": fmt.Sprint(0, 0, 100, 200, 300, 0, " cached ", 60, 30, 11),
				"m": fmt.Sprint(served, failed, 1, 2, 3, 0, " cached ", 1, 0, 2),
			}
			if got := k.byModel(); !reflect.DeepEqual(got, want) {
				t.Errorf("late %t, outcome %d: %v, want %v", late, outcome, got, want)
			}
			recent := k.recent()
			if r := recent[len(recent)-1]; r.CostPico != 340 || r.Prompt != 121 || r.Completion != 222 || !r.Estimated || r.Model != "m" ||
				r.PromptCache != (ledger.PromptCache{Read: 61, Written: 39, SavedPico: -7}) {
				t.Errorf("%+v", r)
			}
			if reply := k.reserve(1000, 0, false, keymeter.Grant{}); reply.NeedPico != 1240 {
				t.Errorf("with 340 of 100 spent: %+v", reply)
			}
		}
	}
}

// byModel returns the reported usage of each model: requests, failed, prompt, completion, cost, estimated; read,
// written, saved.
func (k *key) byModel() map[string]string {
	k.Helper()
	query := ledger.Query{EndDay: 1 << 40, By: ledger.ByModel}
	reply, err := k.ledgerWithReports().Call(k.now, query.Encode())
	if err != nil {
		k.Fatal(err)
	}
	groups, err := ledger.DecodeQueryReply(reply)
	if err != nil {
		k.Fatal(err)
	}
	models := map[string]string{}
	for _, g := range groups.Groups {
		u := g.Usage
		models[u.Model] = fmt.Sprint(u.Requests, u.Failed, u.Prompt, u.Completion, u.CostPico, u.Estimated, " cached ", u.PromptCache.Read, u.PromptCache.Written, u.PromptCache.SavedPico)
	}
	return models
}

// TestRecallOfASliceInUse checks that a recall changes nothing if the whole slice is in use and the Ledger knows its
// amount.
func TestRecallOfASliceInUse(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_1", money.Cent)
	flush := keymeter.Flush{}
	k.call(flush.Encode()) // report everything
	before := string(k.Rows["h"])
	recall := func(held money.Pico) keymeter.FlushReply {
		t.Helper()
		command := keymeter.Flush{Recall: true, HeldPico: held}
		reply, err := keymeter.DecodeFlushReply(k.call(command.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if reply := recall(money.Cent); len(reply.Absorbs) > 1 || string(k.Rows["h"]) != before {
		t.Errorf("all in use: %+v", reply)
	}
	if reply := recall(2 * money.Cent); len(reply.Absorbs) == 0 || string(k.Rows["h"]) == before {
		t.Errorf("a lost grant is not reported: %+v", reply)
	}
	k.settle("req_1", 2, money.Cent/2)
	if reply := recall(money.Cent); len(reply.Absorbs) == 0 {
		t.Errorf("with half of the slice unused: %+v", reply)
	}
}
