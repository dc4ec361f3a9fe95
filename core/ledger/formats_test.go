package ledger_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// The layouts of before there were cycles, hours and latencies, written by hand: numbers as varints, texts with
// their length. A period was the number of its month.
const novemberMonth = (2026-1970)*12 + 10

func oldUsage(w *abi.Writer, day uint64, model string, requests uint64, cost money.Pico) {
	w.Uint(day)
	w.String(model)
	w.Uint(requests)
	for range 3 { // hits, misses, failed
		w.Uint(0)
	}
	w.Uint(7)   // prompt
	w.Uint(8)   // completion
	w.Int(cost) // picodollars
	w.Uint(1)   // estimated
	w.Uint(0)   // expired
}

// oldBook is a ledger as an older version left it: 5 dollars spent of 10, most of them by one meter.
func oldBook(t *testing.T) *book {
	b := newBook(t)
	var budget, meter, usage abi.Writer
	budget.Uint(1)
	budget.Uint(7) // version
	budget.Int(10 * money.Dollar)
	budget.Uint(novemberMonth)
	budget.Int(6 * money.Dollar) // committed
	budget.Int(5 * money.Dollar) // spent
	budget.Uint(0)               // wave
	meter.Uint(1)
	meter.Uint(novemberMonth)
	meter.Bool(true)
	meter.Int(6 * money.Dollar) // granted
	meter.Int(5 * money.Dollar) // spent
	meter.Uint(4)               // the last grant's number, its period and amount
	meter.Uint(novemberMonth)
	meter.Int(2 * money.Dollar)
	meter.Uint(3)             // batches
	meter.Uint(start - 10000) // last used
	usage.Uint(1)
	oldUsage(&usage, today-1, "m", 2, 5*money.Dollar)
	b.Rows = map[string][]byte{"b": budget.Buf, "k/meter": meter.Buf, "u/" + abi.Fixed(today-1) + "/m": usage.Buf}
	b.version, b.seq = 7, 3
	return b
}

func TestOldRows(t *testing.T) {
	b := oldBook(t)
	if r := b.report(); r.BudgetPico != 10*money.Dollar || r.UsedPico != 5*money.Dollar || r.Period != month() {
		t.Errorf("%+v", r)
	}
	question := ledger.Keys{Names: []string{"meter", "other"}}
	if uses, err := ledger.DecodeKeyUses(b.do(question.Encode())); err != nil || !reflect.DeepEqual(uses, []ledger.KeyUse{{Key: "meter", LastUsedMs: start - 10000}}) {
		t.Errorf("%v %+v", err, uses)
	}
	// The meter says what it has: what was granted to it and lost on its way comes back.
	ask := ledger.Grant{Key: "meter", Period: month(), Epoch: 2, HeldPico: 5*money.Dollar + money.Dollar/2, NeedPico: 5 * money.Dollar, LeastPico: 5 * money.Dollar}
	if g, err := ledger.DecodeGrantReply(b.do(ask.Encode())); err != nil || g.Granted || g.Next != "" {
		t.Errorf("more than is left: %v %+v", err, g)
	}
	ask.NeedPico, ask.LeastPico = 4*money.Dollar+money.Dollar/2, money.Dollar
	want := ledger.GrantReply{Period: month(), Epoch: 2, TotalPico: 10 * money.Dollar, Granted: true}
	if g, err := ledger.DecodeGrantReply(b.do(ask.Encode())); err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("all that is left: %v %+v", err, g)
	}
	// New usage of the same day and model comes into the old row.
	b.absorb(ledger.Usage{Day: today - 1, Hour: 3, Model: "m", Requests: 1, CostPico: money.Dollar})
	b.queryIs(ledger.Query{FirstDay: today - 1, EndDay: today, By: ledger.ByDay}, ledger.Group{Usage: ledger.Usage{
		Day: today - 1, Requests: 3, Prompt: 7, Completion: 8, CostPico: 6 * money.Dollar, Estimated: 1,
	}})
	if r := b.report(); r.UsedPico != 6*money.Dollar {
		t.Errorf("%+v", r)
	}
}

