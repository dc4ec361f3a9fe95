package keymeter_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// cent is the unit of the amounts in these tests.
const cent = money.Dollar / 100

// busy is a tree whose keys, in ten projects below the root, send requests.
type busy struct {
	*tree
	senders []*key
	calls   int // of the root's Ledger
	served  int
}

func newBusy(t *testing.T, keys int, budget money.Pico) *busy {
	b := &busy{tree: newTree(t)}
	b.give(doc.Root, calendar.Monthly, budget)
	for i := range 10 {
		b.give(fmt.Sprint("proj_", i), calendar.Monthly, 1_000_000*money.Dollar)
	}
	for i := range keys {
		b.senders = append(b.senders, b.place(fmt.Sprintf("key_%04d", i), "wide", doc.Root, fmt.Sprint("proj_", i%10)))
	}
	b.ledgers[doc.Root].Apply = func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		if in.Round == 0 {
			b.calls++
		}
		return ledger.Apply(in)
	}
	return b
}

// send sends a request with each key, and then lets an amount of time pass. It returns the Ledger that has nothing left.
func (b *busy) send(reserve, cost money.Pico, ms uint64) (spent string) {
	b.Helper()
	for _, k := range b.senders {
		k.count++
		id := fmt.Sprint("req_", k.Name, "_", k.count)
		if _, spent = b.admit(k, keymeter.Admit{RequestID: id, AmountPico: reserve}); spent != "" {
			return spent
		}
		k.settle(id, 2, cost)
		b.served++
	}
	b.pass(ms)
	return ""
}

// perRequest returns the calls of the root's Ledger per request, and resets the counters.
func (b *busy) perRequest() float64 {
	n := float64(b.calls) / float64(b.served)
	b.calls, b.served = 0, 0
	return n
}

// TestBusyKeysRarelyCallTheRoot counts the calls of the root's Ledger while 1,000 keys send a request per second each. A
// request reserves eight times what it costs.
func TestBusyKeysRarelyCallTheRoot(t *testing.T) {
	t.Parallel()
	b := newBusy(t, 1000, 100_000*money.Dollar)
	for second := range 72 {
		if second == 12 {
			t.Logf("the first 12 requests of a key: %.4f calls of the root per request", b.perRequest())
		}
		if spent := b.send(4*cent, cent/2, 1000); spent != "" {
			t.Fatal(spent)
		}
	}
	n := b.perRequest()
	t.Logf("later: %.4f calls of the root per request", n)
	if n > 0.02 || n == 0 {
		t.Errorf("%.4f calls of the root per request, want at most 0.02", n)
	}
}

// TestEndOfABudgetRarelyCallsTheRoot counts the calls of the root's Ledger while ten keys spend the last eighth of its
// budget. Nothing remains that would cover another request.
func TestEndOfABudgetRarelyCallsTheRoot(t *testing.T) {
	t.Parallel()
	const budget = 1000 * money.Dollar
	for _, row := range []struct {
		reserve, cost money.Pico
		most          float64
	}{
		{2 * cent, 2 * cent, 0.11}, // the worst case, 6,250 requests
		{2 * cent, cent / 2, 0.05},
		{8 * cent, cent / 2, 0.05},
	} {
		b := newBusy(t, 10, budget)
		first := b.senders[0]
		if _, spent := b.admit(first, keymeter.Admit{RequestID: "most", AmountPico: budget / 8 * 7}); spent != "" {
			t.Fatal(spent)
		}
		first.settle("most", 2, budget/8*7)
		b.pass(10_000)
		b.calls = 0
		spent := ""
		for spent == "" {
			spent = b.send(row.reserve, row.cost, 100)
		}
		rest := budget/8 - money.Pico(b.served)*row.cost
		n := b.perRequest()
		t.Logf("%d reserved and %d spent per request: %.4f calls of the root per request", row.reserve, row.cost, n)
		if n > row.most || spent != doc.Root || rest >= row.reserve {
			t.Errorf("%.4f calls of the root per request, want at most %.2f; %q has %d left", n, row.most, spent, rest)
		}
	}
}

// TestSpendingIsReportedAbove checks when the Ledgers above the project learn the spending of a key: with its first
// usage, then twice a minute if the key is busy, and otherwise with its other usage. The usage of a flush has the
// spending, too.
func TestSpendingIsReportedAbove(t *testing.T) {
	w, first, _ := company(t)
	serve := func(cost money.Pico) {
		t.Helper()
		first.now = w.now
		first.count++
		id := fmt.Sprint("req_", first.count)
		if _, spent := w.admit(first, keymeter.Admit{RequestID: id, AmountPico: cost}); spent != "" {
			t.Fatal(spent)
		}
		first.settle(id, 2, cost)
	}
	serve(1)
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 1, "grp_1": 1, "proj_1": 1})
	for range 16 {
		serve(1)
	}
	w.pass(10_000)
	w.expectSpent(map[string]money.Pico{"root": 1, "grp_1": 1, "proj_1": 17})
	w.pass(20_000)
	w.expectSpent(map[string]money.Pico{"root": 17, "grp_1": 17, "proj_1": 17})
	serve(2)
	w.pass(219_000)
	w.expectSpent(map[string]money.Pico{"root": 17, "grp_1": 17, "proj_1": 17})
	w.pass(1_000)
	w.expectSpent(map[string]money.Pico{"root": 19, "grp_1": 19, "proj_1": 19})
	if first.AlarmMs != 0 {
		t.Errorf("an idle key has an alarm in %d ms", first.AlarmMs-w.now)
	}
	serve(4)
	w.pass(30_000)
	flush := keymeter.Flush{}
	first.call(flush.Encode())
	w.deliver()
	w.expectSpent(map[string]money.Pico{"root": 19, "grp_1": 19, "proj_1": 23})
	w.pass(60_000)
	w.expectSpent(map[string]money.Pico{"root": 23, "grp_1": 23, "proj_1": 23})
}
