package keymeter_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// expectCount admits a request in ModeCount and checks the verdict and the one-second window.
func (k *key) expectCount(about string, want keymeter.Verdict, remaining, afterMs uint64) {
	k.Helper()
	reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount})
	window := keymeter.Window{WindowMs: calendar.SecondMs, Limit: 4, Remaining: remaining, ResetMs: afterMs}
	if reply.Verdict != want || len(reply.Windows) != 3 || reply.Windows[0] != window {
		k.Errorf("%s: %+v, want verdict %d and %+v", about, reply, want, window)
	}
	if want == keymeter.RateLimited && reply.RetryMs != afterMs {
		k.Errorf("%s: retry after %d ms, want %d", about, reply.RetryMs, afterMs)
	}
}

// TestPerSecond checks that the one-second window slides: each admission counts for one second.
func TestPerSecond(t *testing.T) {
	k := newKey(t, record("counted"))
	k.expectCount("first at 0 ms", keymeter.Admitted, 3, 1000)
	k.expectCount("second at 0 ms", keymeter.Admitted, 2, 1000)
	k.now += 500
	k.expectCount("third, at 500 ms", keymeter.Admitted, 1, 500)
	k.expectCount("fourth, at 500 ms", keymeter.Admitted, 0, 500)
	k.expectCount("above the limit", keymeter.RateLimited, 0, 500)
	k.now += 499
	k.expectCount("at 999 ms", keymeter.RateLimited, 0, 1)
	k.now++
	k.expectCount("fifth, at 1000 ms", keymeter.Admitted, 1, 500)
	k.expectCount("sixth, at 1000 ms", keymeter.Admitted, 0, 500)
	k.expectCount("above the limit at 1000 ms", keymeter.RateLimited, 0, 500)
}

// TestPerDay checks that requests are counted from midnight, and that a repeated admission counts once.
func TestPerDay(t *testing.T) {
	k := newKey(t, record("counted"))
	modes := [...]keymeter.Mode{keymeter.ModeCount, keymeter.ModeHit}
	for i := range 100 {
		a := keymeter.Admit{RequestID: fmt.Sprint("day_", i), Mode: modes[i%2], Grant: keymeter.Grant{Period: november, Epoch: 1}}
		for range 2 {
			if reply := k.admit(a); reply.Verdict != keymeter.Admitted {
				t.Fatalf("%s: %+v", a.RequestID, reply)
			}
		}
		if day := k.check().Windows[1]; day.Remaining != uint64(99-i) || day.ResetMs != today*calendar.DayMs+calendar.DayMs-k.now {
			t.Fatalf("after %d: %+v", i+1, day)
		}
		k.now += 1000
	}
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount}); reply.Verdict != keymeter.RateLimited || reply.RetryMs != reply.Windows[1].ResetMs {
		t.Errorf("%+v", reply)
	}
}

// TestRepeatedAdmissions checks that repeats of the last 32 admissions without a reservation do not count again. A
// repeat of an earlier one does.
func TestRepeatedAdmissions(t *testing.T) {
	k := newKey(t, record("counted"))
	repeat := func(i int, used uint64) {
		t.Helper()
		k.now += 1000
		k.admit(keymeter.Admit{RequestID: fmt.Sprint("day_", i), Mode: keymeter.ModeCount})
		if day := k.check().Windows[1]; day.Remaining != 100-used {
			t.Errorf("request %d: %d remaining, want %d", i, day.Remaining, 100-used)
		}
	}
	for i := range 40 {
		repeat(i, uint64(i)+1)
	}
	repeat(8, 40)
	repeat(39, 40)
	repeat(7, 41)
	repeat(8, 42) // request 7 pushed it out
}

// TestTokensThatFillTheLimit checks that a window with exactly the limit has no room.
func TestTokensThatFillTheLimit(t *testing.T) {
	k := newKey(t, record("counted"))
	k.mustAdmit("req_long", 0)
	k.serve(300)
	k.now += 1000
	k.settle("req_long", 1000, 0)
	k.expectTokens("1300 tokens in two seconds", 0, 60_000) // without the first 300, it still has 1000
}

// TestNoTokensAfterTheClockWentBack checks that a clock step leaves an empty token window empty.
func TestNoTokensAfterTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.check()
	k.admit(keymeter.Admit{Mode: keymeter.ModeCount})
	k.now -= calendar.HourMs
	k.expectTokens("an hour earlier", 1000, 0)
	if second := k.check().Windows[0]; second.Remaining != 0 || second.ResetMs != 1000 {
		t.Errorf("%+v", second)
	}
}