func (b *book) queryIs(q ledger.Query, want ...ledger.Group) {
	b.Helper()
	reply, err := ledger.DecodeQueryReply(b.do(q.Encode()))
	if err != nil || !reflect.DeepEqual(reply.Groups, want) || reply.Next != "" {
		b.Errorf("%v, got %+v\nwant %+v", err, reply, want)
	}
}

// oldAbsorb is a batch that an older meter put into its outbox: op 3, without a key's id, an hour and latencies, or
// op 11, with them.
func oldAbsorb(op uint64) []byte {
	var w abi.Writer
	w.Uint(op)
	w.String("meter")
	if op == 11 {
		w.String("key_1")
	}
	w.Uint(4) // number of the batch
	w.Uint(novemberMonth)
	w.Int(money.Dollar / 2) // given back
	w.Bool(false)
	w.Uint(4)     // the last grant
	w.Uint(start) // last used
	w.Uint(1)
	if op == 3 {
		oldUsage(&w, today, "old", 3, money.Dollar/4)
		return w.Buf
	}
	u := ledger.Usage{Day: today, Model: "old", Requests: 3, Prompt: 7, Completion: 8, CostPico: money.Dollar / 4, Estimated: 1}
	ledger.UsageFields(abi.WriteTo(&w), &u)
	w.Uint(0) // recent requests
	return w.Buf
}

// Both are booked, alone and in a batch; what they give back counts while the Ledger has not heard of the meter's
// epoch, for then the meter said what it has.
func TestOldAbsorb(t *testing.T) {
	for i := range 8 {
		op, batched, asked := [...]uint64{3, 11}[i%2], i&2 != 0, i&4 != 0
		b := oldBook(t)
		free := 4*money.Dollar + money.Dollar/2
		if asked {
			ask := ledger.Grant{Key: "meter", Period: month(), Epoch: 2, HeldPico: 5*money.Dollar + money.Dollar/4}
			b.do(ask.Encode())
			free += money.Dollar / 4
		}
		command := oldAbsorb(op)
		if batched {
			command = ledger.Batch([][]byte{command})
		}
		for range 2 { // a repeat is dropped
			b.do(command)
		}
		want := ledger.Group{Usage: ledger.Usage{Day: today, Model: "old", Requests: 3, Prompt: 7, Completion: 8, CostPico: money.Dollar / 4, Estimated: 1}}
		if op == 11 {
			want.KeyID = "key_1"
		}
		b.queryIs(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDetail}, want)
		if r := b.report(); r.UsedPico != 5*money.Dollar+money.Dollar/4 {
			t.Errorf("%+v", r)
		}
		ask := ledger.Grant{Key: "other", Period: month(), Epoch: 1, NeedPico: free + 1, LeastPico: free + 1}
		if g, err := ledger.DecodeGrantReply(b.do(ask.Encode())); err != nil || g.Granted {
			t.Errorf("op %d, asked %t: more than was given back: %v %+v", op, asked, err, g)
		}
		ask.NeedPico, ask.LeastPico = free, free
		if g, err := ledger.DecodeGrantReply(b.do(ask.Encode())); err != nil || !g.Granted || g.TotalPico != free {
			t.Errorf("op %d, asked %t: what was given back: %v %+v", op, asked, err, g)
		}
	}
}

// A Put from before there was more says the version and the budget; the cycle that the ledger knows stays.
func TestOldPut(t *testing.T) {
	b := newBook(t)
	b.put(10, calendar.NewPeriod(calendar.Weekly, 2, today), hook)
	var w abi.Writer
	w.Uint(1)
	w.Uint(9)
	w.Int(3 * money.Dollar)
	b.do(w.Buf)
	if r := b.report(); r.BudgetPico != 3*money.Dollar || r.Period != calendar.NewPeriod(calendar.Weekly, 2, today) {
		t.Errorf("%+v", r)
	}
	fresh := newBook(t)
	fresh.do(w.Buf)
	fresh.spend(5)
	if r := fresh.report(); r.UsedPico != 5*money.Cent || r.Period != month() {
		t.Errorf("%+v", r)
	}
}

// A report of the version before says when the question came, too.
func TestOldReport(t *testing.T) {
	b := oldBook(t)
	var w abi.Writer
	w.Uint(4)
	w.Uint(today - 1)
	w.Uint(today)
	w.Uint(start)
	w.Bool(false)
	w.Bool(true) // final
	if r, err := ledger.DecodeReportReply(b.do(w.Buf)); err != nil || len(r.Models) != 1 || r.Models[0].CostPico != 5*money.Dollar {
		t.Errorf("%v %+v", err, r)
	}
}

