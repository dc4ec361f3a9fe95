package keymeter_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

const minuteMs = 60_000

// expectTokens checks the state of the token limit.
func (k *key) expectTokens(about string, remaining, resetMs uint64) {
	k.Helper()
	want := keymeter.Window{Tokens: true, WindowMs: minuteMs, Limit: 1000, Remaining: remaining, ResetMs: resetMs}
	if got := k.tokenWindow(); got != want {
		k.Errorf("%s: %+v, want %+v", about, got, want)
	}
}

// TestTokensPerMinute checks that tokens count for a minute after they are settled, with a resolution of one second.
func TestTokensPerMinute(t *testing.T) {
	k := newKey(t, record("counted"))
	k.expectTokens("unused", 1000, 0)
	k.serve(400)
	k.expectTokens("400", 600, minuteMs)
	k.now += 500
	k.serve(100) // the same second
	k.expectTokens("500 in one second", 500, minuteMs-500)
	k.now += 29_500
	k.serve(499)
	k.expectTokens("999", 1, 30_000)
	k.mustAdmit("req_open", 0)
	k.settle("req_open", 5000, 0) // one request can exceed the limit
	k.expectTokens("far above the limit", 0, 60_000)
	reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve})
	if reply.Verdict != keymeter.RateLimited || reply.RetryMs != 60_000 || reply.Windows[2] != k.tokenWindow() {
		t.Errorf("%+v", reply)
	}
	k.now += 30_000 // the first 500 have left the window, but it is still full
	k.expectTokens("after 30 s", 0, 30_000)
	k.now += 29_999
	k.expectTokens("just before a minute", 0, 1)
	k.now++
	k.expectTokens("after a minute", 1000, 0)
	k.serve(1)
}

// TestTokensSettledLateInASecond checks that tokens settled at the end of a second also count for at least a minute.
func TestTokensSettledLateInASecond(t *testing.T) {
	k := newKey(t, record("counted"))
	k.now += 990
	k.serve(1000)
	k.now += 59_999
	k.expectTokens("just before a minute", 0, 11)
	k.now += 11
	k.expectTokens("a minute after the end of the second", 1000, 0)
}

// TestTokensResetWhenSomeAreFree checks that ResetMs is the time until the window has room, not until it is empty.
func TestTokensResetWhenSomeAreFree(t *testing.T) {
	k := newKey(t, record("counted"))
	for range 4 {
		k.serve(300)
		k.now += 1000
	}
	k.now -= 1000
	k.expectTokens("1200 tokens in four seconds", 0, 57_000) // until the first 300 leave the window
	k.now += 57_000
	k.expectTokens("900 tokens in the window", 100, 1000)
}

// TestNoTokenLimit checks that without a token limit, there is no window, and that earlier tokens do not count
// against a limit that is set later.
func TestNoTokenLimit(t *testing.T) {
	k := newKey(t, record("wide"))
	k.serve(1_000_000)
	if reply := k.check(); len(reply.Windows) != 0 {
		t.Errorf("%+v", reply)
	}
	r := record("counted")
	r.Version++
	k.put(doc.Active, r)
	k.expectTokens("after the plan changed", 1000, 0)
}

// TestTokensAfterTheClockWentBack checks that after a clock step of one hour, the token window stays full, but only
// for one minute.
func TestTokensAfterTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.serve(600)
	k.now += 20_000
	k.serve(400)
	k.now -= calendar.HourMs
	if reply := k.check(); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
	k.expectTokens("an hour earlier", 0, minuteMs)
	k.now += minuteMs
	k.expectTokens("a minute later", 1000, 0)
	k.serve(10)
}

// TestTokensByOutcome checks that tokens count once for every outcome. A hit has no tokens.
func TestTokensByOutcome(t *testing.T) {
	k := newKey(t, record("counted"))
	for i, outcome := range []keymeter.Outcome{keymeter.Served, keymeter.Released, keymeter.Hit} {
		id := fmt.Sprint("req_", outcome)
		k.mustAdmit(id, 0)
		command := keymeter.Settle{RequestID: id, Outcome: outcome, Model: "m", Tokens: keymeter.Tokens{Prompt: 60, Completion: 40}}
		if outcome == keymeter.Hit {
			command.Tokens = keymeter.Tokens{}
		}
		for range 2 { // a repeat does not count
			k.call(command.Encode())
		}
		k.expectTokens(id, 1000-[]uint64{100, 200, 200}[i], minuteMs)
	}
}

