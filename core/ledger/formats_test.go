package ledger_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// These are the layouts from before cycles, hours and latencies, written by hand. Numbers are varints, and strings
// follow their lengths. A period is the number of its month.
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

// oldLedger returns a ledger with rows of format 1, in which one meter has spent 5 of 10 dollars.
func oldLedger(t *testing.T) *harness {
	b := newHarness(t)
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
	b := oldLedger(t)
	if r := b.report(); r.BudgetPico != 10*money.Dollar || r.UsedPico != 5*money.Dollar || r.Period != month() {
		t.Errorf("%+v", r)
	}
	query := ledger.Keys{Names: []string{"meter", "other"}}
	if uses, err := ledger.DecodeKeyUses(b.call(query.Encode())); err != nil || !reflect.DeepEqual(uses, []ledger.KeyUse{{Key: "meter", LastUsedMs: start - 10000}}) {
		t.Errorf("%v %+v", err, uses)
	}
	// The meter reports its slice in a new epoch. A grant that was lost before is available again.
	ask := ledger.Grant{Key: "meter", Period: month(), Epoch: 2, HeldPico: 5*money.Dollar + money.Dollar/2, NeedPico: 5 * money.Dollar, LeastPico: 5 * money.Dollar}
	if g, err := ledger.DecodeGrantReply(b.call(ask.Encode())); err != nil || g.Granted || g.Next != "" {
		t.Errorf("more than the rest: %v %+v", err, g)
	}
	ask.NeedPico, ask.LeastPico = 4*money.Dollar+money.Dollar/2, money.Dollar
	want := ledger.GrantReply{Period: month(), Epoch: 2, TotalPico: 10 * money.Dollar, Granted: true}
	if g, err := ledger.DecodeGrantReply(b.call(ask.Encode())); err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("the rest: %v %+v", err, g)
	}
	// New usage of the same day and model is added to the old row.
	b.absorb(ledger.Usage{Day: today - 1, Hour: 3, Model: "m", Requests: 1, CostPico: money.Dollar})
	b.expectGroups(ledger.Query{FirstDay: today - 1, EndDay: today, By: ledger.ByDay}, ledger.Group{Usage: ledger.Usage{
		Day: today - 1, Requests: 3, Prompt: 7, Completion: 8, CostPico: 6 * money.Dollar, Estimated: 1,
	}})
	if r := b.report(); r.UsedPico != 6*money.Dollar {
		t.Errorf("%+v", r)
	}
}

func (b *harness) expectGroups(q ledger.Query, want ...ledger.Group) {
	b.Helper()
	reply, err := ledger.DecodeQueryReply(b.call(q.Encode()))
	if err != nil || !reflect.DeepEqual(reply.Groups, want) || reply.Next != "" {
		b.Errorf("%v, got %+v\nwant %+v", err, reply, want)
	}
}

// oldAbsorb returns a batch from the outbox of an older meter. Op 3 lacks the key ID, hours and latencies. Op 11 has
// them.
func oldAbsorb(op uint64) []byte {
	var w abi.Writer
	w.Uint(op)
	w.String("meter")
	if op == 11 {
		w.String("key_1")
	}
	w.Uint(4) // number of the batch
	w.Uint(novemberMonth)
	w.Int(money.Dollar / 2) // returned
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

// TestOldAbsorb checks that both old layouts are absorbed, alone and in a Batch. The amount that they return counts only
// until the meter has reported its slice in a new epoch.
func TestOldAbsorb(t *testing.T) {
	for i := range 8 {
		op, batched, afterGrant := [...]uint64{3, 11}[i%2], i&2 != 0, i&4 != 0
		b := oldLedger(t)
		free := 4*money.Dollar + money.Dollar/2
		if afterGrant {
			ask := ledger.Grant{Key: "meter", Period: month(), Epoch: 2, HeldPico: 5*money.Dollar + money.Dollar/4}
			b.call(ask.Encode())
			free += money.Dollar / 4
		}
		command := oldAbsorb(op)
		if batched {
			command = ledger.Batch([][]byte{command})
		}
		for range 2 { // a repeat is dropped
			b.call(command)
		}
		want := ledger.Group{Usage: ledger.Usage{Day: today, Model: "old", Requests: 3, Prompt: 7, Completion: 8, CostPico: money.Dollar / 4, Estimated: 1}}
		if op == 11 {
			want.KeyID = "key_1"
		}
		b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDetail}, want)
		if r := b.report(); r.UsedPico != 5*money.Dollar+money.Dollar/4 {
			t.Errorf("%+v", r)
		}
		ask := ledger.Grant{Key: "other", Period: month(), Epoch: 1, NeedPico: free + 1, LeastPico: free + 1}
		if g, err := ledger.DecodeGrantReply(b.call(ask.Encode())); err != nil || g.Granted {
			t.Errorf("op %d, after a Grant %t: more than the rest: %v %+v", op, afterGrant, err, g)
		}
		ask.NeedPico, ask.LeastPico = free, free
		if g, err := ledger.DecodeGrantReply(b.call(ask.Encode())); err != nil || !g.Granted || g.TotalPico != free {
			t.Errorf("op %d, after a Grant %t: the rest: %v %+v", op, afterGrant, err, g)
		}
	}
}