// A batch of which one part is malformed is refused.
func TestMalformedBatch(t *testing.T) {
	b := oldBook(t)
	if reply, err := b.Call(b.now, ledger.Batch([][]byte{oldAbsorb(11), {1}})); err == nil {
		t.Errorf("it is taken: %x", reply)
	}
}

// No command, whole or cut off, and no row of another format makes the ledger panic or lose what it has.
func TestMalformedLedgerInput(t *testing.T) {
	query, put := ledger.Query{EndDay: today, By: ledger.ByKey, Key: "k", Model: "m"}, ledger.Put{Version: 99, Period: month(), Alerts: hook, Policy: []byte("p")}
	absorb := ledger.Absorb{Key: "meter", Seq: 1, Usage: []ledger.Usage{{Model: "m"}}, Recent: []ledger.Request{{ID: "r"}}}
	grant := ledger.Grant{Key: "meter", Period: month(), Epoch: 1, NeedPico: 5, LeastPico: 5, After: "a"}
	prune, recent := ledger.Prune{FirstDay: 1}, ledger.Recent{Limit: 1}
	for _, whole := range [][]byte{query.Encode(), put.Encode(), absorb.Encode(), prune.Encode(), recent.Encode(), ledger.Batch([][]byte{absorb.Encode()}), grant.Encode(), {0}, {2}, {14}, {200, 1}} {
		for n := 1; n < len(whole); n++ {
			b := oldBook(t)
			if reply, err := b.Call(b.now, whole[:n]); err == nil && (whole[0] == 12 || whole[0] == 13) {
				t.Errorf("%x is taken: %x", whole[:n], reply)
			}
		}
	}
	for _, key := range []string{"b", "k/meter", "al"} {
		for _, value := range [][]byte{{}, {0}, {99}, {1, 0xff}} {
			b := oldBook(t)
			b.Rows[key] = value
			if _, err := b.Call(b.now, absorb.Encode()); err == nil {
				t.Errorf("%s = %x is read", key, value)
			}
		}
	}
}

// Rows whose first number, their format, is another than those that are known are not read.
func TestRowsOfAnotherFormat(t *testing.T) {
	known := map[string]byte{"b": 2, "k/": 2, "al": 1, "u/": 2, "x/": 2, "y/": 2, "r/": 1}
	filled := func() *book {
		b := newBook(t)
		b.put(10, month(), hook)
		news := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{{Day: today, Model: "m", CostPico: 9 * money.Dollar}}, Recent: []ledger.Request{{ID: "req_1"}}}
		b.do(news.Encode())
		return b
	}
	for name := range filled().Rows {
		kind, rest, _ := strings.Cut(name, "/")
		if rest != "" {
			kind += "/"
		}
		format, ok := known[kind]
		if !ok {
			continue // the policy is not the ledger's
		}
		delete(known, kind)
		for _, other := range []byte{0, format + 1} {
			b := filled()
			if b.Rows[name][0] != format {
				t.Fatalf("%s is of format %d, want %d", name, b.Rows[name][0], format)
			}
			b.Rows[name] = append([]byte{other}, b.Rows[name][1:]...)
			if err := b.touch(); err == nil {
				t.Errorf("%s of format %d is read", name, other)
			}
		}
	}
	if len(known) != 0 {
		t.Errorf("no rows of %v", known)
	}
}

// touch has all rows read, and gives the first error.
func (b *book) touch() error {
	put := ledger.Put{Version: 9, BudgetPico: 1, Period: month(), Alerts: hook}
	absorb := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 2, Usage: []ledger.Usage{{Day: today, Model: "m"}}}
	for _, command := range [][]byte{put.Encode(), absorb.Encode()} {
		if _, err := b.Call(b.now, command); err != nil {
			return err
		}
	}
	recent := ledger.Recent{Limit: 1}
	reply, err := b.Call(b.now, recent.Encode())
	if err == nil {
		_, err = ledger.DecodeRecent(reply)
	}
	return err
}
