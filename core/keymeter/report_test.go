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

// ringUntil brings the clock to a time and rings the alarms that come due until then.
func (k *key) ringUntil(end uint64) {
	k.Helper()
	for rings := 0; k.AlarmMs != 0 && k.AlarmMs <= end; rings++ {
		if rings == 1000 {
			k.Fatal("the alarm does not stop")
		}
		k.now = max(k.now, k.AlarmMs)
		if _, err := k.Ring(k.now); err != nil {
			k.Fatal(err)
		}
	}
	k.now = end
}

// rowsAre compares the kinds of rows: keys that end with a slash stand for all that begin with them.
func (k *key) rowsAre(want ...string) {
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

// outbox is how many reports wait to be delivered.
func (k *key) outbox() int {
	k.Helper()
	keys, _, err := k.Outbox()
	if err != nil {
		k.Fatal(err)
	}
	return len(keys)
}

func (k *key) outboxAt(ms uint64, want int) {
	k.Helper()
	k.ringUntil(ms)
	if got := k.outbox(); got != want {
		k.Errorf("%d ms after the start: %d reports, want %d", ms-start, got, want)
	}
}

// Usage is reported five seconds after the first of it, whatever comes after, and once.
func TestReportsByAlarm(t *testing.T) {
	k := newKey(t, record("wide"))
	k.use(2)
	k.now += 3000
	k.use(2)
	k.outboxAt(start+4999, 0)
	k.outboxAt(start+5000, 1)
	k.enter("req_dead", 5) // it expires at 65 s, and usage that waits then waits on
	k.now += 58_000
	k.use(2)
	k.outboxAt(start+65_000, 1)
	k.outboxAt(start+67_999, 1)
	k.outboxAt(start+68_000, 2)
	k.outboxAt(start+3*calendar.DayMs, 2) // rows are forgotten meanwhile: no report of nothing
	k.rowsAre("h", "o/")
	if u := k.reported(); u.Requests != 4 || u.Expired != 1 || u.CostPico != 5 {
		t.Errorf("%+v", u)
	}
}

// Answers that only the list of recent requests tells of set the alarm too, and do not put it off.
func TestReportsOfAnswersThatCostNothing(t *testing.T) {
	k := newKey(t, record("wide"))
	for range 2 {
		k.admit(keymeter.Admit{Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 404}})
		k.now += 3000
	}
	k.outboxAt(start+4999, 0)
	k.outboxAt(start+5000, 1)
	if recent := k.recent(); len(recent) != 2 {
		t.Errorf("%+v", recent)
	}
	k = newKey(t, record("wide"))
	k.enter("req_open", 0) // there is a slice
	k.admit(keymeter.Admit{Mode: keymeter.ModeHit, Trace: keymeter.Trace{DurationMs: 9}})
	k.outboxAt(start+5000, 1)
	want := ledger.Usage{Requests: 1, Hits: 1}
	want.Latency.Add(9)
	if u := k.reported(); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}

// What is counted of a request depends on how it ended.
func TestOutcomes(t *testing.T) {
	for _, missed := range []bool{false, true} {
		for outcome, want := range map[keymeter.Outcome]ledger.Usage{
			keymeter.Served: {Requests: 1}, keymeter.Hit: {Requests: 1, Hits: 1}, keymeter.Released: {Failed: 1},
		} {
			k := newKey(t, record("wide"))
			k.enter("req_1", 10)
			settle := keymeter.Settle{RequestID: "req_1", Outcome: outcome, Model: "m", Missed: missed, Estimated: missed, Trace: keymeter.Trace{DurationMs: 9}}
			k.do(settle.Encode())
			want.Latency.Add(9)
			if missed {
				want.Misses, want.Estimated = 1, 1
			}
			if u := k.reported(); u != want {
				t.Errorf("outcome %d, missed %t: %+v, want %+v", outcome, missed, u, want)
			}
		}
	}
}

// Usage is reported in the hour and day of its admission.
func TestUsageByHour(t *testing.T) {
	k := newKey(t, record("wide"))
	for _, at := range []uint64{0, calendar.HourMs, calendar.HourMs + 1, calendar.DayMs, calendar.DayMs + 1} {
		k.now = start + at
		k.use(2)
	}
	question := ledger.Query{EndDay: 1 << 40, By: ledger.ByHour}
	reply, err := k.batches().Call(k.now, question.Encode())
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

// What a flush hands over is delivered by the alarm too: whoever asked may die. And an alarm delivers.
func TestFlushSetsAnAlarm(t *testing.T) {
	k := newKey(t, record("wide"))
	k.use(2)
	k.AlarmMs = 0
	k.absorbs()
	if k.AlarmMs != start+abi.RedeliverMs {
		t.Errorf("the alarm is set to %d ms after the flush", int64(k.AlarmMs)-start)
	}
	out, err := k.Apply(&abi.ObjectInput{NowMs: k.AlarmMs, Name: "hash", Rows: []abi.Row{{Key: "h", Value: k.Rows["h"]}}})
	if err != nil || !out.Deliver {
		t.Errorf("%v, the alarm delivers: %t", err, out.Deliver)
	}
}

func (k *key) absorbs() int {
	k.Helper()
	command := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.do(command.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return len(reply.Absorbs)
}

// A flush hands over 32 batches at most: what is new waits until those were delivered.
func TestFlushHandsOver32Batches(t *testing.T) {
	k := newKey(t, record("wide"))
	for i := range 34 {
		k.use(2)
		if got, want := k.absorbs(), min(i+1, 32); got != want {
			t.Errorf("flush %d hands over %d batches, want %d", i, got, want)
		}
	}
	keys, _, _ := k.Outbox()
	k.Delete(keys...)
	k.absorbed = len(keys)
	if u := k.reported(); len(keys) != 32 || u.Requests != 2 {
		t.Errorf("%d delivered, then %+v", len(keys), u)
	}
}

// What expired is remembered for a day, then forgotten, however much it is.
func TestExpiredReservationsAreForgotten(t *testing.T) {
	k := newKey(t, record("wide"))
	for i := range 250 {
		k.enter(fmt.Sprint("req_", i), money.Cent)
		if i == 124 {
			k.now++
		}
	}
	const first = start + minuteMs
	k.ringUntil(first + 1)
	k.rowsAre("h", "t/", "x/")
	k.ringUntil(first + calendar.DayMs - 1)
	k.settle("req_0", 2, 1)
	k.rowsAre("h", "o/", "t/", "x/")
	k.ringUntil(first + calendar.DayMs)
	if k.Rows["x/req_1"] != nil || k.Rows["x/req_125"] == nil {
		t.Error("the first are to be forgotten, those of a moment later are not")
	}
	k.ringUntil(first + calendar.DayMs + 30_000)
	k.rowsAre("h", "o/")
	k.settle("req_249", 2, 1) // a day too late
	if u := k.reported(); u.Requests != 250 || u.Expired != 249 || u.CostPico != 249*money.Cent+1 {
		t.Errorf("%+v", u)
	}
}
