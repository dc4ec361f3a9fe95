package keymeter_test

import (
	"bytes"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// novemberMonth is November 2026 as a period in the old format, a month number.
const novemberMonth = (2026-1970)*12 + 10

// oldRecord returns a key record in format 1.
func oldRecord(version uint64, plan string) []byte {
	var w abi.Writer
	w.Uint(1)
	w.Uint(version)
	w.String("key_1")
	w.String("proj_1")
	w.Uint(1) // gateway
	w.Uint(1) // production
	w.String(plan)
	w.String("weur")
	w.Uint(3600)
	return w.Buf
}

// oldMeter returns a meter in format 1: a slice of one dollar, one open reservation of ten cents, and unreported
// usage without hours and latencies.
func oldMeter(t *testing.T) *key {
	k := newKey(t, doc.Record{})
	var w abi.Writer
	w.Uint(1)
	w.Uint(1) // active
	w.Bytes(oldRecord(2, "wide"))
	w.Uint(start)        // the clock
	w.Uint(start - 5000) // last used
	w.Uint(0)            // ticks
	w.Uint(today)
	w.Uint(17) // requests today
	w.Uint(novemberMonth)
	w.Bool(true)
	w.Int(money.Dollar)    // granted
	w.Int(5 * money.Cent)  // spent
	w.Int(10 * money.Cent) // reserved
	w.Uint(novemberMonth - 1)
	w.Bool(false)
	for range 3 { // October's slice
		w.Int(0)
	}
	w.Uint(3) // grants
	w.Uint(1) // reservations
	w.String("req_open")
	w.Uint(start - 5000)  // admitted
	w.Uint(start + 55000) // expires
	w.Uint(novemberMonth)
	w.Int(10 * money.Cent)
	w.String("m")
	w.String("")
	w.Uint(0) // hashes of admissions
	w.Uint(1) // usage
	w.Uint(today)
	w.String("m")
	for _, n := range []uint64{2, 1, 1, 0, 30, 40} { // requests, hits, misses, failed, prompt, completion
		w.Uint(n)
	}
	w.Int(5 * money.Cent)
	w.Uint(1)            // estimated
	w.Uint(0)            // expired
	w.Uint(start + 1000) // time of the next report
	w.Uint(6)            // batches
	w.Uint(0)            // no row to delete
	k.Rows = map[string][]byte{"h": w.Buf}
	return k
}

// meterOfFormat2 returns a meter in format 2, which has the number of the last grant instead of the epoch.
func meterOfFormat2(t *testing.T) *key {
	k := newKey(t, doc.Record{})
	var w abi.Writer
	w.Uint(2)
	w.Uint(1) // active
	r := record("counted")
	w.Bytes(r.Encode())
	w.Uint(start)
	w.Uint(start)
	w.Uint(1) // ticks
	w.Uint(start)
	w.Uint(2)
	w.Uint(today)
	w.Uint(17)
	w.Uint(uint64(november))
	w.Bool(true)
	w.Int(100) // granted
	w.Int(10)  // spent
	w.Int(40)  // reserved
	w.Uint(0)
	w.Bool(false)
	for range 3 {
		w.Int(0)
	}
	w.Uint(9) // grants
	w.Uint(1) // reservations
	w.String("req_open")
	w.Uint(start)
	w.Uint(start + 60_000)
	w.Uint(uint64(november))
	w.Int(40)
	w.String("m")
	w.String("")
	w.Uint(1) // hashes of admissions
	w.Uint(77)
	w.Uint(1) // usage
	u := ledger.Usage{Day: today, Hour: 8, Model: "m", Requests: 1, CostPico: 10}
	u.Latency.Add(7)
	ledger.UsageFields(abi.WriteTo(&w), &u)
	w.Uint(1) // recent requests
	ledger.RequestFields(abi.WriteTo(&w), &ledger.Request{AtMs: start, ID: "req_old", Model: "m", CostPico: 10})
	w.Uint(1) // tokens
	w.Uint(start)
	w.Uint(300)
	w.Uint(start + 1000)
	w.Uint(6)
	w.Uint(0)
	k.Rows = map[string][]byte{"h": w.Buf}
	k.absorbed = 6
	return k
}

func TestMeterOfFormat2(t *testing.T) {
	k := meterOfFormat2(t)
	k.expectTokens("tokens of the stored meter", 700, minuteMs)
	k.expectReserve(51, keymeter.Grant{Period: november, Epoch: 1, TotalPico: 900}, short(november, 2, 100, 51, 1))
	k.expectReserve(50, keymeter.Grant{}, admitted(50))
	k.settle("req_open", 10, 5)
	want := ledger.Usage{Requests: 2, Prompt: 5, Completion: 5, CostPico: 15}
	want.Latency.Add(7)
	want.Latency.Add(7)
	if u := k.reportedUsage(); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
	if recent := k.recent(); len(recent) != 2 || recent[0].ID != "req_old" || recent[1].ID != "req_open" {
		t.Errorf("%+v", recent)
	}
}

func TestOldMeter(t *testing.T) {
	k := oldMeter(t)
	k.settle("req_open", 10, 4*money.Cent) // the stored reservation
	k.mustAdmit("req_new", 91*money.Cent)  // the rest of the stored slice: 100 - 5 - 4
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: 1}); reply.Verdict != keymeter.Short || reply.Epoch != 2 || reply.HeldPico != money.Dollar || reply.NeedPico != 1 || reply.Period != calendar.NewPeriod(calendar.Monthly, 0, today) {
		t.Errorf("%+v", reply)
	}
	flush := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
	if err != nil || len(reply.Absorbs) != 1 || reply.Open != 1 {
		t.Fatalf("%v %+v", err, reply)
	}
	r := abi.Reader{Buf: reply.Absorbs[0]}
	if op, name, id, seq := r.Uint(), r.String(), r.String(), r.Uint(); op != 14 || name != "hash" || id != "key_1" || seq != 7 {
		t.Errorf("batch %d of meter %s, key %s, op %d", seq, name, id, op)
	}
}

