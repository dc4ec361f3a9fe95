package keymeter_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// enforce makes a project's budget soft or hard, as the control plane does: its keys get their records, and if the budget
// is hard, they return what they hold.
func (w *tree) enforce(soft bool, level string, keys ...*key) {
	w.Helper()
	w.soft[level] = soft
	for _, k := range keys {
		w.place(k.Name, "wide", w.paths[k.Name]...)
		if !soft {
			w.recall(level, k, 0)
		}
	}
}

// TestSoftProjectStopsNothing checks that a soft budget of a project counts and never refuses, while the levels above it
// still do. Once it is hard, the spending and the reservations count.
func TestSoftProjectStopsNothing(t *testing.T) {
	for name, above := range map[string][]string{"alone": nil, "below the deployment": {"root"}} {
		w := newTree(t)
		w.give("root", calendar.Monthly, 100)
		w.give("proj_1", calendar.Monthly, 10)
		w.soft["proj_1"] = true
		path := append(above, "proj_1")
		first, second := w.place("key_1", "wide", path...), w.place("key_2", "wide", path...)
		w.expectAdmit(first, "req_1", 30, 30, "")
		w.expectAdmit(second, "req_2", 30, 30, "")
		first.settle("req_1", 2, 5)
		w.expectAdmit(first, "req_3", 3, 3, "")
		w.pass(10_000)
		w.expectSpent(map[string]money.Pico{"proj_1": 5})
		second.settle("req_2", 2, 0)
		if above != nil {
			w.expectAdmit(second, "req_4", 93, 0, "root")
		}
		w.expectAdmit(first, "req_5", 1, 1, "")
		first.settle("req_5", 2, 1)
		w.enforce(false, "proj_1", first, second)
		w.expectSpent(map[string]money.Pico{"proj_1": 6})
		w.expectAdmit(second, "req_6", 2, 0, "proj_1") // 6 are spent, and 3 reserved
		w.expectAdmit(second, "req_7", 1, 1, "")
		first.settle("req_3", 2, 3)
		w.expectAdmit(first, "req_8", 1, 0, "proj_1")
		w.enforce(true, "proj_1", first, second)
		w.expectAdmit(first, "req_9", 50, 50, "")
		first.settle("req_9", 2, 50)
		w.expectAdmit(second, "req_10", 1, 1, "")
		w.pass(60_000)
		w.pass(240_000)
		w.expectSpent(map[string]money.Pico{"proj_1": 61}) // with two expired reservations
		w.enforce(false, "proj_1", first, second)
		w.expectAdmit(second, "req_11", 1, 0, "proj_1")
		w.give("proj_1", calendar.Monthly, 70)
		w.expectAdmit(second, "req_12", 9, 9, "")
		if w.expectAdmit(first, "req_13", 1, 0, "proj_1"); t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestSoftProjectNeedsNoGrant checks that the Ledger of a soft project is called once, so that it knows the key and grants
// nothing. Debts are not reported early.
func TestSoftProjectNeedsNoGrant(t *testing.T) {
	w := newTree(t)
	w.give("proj_1", calendar.Monthly, 1)
	w.soft["proj_1"] = true
	k := w.place("key_1", "wide", "proj_1")
	reply := k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve, AmountPico: 30})
	if reply.Verdict != keymeter.Short || reply.NeedPico != 0 || reply.LeastPico != 0 {
		t.Fatalf("%+v", reply)
	}
	w.expectAdmit(k, "req_1", 30, 30, "")
	k.settle("req_1", 2, 40)
	for range 3 {
		if reply = k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: 30}); reply.Verdict != keymeter.Admitted {
			t.Errorf("%+v", reply)
		}
	}
	if k.AlarmMs < w.now+10_000 {
		t.Errorf("a report %d ms after the settlement", k.AlarmMs-w.now)
	}
	report := ledger.Report{FirstDay: today, EndDay: today + 1}
	if reply, err := ledger.DecodeReportReply(w.ledger("proj_1", report.Encode())); err != nil || !slices.Equal(reply.Flush, []string{"key_1"}) {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestSoftLeases checks that a meter lends from a soft budget, however small the budget is.
func TestSoftLeases(t *testing.T) {
	w := newTree(t)
	w.give("proj_1", calendar.Monthly, 1)
	w.soft["proj_1"] = true
	k := w.place("key_1", "lending", "proj_1")
	w.expectAdmit(k, "req_1", 0, 0, "")
	reply := k.borrowAs(keymeter.Admit{RequestID: "req_2", Version: w.version, Mode: keymeter.ModeReserve, AmountPico: 100}, 7)
	if reply.Verdict != keymeter.Admitted || reply.Lease.AmountPico != 12_800 {
		t.Errorf("%+v", reply)
	}
}

// TestSoftStreams checks that a stream of a soft project is extended, also after its period has ended.
func TestSoftStreams(t *testing.T) {
	w := newTree(t)
	w.now = (today+1)*calendar.DayMs - 1000
	w.give("proj_1", calendar.Daily, 1)
	w.soft["proj_1"] = true
	k := w.place("key_1", "wide", "proj_1")
	w.expectAdmit(k, "req_1", 10, 10, "")
	for _, total := range []money.Pico{50, 100} {
		e := keymeter.Extend{RequestID: "req_1", TotalPico: total}
		if reply, err := keymeter.DecodeAdmitReply(k.call(e.Encode())); err != nil || reply.Verdict != keymeter.Admitted || reply.ReservedPico != total {
			t.Errorf("%+v, %v", reply, err)
		}
		w.pass(2000)
	}
}

// TestSoftLimits checks a project's soft limits of requests and tokens.
func TestSoftLimits(t *testing.T) {
	for _, unit := range []string{"#requests", "#tokens"} {
		w, level := newTree(t), "proj_1"+unit
		w.give(level, calendar.Daily, 3)
		w.give("proj_1", calendar.Daily, 1000)
		w.soft[level], w.soft["proj_1"] = true, true
		k := w.place("key_1", "wide", level, "proj_1")
		w.expectAdmit(k, "req_0", 1, 1, "")
		for i := range 5 {
			id := fmt.Sprint("req_", i)
			if reply := k.admit(keymeter.Admit{RequestID: id, Mode: keymeter.ModeReserve, AmountPico: 1}); reply.Verdict != keymeter.Admitted {
				t.Fatalf("%s: %+v", level, reply) // without a call of a Ledger
			}
			k.settle(id, 1, 1)
		}
		w.pass(10_000)
		w.pass(60_000)
		w.expectSpent(map[string]money.Pico{level: 5})
		w.expectAdmit(k, "req_6", 1, 1, "")
		k.settle("req_6", 1, 1)
		w.enforce(false, level, k)
		w.expectSpent(map[string]money.Pico{level: 6})
		w.expectAdmit(k, "req_7", 1, 0, level)
		w.enforce(true, level, k)
		w.expectAdmit(k, "req_8", 1, 1, "")
	}
}

// TestSoftOwnBudget checks a key's own soft budget and limits.
func TestSoftOwnBudget(t *testing.T) {
	for unit, own := range map[string]doc.KeyBudget{
		"":          {Budgeted: true, BudgetPico: 10, Cycle: calendar.Daily},
		"#requests": {Limits: doc.PeriodLimits{Requests: 1}, Cycle: calendar.Daily},
		"#tokens":   {Limits: doc.PeriodLimits{Tokens: 1}, Cycle: calendar.Daily},
	} {
		own.Soft = true
		w, k := ownKey(t, own)
		enforce := func(soft bool) {
			w.own.Soft = soft
			w.place(k.Name, "wide", w.paths[k.Name]...)
		}
		w.expectAdmit(k, "req_1", 20, 20, "")
		k.settle("req_1", 2, 20)
		w.expectAdmit(k, "req_2", 20, 20, "")
		k.settle("req_2", 2, 0)
		enforce(false)
		w.expectAdmit(k, "req_3", 1, 0, "key"+unit)
		enforce(true)
		w.expectAdmit(k, "req_4", 1, 1, "")
		w.pass(calendar.DayMs)
		w.expectAdmit(k, "req_5", 20, 20, "")
		k.settle("req_5", 0, 1)
		w.pass(calendar.DayMs)
		enforce(false)
		w.expectAdmit(k, "req_6", 5, 5, "") // the day is new
	}
}

// event is the body of an alert.
type event struct {
	ID   string
	Data struct {
		ProjectID        string
		Node             struct{ Level, ID, Name string }
		ThresholdPercent int
		Budget           struct {
			Limit, Used float64
			Start       string
		}
	}
}

// events returns the alerts that the project's Ledger posts at present. The posts are confirmed.
func (w *tree) events() (list []event) {
	w.Helper()
	l := w.ledgers["proj_1"]
	posts := l.Posts
	l.Posts = nil
	for _, p := range posts {
		var e event
		if err := json.Unmarshal(p.Body, &e); err != nil || e.ID != p.ID {
			w.Fatalf("%s: %v", p.Body, err)
		}
		list = append(list, e)
		confirmed := abi.Posted{ID: p.ID, Status: 204}
		w.ledger("proj_1", confirmed.Encode())
	}
	return list
}

func (w *tree) expectEvents(about string, percents ...int) {
	w.Helper()
	var got []int
	for _, e := range w.events() {
		got = append(got, e.Data.ThresholdPercent)
	}
	if !slices.Equal(got, percents) {
		w.Errorf("%s: alerts for %v percent, want %v", about, got, percents)
	}
}

// alertingKey creates a key with a budget of its own in a project with a webhook. Amounts are in dollars.
func alertingKey(t *testing.T, soft bool) (w *tree, spend func(id string, dollars int64)) {
	w, k := ownKey(t, doc.KeyBudget{Budgeted: true, BudgetPico: 10 * money.Dollar, Cycle: calendar.Daily, Soft: soft})
	w.give("root", calendar.Monthly, 1000*money.Dollar)
	w.give("proj_1", calendar.Monthly, 1000*money.Dollar)
	w.version++
	put := ledger.Put{
		Version: w.version, BudgetPico: w.budgets["proj_1"], Period: w.periods["proj_1"], Alerts: doc.Alerts{URL: "https://hooks.example/a", Secret: []byte("s")},
	}
	w.ledger("proj_1", put.Encode())
	return w, func(id string, dollars int64) {
		t.Helper()
		w.expectAdmit(k, id, 1, 1, "")
		k.settle(id, 2, dollars*money.Dollar)
	}
}

// TestAlertsOfAKey checks that each threshold of a key's own budget is announced once per period, hard or soft, and again
// only if the budget was raised above the spending.
func TestAlertsOfAKey(t *testing.T) {
	for _, soft := range []bool{false, true} {
		w, spend := alertingKey(t, soft)
		spend("req_1", 7)
		w.pass(10_000)
		w.expectEvents("70 percent")
		spend("req_2", 2)
		w.pass(10_000)
		list := w.events()
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		e := list[0].Data
		if e.ProjectID != "proj_1" || e.Node.Level != "key" || e.Node.ID != "key_1" || e.Node.Name != "name of key_1" || e.ThresholdPercent != 80 ||
			e.Budget.Limit != 10 || e.Budget.Used != 9 || e.Budget.Start != "2026-11-21T00:00:00.000Z" {
			t.Errorf("%+v", e)
		}
		spend("req_3", 6)
		w.pass(10_000)
		w.expectEvents("150 percent", 100)
		w.pass(10_000)
		w.own.BudgetPico = 100 * money.Dollar
		k := w.place("key_1", "wide", w.paths["key_1"]...)
		spend("req_4", 80)
		w.pass(10_000)
		w.expectEvents("95 percent of a raised budget", 80)
		w.own.BudgetPico = 20 * money.Dollar
		w.place("key_1", "wide", w.paths["key_1"]...)
		w.pass(10_000)
		w.expectEvents("a lower budget", 100)
		w.pass(calendar.DayMs)
		spend("req_5", 20)
		flush := keymeter.Flush{}
		reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // the caller, a repeat, and the outbox
			w.ledger("proj_1", ledger.Batch(reply.Absorbs))
		}
		w.expectEvents("the next day", 80, 100)
		w.pass(10_000)
		w.expectEvents("a repeated batch")
	}
}

// TestLateSettleCrossesOnce checks that a late settlement, which replaces a charge, is not announced as a new one.
func TestLateSettleCrossesOnce(t *testing.T) {
	w, spend := alertingKey(t, true)
	k := w.keys["key_1"]
	w.expectAdmit(k, "late", 9*money.Dollar, 9*money.Dollar, "")
	w.pass(60_000)
	w.pass(10_000)
	w.expectEvents("an expired reservation", 80)
	k.settle("late", 2, 85*money.Dollar/10)
	w.pass(10_000)
	w.expectEvents("a late settlement above 80 percent")
	spend("req_1", 2)
	w.pass(10_000)
	w.expectEvents("105 percent", 100)
}

// TestEndedPeriodIsNotAnnounced checks that a budget that is lowered after its period ended does not announce the spending
// of that period.
func TestEndedPeriodIsNotAnnounced(t *testing.T) {
	w, spend := alertingKey(t, false)
	spend("req_1", 7)
	w.pass(10_000)
	w.now += calendar.DayMs
	w.own.BudgetPico = money.Dollar
	w.place("key_1", "wide", w.paths["key_1"]...)
	w.pass(10_000)
	w.expectEvents("a new day")
}
