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

// ask asks for a slice of the month.
func (b *book) ask(g ledger.Grant) ledger.GrantReply {
	b.Helper()
	if g.Period == 0 {
		g.Period = month()
	}
	reply, err := ledger.DecodeGrantReply(b.do(g.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// askIs asks, and compares the answer.
func (b *book) askIs(what string, g ledger.Grant, want ledger.GrantReply) {
	b.Helper()
	if want.Period == 0 {
		want.Period = month()
	}
	got := b.ask(g)
	if len(got.Recall) == 0 {
		got.Recall = nil
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// need is a question for an amount, nothing less.
func need(meter string, epoch uint64, held, amount money.Pico) ledger.Grant {
	return ledger.Grant{Key: meter, Epoch: epoch, HeldPico: held, NeedPico: amount, LeastPico: amount}
}

func given(epoch uint64, total money.Pico) ledger.GrantReply {
	return ledger.GrantReply{Epoch: epoch, TotalPico: total, Granted: true}
}

// More than what is needed is given only to one that asks alone, and while there is plenty.
func TestGrantsAndSlack(t *testing.T) {
	b := newBook(t)
	b.put(64, month(), hook)
	b.askIs("nothing", need("a", 1, 0, 0), given(1, 0))
	b.askIs("the first", need("a", 1, 0, money.Cent), given(1, 16*money.Cent))
	b.askIs("beside it", need("a", 1, 0, money.Cent), given(1, 17*money.Cent))
	b.askIs("and again", need("a", 1, 0, money.Cent), given(1, 18*money.Cent))
	b.askIs("with all that was given", need("a", 1, 18*money.Cent, money.Cent), given(1, 34*money.Cent))
	b.askIs("much: a 64th of the budget at most", need("b", 1, 0, 20*money.Cent), given(1, money.Dollar))
	b.askIs("more than that", need("b", 1, money.Dollar, 3*money.Dollar), given(1, 4*money.Dollar))
	b.askIs("nearly all", need("c", 1, 0, 52*money.Dollar), given(1, 52*money.Dollar))
	b.askIs("of the rest", need("c", 1, 52*money.Dollar, money.Cent), given(1, 52*money.Dollar+money.Cent))
}

// The slack ends where less than an eighth of the budget is left.
func TestSlackNeedsRoom(t *testing.T) {
	for missing, want := range []money.Pico{16 * money.Cent, money.Cent} {
		b := newBook(t)
		b.put(64, month(), hook)
		b.ask(need("a", 1, 0, 56*money.Dollar+money.Pico(missing)))
		b.askIs(fmt.Sprintf("%d less than an eighth", missing), need("b", 1, 0, money.Cent), given(1, want))
	}
}

// The meter moves on: from what it holds in a later epoch, the Ledger counts on. An old question raises nothing.
func TestEpochs(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.askIs("epoch 1", need("meter", 1, 0, 6*money.Dollar), given(1, 6*money.Dollar))
	b.askIs("epoch 3", need("meter", 3, money.Dollar, 7*money.Dollar), given(3, 8*money.Dollar))
	b.askIs("epoch 2", need("meter", 2, money.Dollar, 7*money.Dollar), given(3, 8*money.Dollar))
	b.askIs("others", need("other", 1, 0, 2*money.Dollar), given(1, 2*money.Dollar))
	late := ledger.Absorb{Key: "meter", Seq: 1, Period: month(), Epoch: 3, HeldPico: 0, Closed: true}
	b.do(late.Encode()) // what it said when epoch 3 began: since then it was given more
	b.askIs("after the late batch", need("other", 1, 2*money.Dollar, 1), ledger.GrantReply{Epoch: 1, TotalPico: 2 * money.Dollar, Recall: []string{"meter"}, HeldPico: []int64{8 * money.Dollar}, Next: "other"})
	if r := b.fresh(); !slices.Equal(r.Flush, []string{"meter", "other"}) {
		t.Errorf("who may have news: %+v", r)
	}
	news := ledger.Absorb{Key: "meter", Seq: 2, Period: month(), Epoch: 4, HeldPico: money.Dollar, Closed: true}
	b.do(news.Encode())
	b.askIs("what was given back", need("other", 1, 2*money.Dollar, 7*money.Dollar), given(1, 9*money.Dollar))
	b.now += 2000
	if r := b.fresh(); !slices.Equal(r.Flush, []string{"other"}) {
		t.Errorf("who may have news: %+v", r)
	}
}

// fresh asks for figures with all news.
func (b *book) fresh() ledger.ReportReply {
	b.Helper()
	question := ledger.Report{}
	reply, err := ledger.DecodeReportReply(b.do(question.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

// A slice of the month before says nothing of this one's.
func TestEpochsOfAnotherPeriod(t *testing.T) {
	b := newBook(t)
	next := calendar.NewPeriod(calendar.Monthly, 0, today+15)
	b.put(10, month(), hook)
	b.askIs("November", need("meter", 1, 0, 6*money.Dollar), given(1, 6*money.Dollar))
	december := need("other", 1, 0, money.Dollar)
	december.Period = next
	want := given(1, money.Dollar)
	want.Period = next
	b.askIs("December begins", december, want)
	want.TotalPico = 2 * money.Dollar
	b.askIs("November's meter", need("meter", 1, 6*money.Dollar, 2*money.Dollar), want)
	want.TotalPico, want.Epoch = 3*money.Dollar, 2
	b.askIs("that gave back in November", need("meter", 2, 5*money.Dollar, 3*money.Dollar), want)
	late := ledger.Absorb{Key: "meter", Seq: 1, Period: month(), Epoch: 2, HeldPico: 5 * money.Dollar}
	b.do(late.Encode())
	december.HeldPico, december.NeedPico, december.LeastPico = money.Dollar, 6*money.Dollar, 6*money.Dollar
	want.TotalPico, want.Epoch = 7*money.Dollar, 1
	b.askIs("the rest of December", december, want)
}

// Who is given too little has others give back, page by page. The asking meter is not among them.
func TestRecallPages(t *testing.T) {
	for _, n := range []int{1, 32, 33, 100, 999, 1000, 1100} {
		b := newBook(t)
		b.put(100_000, month(), hook)
		var want []string
		left := 100_000 * money.Dollar
		for i := range n {
			name := fmt.Sprintf("m%05d", i)
			b.ask(need(name, 1, 0, money.Dollar))
			switch i % 10 {
			case 3: // has spent it
				u := ledger.Usage{Day: today, Model: "m", CostPico: money.Dollar}
				news := ledger.Absorb{Key: name, Seq: 1, Period: month(), Epoch: 2, HeldPico: money.Dollar, Usage: []ledger.Usage{u}}
				b.do(news.Encode())
				left -= money.Dollar
			case 4: // gave back
				news := ledger.Absorb{Key: name, Seq: 1, Period: month(), Epoch: 2}
				b.do(news.Encode())
			default:
				want = append(want, name)
			}
		}
		held := b.ask(need("m00500", 1, 0, 0)).TotalPico
		ask := need("m00500", 1, held, left-held)
		want = slices.DeleteFunc(want, func(name string) bool { return name == "m00500" })
		var got []string
		for range n/maxRecall + 3 {
			reply := b.ask(ask)
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

// A page without anybody who could give back says where the next begins.
func TestRecallOfNobody(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	for i := range 1500 {
		b.ask(need(fmt.Sprintf("m%05d", i), 1, 0, 0))
	}
	b.ask(need("z", 1, 0, 6*money.Dollar))
	ask := need("a", 1, 0, 5*money.Dollar)
	b.askIs("the first page", ask, ledger.GrantReply{Epoch: 1, Next: "m00999"})
	ask.LeastPico = 4 * money.Dollar
	b.askIs("others come before less", ask, ledger.GrantReply{Epoch: 1, Next: "m00998"})
	ask.After, ask.LeastPico = "m00998", 5*money.Dollar
	b.askIs("the second", ask, ledger.GrantReply{Epoch: 1, Recall: []string{"z"}, HeldPico: []int64{6 * money.Dollar}, Next: "z"})
	ask.After = "z"
	b.askIs("the end", ask, ledger.GrantReply{Epoch: 1})
	ask.LeastPico = 4 * money.Dollar
	b.askIs("less will do", ask, ledger.GrantReply{Epoch: 1, TotalPico: 4 * money.Dollar, Granted: true, Final: true})
	ask = need("z", 1, 6*money.Dollar, money.Dollar)
	ask.After, ask.LeastPico = "z", 0
	b.askIs("the slice that it has will do", ask, ledger.GrantReply{Epoch: 1, TotalPico: 6 * money.Dollar, Granted: true, Final: true})
}

// A full page of meters is followed by another; one that is not full is the last.
func TestRecallOfTheLastPage(t *testing.T) {
	for n, next := range map[int]string{0: "", 1: "", 999: "", 1000: "m00999"} {
		b := newBook(t)
		b.put(10, month(), hook)
		b.ask(need("a", 1, 0, 6*money.Dollar))
		for i := range n {
			b.ask(need(fmt.Sprintf("m%05d", i), 1, 0, 0))
		}
		for range 2 { // a new meter, and one that has a row
			ask := need("Z", 1, 0, 5*money.Dollar)
			ask.After = "a"
			b.askIs(fmt.Sprint(n, " meters without anything"), ask, ledger.GrantReply{Epoch: 1, Next: next})
		}
	}
}

// What so much was spent of that nobody's slice could help is refused at once.
func TestRefusedForGood(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.ask(need("idle", 1, 0, money.Dollar))
	b.spend(700)
	b.askIs("could be had back", need("a", 1, 0, 3*money.Dollar), ledger.GrantReply{Epoch: 1, Recall: []string{"idle"}, HeldPico: []int64{money.Dollar}, Next: "meter"})
	b.askIs("more than was not spent", need("a", 1, 0, 3*money.Dollar+1), ledger.GrantReply{Epoch: 1, Spent: true})
	less := need("a", 1, 0, 9*money.Dollar)
	less.LeastPico = 3*money.Dollar + 1
	b.askIs("and less than that", less, ledger.GrantReply{Epoch: 1, Spent: true})
	// The meter that spent owes 7 dollars: they are not missing twice.
	b.askIs("what it owes, and more", need("meter", 1, 0, 9*money.Dollar), given(1, 9*money.Dollar))
}

// What was given and is not there yet is counted before anybody is refused: it may have been lost.
func TestLostGrant(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.askIs("lost", need("meter", 1, 0, 9*money.Dollar), given(1, 9*money.Dollar))
	b.askIs("asked again", need("meter", 1, 0, 9*money.Dollar), given(1, 9*money.Dollar))
	b.askIs("with it", need("meter", 1, 9*money.Dollar, 2*money.Dollar), ledger.GrantReply{Epoch: 1, TotalPico: 9 * money.Dollar})
}