// TestOldUnreportedUsage checks that usage stored in format 1 is reported together with new usage.
func TestOldUnreportedUsage(t *testing.T) {
	k := oldMeter(t)
	k.absorbed = 6
	k.settle("req_open", 10, 4*money.Cent)
	u := k.reportedUsage()
	if u.Requests != 3 || u.Hits != 1 || u.Misses != 1 || u.Prompt != 35 || u.Completion != 45 || u.CostPico != 9*money.Cent || u.Estimated != 1 || u.Latency.Count() != 1 {
		t.Errorf("%+v", u)
	}
}

// TestMeterWithPromptCache checks that a meter uses the format with prompt caches only until it has reported their
// figures. An older version can read all other meters.
func TestMeterWithPromptCache(t *testing.T) {
	k := newKey(t, record("wide"))
	k.serve(2)
	if format := k.Rows["h"][0]; format != 5 {
		t.Errorf("format %d without figures, want 5", format)
	}
	k.mustAdmit("req_cached", 0)
	cached := ledger.PromptCache{Read: 80, Written: 16, SavedPico: -money.Cent}
	command := keymeter.Settle{RequestID: "req_cached", Outcome: keymeter.Served, Model: "m", PromptCache: cached, Trace: keymeter.Trace{Status: 200}}
	k.call(command.Encode())
	if format := k.Rows["h"][0]; format != 7 {
		t.Errorf("format %d with figures, want 7", format)
	}
	k.serve(2) // the figures survive rewriting the row
	if u := k.reportedUsage(); u.PromptCache != cached || u.Requests != 3 {
		t.Errorf("%+v", u)
	}
	if format := k.Rows["h"][0]; format != 5 {
		t.Errorf("format %d after the report, want 5", format)
	}
	if recent := k.recent(); len(recent) != 3 || recent[1].PromptCache != cached || recent[2].PromptCache.Used() {
		t.Errorf("%+v", recent)
	}
	cut := command.Encode()
	for n := 1; n < len(cut); n++ {
		if _, err := keymeter.DecodeSettle(cut[:n]); err == nil && n < len(cut)-1 {
			t.Errorf("accepted %x", cut[:n])
		}
	}
}

// TestMeterWithAttempts checks that a meter uses the format with failed attempts only until it has reported them.
// Failed attempts count for the models whose providers failed. A rescue counts for the model that served the request.
func TestMeterWithAttempts(t *testing.T) {
	k := newKey(t, record("wide"))
	k.mustAdmit("req_rescued", 0)
	command := keymeter.Settle{
		RequestID: "req_rescued", Outcome: keymeter.Served, Model: "b", Rescued: true, Trace: keymeter.Trace{Status: 200},
		Failures: []keymeter.Failure{{Model: "a", Cause: ledger.CauseBusy, Count: 2}, {Model: "b", Cause: ledger.CauseTimeout, Count: 1}},
	}
	k.call(command.Encode())
	k.call(command.Encode())
	if format := k.Rows["h"][0]; format != 8 {
		t.Errorf("format %d with figures, want 8", format)
	}
	k.serve(1)
	want := map[string]ledger.Attempts{
		"a": {Failed: [ledger.Causes]uint64{ledger.CauseBusy: 2}}, "b": {Failed: [ledger.Causes]uint64{ledger.CauseTimeout: 1}, Rescued: 1}, "m": {},
	}
	for _, u := range k.reportedUsages() {
		if u.Attempts != want[u.Model] || u.Requests != map[string]uint64{"b": 1, "m": 1}[u.Model] {
			t.Errorf("%+v", u)
		}
		delete(want, u.Model)
	}
	if format := k.Rows["h"][0]; format != 5 || len(want) > 0 {
		t.Errorf("format %d after the report, want 5; not reported: %v", format, want)
	}
	cut := command.Encode()
	for n := 1; n < len(cut); n++ {
		if s, err := keymeter.DecodeSettle(cut[:n]); err == nil && len(s.Failures) > 0 {
			t.Errorf("accepted %x", cut[:n])
		}
	}
	command.Failures[0].Cause = ledger.Causes
	if _, err := keymeter.DecodeSettle(command.Encode()); err == nil {
		t.Error("accepted an unknown cause")
	}
}

