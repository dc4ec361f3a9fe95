package keymeter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// ringUntil moves the clock to a time and runs all alarms that are due by then.
func (k *key) ringUntil(end uint64) {
	k.Helper()
	for rings := 0; k.AlarmMs != 0 && k.AlarmMs <= end; rings++ {
		if rings == 1000 {
			k.Fatal("the alarm never stops")
		}
		k.now = max(k.now, k.AlarmMs)
		if _, err := k.Ring(k.now); err != nil {
			k.Fatal(err)
		}
	}
	k.now = end
}

// expectRows checks the keys of the rows. A wanted key that ends with a slash is a prefix.
func (k *key) expectRows(want ...string) {
	k.Helper()
	kinds := map[string]bool{}
	for row := range k.Rows {
		if kind, _, found := strings.Cut(row, "/"); found && !slices.Contains(want, row) {
			row = kind + "/"
		}
		kinds[row] = true
	}
	wanted := map[string]bool{}
	for _, row := range want {
		wanted[row] = true
	}
	if fmt.Sprint(kinds) != fmt.Sprint(wanted) {
		k.Errorf("rows %v, want %v", kinds, wanted)
	}
}

func (k *key) outboxLen() int {
	k.Helper()
	keys, _, err := k.Outbox()
	if err != nil {
		k.Fatal(err)
	}
	return len(keys)
}

func (k *key) expectOutbox(ms uint64, want int) {
	k.Helper()
	k.ringUntil(ms)
	if got := k.outboxLen(); got != want {
		k.Errorf("%d ms after the start: %d reports, want %d", ms-start, got, want)
	}
}

// TestReportsByAlarm checks that usage is reported once, ten seconds after its first request. So is a charge for an
// expired reservation, together with the usage that would have waited.
func TestReportsByAlarm(t *testing.T) {
	k := newKey(t, record("wide"))
	k.serve(2)
	k.now += 3000
	k.serve(2)
	k.expectOutbox(start+9999, 0)
	k.expectOutbox(start+10_000, 1)
	k.mustAdmit("req_dead", 5)
	k.now += 58_000
	k.serve(2)
	k.expectOutbox(start+70_000, 1) // req_dead has expired
	k.expectOutbox(start+79_999, 1)
	k.expectOutbox(start+80_000, 2)
	k.expectOutbox(start+3*calendar.DayMs, 2) // rows are deleted in between, which must not cause an empty report
	k.expectRows("h", "o/")
	if u := k.reportedUsage(); u.Requests != 4 || u.Expired != 1 || u.CostPico != 5 {
		t.Errorf("%+v", u)
	}
}

// TestReportsOfAQuietKey checks that a key with few requests reports them within four minutes of its last report, and that
// sixteen requests are reported ten seconds after the last of them.
func TestReportsOfAQuietKey(t *testing.T) {
	k := newKey(t, record("wide"))
	serve := func(n int, everyMs uint64) {
		for range n {
			k.serve(2)
			k.ringUntil(k.now + everyMs)
		}
	}
	serve(1, 0)
	k.expectOutbox(start+10_000, 1)
	serve(15, 0)
	k.expectOutbox(start+20_000, 1)
	serve(1, 0)
	k.expectOutbox(start+29_999, 1)
	k.expectOutbox(start+30_000, 2)
	serve(12, 19_999)
	k.expectOutbox(start+269_999, 2)
	k.expectOutbox(start+270_000, 3)
	k.ringUntil(start + 600_000)
	serve(1, 0)
	k.expectOutbox(start+610_000, 4)
	if u := k.reportedUsage(); u.Requests != 30 {
		t.Errorf("%+v", u)
	}
}

// TestReportsAfterTheClockWentBack checks that a report in the future delays no other one.
func TestReportsAfterTheClockWentBack(t *testing.T) {
	k := newKey(t, record("wide"))
	k.serve(1)
	k.expectOutbox(start+10_000, 1)
	k.now = start - 3_600_000
	k.serve(1)
	k.expectOutbox(start-3_590_000, 2)
}

// TestReportsWithoutCost checks requests that appear only in the list of recent requests. They also schedule a
// report. They do not delay a report that is already scheduled.
func TestReportsWithoutCost(t *testing.T) {
	k := newKey(t, record("wide"))
	for range 2 {
		k.admit(keymeter.Admit{Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 200}})
		k.now += 3000
	}
	k.expectOutbox(start+9999, 0)
	k.expectOutbox(start+10_000, 1)
	if recent := k.recent(); len(recent) != 2 {
		t.Errorf("%+v", recent)
	}
	k = newKey(t, record("wide"))
	k.mustAdmit("req_open", 0) // there is a slice
	k.admit(keymeter.Admit{Mode: keymeter.ModeHit, Trace: keymeter.Trace{DurationMs: 9}})
	k.expectOutbox(start+10_000, 1)
	want := ledger.Usage{Requests: 1, Hits: 1}
	want.Latency.Add(9)
	if u := k.reportedUsage(); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}

