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

func (b *book) reportIs(what string, q ledger.Report, want ledger.ReportReply) {
	b.Helper()
	reply, err := ledger.DecodeReportReply(b.do(q.Encode()))
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
		b.Errorf("%s: %+v, want %+v", what, reply, want)
	}
}

// Whoever asks has the meters flushed, at most once a second; nobody counts on a flush that another one began.
func TestWaves(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	flush, figures := ledger.ReportReply{Flush: []string{"m"}}, ledger.ReportReply{}
	b.reportIs("nobody has news", ledger.Report{}, figures)
	b.ask(need("m", 1, 0, money.Cent))
	b.reportIs("the first", ledger.Report{}, flush)
	b.reportIs("beside it", ledger.Report{}, ledger.ReportReply{WaitMs: 1000})
	b.reportIs("that will not wait", ledger.Report{Final: true}, figures)
	b.now += 999
	b.reportIs("just before the next", ledger.Report{}, ledger.ReportReply{WaitMs: 1})
	b.now++
	b.reportIs("the next wave", ledger.Report{}, flush)
	b.reportIs("that has waited", ledger.Report{Waited: true}, flush)
	b.now -= calendar.HourMs
	b.reportIs("when the clock went back", ledger.Report{}, flush)
}

// One report has 256 meters flushed at most.
func TestWavesAreBounded(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	for i := 1; i <= 257; i++ {
		b.ask(need(fmt.Sprintf("m%03d", i), 1, 0, 0))
		if i < 255 {
			continue
		}
		b.now += 2000
		if got, want := len(b.fresh().Flush), min(i, 256); got != want {
			t.Errorf("of %d meters %d are flushed, want %d", i, got, want)
		}
	}
}

// The meters of the last period may have news for an hour; those of a cycle that was left, until they say so.
func TestWhoMayHaveNews(t *testing.T) {
	const december = (today + 10) * calendar.DayMs
	b := newBook(t)
	b.put(10, month(), hook)
	b.ask(need("m", 1, 0, money.Cent))
	flush, figures := ledger.ReportReply{Flush: []string{"m"}}, ledger.ReportReply{}
	for _, c := range []struct {
		at   uint64
		want ledger.ReportReply
	}{{december - 1, flush}, {december + calendar.HourMs - 1, flush}, {december + calendar.HourMs, figures}, {december + 31*calendar.DayMs, figures}} {
		b.now = c.at
		b.reportIs(fmt.Sprint(c.at-start, " ms on"), ledger.Report{}, c.want)
	}
	b = newBook(t)
	b.put(10, month(), hook)
	b.ask(need("m", 1, 0, money.Cent))
	b.put(10, calendar.NewPeriod(calendar.Daily, 1, today), hook)
	b.reportIs("after a change of the cycle", ledger.Report{}, flush)
	b.now += 3 * calendar.DayMs
	b.reportIs("days later", ledger.Report{}, flush)
	news := ledger.Absorb{Key: "m", Seq: 1, Period: month(), Epoch: 2, Closed: true}
	b.do(news.Encode())
	b.reportIs("it gave back", ledger.Report{}, figures)
}

// The figures of a report are by model, in order of the name.
func TestModelsOfAReport(t *testing.T) {
	b := newBook(t)
	for i, model := range []string{"b", "a", "c", "b", "a"} {
		b.absorb(ledger.Usage{Day: today + uint64(i/3), Model: model, Requests: 1 << i})
	}
	b.absorb(ledger.Usage{Day: today - 1, Model: "a", Requests: 100}, ledger.Usage{Day: today + 2, Model: "a", Requests: 100})
	b.reportIs("two days", ledger.Report{FirstDay: today, EndDay: today + 2, Final: true}, ledger.ReportReply{
		Models: []ledger.Usage{{Model: "a", Requests: 18}, {Model: "b", Requests: 9}, {Model: "c", Requests: 4}},
	})
}

// A Put of the same cycle keeps what was given out, and one of a month that is over does not bring it back.
func TestPutKeepsWhatWasGiven(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.ask(need("m", 1, 0, 6*money.Dollar))
	b.put(10, month(), hook)
	b.askIs("more than the rest", need("a", 1, 0, 4*money.Dollar+1), ledger.GrantReply{Epoch: 1, Recall: []string{"m"}, HeldPico: []int64{6 * money.Dollar}, Next: "m"})
	b.askIs("the rest", need("a", 1, 0, 4*money.Dollar), given(1, 4*money.Dollar))
	b.now += 11 * calendar.DayMs
	b.spend(100)
	b.put(10, month(), hook)
	if r := b.report(); r.Period != calendar.NewPeriod(calendar.Monthly, 0, today+11) || r.UsedPico != money.Dollar {
		t.Errorf("%+v", r)
	}
}

// The ledger hands out the policy that it was told last.
func TestPolicy(t *testing.T) {
	b := newBook(t)
	if got := b.do(ledger.Policy()); len(got) != 0 {
		t.Errorf("before any: %q", got)
	}
	for version, text := range []string{"first", "second"} {
		put := ledger.Put{Version: uint64(version) + 1, Period: month(), Policy: []byte(text)}
		b.do(put.Encode())
		if got := string(b.do(ledger.Policy())); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

// Open reads what exchanges send to a ledger, whole.
func TestOpen(t *testing.T) {
	grant := need("m", 1, 2, 3)
	for _, c := range []interface{ Encode() []byte }{&grant, &ledger.Report{FirstDay: 1, Final: true}} {
		whole := c.Encode()
		if got := ledger.Open(whole); reflect.TypeOf(got) != reflect.TypeOf(c) || !bytes.Equal(got.(interface{ Encode() []byte }).Encode(), whole) {
			t.Errorf("%+v was opened as %+v", c, got)
		}
		if a, b := ledger.Open(whole[:len(whole)-1]), ledger.Open(append(whole, 0)); a != nil || b != nil {
			t.Errorf("%T: opened %+v and %+v", c, a, b)
		}
	}
	if _, ok := ledger.Open(ledger.Batch(nil)).(*ledger.BatchCommand); !ok {
		t.Error("a batch was not opened")
	}
	if _, ok := ledger.Open(ledger.Policy()).(*ledger.PolicyCommand); !ok {
		t.Error("the question for the policy was not opened")
	}
	keys := ledger.Keys{Names: []string{"m"}}
	if a, b := ledger.Open(keys.Encode()), ledger.Open(nil); a != nil || b != nil {
		t.Errorf("opened %+v and %+v", a, b)
	}
}
