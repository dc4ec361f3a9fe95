package ledger_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// TestCycleChanges checks that after a change of cycle, the budget counts the spending of the new cycle's current
// period.
func TestCycleChanges(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	for i, ago := range []uint64{20, 5, 3, 0} { // November 1, 16 (Monday), 18 and 21 (Saturday)
		b.absorb(ledger.Usage{Day: today - ago, Model: fmt.Sprint("m", i), Requests: 1, CostPico: money.Cent << i})
	}
	for epoch, c := range []struct {
		cycle calendar.Cycle
		cents int64
	}{{calendar.Weekly, 2 + 4 + 8}, {calendar.Daily, 8}, {calendar.Monthly, 15}, {calendar.Daily, 8}} {
		b.put(10, calendar.NewPeriod(c.cycle, uint64(epoch)+1, today), hook)
		if r := b.report(); r.UsedPico != c.cents*money.Cent || r.Period.Cycle() != c.cycle {
			t.Errorf("cycle %d: used %d, period %x", c.cycle, r.UsedPico, r.Period)
		}
	}
	b.spend(1)
	if r := b.report(); r.UsedPico != 9*money.Cent {
		t.Errorf("used %d", r.UsedPico)
	}
	b.now += calendar.DayMs
	if r := b.report(); r.UsedPico != 0 {
		t.Errorf("the next day: used %d", r.UsedPico)
	}
}

