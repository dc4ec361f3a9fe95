package lease_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// lent is a typical lease.
var lent = keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: 6400, Slots: 25}

// granted returns an entry with a lease. Exchange 1 asked for it at the start and is its keeper.
func granted(t *testing.T, l keymeter.Lease) *lease.Entry {
	t.Helper()
	e := &lease.Entry{}
	if id, changed := e.Ask(start-400, 2, 7, 9); id != 0 || !changed {
		t.Fatalf("the first request asked for lease %d, changed %t", id, changed)
	}
	id, changed := e.Ask(start, 2, 7, 1)
	if id != 7 || !changed || e.Keeper() != 1 {
		t.Fatalf("the second request asked for lease %d, changed %t, keeper %d", id, changed, e.Keeper())
	}
	if !e.Granted(start+30, lease.Asked{ID: 7, SentMs: start, Version: 2}, &l, nil) {
		t.Fatal("the lease is not wanted")
	}
	return again(t, e)
}

func again(t *testing.T, e *lease.Entry) *lease.Entry {
	t.Helper()
	data, _ := e.Encode()
	decoded := lease.Decode(data)
	if got, _ := decoded.Encode(); string(got) != string(data) {
		t.Fatalf("%x becomes %x", data, got)
	}
	return decoded
}

func take(e *lease.Entry, now uint64, id string, amount money.Pico) bool {
	return e.Take(now, &lease.Request{ID: id, Version: 2, Model: "m", AmountPico: amount, LifetimeMs: lifetimeMs})
}

// settle stores a settlement in the entry.
func settle(t *testing.T, e *lease.Entry, now uint64, id string, cost money.Pico) {
	t.Helper()
	if !e.Settle(now, &keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", CostPico: cost}) {
		t.Errorf("%s: no room", id)
	}
}

// report creates a report and decodes it.
func report(t *testing.T, e *lease.Entry, now uint64, urgent bool) (r keymeter.Report, sent lease.Sending) {
	t.Helper()
	command, sent := e.Report(now, urgent)
	if command == nil {
		return r, sent
	}
	r, err := keymeter.DecodeReport(command)
	if err != nil || r.SentMs != now || sent.Ms != now {
		t.Fatalf("%v %+v %+v", err, r, sent)
	}
	return r, sent
}

// summary lists the requests of a report, with those in progress in parentheses, then the settles of registered
// requests.
func summary(r *keymeter.Report) string {
	var text []string
	for i := range r.Requests {
		name := r.Requests[i].RequestID
		if len(r.Requests[i].Settle) == 0 {
			name = "(" + name + ")"
		}
		text = append(text, name)
	}
	for _, data := range r.Settles {
		if s, err := keymeter.DecodeSettle(data); err == nil {
			text = append(text, s.RequestID+" settled")
		}
	}
	return strings.Join(text, " ")
}

// TestTake checks that a lease admits only within its time, its admissions, its budget and its slots, and only with
// its version.
func TestTake(t *testing.T) {
	for _, c := range []struct {
		name    string
		lent    keymeter.Lease
		at      uint64
		version uint64
		amount  money.Pico
		before  int  // requests of 100 picodollars
		asking  bool // another request is asking for more
		want    bool
	}{
		{"usual", lent, 40, 2, 100, 0, false, true},
		{"just before the end, counted from the request", lent, 1999, 2, 100, 0, false, true},
		{"at the end", lent, 2000, 2, 100, 0, false, false},
		{"another version", lent, 40, 3, 100, 0, false, false},
		{"an older version", lent, 40, 1, 100, 0, false, false},
		{"the last admission", keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 5, AmountPico: 6400, Slots: 25}, 40, 2, 100, 4, false, true},
		{"no admission left", keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 5, AmountPico: 6400, Slots: 25}, 40, 2, 100, 5, false, false},
		{"the last of the budget", lent, 40, 2, 6300, 1, true, true},
		{"budget for 16 more", keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: 1700, Slots: 25}, 40, 2, 100, 1, false, true},
		{"budget for fewer", keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: 1699, Slots: 25}, 40, 2, 100, 1, false, false},
		{"too little budget", lent, 40, 2, 6301, 1, true, false},
		{"the last slot", lent, 40, 2, 100, 24, false, true},
		{"no slot left", lent, 40, 2, 100, 25, false, false},
		{"lent nothing", keymeter.Lease{ID: 7}, 40, 2, 0, 0, false, false},
	} {
		e := granted(t, c.lent)
		for i := range c.before {
			if !take(e, start+35, fmt.Sprint(i), 100) {
				t.Fatalf("%s: request %d is not admitted", c.name, i)
			}
		}
		if c.asking {
			e.Ask(start+36, 2, 8, 5)
		}
		q := lease.Request{ID: "q", Version: c.version, Model: "m", AmountPico: c.amount, LifetimeMs: lifetimeMs}
		if got := again(t, e).Take(start+c.at, &q); got != c.want {
			t.Errorf("%s: admitted %t, want %t", c.name, got, c.want)
		}
	}
}

