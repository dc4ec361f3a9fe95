package groups_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// holds reports whether a key can spend another dollar without asking the group's Ledger.
func holds(b *controltest.Bench, id string, key controltest.Reply) bool {
	b.Helper()
	admit := keymeter.Admit{RequestID: "req_more", Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "m", AmountPico: money.Dollar, LifetimeMs: 60_000}
	reply, err := keymeter.DecodeAdmitReply(b.Ask(abi.ClassKeyMeter, keys.Hash(key.Text("value")), admit.Encode()))
	if err != nil || reply.Verdict != keymeter.Admitted && (len(reply.Levels) != 1 || reply.Levels[0].Ledger != id) {
		b.Errorf("%+v, %v", reply, err)
	}
	return reply.Verdict == keymeter.Admitted
}

// A lower budget takes back what meters of all projects below hold, except for requests in progress. Their Ledgers get
// it with the meters' next reports.
func TestLowerBudgetIsReturned(t *testing.T) {
	for body, want := range map[string]bool{`{"budget":8}`: false, `{"budget":50}`: true, `{"budget":51}`: true, `{"name":"Other"}`: true} {
		b := bench(t)
		department := group(b, `,"budget":50`)
		team := group(b, `,"parent":"`+department+`"`)
		var made []controltest.Reply
		for _, id := range []string{team, department} {
			project, key := member(b, id)
			b.Must(200, "PATCH", project, `{"budget":100}`)
			use(b, project, key)
			made = append(made, key)
		}
		b.Must(200, "PATCH", groupsPath+"/"+department, body)
		for _, key := range made {
			if holds(b, department, key) != want {
				t.Errorf("%s: the key holds unused budget: %v", body, !want)
			}
		}
		if want {
			continue
		}
		for _, key := range made {
			report(b, key)
		}
		if granted(b, department, 2*money.Dollar+1) || !granted(b, department, 2*money.Dollar) {
			t.Error("the Ledger does not have exactly the budget without the spent and reserved amounts")
		}
	}
}

// report makes a key's meter report to the Ledgers.
func report(b *controltest.Bench, key controltest.Reply) {
	b.Helper()
	meter := b.Memory.Object(abi.ClassKeyMeter, keys.Hash(key.Text("value")))
	if _, err := meter.Ring(meter.AlarmMs); err != nil {
		b.Fatal(err)
	}
	_, deliveries, err := meter.Outbox()
	if err != nil || len(deliveries) == 0 {
		b.Fatal(deliveries, err)
	}
	for _, d := range deliveries {
		b.Ask(d.Class, d.Name, d.Data)
	}
}

// The response to a lower budget waits for the leases that were lent under the higher one.
func TestLowerBudgetWaits(t *testing.T) {
	b := bench(t)
	id := group(b, `,"budget":50`)
	member(b, id)
	var slept []time.Duration
	b.Configure(func(k *kernel.Config) {
		k.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	})
	lent := keymeter.PutReply{WaitMs: 2250}
	b.Memory.Meters = func([]byte) []byte { return lent.Encode() }
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":9}`)
	if fmt.Sprint(slept) != "[2.25s]" {
		t.Error(slept)
	}
	isApplied(b, id, true)
}

// Wherever the control plane stops while a budget is lowered, the hourly job finishes it.
func TestUnfinishedLowerBudget(t *testing.T) {
	controltest.Quiet(t)
	for stop, done := 1, false; !done; stop++ {
		b := bench(t)
		id := group(b, `,"budget":50`)
		project, key := member(b, id)
		use(b, project, key)
		calls := 0
		b.Memory.Fail = func(abi.Class, string, []byte) error {
			if calls++; calls > stop {
				return controltest.ErrOut
			}
			return nil
		}
		done = b.Do("PATCH", groupsPath+"/"+id, `{"budget":8}`).Code == 200
		b.Memory.Fail = nil
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
		if isApplied(b, id, true); holds(b, id, key) == (stored(b, id).Revision == 1) {
			t.Errorf("stopped after %d calls: the key keeps its slice, or loses it without a change", stop)
		}
		if stop > 200 {
			t.Fatal("never finished")
		}
	}
}

// A lowered budget is pending until the keys beyond the first 200 have returned their slices too, even if the control
// plane stopped during the change.
func TestPendingLowerBudget(t *testing.T) {
	controltest.Quiet(t)
	for _, stops := range []bool{false, true} {
		b := bench(t)
		id := group(b, `,"budget":50`)
		crowd(b, id, 202)
		project, key := member(b, id)
		use(b, project, key) // 1 dollar spent, 2 reserved, 2 unused
		for b.Memory.Ring(t) {
		}
		calls := 0
		b.Memory.Fail = func(abi.Class, string, []byte) error {
			if calls++; stops && calls > 3 {
				return controltest.ErrOut
			}
			return nil
		}
		got := b.Do("PATCH", groupsPath+"/"+id, `{"budget":3.5}`)
		if b.Memory.Fail = nil; stops {
			b.Refused(got, fault.Unavailable)
			if err := b.Hourly(); err != nil {
				t.Fatal(err)
			}
		} else if got.Text("delivery") != "pending" {
			t.Error(got.Body)
		}
		if delivery(b, id) != "pending" {
			t.Error("delivered before the last key has it")
		}
		reserve(b, project, key, "req_3", 2*money.Dollar) // with its unused slice
		b.Settle(key.Text("value"), "req_3", 0)
		for b.Memory.Ring(t) {
		}
		if got := delivery(b, id); got != "delivered" {
			t.Error(got)
		}
		if holds(b, id, key) {
			t.Error("the key keeps a slice of the higher budget")
		}
	}
}

// A budget that was removed and is set again is also returned by meters that missed the change in between.
func TestBudgetSetAgain(t *testing.T) {
	controltest.Quiet(t)
	for _, removed := range []string{`{"budget":null}`, `{"enforce":"soft"}`} {
		b := bench(t)
		id := group(b, `,"budget":50`)
		project, key := member(b, id)
		use(b, project, key) // 1 dollar spent, 2 reserved, 2 unused
		b.Memory.FailAll(abi.ClassKeyMeter)
		b.Refused(b.Do("PATCH", groupsPath+"/"+id, removed), fault.Unavailable)
		b.Memory.Fail = nil
		b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":3.5,"enforce":"hard"}`)
		if holds(b, id, key) {
			t.Errorf("%s: the key keeps a slice of the higher budget", removed)
		}
	}
}