// TestClockWentBackBeforeAnExtension checks that an Extend also stores a clock step, so the window is full for only
// one second.
func TestClockWentBackBeforeAnExtension(t *testing.T) {
	k := newKey(t, record("counted"))
	k.mustAdmit("req_x", 40)
	k.now -= calendar.HourMs
	k.expectExtend(keymeter.Extend{TotalPico: 40}, admitted(40))
	k.now += 1000
	k.expectCount("a second later", keymeter.Admitted, 3, 1000)
}

// TestFinishWritesTheMeterOnlyIfTheClockWentBack checks that a Finish stores a clock step. Without a clock step, it
// does not write the meter's row.
func TestFinishWritesTheMeterOnlyIfTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.admit(keymeter.Admit{RequestID: "req_bad", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"})
	before := k.Rows["h"]
	k.now++
	k.finish("req_bad", "answer")
	if !bytes.Equal(k.Rows["h"], before) {
		t.Error("the meter's row has changed")
	}
	k.expectReplay("after the finish", "req_2", "answer")
	k.now -= calendar.HourMs
	k.finish("req_bad", "second response")
	k.now += 1000
	k.expectCount("a second later", keymeter.Admitted, 3, 1000)
}

// TestAdmissionAfterItsSettlement checks that an admission repeated after its settle reserves nothing.
func TestAdmissionAfterItsSettlement(t *testing.T) {
	k := newKey(t, record("counted"))
	k.mustAdmit("req_1", 10)
	k.settle("req_1", 2, 1)
	k.mustAdmit("req_1", 10)
	if day := k.check().Windows[1]; day.Remaining != 99 {
		t.Errorf("%+v", day)
	}
	flush := keymeter.Flush{}
	if reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode())); err != nil || reply.Open != 0 {
		t.Errorf("%v %+v", err, reply)
	}
}

// TestConcurrent checks the limit on concurrent requests. Requests without a reservation do not count.
func TestConcurrent(t *testing.T) {
	k := newKey(t, record("few"))
	k.mustAdmit("req_1", 1)
	k.mustAdmit("req_2", 1)
	if reply := k.admit(keymeter.Admit{RequestID: "req_3", Mode: keymeter.ModeReserve}); reply.Verdict != keymeter.ConcurrencyLimited {
		t.Errorf("third request: %+v", reply)
	}
	for _, mode := range []keymeter.Mode{keymeter.ModeCount, keymeter.ModeHit} {
		if reply := k.admit(keymeter.Admit{RequestID: fmt.Sprint("mode_", mode), Mode: mode}); reply.Verdict != keymeter.Admitted {
			t.Errorf("mode %d: %+v", mode, reply)
		}
	}
	k.settle("req_1", 2, 1)
	k.mustAdmit("req_4", 1)
}

// TestVersions checks that only a record older than the meter's is stale, and that only a newer one replaces it.
func TestVersions(t *testing.T) {
	k := newKey(t, record("wide"))
	for version, want := range []keymeter.Verdict{keymeter.Stale, keymeter.Stale, keymeter.Admitted, keymeter.Admitted} {
		a := keymeter.Admit{RequestID: "req_1", Version: uint64(version), Mode: keymeter.ModeCheck}
		reply, err := keymeter.DecodeAdmitReply(k.call(a.Encode()))
		if err != nil || reply.Verdict != want {
			t.Errorf("version %d: %v %+v", version, err, reply)
		}
		if r, err := doc.DecodeRecord(reply.Record); want == keymeter.Stale && (err != nil || r.Version != 2) {
			t.Errorf("version %d: %v %+v", version, err, r)
		}
	}
	for version, want := range map[uint64]keymeter.Verdict{1: keymeter.Admitted, 2: keymeter.Admitted, 3: keymeter.Unknown} {
		k := newKey(t, record("wide"))
		r := record("wide")
		r.Version = version
		k.put(doc.Removed, r)
		if reply := k.check(); reply.Verdict != want {
			t.Errorf("removed by version %d: %+v", version, reply)
		}
	}
}