// TestMalformedPut checks that a Put with a truncated record changes nothing.
func TestMalformedPut(t *testing.T) {
	k := newKey(t, record("wide"))
	whole := oldRecord(3, "counted")
	for n := range len(whole) {
		var w abi.Writer
		w.Uint(3) // the op
		w.Uint(3) // removed
		w.Bytes(whole[:n])
		if _, err := k.Call(k.now, w.Buf); err == nil {
			t.Errorf("accepted %x", whole[:n])
		}
	}
	if reply := k.check(); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
}

// TestOldPut sends a Put with a record in format 1. The record has no limits and all permissions of its kind.
func TestOldPut(t *testing.T) {
	k := newKey(t, doc.Record{})
	var w abi.Writer
	w.Uint(3) // the op
	w.Uint(1) // active
	w.Bytes(oldRecord(2, "counted"))
	k.call(w.Buf)
	if limits := k.check().Windows; len(limits) != 3 || limits[2].Limit != 1000 {
		t.Errorf("%+v", limits)
	}
	stale := keymeter.Admit{RequestID: "req_1", Version: 1, Mode: keymeter.ModeCheck}
	reply, err := keymeter.DecodeAdmitReply(k.call(stale.Encode()))
	if err != nil || reply.Verdict != keymeter.Stale {
		t.Fatalf("%v %+v", err, reply)
	}
	if r, err := doc.DecodeRecord(reply.Record); err != nil || r.Region != "weur" || !r.May(doc.MayAll) || r.Limits != (doc.Limits{}) || r.ExpiresMs != 0 || r.Policy != 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// idemRow returns the stored idempotency record of a completed request.
func idemRow(format uint64) []byte {
	var w abi.Writer
	w.Uint(format)
	w.String("body")
	w.String("req_old")
	w.Bool(true)
	w.Bool(false)                      // oversized
	w.Uint(start + calendar.DayMs)     // expires
	w.Uint(start + calendar.DayMs - 5) // deletion
	return w.Buf
}

// expiredRow returns the stored row of an expired reservation of ten cents.
func expiredRow(format uint64) []byte {
	var w abi.Writer
	w.Uint(format)
	w.Uint(start - 5000) // admitted
	w.Uint(uint64(november))
	w.Int(10 * money.Cent)
	w.String("m")
	return w.Buf
}

// TestStoredRows checks that rows of format 1 are decoded, and rows of other formats are ignored.
func TestStoredRows(t *testing.T) {
	for format, known := range []bool{false, true, false, false} {
		k := newKey(t, record("wide"))
		k.Rows["i/caller"], k.Rows["a/caller"] = idemRow(uint64(format)), []byte("answer")
		k.Rows["x/req_late"] = expiredRow(uint64(format))
		k.settle("req_late", 2, money.Cent)
		if u := k.reportedUsage(); known && (u.CostPico != -9*money.Cent || u.Requests != 0) || !known && u != (ledger.Usage{}) {
			t.Errorf("format %d: %+v", format, u)
		}
		if reply := k.admitIdempotent("req_new", "body"); (reply.Verdict == keymeter.Replay) != known {
			t.Errorf("format %d: %+v", format, reply)
		}
	}
}

// unfinishedRow returns the stored idempotency record of a request that was admitted by a version without unknown
// outcomes.
func unfinishedRow(expiresMs uint64) []byte {
	var w abi.Writer
	w.Uint(1)
	w.String("body")
	w.String("req_old")
	w.Bool(false) // done
	w.Bool(false) // oversized
	w.Uint(expiresMs)
	w.Uint(start + 23*calendar.HourMs) // deletion
	return w.Buf
}

// TestOldUnfinishedRecord checks that an unfinished record of the older version is in progress while its reservation
// is open. After that, its outcome is unknown until it is deleted, even if it has expired by the rules of the older
// version.
func TestOldUnfinishedRecord(t *testing.T) {
	k := oldMeter(t)
	k.Rows["i/caller"] = unfinishedRow(start - 1000)
	k.expectIdempotent("without a reservation", "req_new", "body", keymeter.OutcomeUnknown)
	k.now += 23 * calendar.HourMs
	k.expectIdempotent("at its deletion", "req_new", "body", keymeter.Admitted)

	k = oldMeter(t)
	row := unfinishedRow(start + 55_000)
	k.Rows["i/caller"] = bytes.Replace(row, []byte("req_old"), []byte("req_open"), 1)
	k.Rows["i/caller"][len("1body")+1]++ // the length of the request ID
	k.expectIdempotent("with a reservation", "req_new", "body", keymeter.Running)
	k.now += 55_000
	k.expectIdempotent("at the expiry", "req_new", "body", keymeter.OutcomeUnknown)
	late := keymeter.Settle{RequestID: "req_open", Outcome: keymeter.Served, Model: "m", Idempotency: "caller", Answer: []byte("late")}
	k.call(late.Encode())
	k.expectReplay("after the response", "req_new", "late")
}

// TestIdempotencyRows checks the stored bytes of idempotency records. Older versions can read the records of requests
// that call providers, and those with responses.
func TestIdempotencyRows(t *testing.T) {
	k := newKey(t, record("wide"))
	expect := func(about string, version uint64, id string, done bool, expiresMs, forgetMs uint64) {
		t.Helper()
		var w abi.Writer
		w.Uint(version)
		w.String("body")
		w.String(id)
		w.Bool(done)
		w.Bool(false)
		w.Uint(expiresMs)
		w.Uint(forgetMs)
		if got := k.Rows["i/caller"]; !bytes.Equal(got, w.Buf) {
			t.Errorf("%s: %x, want %x", about, got, w.Buf)
		}
	}
	k.admitIdempotent("req_1", "body")
	expect("in progress", 1, "req_1", false, start+60_000, start+60_000+calendar.DayMs)
	k.now += 1000
	k.settleWithResponse("req_1", "answer")
	expect("with a response", 1, "req_1", true, start+1000+calendar.DayMs, start+60_000+calendar.DayMs)

	k = newKey(t, record("wide"))
	k.admit(keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeCount, Idempotency: "caller", BodyHash: "body"})
	expect("without a reservation", 2, "req_1", false, start+10_000, start+10_000+calendar.DayMs)
	k.finish("req_1", "answer")
	expect("without a reservation, with a response", 1, "req_1", true, start+calendar.DayMs, start+10_000+calendar.DayMs)
}