// TestSettleReturnsBudget checks that a settle returns the unused part of its reservation and its slot to the lease.
func TestSettleReturnsBudget(t *testing.T) {
	e := granted(t, lent)
	e.Ask(start+36, 2, 8, 5)
	if !take(e, start+40, "a", 6400) || take(e, start+40, "b", 1) {
		t.Fatal("the budget of the lease is wrong")
	}
	attempts := []keymeter.Charge{{Model: "n", CostPico: 400}}
	e.Settle(start+50, &keymeter.Settle{RequestID: "a", Outcome: keymeter.Served, Model: "m", CostPico: 1000, Attempts: attempts})
	if take(e, start+60, "b", 5001) || !take(e, start+60, "b", 5000) {
		t.Error("the settle returned another amount than 5000")
	}
	r, _ := report(t, again(t, e), start+70, true)
	if got := summary(&r); got != "(b) a" || r.Requests[1].AmountPico != 1400 || r.Requests[0].AmountPico != 5000 {
		t.Errorf("%s %+v", got, r)
	}
}

// TestHit checks that a request that is complete at its admission takes no slot.
func TestHit(t *testing.T) {
	e := granted(t, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, Slots: 1})
	for i := range 3 {
		q := lease.Request{ID: fmt.Sprint(i), Version: 2, Model: "m", Settle: &keymeter.Settle{RequestID: fmt.Sprint(i), Outcome: keymeter.Hit, Model: "m"}}
		if !e.Take(start+40, &q) {
			t.Errorf("hit %d is not admitted", i)
		}
	}
	if r, _ := report(t, e, start+50, false); summary(&r) != "0 1 2" {
		t.Errorf("%+v", r)
	}
}

// TestExtend checks that the lease extends a stream's reservation until a report has registered the stream.
func TestExtend(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	if s, done := e.Extend(start+50, "a", 6400); s != lease.Unregistered || !done {
		t.Errorf("within the budget: standing %d, done %t", s, done)
	}
	if s, done := e.Extend(start+50, "a", 6401); s != lease.Unregistered || done {
		t.Errorf("over the budget: standing %d, done %t", s, done)
	}
	r, sent := report(t, e, start+60, true)
	if len(r.Requests) != 1 || r.Requests[0].AmountPico != 6400 {
		t.Errorf("%+v", r)
	}
	if s, done := again(t, e).Extend(start+60, "a", 6401); s != lease.Registering || done {
		t.Errorf("while it is registered: standing %d, done %t", s, done)
	}
	e.Confirmed(start+70, sent, &keymeter.ReportReply{Lease: lent})
	if s, done := e.Extend(start+80, "a", 6401); s != lease.Registered || done {
		t.Errorf("registered: standing %d, done %t", s, done)
	}
	take(e, start+90, "b", 0)
	if s, done := e.Extend(start+2000+60, "b", 1); s != lease.Unregistered || done {
		t.Errorf("after the end: standing %d, done %t", s, done)
	}
}