// TestOldPut checks that a Put in the old layout sets only the version and the budget, and keeps the cycle.
func TestOldPut(t *testing.T) {
	b := newHarness(t)
	b.put(10, calendar.NewPeriod(calendar.Weekly, 2, today), hook)
	var w abi.Writer
	w.Uint(1)
	w.Uint(9)
	w.Int(3 * money.Dollar)
	b.call(w.Buf)
	if r := b.report(); r.BudgetPico != 3*money.Dollar || r.Period != calendar.NewPeriod(calendar.Weekly, 2, today) {
		t.Errorf("%+v", r)
	}
	fresh := newHarness(t)
	fresh.call(w.Buf)
	fresh.spend(5)
	if r := fresh.report(); r.UsedPico != 5*money.Cent || r.Period != month() {
		t.Errorf("%+v", r)
	}
}

// TestOldReport checks that a Report in the old layout, which includes the caller's time, is accepted.
func TestOldReport(t *testing.T) {
	b := oldLedger(t)
	var w abi.Writer
	w.Uint(4)
	w.Uint(today - 1)
	w.Uint(today)
	w.Uint(start)
	w.Bool(false)
	w.Bool(true) // final
	if r, err := ledger.DecodeReportReply(b.call(w.Buf)); err != nil || len(r.Models) != 1 || r.Models[0].CostPico != 5*money.Dollar {
		t.Errorf("%v %+v", err, r)
	}
}

// TestMalformedBatch checks that a Batch with a malformed part is an error.
func TestMalformedBatch(t *testing.T) {
	b := oldLedger(t)
	if reply, err := b.Call(b.now, ledger.Batch([][]byte{oldAbsorb(11), {1}})); err == nil {
		t.Errorf("accepted: %x", reply)
	}
}

// TestMalformedLedgerInput checks that truncated commands do not panic, and that malformed rows are errors.
func TestMalformedLedgerInput(t *testing.T) {
	violations, triage := ledger.Violations{Limit: 1}, ledger.Triage{ID: "a", Note: "n"}
	query, put := ledger.Query{EndDay: today, By: ledger.ByKey, Key: "k", Model: "m"}, ledger.Put{Version: 99, Period: month(), Alerts: hook, Policy: []byte("p")}
	absorb := ledger.Absorb{Key: "meter", Seq: 1, Usage: []ledger.Usage{{Model: "m"}}, Recent: []ledger.Request{{ID: "r"}}, Violations: []ledger.ViolationGroup{group("a", start, 1)}}
	grant := ledger.Grant{Key: "meter", Period: month(), Epoch: 1, NeedPico: 5, LeastPico: 5, After: "a"}
	prune, recent := ledger.Prune{FirstDay: 1}, ledger.Recent{Limit: 1}
	for _, whole := range [][]byte{query.Encode(), put.Encode(), absorb.Encode(), prune.Encode(), recent.Encode(), ledger.Batch([][]byte{absorb.Encode()}), grant.Encode(), violations.Encode(), triage.Encode(), {0}, {2}, {18}, {200, 1}} {
		for n := 1; n < len(whole); n++ {
			b := oldLedger(t)
			if reply, err := b.Call(b.now, whole[:n]); err == nil && (whole[0] == 12 || whole[0] >= 14) {
				t.Errorf("accepted %x: %x", whole[:n], reply)
			}
		}
	}
	for _, key := range []string{"b", "k/meter", "al"} {
		for _, value := range [][]byte{{}, {0}, {99}, {1, 0xff}} {
			b := oldLedger(t)
			b.Rows[key] = value
			if _, err := b.Call(b.now, absorb.Encode()); err == nil {
				t.Errorf("decoded %s = %x", key, value)
			}
		}
	}
}

// TestRowsOfAnotherFormat checks that rows with an unknown format version are errors.
func TestRowsOfAnotherFormat(t *testing.T) {
	known := map[string]byte{"b": 2, "k/": 2, "al": 1, "u/": 2, "x/": 2, "h/": 1, "r/": 1, "vs": 1, "v/": 1}
	filled := func() *harness {
		b := newHarness(t)
		b.put(10, month(), hook)
		batch := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{{Day: today, Model: "m", CostPico: 9 * money.Dollar}}, Recent: []ledger.Request{{ID: "req_1"}}, Violations: []ledger.ViolationGroup{group("a", start, 1)}}
		b.call(batch.Encode())
		return b
	}
	for name := range filled().Rows {
		kind, rest, _ := strings.Cut(name, "/")
		if rest != "" {
			kind += "/"
		}
		format, ok := known[kind]
		if !ok {
			continue // the ledger does not decode the policy and the index
		}
		delete(known, kind)
		for _, other := range []byte{0, format + 1} {
			b := filled()
			if b.Rows[name][0] != format {
				t.Fatalf("%s has format %d, want %d", name, b.Rows[name][0], format)
			}
			b.Rows[name] = append([]byte{other}, b.Rows[name][1:]...)
			if err := b.readAllRows(); err == nil {
				t.Errorf("decoded %s of format %d", name, other)
			}
		}
	}
	if len(known) != 0 {
		t.Errorf("no rows of %v", known)
	}
}