// TestRepeatAfterAChange checks that a repeat of an admission gets its reply even if the key's record has changed
// since, unless the key is inactive. A new request is stale.
func TestRepeatAfterAChange(t *testing.T) {
	k := newKey(t, record("counted"))
	send := func(id string, mode keymeter.Mode) keymeter.AdmitReply {
		return k.borrowAs(keymeter.Admit{RequestID: id, Version: 2, Mode: mode, AmountPico: 70}, 0)
	}
	k.fund(100)
	send("req_count", keymeter.ModeCount)
	send("req_reserve", keymeter.ModeReserve)
	k.put(doc.Active, withVersion(record("counted"), 3))
	if reply := send("req_count", keymeter.ModeCount); reply.Verdict != keymeter.Admitted || reply.Windows[1].Remaining != 98 {
		t.Errorf("counted: %+v", reply)
	}
	if reply := send("req_reserve", keymeter.ModeReserve); reply.Verdict != keymeter.Admitted || reply.ReservedPico != 70 {
		t.Errorf("reserved: %+v", reply)
	}
	if reply := send("req_new", keymeter.ModeCount); reply.Verdict != keymeter.Stale {
		t.Errorf("new: %+v", reply)
	}
	k.put(doc.Inactive, withVersion(record("counted"), 4))
	for _, id := range []string{"req_count", "req_reserve"} {
		if reply := send(id, keymeter.ModeCount); reply.Verdict != keymeter.Inactive {
			t.Errorf("%s after the deactivation: %+v", id, reply)
		}
	}
}

// TestRepeatedExtensionWritesNothing checks that an Extend to the current total does not write the meter's row.
func TestRepeatedExtensionWritesNothing(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_x", 40)
	before := k.Rows["h"]
	k.now++
	k.expectExtend(keymeter.Extend{TotalPico: 40}, admitted(40))
	if !bytes.Equal(k.Rows["h"], before) {
		t.Error("the meter's row has changed")
	}
}

// TestFreeRequestDoesNotAskForDebt checks that a reservation of 0 asks for no grant, not even for the key's debt.
func TestFreeRequestDoesNotAskForDebt(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_expensive", 100)
	k.settle("req_expensive", 2, 1000)
	k.now += minuteMs
	if b, ok := k.flush(false); !ok || !b.Closed || b.HeldPico != 100 {
		t.Errorf("%+v", b)
	}
	k.expectReserve(0, keymeter.Grant{}, short(november, 2, 100, 0, 0))
	k.expectReserve(1, keymeter.Grant{}, short(november, 2, 100, 901, 901))
}

// TestHitNeedsASlice checks that a hit is admitted only with a grant, perhaps of 0. Through the grant, the Ledger
// knows that the key is in use.
func TestHitNeedsASlice(t *testing.T) {
	k := newKey(t, record("wide"))
	hit := keymeter.Admit{Mode: keymeter.ModeHit}
	if got, want := budgetFields(k.admit(hit)), short(november, 1, 0, 0, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	hit.Grant = keymeter.Grant{Period: november, Epoch: 1}
	if got := budgetFields(k.admit(hit)); !reflect.DeepEqual(got, admitted(0)) {
		t.Errorf("%+v", got)
	}
}

// TestOpen checks that Open decodes complete commands and rejects truncated and other ones. Only the violations, the
// last field, may be missing, because older isolates omit them.
func TestOpen(t *testing.T) {
	found := []ledger.Violation{{Rule: "personal.email", Count: 2}}
	settle := &keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", Answer: []byte("a"), Attempts: []keymeter.Charge{{Model: "n"}}}
	older := map[reflect.Type]int{
		reflect.TypeFor[*keymeter.Admit]():  len((&keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCheck}).Encode()) - 1,
		reflect.TypeFor[*keymeter.Settle](): len(settle.Encode()) - 1,
	}
	reported := *settle
	reported.Violations = found
	for _, c := range []interface{ Encode() []byte }{
		&keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCheck}, settle, &keymeter.Extend{RequestID: "req_1"}, &keymeter.Flush{Recall: true},
		&keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCheck, Violations: found}, &reported,
	} {
		whole := c.Encode()
		if got := keymeter.Open(whole); reflect.TypeOf(got) != reflect.TypeOf(c) || !bytes.Equal(got.(interface{ Encode() []byte }).Encode(), whole) {
			t.Errorf("%+v is decoded as %+v", c, got)
		}
		for n := range whole {
			if got := keymeter.Open(whole[:n]); (got != nil) != (n == older[reflect.TypeOf(c)] && n > 0) {
				t.Errorf("%T: its first %d of %d bytes are decoded as %+v", c, n, len(whole), got)
			}
		}
		if got := keymeter.Open(append(whole, 0)); got != nil {
			t.Errorf("%T: with trailing bytes it is decoded as %+v", c, got)
		}
	}
	put := keymeter.Put{Status: doc.Active, Record: record("wide")}
	if a, b := keymeter.Open(put.Encode()), keymeter.Open(nil); a != nil || b != nil {
		t.Errorf("Put is decoded as %+v, no bytes as %+v", a, b)
	}
}