// TestAsk checks when a key asks for a lease. It asks if two requests call the meter within two seconds, but waits
// two seconds after the meter refused to lend.
func TestAsk(t *testing.T) {
	e := &lease.Entry{}
	for _, c := range []struct {
		ms, want uint64
		changed  bool
	}{{0, 0, true}, {2000, 0, true}, {4000, 0, true}, {5999, 5, true}} {
		if id, changed := e.Ask(start+c.ms, 2, 5, 1); id != c.want || changed != c.changed {
			t.Errorf("after %d ms: lease %d, changed %t", c.ms, id, changed)
		}
	}
	if id, changed := e.Ask(start+6000, 2, 6, 2); id != 0 || changed {
		t.Errorf("while another request asks: lease %d, changed %t", id, changed)
	}
	e.Granted(start+6100, lease.Asked{ID: 5, SentMs: start + 5999, Version: 2}, &keymeter.Lease{}, nil)
	if e.Held() || e.Keeper() != 0 {
		t.Errorf("holds %+v", e)
	}
	for ms := uint64(6200); ms < 8100; ms += 100 {
		if id, _ := again(t, e).Ask(start+ms, 2, 6, 2); id != 0 {
			t.Errorf("after %d ms: lease %d", ms, id)
		}
	}
	e.Ask(start+8100, 2, 6, 2)
	if id, _ := e.Ask(start+8200, 2, 6, 3); id != 6 {
		t.Errorf("lease %d", id)
	}
	zero := &lease.Entry{}
	zero.Ask(start, 2, 0, 1)
	if id, _ := zero.Ask(start+600, 2, 0, 1); id == 0 {
		t.Error("the random number 0 is an ID")
	}
}

// TestAskForMore checks that a live lease is extended, and that a refusal of the request does not affect the lease.
func TestAskForMore(t *testing.T) {
	e := granted(t, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1, AmountPico: 6400, Slots: 25})
	take(e, start+40, "a", 100)
	if id, changed := e.Ask(start+50, 2, 8, 2); id != 7 || !changed {
		t.Errorf("lease %d, changed %t", id, changed)
	}
	if id, changed := e.Ask(start+50, 2, 8, 3); id != 0 || changed {
		t.Errorf("while another request asks: lease %d, changed %t", id, changed)
	}
	if id, _ := e.Ask(start+50, 3, 8, 2); id != 0 {
		t.Errorf("with another record: lease %d", id)
	}
	asked := lease.Asked{ID: 7, SentMs: start + 50, Version: 2}
	e.Granted(start+60, asked, &keymeter.Lease{}, nil)
	if r, _ := report(t, again(t, e), start+70, true); r.LeaseID != 7 || summary(&r) != "(a)" || r.Close {
		t.Errorf("%+v", r)
	}
	more := lent
	more.Requests = 2
	e.Granted(start+80, asked, &more, nil)
	if !take(e, start+2049, "b", 100) || take(e, start+2049, "c", 100) {
		t.Error("the extension admits another number of requests than one")
	}
}

// TestLeaseOfANewerRecord checks that a lease that was requested with an old record admits only with the new one.
func TestLeaseOfANewerRecord(t *testing.T) {
	e := &lease.Entry{}
	e.Ask(start-400, 2, 7, 1)
	e.Ask(start, 2, 7, 1)
	e.Granted(start+30, lease.Asked{ID: 7, SentMs: start + 10, Version: 3}, &lent, nil)
	q := lease.Request{ID: "a", Version: 2, AmountPico: 1}
	if e.Take(start+40, &q) {
		t.Error("admitted with the old record")
	}
	if q.Version = 3; !e.Take(start+40, &q) {
		t.Error("not admitted with the new record")
	}
}

// TestMalformedEntries checks that malformed or truncated entries, and those in another format, decode as empty.
func TestMalformedEntries(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	settle(t, e, start+60, "b", 1)
	report(t, e, start+60, true)
	take(e, start+70, "c", 100)
	data, keepMs := e.Encode()
	if keepMs < lifetimeMs {
		t.Errorf("kept for %d ms", keepMs)
	}
	other := append([]byte{data[0] + 1}, data[1:]...)
	list := [][]byte{nil, {}, {0}, {1}, other, append(data[:len(data):len(data)], 0), []byte(strings.Repeat("\xff", 300))}
	for n := range data {
		list = append(list, data[:n])
	}
	for _, bad := range list {
		d := lease.Decode(bad)
		if again, _ := d.Encode(); again != nil && len(bad) != 9 || d.Held() {
			t.Errorf("%x is %+v", bad, d)
		}
	}
}

