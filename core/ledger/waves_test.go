package ledger_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// expectReport checks the reply to a Report, except for the budget.
func (b *harness) expectReport(about string, q ledger.Report, want ledger.ReportReply) {
	b.Helper()
	reply, err := ledger.DecodeReportReply(b.call(q.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	if len(reply.Flush) == 0 {
		reply.Flush = nil
	}
	if len(reply.Models) == 0 {
		reply.Models = nil
	}
	want.BudgetPico, want.UsedPico, want.Period = reply.BudgetPico, reply.UsedPico, reply.Period
	if !reflect.DeepEqual(reply, want) {
		b.Errorf("%s: %+v, want %+v", about, reply, want)
	}
}

// TestWaves checks that each caller of a Report flushes the meters itself, in waves at least a second apart.
func TestWaves(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	flush, usage := ledger.ReportReply{Flush: []string{"m"}}, ledger.ReportReply{}
	b.expectReport("no meter has unreported usage", ledger.Report{}, usage)
	b.grant(need("m", 1, 0, money.Cent))
	b.expectReport("first wave", ledger.Report{}, flush)
	b.expectReport("concurrent report", ledger.Report{}, ledger.ReportReply{WaitMs: 1000})
	b.expectReport("final report", ledger.Report{Final: true}, usage)
	b.now += 999
	b.expectReport("just before the next wave", ledger.Report{}, ledger.ReportReply{WaitMs: 1})
	b.now++
	b.expectReport("second wave", ledger.Report{}, flush)
	b.expectReport("report that has waited", ledger.Report{Waited: true}, flush)
	b.now -= calendar.HourMs
	b.expectReport("after the clock went back", ledger.Report{}, flush)
}

// TestWavesAreBounded checks that one report flushes at most 256 meters.
func TestWavesAreBounded(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	for i := 1; i <= 257; i++ {
		b.grant(need(fmt.Sprintf("m%03d", i), 1, 0, 0))
		if i < 255 {
			continue
		}
		b.now += 2000
		if got, want := len(b.freshReport().Flush), min(i, 256); got != want {
			t.Errorf("%d of %d meters are flushed, want %d", got, i, want)
		}
	}
}

// TestMetersToFlush checks which meters are flushed. Meters with a slice of the previous period are flushed during
// the first hour of a period. Meters with a slice of an earlier cycle are flushed until they are closed.
func TestMetersToFlush(t *testing.T) {
	const december = (today + 10) * calendar.DayMs
	b := newHarness(t)
	b.put(10, month(), hook)
	b.grant(need("m", 1, 0, money.Cent))
	flush, usage := ledger.ReportReply{Flush: []string{"m"}}, ledger.ReportReply{}
	for _, c := range []struct {
		at   uint64
		want ledger.ReportReply
	}{{december - 1, flush}, {december + calendar.HourMs - 1, flush}, {december + calendar.HourMs, usage}, {december + 31*calendar.DayMs, usage}} {
		b.now = c.at
		b.expectReport(fmt.Sprint(c.at-start, " ms after the start"), ledger.Report{}, c.want)
	}
	b = newHarness(t)
	b.put(10, month(), hook)
	b.grant(need("m", 1, 0, money.Cent))
	b.put(10, calendar.NewPeriod(calendar.Daily, 1, today), hook)
	b.expectReport("after a change of cycle", ledger.Report{}, flush)
	b.now += 3 * calendar.DayMs
	b.expectReport("days later", ledger.Report{}, flush)
	batch := ledger.Absorb{Key: "m", Seq: 1, Period: month(), Epoch: 2, Closed: true}
	b.call(batch.Encode())
	b.expectReport("after the meter was closed", ledger.Report{}, usage)
}

// TestModelsOfAReport checks that the usage in a report is by model, sorted by name.
func TestModelsOfAReport(t *testing.T) {
	b := newHarness(t)
	for i, model := range []string{"b", "a", "c", "b", "a"} {
		b.absorb(ledger.Usage{Day: today + uint64(i/3), Model: model, Requests: 1 << i})
	}
	b.absorb(ledger.Usage{Day: today - 1, Model: "a", Requests: 100}, ledger.Usage{Day: today + 2, Model: "a", Requests: 100})
	b.expectReport("two days", ledger.Report{FirstDay: today, EndDay: today + 2, Final: true}, ledger.ReportReply{
		Models: []ledger.Usage{{Model: "a", Requests: 18}, {Model: "b", Requests: 9}, {Model: "c", Requests: 4}},
	})
}

// TestPutKeepsThePeriod checks that a Put with the same cycle keeps the grants. A late Put from an earlier month does
// not return the budget to that month.
func TestPutKeepsThePeriod(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.grant(need("m", 1, 0, 6*money.Dollar))
	b.put(10, month(), hook)
	b.expectGrant("more than the rest", need("a", 1, 0, 4*money.Dollar+1), ledger.GrantReply{Epoch: 1, Recall: []string{"m"}, HeldPico: []int64{6 * money.Dollar}, Next: "m"})
	b.expectGrant("the rest", need("a", 1, 0, 4*money.Dollar), granted(1, 4*money.Dollar))
	b.now += 11 * calendar.DayMs
	b.spend(100)
	b.put(10, month(), hook)
	if r := b.report(); r.Period != calendar.NewPeriod(calendar.Monthly, 0, today+11) || r.UsedPico != money.Dollar {
		t.Errorf("%+v", r)
	}
}

// TestPolicy checks that the ledger returns the policy of the last Put.
func TestPolicy(t *testing.T) {
	b := newHarness(t)
	if got := b.call(ledger.Policy()); len(got) != 0 {
		t.Errorf("before the first Put: %q", got)
	}
	for version, text := range []string{"first", "second"} {
		put := ledger.Put{Version: uint64(version) + 1, Period: month(), Policy: []byte(text)}
		b.call(put.Encode())
		if got := string(b.call(ledger.Policy())); got != text {
			t.Errorf("policy %q, want %q", got, text)
		}
	}
}

// TestOpen checks that Open decodes complete commands and rejects truncated and other ones.
func TestOpen(t *testing.T) {
	grant := need("m", 1, 2, 3)
	for _, c := range []interface{ Encode() []byte }{&grant, &ledger.Report{FirstDay: 1, Final: true}} {
		whole := c.Encode()
		if got := ledger.Open(whole); reflect.TypeOf(got) != reflect.TypeOf(c) || !bytes.Equal(got.(interface{ Encode() []byte }).Encode(), whole) {
			t.Errorf("%+v is decoded as %+v", c, got)
		}
		if a, b := ledger.Open(whole[:len(whole)-1]), ledger.Open(append(whole, 0)); a != nil || b != nil {
			t.Errorf("%T: truncated is decoded as %+v, with trailing bytes as %+v", c, a, b)
		}
	}
	if _, ok := ledger.Open(ledger.Batch(nil)).(*ledger.BatchCommand); !ok {
		t.Error("Open does not decode a Batch")
	}
	if _, ok := ledger.Open(ledger.Policy()).(*ledger.PolicyCommand); !ok {
		t.Error("Open does not decode a Policy")
	}
	keys := ledger.Keys{Names: []string{"m"}}
	if a, b := ledger.Open(keys.Encode()), ledger.Open(nil); a != nil || b != nil {
		t.Errorf("Keys is decoded as %+v, no bytes as %+v", a, b)
	}
}
