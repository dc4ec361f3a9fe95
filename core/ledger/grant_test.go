package ledger_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// grant requests a slice. The period is the month, unless g has one.
func (b *harness) grant(g ledger.Grant) ledger.GrantReply {
	b.Helper()
	if g.Period == 0 {
		g.Period = month()
	}
	reply, err := ledger.DecodeGrantReply(b.call(g.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// expectGrant requests a slice and checks the reply.
func (b *harness) expectGrant(about string, g ledger.Grant, want ledger.GrantReply) {
	b.Helper()
	if want.Period == 0 {
		want.Period = month()
	}
	got := b.grant(g)
	if len(got.Recall) == 0 {
		got.Recall = nil
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s: %+v, want %+v", about, got, want)
	}
}

// need returns a Grant for exactly this amount.
func need(meter string, epoch uint64, held, amount money.Pico) ledger.Grant {
	return ledger.Grant{Key: meter, Epoch: epoch, HeldPico: held, NeedPico: amount, LeastPico: amount}
}

func granted(epoch uint64, total money.Pico) ledger.GrantReply {
	return ledger.GrantReply{Epoch: epoch, TotalPico: total, Granted: true}
}

// exhausted returns the reply to a Grant for which too little is left of a budget of 10 dollars. The reply has the
// budget and the spent part.
func exhausted(spent money.Pico) ledger.GrantReply {
	return ledger.GrantReply{Epoch: 1, Spent: spent > 0, Told: true, BudgetPico: 10 * money.Dollar, SpentPico: spent}
}

// TestGrantsAndSlack checks that a meter gets more than it needs only without concurrent requests and while the budget is
// not scarce.
func TestGrantsAndSlack(t *testing.T) {
	b := newHarness(t)
	b.put(64, month(), hook)
	b.expectGrant("an amount of 0", need("a", 1, 0, 0), granted(1, 0))
	b.expectGrant("first request: 16 times the amount", need("a", 1, 0, money.Cent), granted(1, 16*money.Cent))
	b.expectGrant("second, concurrent request", need("a", 1, 0, money.Cent), granted(1, 17*money.Cent))
	b.expectGrant("third, concurrent request", need("a", 1, 0, money.Cent), granted(1, 18*money.Cent))
	b.expectGrant("after all grants have arrived", need("a", 1, 18*money.Cent, money.Cent), granted(1, 34*money.Cent))
	b.expectGrant("at most a 64th of the budget", need("b", 1, 0, 20*money.Cent), granted(1, money.Dollar))
	b.expectGrant("more than a 64th", need("b", 1, money.Dollar, 3*money.Dollar), granted(1, 4*money.Dollar))
	b.expectGrant("most of the rest", need("c", 1, 0, 52*money.Dollar), granted(1, 52*money.Dollar))
	b.expectGrant("from a scarce budget", need("c", 1, 52*money.Dollar, money.Cent), granted(1, 52*money.Dollar+money.Cent))
}

// TestSlackNeedsRoom checks that meters get no slack if less than an eighth of the budget is uncommitted.
func TestSlackNeedsRoom(t *testing.T) {
	for missing, want := range []money.Pico{16 * money.Cent, money.Cent} {
		b := newHarness(t)
		b.put(64, month(), hook)
		b.grant(need("a", 1, 0, 56*money.Dollar+money.Pico(missing)))
		b.expectGrant(fmt.Sprintf("%d picodollars less than an eighth", missing), need("b", 1, 0, money.Cent), granted(1, want))
	}
}

// TestEpochs checks that the Ledger adopts the slice that a meter reports in a new epoch. It ignores Grants and
// batches of older epochs.
func TestEpochs(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.expectGrant("epoch 1", need("meter", 1, 0, 6*money.Dollar), granted(1, 6*money.Dollar))
	b.expectGrant("epoch 3", need("meter", 3, money.Dollar, 7*money.Dollar), granted(3, 8*money.Dollar))
	b.expectGrant("epoch 2", need("meter", 2, money.Dollar, 7*money.Dollar), granted(3, 8*money.Dollar))
	b.expectGrant("others", need("other", 1, 0, 2*money.Dollar), granted(1, 2*money.Dollar))
	late := ledger.Absorb{Key: "meter", Seq: 1, Period: month(), Epoch: 3, HeldPico: 0, Closed: true}
	b.call(late.Encode()) // from the start of epoch 3; the meter was granted more since
	b.expectGrant("after the late batch", need("other", 1, 2*money.Dollar, 1), ledger.GrantReply{Epoch: 1, TotalPico: 2 * money.Dollar, Recall: []string{"meter"}, HeldPico: []int64{8 * money.Dollar}, Next: "other"})
	if r := b.freshReport(); !slices.Equal(r.Flush, []string{"meter", "other"}) {
		t.Errorf("meters to flush: %+v", r)
	}
	batch := ledger.Absorb{Key: "meter", Seq: 2, Period: month(), Epoch: 4, HeldPico: money.Dollar, Closed: true}
	b.call(batch.Encode())
	b.expectGrant("the returned amount", need("other", 1, 2*money.Dollar, 7*money.Dollar), granted(1, 9*money.Dollar))
	b.now += 2000
	if r := b.freshReport(); !slices.Equal(r.Flush, []string{"other"}) {
		t.Errorf("meters to flush: %+v", r)
	}
}

// freshReport sends a Report that is not Final.
func (b *harness) freshReport() ledger.ReportReply {
	b.Helper()
	query := ledger.Report{}
	reply, err := ledger.DecodeReportReply(b.call(query.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// TestEpochsOfAnotherPeriod checks that a slice of the previous month does not count in the current month.
func TestEpochsOfAnotherPeriod(t *testing.T) {
	b := newHarness(t)
	next := calendar.NewPeriod(calendar.Monthly, 0, today+15)
	b.put(10, month(), hook)
	b.expectGrant("November", need("meter", 1, 0, 6*money.Dollar), granted(1, 6*money.Dollar))
	december := need("other", 1, 0, money.Dollar)
	december.Period = next
	want := granted(1, money.Dollar)
	want.Period = next
	b.expectGrant("first Grant of December", december, want)
	want.TotalPico = 2 * money.Dollar
	b.expectGrant("a meter still in November", need("meter", 1, 6*money.Dollar, 2*money.Dollar), want)
	want.TotalPico, want.Epoch = 3*money.Dollar, 2
	b.expectGrant("a meter that returned budget in November", need("meter", 2, 5*money.Dollar, 3*money.Dollar), want)
	late := ledger.Absorb{Key: "meter", Seq: 1, Period: month(), Epoch: 2, HeldPico: 5 * money.Dollar}
	b.call(late.Encode())
	december.HeldPico, december.NeedPico, december.LeastPico = money.Dollar, 6*money.Dollar, 6*money.Dollar
	want.TotalPico, want.Epoch = 7*money.Dollar, 1
	b.expectGrant("the rest of December", december, want)
}

// TestRecallPages checks that an insufficient Grant recalls unused slices page by page, except the requesting meter's.
func TestRecallPages(t *testing.T) {
	for _, n := range []int{1, 32, 33, 100, 999, 1000, 1100} {
		b := newHarness(t)
		b.put(100_000, month(), hook)
		var want []string
		left := 100_000 * money.Dollar
		for i := range n {
			name := fmt.Sprintf("m%05d", i)
			b.grant(need(name, 1, 0, money.Dollar))
			switch i % 10 {
			case 3: // spent its slice
				u := ledger.Usage{Day: today, Model: "m", CostPico: money.Dollar}
				batch := ledger.Absorb{Key: name, Seq: 1, Period: month(), Epoch: 2, HeldPico: money.Dollar, Usage: []ledger.Usage{u}}
				b.call(batch.Encode())
				left -= money.Dollar
			case 4: // returned its slice
				batch := ledger.Absorb{Key: name, Seq: 1, Period: month(), Epoch: 2}
				b.call(batch.Encode())
			default:
				want = append(want, name)
			}
		}
		held := b.grant(need("m00500", 1, 0, 0)).TotalPico
		ask := need("m00500", 1, held, left-held)
		want = slices.DeleteFunc(want, func(name string) bool { return name == "m00500" })
		var got []string
		for range n/maxRecall + 3 {
			reply := b.grant(ask)
			if len(reply.Recall) > maxRecall || reply.Granted || reply.Next != "" && reply.Next <= ask.After {
				t.Fatalf("%d meters, after %q: %+v", n, ask.After, reply)
			}
			got = append(got, reply.Recall...)
			if ask.After = reply.Next; ask.After == "" {
				break
			}
		}
		if !slices.Equal(got, want) || ask.After != "" {
			t.Errorf("%d meters: recalled %d, want %d; after %q", n, len(got), len(want), ask.After)
		}
	}
}

const maxRecall = 32

// TestRecallPageWithoutMeters checks that a page without unused slices still has a cursor to the next page.
func TestRecallPageWithoutMeters(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	for i := range 1500 {
		b.grant(need(fmt.Sprintf("m%05d", i), 1, 0, 0))
	}
	b.grant(need("z", 1, 0, 6*money.Dollar))
	ask := need("a", 1, 0, 5*money.Dollar)
	b.expectGrant("first page", ask, ledger.GrantReply{Epoch: 1, Next: "m00999"})
	ask.LeastPico = 4 * money.Dollar
	b.expectGrant("a smaller amount suffices, but only after the recall", ask, ledger.GrantReply{Epoch: 1, Next: "m00998"})
	ask.After, ask.LeastPico = "m00998", 5*money.Dollar
	b.expectGrant("second page", ask, ledger.GrantReply{Epoch: 1, Recall: []string{"z"}, HeldPico: []int64{6 * money.Dollar}, Next: "z"})
	ask.After = "z"
	b.expectGrant("last page", ask, exhausted(0))
	ask.LeastPico = 4 * money.Dollar
	b.expectGrant("last page, a smaller amount suffices", ask, ledger.GrantReply{Epoch: 1, TotalPico: 4 * money.Dollar, Granted: true, Final: true})
	ask = need("z", 1, 6*money.Dollar, money.Dollar)
	ask.After, ask.LeastPico = "z", 0
	b.expectGrant("last page, the present slice suffices", ask, ledger.GrantReply{Epoch: 1, TotalPico: 6 * money.Dollar, Granted: true, Final: true})
}

// TestLastRecallPage checks that a full page has a cursor to the next one, and a partial page does not.
func TestLastRecallPage(t *testing.T) {
	for n, next := range map[int]string{0: "", 1: "", 999: "", 1000: "m00999"} {
		b := newHarness(t)
		b.put(10, month(), hook)
		b.grant(need("a", 1, 0, 6*money.Dollar))
		for i := range n {
			b.grant(need(fmt.Sprintf("m%05d", i), 1, 0, 0))
		}
		for range 2 { // a new meter, and one that has a row
			ask := need("Z", 1, 0, 5*money.Dollar)
			ask.After = "a"
			want := exhausted(0)
			if next != "" {
				want = ledger.GrantReply{Epoch: 1, Next: next} // not yet
			}
			b.expectGrant(fmt.Sprint(n, " meters with empty slices"), ask, want)
		}
	}
}

// TestInsufficientBudget checks that a Grant is rejected without a recall if all unused slices together are not
// enough.
func TestInsufficientBudget(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.grant(need("idle", 1, 0, money.Dollar))
	b.spend(700)
	b.expectGrant("the unspent amount, after a recall", need("a", 1, 0, 3*money.Dollar), ledger.GrantReply{Epoch: 1, Recall: []string{"idle"}, HeldPico: []int64{money.Dollar}, Next: "meter"})
	b.expectGrant("more than the unspent amount", need("a", 1, 0, 3*money.Dollar+1), exhausted(7*money.Dollar))
	less := need("a", 1, 0, 9*money.Dollar)
	less.LeastPico = 3*money.Dollar + 1
	b.expectGrant("the smallest sufficient amount is too large", less, exhausted(7*money.Dollar))
	// The meter that spent 7 dollars has a debt of 7 dollars, which is not counted again.
	b.expectGrant("the debt and more", need("meter", 1, 0, 9*money.Dollar), granted(1, 9*money.Dollar))
}

// TestLostGrant checks that a meter that has not received a grant gets it again before it is rejected.
func TestLostGrant(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.expectGrant("lost grant", need("meter", 1, 0, 9*money.Dollar), granted(1, 9*money.Dollar))
	b.expectGrant("repeated request", need("meter", 1, 0, 9*money.Dollar), granted(1, 9*money.Dollar))
	want := exhausted(0)
	want.TotalPico = 9 * money.Dollar
	b.expectGrant("after the grant has arrived", need("meter", 1, 9*money.Dollar, 2*money.Dollar), want)
}

// TestUnreportedSpending checks that a denied Grant counts what its meter has spent since its last report, and that the Ledger does not store it.
func TestUnreportedSpending(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.grant(need("a", 1, 0, 10*money.Dollar))
	batch := ledger.Absorb{Key: "a", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{{Day: today, Model: "m", CostPico: 2 * money.Dollar}}}
	b.call(batch.Encode())
	for _, c := range []struct {
		spent money.Pico
		want  money.Pico
	}{{0, 2}, {money.Dollar, 2}, {9 * money.Dollar, 9}, {money.Dollar, 2}} {
		ask := need("a", 1, 10*money.Dollar, 2*money.Dollar)
		ask.SpentPico = c.spent
		got := b.grant(ask)
		for got.Next != "" {
			ask.After = got.Next
			got = b.grant(ask)
		}
		if got.Granted || got.SpentPico != c.want*money.Dollar || got.Spent != (c.want > 8) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