// TestOutcomes checks the counters of each outcome.
func TestOutcomes(t *testing.T) {
	for _, missed := range []bool{false, true} {
		for outcome, want := range map[keymeter.Outcome]ledger.Usage{
			keymeter.Served: {Requests: 1}, keymeter.Hit: {Requests: 1, Hits: 1}, keymeter.Released: {Failed: 1},
		} {
			k := newKey(t, record("wide"))
			k.mustAdmit("req_1", 10)
			settle := keymeter.Settle{RequestID: "req_1", Outcome: outcome, Model: "m", Missed: missed, Estimated: missed, Trace: keymeter.Trace{DurationMs: 9}}
			k.call(settle.Encode())
			want.Latency.Add(9)
			if missed {
				want.Misses, want.Estimated = 1, 1
			}
			if u := k.reportedUsage(); u != want {
				t.Errorf("outcome %d, missed %t: %+v, want %+v", outcome, missed, u, want)
			}
		}
	}
}

// TestUsageByHour checks that usage is reported in the hour and day of the admission.
func TestUsageByHour(t *testing.T) {
	k := newKey(t, record("wide"))
	for _, at := range []uint64{0, calendar.HourMs, calendar.HourMs + 1, calendar.DayMs, calendar.DayMs + 1} {
		k.now = start + at
		k.serve(2)
	}
	query := ledger.Query{EndDay: 1 << 40, By: ledger.ByHour}
	reply, err := k.ledgerWithReports().Call(k.now, query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := ledger.DecodeQueryReply(reply)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups.Groups {
		got = append(got, fmt.Sprintf("day %d, %d:00: %d", g.Usage.Day-today, g.Usage.Hour, g.Usage.Requests))
	}
	if want := []string{"day 0, 8:00: 1", "day 0, 9:00: 2", "day 1, 8:00: 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFlushSetsAnAlarm checks that the alarm also delivers the batches that a flush returned, because the caller of the
// flush may die.
func TestFlushSetsAnAlarm(t *testing.T) {
	k := newKey(t, record("wide"))
	k.serve(2)
	k.AlarmMs = 0
	k.flushedBatches()
	if k.AlarmMs != start+abi.RedeliverMs {
		t.Errorf("alarm %d ms after the flush, want %d", int64(k.AlarmMs)-start, abi.RedeliverMs)
	}
	out, err := k.Apply(&abi.ObjectInput{NowMs: k.AlarmMs, Name: "hash", Rows: []abi.Row{{Key: "h", Value: k.Rows["h"]}}})
	if err != nil || !out.Deliver {
		t.Errorf("%v, Deliver is %t, want true", err, out.Deliver)
	}
}

func (k *key) flushedBatches() int {
	k.Helper()
	command := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.call(command.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return len(reply.Absorbs)
}

// TestFlushReturns32Batches checks that a flush returns at most 32 batches and does not create new ones until they
// are delivered.
func TestFlushReturns32Batches(t *testing.T) {
	k := newKey(t, record("wide"))
	for i := range 34 {
		k.serve(2)
		if got, want := k.flushedBatches(), min(i+1, 32); got != want {
			t.Errorf("flush %d returns %d batches, want %d", i, got, want)
		}
	}
	keys, _, _ := k.Outbox()
	k.Delete(keys...)
	k.absorbed = len(keys)
	if u := k.reportedUsage(); len(keys) != 32 || u.Requests != 2 {
		t.Errorf("%d delivered, then %+v", len(keys), u)
	}
}

// TestExpiredReservationsAreDeleted checks that rows of expired reservations are deleted after a day. There are more
// rows than one alarm can delete.
func TestExpiredReservationsAreDeleted(t *testing.T) {
	k := newKey(t, record("wide"))
	for i := range 250 {
		k.mustAdmit(fmt.Sprint("req_", i), money.Cent)
		if i == 124 {
			k.now++
		}
	}
	const first = start + minuteMs
	k.ringUntil(first + 1)
	k.expectRows("h", "t/", "x/")
	k.ringUntil(first + calendar.DayMs - 1)
	k.settle("req_0", 2, 1)
	k.expectRows("h", "o/", "t/", "x/")
	k.ringUntil(first + calendar.DayMs)
	if k.Rows["x/req_1"] != nil || k.Rows["x/req_125"] == nil {
		t.Error("want the rows of the first millisecond deleted and those of the next kept")
	}
	k.ringUntil(first + calendar.DayMs + 30_000)
	k.expectRows("h", "o/")
	k.settle("req_249", 2, 1) // a day too late
	if u := k.reportedUsage(); u.Requests != 250 || u.Expired != 249 || u.CostPico != 249*money.Cent+1 {
		t.Errorf("%+v", u)
	}
}