// TestEntryIsBounded checks that an entry stays below 64 KiB with 200 requests, with many attempts or violations in each.
func TestEntryIsBounded(t *testing.T) {
	vast := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1 << 20, AmountPico: money.Dollar, Slots: 1 << 20}
	plain := keymeter.Settle{Outcome: keymeter.Served, Model: strings.Repeat("m", 60), CostPico: 1, Trace: keymeter.Trace{Provider: "provider", Status: 200, DurationMs: 30_000}}
	heavy := plain
	for range 4 {
		heavy.Attempts = append(heavy.Attempts, keymeter.Charge{Model: strings.Repeat("n", 60), Provider: "provider", CostPico: 1, Tokens: keymeter.Tokens{Prompt: 1000, Completion: 1000}})
		heavy.Violations = append(heavy.Violations, ledger.Violation{Rule: "secret.something", Path: "messages[12].content[3].text", Count: 1})
	}
	for name, s := range map[string]keymeter.Settle{"plain": plain, "heavy": heavy} {
		e, admitted := granted(t, vast), 0
		for i := range 600 {
			s.RequestID = fmt.Sprintf("req_%032d", i)
			if take(e, start+40, s.RequestID, 1) {
				admitted++
				e.Settle(start+40, &s)
			}
			if i == 100 {
				report(t, e, start+50, true)
			}
		}
		data, _ := e.Encode()
		if len(data) > 64<<10 || admitted > 200 || name == "plain" && admitted < 100 || admitted < 20 {
			t.Errorf("%s: %d requests in %d bytes", name, admitted, len(data))
		}
	}
}

// TestFullEntryTakesNoSettle checks that settles of registered requests go to the meter if the entry is full. The
// entry still keeps the settles of requests that the meter might not know yet.
func TestFullEntryTakesNoSettle(t *testing.T) {
	e := granted(t, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: money.Dollar, Slots: 1000})
	for i := range 100 {
		take(e, start+40, fmt.Sprint("registered ", i), 1)
	}
	_, sent := report(t, e, start+50, true)
	e.Confirmed(start+60, sent, &keymeter.ReportReply{Lease: keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: money.Dollar, Slots: 1000}})
	for i := range 100 {
		take(e, start+70, fmt.Sprint("registering ", i), 1)
	}
	report(t, e, start+80, true)
	for i := range 100 {
		take(e, start+90, fmt.Sprint("new ", i), 1)
	}
	if take(e, start+90, "one more", 1) {
		t.Error("a full entry admits")
	}
	for prefix, want := range map[string]bool{"registered ": false, "registering ": true, "new ": true} {
		s := keymeter.Settle{RequestID: prefix + "50", Outcome: keymeter.Served, Model: "m"}
		if got := e.Settle(start+95, &s); got != want {
			t.Errorf("%q: kept %t", prefix, got)
		}
	}
}

// TestNeed checks what requests do that the lease does not admit. While a command for the lease is under way, they
// wait. A command whose reply does not come for a second no longer counts.
func TestNeed(t *testing.T) {
	e := &lease.Entry{}
	e.Ask(start-400, 2, 7, 9)
	if n := e.Need(2); n != lease.Call {
		t.Errorf("without a lease: need %d", n)
	}
	e.Ask(start, 2, 7, 1)
	for ms, want := range map[uint64]lease.Need{1: lease.Await, 999: lease.Await, 1000: lease.Call} {
		waiting := again(t, e)
		if take(waiting, start+ms, "a", 1) {
			t.Fatal("admitted before the reply")
		}
		if n := waiting.Need(2); n != want {
			t.Errorf("%d ms after the request for the lease: need %d, want %d", ms, n, want)
		}
	}
	e = granted(t, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: 6400, Slots: 2})
	take(e, start+40, "a", 100)
	take(e, start+41, "b", 100)
	if n := e.Need(2); take(e, start+42, "c", 100) || n != lease.Renew {
		t.Errorf("no slot is left: need %d", n)
	}
	if n := e.Need(3); n != lease.Call {
		t.Errorf("with another record: need %d", n)
	}
	_, sent := report(t, e, start+50, true)
	if n := e.Need(2); n != lease.Await {
		t.Errorf("a report is under way: need %d", n)
	}
	lost := again(t, e)
	if take(lost, start+1050, "c", 100); lost.Need(2) != lease.Call {
		t.Errorf("the reply is late: need %d", lost.Need(2))
	}
	e.Confirmed(start+60, sent, &keymeter.ReportReply{Lease: keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 2, AmountPico: 200, Slots: 2}})
	small := granted(t, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 0, AmountPico: 6400, Slots: 25})
	if n := small.Need(2); n != lease.Call {
		t.Errorf("there is nothing to report: need %d", n)
	}
}