// readAllRows runs commands that decode all rows, and returns the first error.
func (b *harness) readAllRows() error {
	put := ledger.Put{Version: 9, BudgetPico: 1, Period: month(), Alerts: hook}
	absorb := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 2, Usage: []ledger.Usage{{Day: today, Model: "m"}}, Violations: []ledger.ViolationGroup{group("a", start, 1)}}
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

// TestUserAgents checks that a user agent does not change the layout of a request. An older version takes the agent
// for part of the provider's name.
func TestUserAgents(t *testing.T) {
	for _, c := range []struct{ provider, agent, text string }{
		{"openai", "", "openai"}, {"", "", ""}, {"openai", "codex_exec/0.169.0 (Debian 12.0.0; x86_64)", "openai codex_exec/0.169.0 (Debian 12.0.0; x86_64)"},
		{"", "curl/8", " curl/8"}, {"openai", " ", "openai  "},
	} {
		var w, old abi.Writer
		q := ledger.Request{AtMs: 1, ID: "req_1", Model: "m", Provider: c.provider, Agent: c.agent, Status: 200}
		ledger.RequestFields(abi.WriteTo(&w), &q)
		ledger.RequestFields(abi.WriteTo(&old), &ledger.Request{AtMs: 1, ID: "req_1", Model: "m", Provider: c.text, Status: 200})
		if !bytes.Equal(w.Buf, old.Buf) {
			t.Errorf("%q by %q: %x, want %x", c.provider, c.agent, w.Buf, old.Buf)
		}
		var read ledger.Request
		if err := abi.DecodeFields(w.Buf, func(f *abi.Fields) { ledger.RequestFields(f, &read) }); err != nil || read != q {
			t.Errorf("%v %+v, want %+v", err, read, q)
		}
	}
}

// oldProviderFields does what ProviderFields did before requests had a time to first token.
func oldProviderFields(f *abi.Fields, provider, agent *string) {
	both := *provider
	if *agent != "" {
		both += " " + *agent
	}
	if f.String(&both); f.Reading() {
		*provider, *agent, _ = strings.Cut(both, " ")
	}
}

// TestFirstTokens checks that a time to first token survives an older version. That version shows the right provider
// and passes on the rest.
func TestFirstTokens(t *testing.T) {
	for _, c := range []struct {
		provider, agent string
		firstMs         uint64
		oldAgent        string
	}{
		{"openai", "", 0, ""}, {"openai", "curl/8 x/1", 0, "curl/8 x/1"}, {"openai", "curl/8 x/1", 412, "curl/8 x/1\x1f412"},
		{"openai", "", 1, "\x1f1"}, {"", "", 7, "\x1f7"}, {"mock", "a/1", 1<<64 - 1, "a/1\x1f18446744073709551615"},
	} {
		var w, again abi.Writer
		ledger.ProviderFields(abi.WriteTo(&w), &c.provider, &c.agent, &c.firstMs)
		var provider, agent string
		oldProviderFields(abi.ReadFrom(&abi.Reader{Buf: w.Buf}), &provider, &agent)
		if provider != c.provider || agent != c.oldAgent {
			t.Errorf("%+v: an older version reads %q and %q", c, provider, agent)
		}
		oldProviderFields(abi.WriteTo(&again), &provider, &agent)
		firstMs := uint64(99)
		ledger.ProviderFields(abi.ReadFrom(&abi.Reader{Buf: again.Buf}), &provider, &agent, &firstMs)
		if provider != c.provider || agent != c.agent || firstMs != c.firstMs {
			t.Errorf("%+v: passed on as %q, %q and %d", c, provider, agent, firstMs)
		}
	}
}

func TestMalformedFirstTokens(t *testing.T) {
	for _, suffix := range []string{"", "x", "-1", "1.5", " 1", "18446744073709551616", "\x1f", "\x00"} {
		for _, start := range []string{"openai curl/8", "openai "} {
			var w abi.Writer
			w.String(start + "\x1f" + suffix)
			var provider, agent string
			firstMs := uint64(99)
			ledger.ProviderFields(abi.ReadFrom(&abi.Reader{Buf: w.Buf}), &provider, &agent, &firstMs)
			if provider+" "+agent != start || firstMs != 0 {
				t.Errorf("%q after %q: %q, %q and %d", suffix, start, provider, agent, firstMs)
			}
		}
	}
}