// TestKeyLimits checks that a key's own limits apply where they are lower than its plan's.
func TestKeyLimits(t *testing.T) {
	for _, c := range []struct{ key, want doc.Limits }{
		{doc.Limits{}, doc.Limits{PerSecond: 4, PerDay: 100, TokensPerMinute: 1000}},
		{doc.Limits{PerSecond: 2, PerDay: 50, TokensPerMinute: 10}, doc.Limits{PerSecond: 2, PerDay: 50, TokensPerMinute: 10}},
		{doc.Limits{PerSecond: 5, PerDay: 101, TokensPerMinute: 1001}, doc.Limits{PerSecond: 4, PerDay: 100, TokensPerMinute: 1000}},
	} {
		r := record("counted")
		r.Limits = c.key
		limits := newKey(t, r).check().Windows
		if got := (doc.Limits{PerSecond: limits[0].Limit, PerDay: limits[1].Limit, TokensPerMinute: limits[2].Limit}); got != c.want {
			t.Errorf("%+v on the plan: %+v, want %+v", c.key, got, c.want)
		}
	}
	// The key's own limits also apply if its plan has none.
	r := record("wide")
	r.Limits = doc.Limits{PerDay: 1}
	k := newKey(t, r)
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount}); reply.Verdict != keymeter.Admitted || len(reply.Windows) != 1 {
		t.Errorf("%+v", reply)
	}
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount}); reply.Verdict != keymeter.RateLimited || reply.RetryMs != 16*calendar.HourMs {
		t.Errorf("%+v", reply)
	}
	k.now += 16 * calendar.HourMs
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount}); reply.Verdict != keymeter.Admitted {
		t.Errorf("the next day: %+v", reply)
	}
}

// TestExpiry checks that a key is rejected once it has expired. Requests in flight can still be settled.
func TestExpiry(t *testing.T) {
	r := record("wide")
	r.ExpiresMs = start + 1000
	k := newKey(t, r)
	k.now = start + 999
	k.mustAdmit("req_last", money.Cent)
	k.now = start + 1000
	for mode := keymeter.ModeCheck; mode <= keymeter.ModeHit; mode++ {
		if reply := k.admit(keymeter.Admit{Mode: mode}); reply.Verdict != keymeter.Inactive {
			t.Errorf("mode %d: %+v", mode, reply)
		}
	}
	k.settle("req_last", 10, money.Cent)
	if u := k.reportedUsage(); u.Requests != 1 || u.CostPico != money.Cent {
		t.Errorf("%+v", u)
	}
	r.Version, r.ExpiresMs = r.Version+1, 0
	k.put(doc.Active, r)
	if reply := k.check(); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
}

// TestRecentRequestsAreCapped checks that a batch lists only the newest 32 requests but counts all of them.
func TestRecentRequestsAreCapped(t *testing.T) {
	k := newKey(t, record("wide"))
	for range 40 {
		k.serve(2)
	}
	recent := k.recent()
	if len(recent) != 32 || recent[0].ID != "req_9" || recent[31].ID != "req_40" {
		t.Fatalf("%d requests: %+v", len(recent), recent)
	}
	want := ledger.Request{AtMs: start, ID: "req_40", Model: "m", Provider: "openai", Status: 200, DurationMs: 7, Prompt: 1, Completion: 1}
	if recent[31] != want {
		t.Errorf("%+v, want %+v", recent[31], want)
	}
	if u := k.reportedUsage(); u.Requests != 40 || u.Prompt != 40 || u.Latency.Count() != 40 {
		t.Errorf("%+v", u)
	}
}

