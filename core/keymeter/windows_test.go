package keymeter_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

func (k *key) countIs(what string, want keymeter.Verdict, remaining, afterMs uint64) {
	k.Helper()
	reply := k.admit(keymeter.Admit{Mode: keymeter.ModeCount})
	window := keymeter.Window{WindowMs: calendar.SecondMs, Limit: 4, Remaining: remaining, ResetMs: afterMs}
	if reply.Verdict != want || len(reply.Windows) != 3 || reply.Windows[0] != window {
		k.Errorf("%s: %+v, want verdict %d and %+v", what, reply, want, window)
	}
	if want == keymeter.RateLimited && reply.RetryMs != afterMs {
		k.Errorf("%s: retry after %d ms, want %d", what, reply.RetryMs, afterMs)
	}
}

// The window of a second slides: each admission counts for a second.
func TestPerSecond(t *testing.T) {
	k := newKey(t, record("counted"))
	k.countIs("the first", keymeter.Admitted, 3, 1000)
	k.countIs("the same moment", keymeter.Admitted, 2, 1000)
	k.now += 500
	k.countIs("half a second on", keymeter.Admitted, 1, 500)
	k.countIs("the last", keymeter.Admitted, 0, 500)
	k.countIs("one too many", keymeter.RateLimited, 0, 500)
	k.now += 499
	k.countIs("just before", keymeter.RateLimited, 0, 1)
	k.now++
	k.countIs("two are gone", keymeter.Admitted, 1, 500)
	k.countIs("the second", keymeter.Admitted, 0, 500)
	k.countIs("not a third", keymeter.RateLimited, 0, 500)
}

// A day's requests are counted from midnight, and the count of a repeated admission is one.
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

// The last 32 admissions without a reservation are known again; one from before counts anew.
func TestRepeatsThatAreKnown(t *testing.T) {
	k := newKey(t, record("counted"))
	repeat := func(i int, used uint64) {
		t.Helper()
		k.now += 1000
		k.admit(keymeter.Admit{RequestID: fmt.Sprint("day_", i), Mode: keymeter.ModeCount})
		if day := k.check().Windows[1]; day.Remaining != 100-used {
			t.Errorf("request %d: %d are left, want %d", i, day.Remaining, 100-used)
		}
	}
	for i := range 40 {
		repeat(i, uint64(i)+1)
	}
	repeat(8, 40)
	repeat(39, 40)
	repeat(7, 41)
	repeat(8, 42) // the oldest, until 7 came
}

// Tokens that just fill the limit leave nothing: the next is free when fewer than the limit are left.
func TestTokensThatFillTheLimit(t *testing.T) {
	k := newKey(t, record("counted"))
	k.enter("req_long", 0)
	k.use(300)
	k.now += 1000
	k.settle("req_long", 1000, 0)
	k.windowIs("1300 tokens in two seconds", 0, 60_000) // without the first 300 there are 1000
}

// A clock that goes back leaves no tokens where there were none.
func TestNoTokensAfterTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.check()
	k.admit(keymeter.Admit{Mode: keymeter.ModeCount})
	k.now -= calendar.HourMs
	k.windowIs("an hour before", 1000, 0)
	if second := k.check().Windows[0]; second.Remaining != 0 || second.ResetMs != 1000 {
		t.Errorf("%+v", second)
	}
}

// That the clock went back is known from then on, whatever command came first: the window is full for one second.
func TestClockWentBackBeforeAnExtension(t *testing.T) {
	k := newKey(t, record("counted"))
	k.enter("req_x", 40)
	k.now -= calendar.HourMs
	k.extendIs(keymeter.Extend{TotalPico: 40}, admitted(40))
	k.now += 1000
	k.countIs("a second later", keymeter.Admitted, 3, 1000)
}