// TestCreditsDoNotReset checks a budget that never resets: earlier spending does not count, and later spending counts for
// years. Its alerts have no dates.
func TestCreditsDoNotReset(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(500)
	total := calendar.NewPeriod(calendar.Total, 1, today)
	b.put(10, total, hook)
	for range 2 {
		b.spend(400)
		b.now += 300 * calendar.DayMs
	}
	b.expectAlerts("80 percent", 80)
	if r := b.report(); r.UsedPico != 8*money.Dollar || r.Period != total {
		t.Errorf("used %d in %x", r.UsedPico, r.Period)
	}
	b.put(20, total, hook)
	b.spend(800)
	posts := b.takePosts()
	if len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"used":16,"start":null,"end":null}`) {
		t.Errorf("%q", posts)
	}
}

// TestGrantsAfterACycleChange checks that earlier spending reduces the budget of a new cycle, but earlier grants do not.
func TestGrantsAfterACycleChange(t *testing.T) {
	b := newHarness(t)
	b.put(1, month(), hook)
	grant := func(p calendar.Period, held, need money.Pico) (ledger.GrantReply, error) {
		command := ledger.Grant{Key: "meter", Period: p, Epoch: 1, HeldPico: held, NeedPico: need, LeastPico: need}
		reply, err := b.Call(b.now, command.Encode())
		if err != nil {
			return ledger.GrantReply{}, err
		}
		return ledger.DecodeGrantReply(reply)
	}
	if g, err := grant(month(), 0, 90*money.Cent); err != nil || !g.Granted || g.TotalPico < 90*money.Cent {
		t.Fatalf("%v %+v", err, g)
	}
	b.spend(20)
	day := calendar.NewPeriod(calendar.Daily, 1, today)
	if _, err := grant(day, 0, money.Cent); err == nil {
		t.Error("a Grant of a cycle that the ledger does not know succeeded")
	}
	b.put(1, day, hook)
	if g, err := grant(day, 0, 81*money.Cent); err != nil || g.Granted || g.Next != "" {
		t.Errorf("81 cents with 20 of 100 spent: %v %+v", err, g)
	}
	if g, err := grant(day, 0, 80*money.Cent); err != nil || !g.Granted || g.TotalPico != 80*money.Cent || g.Period != day {
		t.Errorf("%v %+v", err, g)
	}
}

// TestLatePuts checks that an old Put changes nothing, whatever its cycle.
func TestLatePuts(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.put(20, calendar.NewPeriod(calendar.Daily, 1, today), hook)
	for _, version := range []uint64{0, 1, 2} {
		late := ledger.Put{Version: version, BudgetPico: 5, Period: calendar.NewPeriod(calendar.Weekly, 7, today)}
		b.call(late.Encode())
	}
	if r := b.report(); r.BudgetPico != 20*money.Dollar || r.Period != calendar.NewPeriod(calendar.Daily, 1, today) {
		t.Errorf("%+v", r)
	}
}

// TestLastUse checks that a key's last use is the latest time its meter reported.
func TestLastUse(t *testing.T) {
	b := newHarness(t)
	for i, at := range []uint64{5, 9, 7} {
		batch := ledger.Absorb{Key: "meter", Seq: uint64(i) + 1, LastUsedMs: at}
		b.call(batch.Encode())
	}
	query := ledger.Keys{Names: []string{"none", "meter"}}
	if uses, err := ledger.DecodeKeyUses(b.call(query.Encode())); err != nil || !reflect.DeepEqual(uses, []ledger.KeyUse{{Key: "meter", LastUsedMs: 9}}) {
		t.Errorf("%v %+v", err, uses)
	}
}

func TestLatencies(t *testing.T) {
	var l ledger.Latency
	for ms := uint64(1); ms <= 100; ms++ {
		l.Add(ms)
	}
	if l.Count() != 100 || l.SumMs != 5050 || l.Percentile(50) != 56 || l.Percentile(95) != 100 || l.Percentile(5) != 5 || l.Percentile(6) != 10 || l.Percentile(100) != 100 {
		t.Errorf("%+v: %d %d", l, l.Percentile(50), l.Percentile(95))
	}
	l = ledger.Latency{}
	l.Add(0)
	l.Add(1 << 40)
	if l.Percentile(50) != 5 || l.Percentile(95) != 200_000 {
		t.Errorf("%d %d", l.Percentile(50), l.Percentile(95))
	}
	u := ledger.Usage{Day: 1, Hour: 2, Model: "m", Latency: l}
	var w abi.Writer
	ledger.UsageFields(abi.WriteTo(&w), &u)
	r := abi.Reader{Buf: w.Buf}
	var again ledger.Usage
	if ledger.UsageFields(abi.ReadFrom(&r), &again); r.End() != nil || !reflect.DeepEqual(again, u) {
		t.Errorf("%+v is decoded as %+v", u, again)
	}
}

func (b *harness) recent(before, limit uint64) (seqs []uint64) {
	b.Helper()
	query := ledger.Recent{Before: before, Limit: limit}
	batches, err := ledger.DecodeRecent(b.call(query.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	for _, batch := range batches {
		seqs = append(seqs, batch.Seq)
		if want := fmt.Sprint("req_", batch.Seq); len(batch.Requests) != 1 || batch.Requests[0].ID != want || batch.KeyID != "key_1" {
			b.Errorf("batch %d: %+v", batch.Seq, batch)
		}
	}
	return seqs
}

func TestRecentRequests(t *testing.T) {
	b := newHarness(t)
	if got := b.recent(0, 10); got != nil {
		t.Errorf("%v", got)
	}
	batch := func() {
		b.seq++
		command := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: b.seq, Recent: []ledger.Request{{ID: fmt.Sprint("req_", b.seq)}}}
		b.call(command.Encode())
	}
	for range 3 {
		batch()
	}
	for _, c := range []struct {
		before, limit uint64
		want          []uint64
	}{{0, 10, []uint64{3, 2, 1}}, {0, 2, []uint64{3, 2}}, {2, 10, []uint64{1}}, {1, 10, nil}, {99, 1, []uint64{3}}, {0, 0, nil}, {1<<64 - 1, 1<<64 - 1, []uint64{3, 2, 1}}} {
		if got := b.recent(c.before, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("before %d, limit %d: %v, want %v", c.before, c.limit, got, c.want)
		}
	}
	for range ledger.KeepBatches {
		batch()
	}
	if got := b.recent(0, 5000); len(got) != ledger.KeepBatches || got[0] != ledger.KeepBatches+3 || got[len(got)-1] != 4 {
		t.Errorf("%d batches, from %d to %d", len(got), got[0], got[len(got)-1])
	}
	if got := b.recent(4, 5); got != nil {
		t.Errorf("overwritten batches: %v", got)
	}
}
