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

// windowIs compares the state of the limit on tokens.
func (k *key) windowIs(what string, remaining, resetMs uint64) {
	k.Helper()
	want := keymeter.Window{Tokens: true, WindowMs: minuteMs, Limit: 1000, Remaining: remaining, ResetMs: resetMs}
	if got := k.window(); got != want {
		k.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// Tokens count when they are settled, in the second in which they are, for a minute.
func TestTokensPerMinute(t *testing.T) {
	k := newKey(t, record("counted"))
	k.windowIs("unused", 1000, 0)
	k.use(400)
	k.windowIs("400", 600, minuteMs)
	k.now += 500
	k.use(100) // the same second
	k.windowIs("500 in one second", 500, minuteMs-500)
	k.now += 29_500
	k.use(499)
	k.windowIs("999", 1, 30_000)
	k.enter("req_open", 0)
	k.settle("req_open", 5000, 0) // one request can go over the limit
	k.windowIs("far too many", 0, 60_000)
	reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve})
	if reply.Verdict != keymeter.RateLimited || reply.RetryMs != 60_000 || reply.Windows[2] != k.window() {
		t.Errorf("%+v", reply)
	}
	k.now += 30_000 // the first 500 are gone, the others still fill it
	k.windowIs("after 30 s", 0, 30_000)
	k.now += 29_999
	k.windowIs("just before", 0, 1)
	k.now++
	k.windowIs("after a minute", 1000, 0)
	k.use(1)
}

// What is settled late in a second counts for a whole minute as well: in no minute are there more than the limit.
func TestTokensOfALateMoment(t *testing.T) {
	k := newKey(t, record("counted"))
	k.now += 990
	k.use(1000)
	k.now += 59_999
	k.windowIs("a moment before a minute", 0, 11)
	k.now += 11
	k.windowIs("after the second's end", 1000, 0)
}

// The window says when the next token is free: when enough of the oldest have gone.
func TestTokensResetWhenSomeAreFree(t *testing.T) {
	k := newKey(t, record("counted"))
	for range 4 {
		k.use(300)
		k.now += 1000
	}
	k.now -= 1000
	k.windowIs("1200 tokens in four seconds", 0, 57_000) // the first 300 have to go
	k.now += 57_000
	k.windowIs("900 are left", 100, 1000)
}

// What is counted while there is no limit is not held against a later one; and without a limit there is no window.
func TestNoLimitOnTokens(t *testing.T) {
	k := newKey(t, record("wide"))
	k.use(1_000_000)
	if reply := k.check(); len(reply.Windows) != 0 {
		t.Errorf("%+v", reply)
	}
	r := record("counted")
	r.Version++
	k.put(doc.Active, r)
	k.windowIs("after the plan changed", 1000, 0)
}

// A clock that goes back an hour does not close the key for that hour, nor does it open the window.
func TestTokensAfterTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.use(600)
	k.now += 20_000
	k.use(400)
	k.now -= calendar.HourMs
	if reply := k.check(); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
	k.windowIs("an hour before", 0, minuteMs)
	k.now += minuteMs
	k.windowIs("a minute later", 1000, 0)
	k.use(10)
}

// Settlements of other kinds count their tokens too; a hit has none.
func TestWhichTokensCount(t *testing.T) {
	k := newKey(t, record("counted"))
	for i, outcome := range []keymeter.Outcome{keymeter.Served, keymeter.Released, keymeter.Hit} {
		id := fmt.Sprint("req_", outcome)
		k.enter(id, 0)
		command := keymeter.Settle{RequestID: id, Outcome: outcome, Model: "m", Tokens: keymeter.Tokens{Prompt: 60, Completion: 40}}
		if outcome == keymeter.Hit {
			command.Tokens = keymeter.Tokens{}
		}
		for range 2 { // a repeat does not count
			k.do(command.Encode())
		}
		k.windowIs(id, 1000-[]uint64{100, 200, 200}[i], minuteMs)
	}
}