// Nor does it matter for the end of a request that reserved nothing, which otherwise leaves the meter's row alone.
func TestFinishWritesTheMeterOnlyIfTheClockWentBack(t *testing.T) {
	k := newKey(t, record("counted"))
	k.admit(keymeter.Admit{RequestID: "req_bad", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"})
	before := k.Rows["h"]
	k.now++
	k.finish("req_bad", "answer")
	if !bytes.Equal(k.Rows["h"], before) {
		t.Error("the meter's row has changed")
	}
	k.replayIs("finished", "req_2", "answer")
	k.now -= calendar.HourMs
	k.finish("req_bad", "a second one")
	k.now += 1000
	k.countIs("a second later", keymeter.Admitted, 3, 1000)
}

// An admission that is repeated after its settlement reserves nothing.
func TestAdmissionAfterItsSettlement(t *testing.T) {
	k := newKey(t, record("counted"))
	k.enter("req_1", 10)
	k.settle("req_1", 2, 1)
	k.enter("req_1", 10)
	if day := k.check().Windows[1]; day.Remaining != 99 {
		t.Errorf("%+v", day)
	}
	flush := keymeter.Flush{}
	if reply, err := keymeter.DecodeFlushReply(k.do(flush.Encode())); err != nil || reply.Open != 0 {
		t.Errorf("%v %+v", err, reply)
	}
}

// So many requests may be under way; what reserves nothing is none of them.
func TestConcurrent(t *testing.T) {
	k := newKey(t, record("few"))
	k.enter("req_1", 1)
	k.enter("req_2", 1)
	if reply := k.admit(keymeter.Admit{RequestID: "req_3", Mode: keymeter.ModeReserve}); reply.Verdict != keymeter.ConcurrencyLimited {
		t.Errorf("a third: %+v", reply)
	}
	for _, mode := range []keymeter.Mode{keymeter.ModeCount, keymeter.ModeHit} {
		if reply := k.admit(keymeter.Admit{RequestID: fmt.Sprint("mode_", mode), Mode: mode}); reply.Verdict != keymeter.Admitted {
			t.Errorf("mode %d: %+v", mode, reply)
		}
	}
	k.settle("req_1", 2, 1)
	k.enter("req_4", 1)
}

// Only a record that is older than the meter's is stale, and only a newer one is taken.
func TestVersions(t *testing.T) {
	k := newKey(t, record("wide"))
	for version, want := range []keymeter.Verdict{keymeter.Stale, keymeter.Stale, keymeter.Admitted, keymeter.Admitted} {
		a := keymeter.Admit{RequestID: "req_1", Version: uint64(version), Mode: keymeter.ModeCheck}
		reply, err := keymeter.DecodeAdmitReply(k.do(a.Encode()))
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

// A repeated extension writes nothing.
func TestRepeatedExtensionWritesNothing(t *testing.T) {
	k := newKey(t, record("wide"))
	k.enter("req_x", 40)
	before := k.Rows["h"]
	k.now++
	k.extendIs(keymeter.Extend{TotalPico: 40}, admitted(40))
	if !bytes.Equal(k.Rows["h"], before) {
		t.Error("the meter's row has changed")
	}
}

// A request that costs nothing asks for nothing, not even for what the key owes.
func TestADebtIsNotAskedForByWhatIsFree(t *testing.T) {
	k := newKey(t, record("wide"))
	k.enter("req_dear", 100)
	k.settle("req_dear", 2, 1000)
	k.now += minuteMs
	if b, ok := k.flush(false); !ok || !b.Closed || b.HeldPico != 100 {
		t.Errorf("%+v", b)
	}
	k.reserveIs(0, keymeter.Grant{}, short(november, 2, 100, 0, 0))
	k.reserveIs(1, keymeter.Grant{}, short(november, 2, 100, 901, 901))
}

// A hit costs nothing, but is let in only where the ledger knows that the key is in use.
func TestAHitNeedsASlice(t *testing.T) {
	k := newKey(t, record("wide"))
	hit := keymeter.Admit{Mode: keymeter.ModeHit}
	if got, want := moneyOf(k.admit(hit)), short(november, 1, 0, 0, 0); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	hit.Grant = keymeter.Grant{Period: november, Epoch: 1}
	if got := moneyOf(k.admit(hit)); !reflect.DeepEqual(got, admitted(0)) {
		t.Errorf("%+v", got)
	}
}

// Open reads what exchanges send to a meter, whole.
func TestOpen(t *testing.T) {
	settle := &keymeter.Settle{RequestID: "req_1", Outcome: keymeter.Served, Model: "m", Answer: []byte("a"), Attempts: []keymeter.Charge{{Model: "n"}}}
	for _, c := range []interface{ Encode() []byte }{&keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCheck}, settle, &keymeter.Extend{RequestID: "req_1"}, &keymeter.Flush{Recall: true}} {
		whole := c.Encode()
		if got := keymeter.Open(whole); reflect.TypeOf(got) != reflect.TypeOf(c) || !bytes.Equal(got.(interface{ Encode() []byte }).Encode(), whole) {
			t.Errorf("%+v was opened as %+v", c, got)
		}
		if a, b := keymeter.Open(whole[:len(whole)-1]), keymeter.Open(append(whole, 0)); a != nil || b != nil {
			t.Errorf("%T: opened %+v and %+v", c, a, b)
		}
	}
	put := keymeter.Put{Status: doc.Active, Record: record("wide")}
	if a, b := keymeter.Open(put.Encode()), keymeter.Open(nil); a != nil || b != nil {
		t.Errorf("opened %+v and %+v", a, b)
	}
}