// TestAdmitOfOtherVersions checks that fields that older objects and isolates do not know are written only if they
// are needed.
func TestAdmitOfOtherVersions(t *testing.T) {
	plain := keymeter.Admit{RequestID: "req_1", Mode: keymeter.ModeReserve}
	leasing, again, both := plain, plain, plain
	leasing.LeaseID, again.Rerun, both.LeaseID, both.Rerun = 7, true, 7, true
	want := plain.Encode()
	for _, c := range []struct {
		admit keymeter.Admit
		tail  []byte
	}{{plain, nil}, {leasing, []byte{7}}, {again, []byte{0, 1}}, {both, []byte{7, 1}}} {
		encoded := c.admit.Encode()
		if !bytes.Equal(encoded, append(want[:len(want):len(want)], c.tail...)) {
			t.Errorf("%+v: %x", c.admit, encoded)
		}
		if opened, _ := keymeter.Open(encoded).(*keymeter.Admit); opened == nil || opened.Rerun != c.admit.Rerun || opened.LeaseID != c.admit.LeaseID {
			t.Errorf("decoded %+v from %x", opened, encoded)
		}
	}
	for _, tail := range [][]byte{{0}, {0, 0}, {0, 2}, {7, 1, 1}} {
		if opened := keymeter.Open(append(want[:len(want):len(want)], tail...)); opened != nil {
			t.Errorf("decoded %+v with the tail %x", opened, tail)
		}
	}
}

// TestMalformedMeter checks that a malformed meter or one in an unknown format is an error.
func TestMalformedMeter(t *testing.T) {
	whole := oldMeter(t).Rows["h"]
	second := meterOfFormat2(t).Rows["h"]
	zeroth, fourth := append([]byte{0}, second[1:]...), append([]byte{4}, second[1:]...)
	for _, row := range [][]byte{{}, {0}, {4}, zeroth, fourth, whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0)} {
		k := oldMeter(t)
		k.Rows["h"] = row
		check := keymeter.Admit{Mode: keymeter.ModeCheck}
		if _, err := k.Call(k.now, check.Encode()); err == nil {
			t.Errorf("decoded %x", row)
		}
	}
}