// A key's own limits hold where they are narrower than its plan's.
func TestOwnLimits(t *testing.T) {
	for _, c := range []struct{ own, want doc.Limits }{
		{doc.Limits{}, doc.Limits{PerSecond: 4, PerDay: 100, TokensPerMinute: 1000}},
		{doc.Limits{PerSecond: 2, PerDay: 50, TokensPerMinute: 10}, doc.Limits{PerSecond: 2, PerDay: 50, TokensPerMinute: 10}},
		{doc.Limits{PerSecond: 5, PerDay: 101, TokensPerMinute: 1001}, doc.Limits{PerSecond: 4, PerDay: 100, TokensPerMinute: 1000}},
	} {
		r := record("counted")
		r.Limits = c.own
		limits := newKey(t, r).check().Windows
		if got := (doc.Limits{PerSecond: limits[0].Limit, PerDay: limits[1].Limit, TokensPerMinute: limits[2].Limit}); got != c.want {
			t.Errorf("%+v on the plan: %+v, want %+v", c.own, got, c.want)
		}
	}
	// A plan without limits has those of the key.
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

// A key is refused from the moment on at which it expires, and until then it is not. What is under way is
// settled all the same.
func TestExpiry(t *testing.T) {
	r := record("wide")
	r.ExpiresMs = start + 1000
	k := newKey(t, r)
	k.now = start + 999
	k.enter("req_last", money.Cent)
	k.now = start + 1000
	for mode := keymeter.ModeCheck; mode <= keymeter.ModeHit; mode++ {
		if reply := k.admit(keymeter.Admit{Mode: mode}); reply.Verdict != keymeter.Inactive {
			t.Errorf("mode %d: %+v", mode, reply)
		}
	}
	k.settle("req_last", 10, money.Cent)
	if u := k.reported(); u.Requests != 1 || u.CostPico != money.Cent {
		t.Errorf("%+v", u)
	}
	r.Version, r.ExpiresMs = r.Version+1, 0
	k.put(doc.Active, r)
	if reply := k.check(); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
}

// A batch tells of the newest 32 requests; the sums have them all.
func TestRecentRequestsAreCapped(t *testing.T) {
	k := newKey(t, record("wide"))
	for range 40 {
		k.use(2)
	}
	recent := k.recent()
	if len(recent) != 32 || recent[0].ID != "req_9" || recent[31].ID != "req_40" {
		t.Fatalf("%d requests: %+v", len(recent), recent)
	}
	want := ledger.Request{AtMs: start, ID: "req_40", Model: "m", Provider: "openai", Status: 200, DurationMs: 7, Prompt: 1, Completion: 1}
	if recent[31] != want {
		t.Errorf("%+v, want %+v", recent[31], want)
	}
	if u := k.reported(); u.Requests != 40 || u.Prompt != 40 || u.Latency.Count() != 40 {
		t.Errorf("%+v", u)
	}
}

// Answers without a reservation are told of if they have a status, and reported even if nothing else is.
func TestRecentRequestsWithoutAReservation(t *testing.T) {
	k := newKey(t, record("wide"))
	k.enter("req_open", 0) // there is a slice
	k.admit(keymeter.Admit{RequestID: "req_hit", Mode: keymeter.ModeHit, Trace: keymeter.Trace{Status: 200, DurationMs: 3, Cache: ledger.CacheHit, Stream: true}})
	k.admit(keymeter.Admit{RequestID: "req_none", Mode: keymeter.ModeCount})
	k.admit(keymeter.Admit{RequestID: "req_count", Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 404}})
	if k.AlarmMs != start+5000 {
		t.Errorf("the alarm is set to %d", k.AlarmMs)
	}
	want := []ledger.Request{
		{AtMs: start, ID: "req_hit", Model: "m", Status: 200, DurationMs: 3, Cache: ledger.CacheHit, Stream: true},
		{AtMs: start, ID: "req_count", Model: "m", Status: 404},
	}
	if got := k.recent(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A reservation that expired is booked at its amount, and a settlement that comes late puts what really
// happened in its place, once, also when the first was reported already.
func TestSettlementAfterExpiry(t *testing.T) {
	for _, reported := range []bool{false, true} {
		k := newKey(t, record("counted"))
		k.enter("req_late", 10*money.Cent)
		k.now += 60_000
		if rang, err := k.Ring(k.now); !rang || err != nil {
			t.Fatalf("%v %v", rang, err)
		}
		if reported {
			k.now += 5000
			if rang, err := k.Ring(k.now); !rang || err != nil {
				t.Fatalf("%v %v", rang, err)
			}
		} else if u := k.reported(); u.Requests != 1 || u.Expired != 1 || u.CostPico != 10*money.Cent || u.Latency.Count() != 0 {
			t.Errorf("expired: %+v", u)
		}
		for range 2 {
			k.settle("req_late", 8, 3*money.Cent)
		}
		want := ledger.Usage{Requests: 1, Prompt: 4, Completion: 4, CostPico: 3 * money.Cent}
		want.Latency.Add(7)
		if u := k.reported(); u != want {
			t.Errorf("settled: %+v, want %+v", u, want)
		}
		k.windowIs("its tokens", 992, minuteMs-k.now%1000)
		recent := k.recent()
		if len(recent) != 2 || recent[0].Status != 0 || !recent[0].Estimated || recent[1].Status != 200 || recent[1].ID != "req_late" {
			t.Errorf("%+v", recent)
		}
	}
}

// While a deployment goes out, isolates of the version before get an error: their admit, settle and extend say less.
func TestCommandsOfTheVersionBefore(t *testing.T) {
	k := newKey(t, record("counted"))
	k.enter("req_1", 1)
	for now, before := range map[uint64]byte{6: 1, 7: 2, 8: 5} {
		command := (&keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", CostPico: 7}).Encode()
		switch now {
		case 6:
			command = (&keymeter.Admit{RequestID: "req_2", Version: 2, Mode: keymeter.ModeCount}).Encode()
		case 8:
			command = (&keymeter.Extend{RequestID: "req_1", TotalPico: 1}).Encode()
		}
		if command[0] != byte(now) {
			t.Fatalf("op %d, want %d", command[0], now)
		}
		command[0] = before
		if reply, err := k.Call(k.now, command); err == nil {
			t.Errorf("op %d is taken: %x", before, reply)
		}
	}
}