// TestNeedOfALeanLease checks what a request does that the budget does not admit. If the last report has brought less
// than 48 reservations, the meter has little left, too, and the next request asks it for more. Otherwise requests use the
// budget until less than 16 reservations are left. An answer to an admission does not count as such a report.
func TestNeedOfALeanLease(t *testing.T) {
	const taken = 10
	of := func(reservations int64) keymeter.Lease {
		return keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: 100 * reservations, Slots: 1000}
	}
	for _, c := range []struct {
		free, admitted int64
		asked          bool
		need           lease.Need
	}{
		{47, 0, false, lease.Call},
		{48, 33, false, lease.Renew},
		{47, 32, true, lease.Renew},
	} {
		e := granted(t, of(taken+16))
		for i := range taken {
			take(e, start+40, fmt.Sprint("first ", i), 100)
		}
		_, sent := report(t, e, start+50, true)
		renewed := of(taken + c.free)
		e.Confirmed(start+60, sent, &keymeter.ReportReply{Lease: renewed})
		if c.asked {
			e.Granted(start+70, lease.Asked{ID: 7, SentMs: start + 60, Version: 2}, &renewed, nil)
		}
		n := int64(0)
		for ; take(e, start+80, fmt.Sprint("later ", n), 100); n++ {
		}
		if got := again(t, e).Need(2); n != c.admitted || got != c.need {
			t.Errorf("%+v: %d admitted, need %d", c, n, got)
		}
	}
}

// TestLostAskIsRepeated checks that the next request asks for the same lease if the first reply does not come for a
// second. It becomes the keeper, and the first reply is still welcome.
func TestLostAskIsRepeated(t *testing.T) {
	e := &lease.Entry{}
	e.Ask(start-400, 2, 7, 9)
	e.Ask(start, 2, 7, 1)
	if id, changed := e.Ask(start+999, 2, 8, 2); id != 0 || changed {
		t.Errorf("asked for lease %d, changed %t", id, changed)
	}
	if id, changed := e.Ask(start+1000, 2, 8, 2); id != 7 || !changed || e.Keeper() != 2 {
		t.Errorf("asked for lease %d, changed %t, keeper %d", id, changed, e.Keeper())
	}
	e = again(t, e)
	if !e.Granted(start+1100, lease.Asked{ID: 7, SentMs: start, Version: 2}, &lent, nil) || !take(e, start+1100, "a", 1) || take(e, start+2000, "b", 1) {
		t.Error("the first reply does not count from its own request")
	}
	if !e.Granted(start+2100, lease.Asked{ID: 7, SentMs: start + 1000, Version: 2}, &lent, nil) || !take(e, start+2100, "b", 1) {
		t.Error("the second reply does not count")
	}
}

// TestRenewedAheadOfNeed checks that a report is due when a quarter of the admissions or of the budget is left.
func TestRenewedAheadOfNeed(t *testing.T) {
	for name, c := range map[string]struct {
		lent keymeter.Lease
		want int
	}{
		"admissions": {keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 40, AmountPico: 1 << 40, Slots: 1000}, 31},
		"budget":     {keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: 128 * 100, Slots: 1000}, 97},
	} {
		e, n := granted(t, c.lent), 0
		for ; !again(t, e).Due() && take(e, start+60, fmt.Sprint(n), 100); n++ {
		}
		if n != c.want {
			t.Errorf("%s: due or refused after %d requests, want %d", name, n, c.want)
		}
	}
}