// TestRecentRequestsWithoutAReservation checks that requests without a reservation are listed if they were served, even if there is
// nothing else to report.
func TestRecentRequestsWithoutAReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_open", 0) // there is a slice
	k.admit(keymeter.Admit{RequestID: "req_hit", Mode: keymeter.ModeHit, Trace: keymeter.Trace{Status: 200, DurationMs: 3, Cache: ledger.CacheHit, Stream: true}})
	k.admit(keymeter.Admit{RequestID: "req_none", Mode: keymeter.ModeCount})
	k.admit(keymeter.Admit{RequestID: "req_refused", Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 404}})
	k.admit(keymeter.Admit{RequestID: "req_count", Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 200}})
	if k.AlarmMs != start+10_000 {
		t.Errorf("alarm at %d, want %d", k.AlarmMs, uint64(start+10_000))
	}
	want := []ledger.Request{
		{AtMs: start, ID: "req_hit", Model: "m", Status: 200, DurationMs: 3, Cache: ledger.CacheHit, Stream: true},
		{AtMs: start, ID: "req_count", Model: "m", Status: 200},
	}
	if got := k.recent(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestSettlementAfterExpiry checks that an expired reservation is charged in full, and that a late settle replaces that
// charge once, even if it was already reported.
func TestSettlementAfterExpiry(t *testing.T) {
	for _, reported := range []bool{false, true} {
		k := newKey(t, record("counted"))
		k.mustAdmit("req_late", 10*money.Cent)
		k.now += 60_000
		if rang, err := k.Ring(k.now); !rang || err != nil {
			t.Fatalf("%v %v", rang, err)
		}
		if reported {
			k.now += 10_000
			if rang, err := k.Ring(k.now); !rang || err != nil {
				t.Fatalf("%v %v", rang, err)
			}
		} else if u := k.reportedUsage(); u.Requests != 1 || u.Expired != 1 || u.CostPico != 10*money.Cent || u.Latency.Count() != 0 {
			t.Errorf("expired: %+v", u)
		}
		for range 2 {
			k.settle("req_late", 8, 3*money.Cent)
		}
		want := ledger.Usage{Requests: 1, Prompt: 4, Completion: 4, CostPico: 3 * money.Cent}
		want.Latency.Add(7)
		if u := k.reportedUsage(); u != want {
			t.Errorf("settled: %+v, want %+v", u, want)
		}
		k.expectTokens("tokens of the late settle", 992, minuteMs-k.now%1000)
		recent := k.recent()
		if len(recent) != 2 || recent[0].Status != 0 || !recent[0].Estimated || recent[1].Status != 200 || recent[1].ID != "req_late" {
			t.Errorf("%+v", recent)
		}
	}
}

// TestRepeatAfterLateSettles checks that a meter remembers an expired request once, not again when it is settled. It would
// otherwise forget early that it has admitted a request, and reserve for a repeat.
func TestRepeatAfterLateSettles(t *testing.T) {
	k := newKey(t, record("wide"))
	for i := range 20 {
		k.mustAdmit(fmt.Sprint("req_", i), money.Cent)
	}
	k.ringUntil(k.now + 60_000)
	for i := range 19 {
		k.settle(fmt.Sprint("req_", i+1), 8, money.Cent)
	}
	k.mustAdmit("req_0", money.Cent)
	k.ringUntil(k.now + 60_000)
	if u := k.reportedUsage(); u.Requests != 20 || u.Expired != 1 || u.CostPico != 20*money.Cent {
		t.Errorf("a repeat has reserved: %+v", u)
	}
}

// TestOldOpsAreRejected checks that commands with an older version's op codes, which isolates may send during a
// rollout, are errors.
func TestOldOpsAreRejected(t *testing.T) {
	k := newKey(t, record("counted"))
	k.mustAdmit("req_1", 1)
	for op, oldOp := range map[uint64]byte{6: 1, 7: 2, 8: 5} {
		command := (&keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", CostPico: 7}).Encode()
		switch op {
		case 6:
			command = (&keymeter.Admit{RequestID: "req_2", Version: 2, Mode: keymeter.ModeCount}).Encode()
		case 8:
			command = (&keymeter.Extend{RequestID: "req_1", TotalPico: 1}).Encode()
		}
		if command[0] != byte(op) {
			t.Fatalf("op %d, want %d", command[0], op)
		}
		command[0] = oldOp
		if reply, err := k.Call(k.now, command); err == nil {
			t.Errorf("accepted op %d: %x", oldOp, reply)
		}
	}
}
