package keymeter_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// change puts a newer record and returns how long its acknowledgment must wait.
func (k *key) change(status doc.Status, version uint64) uint64 {
	k.Helper()
	r := record("lending")
	r.Version = version
	put := keymeter.Put{Status: status, Record: r}
	reply, err := keymeter.DecodePutReply(k.call(put.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply.WaitMs
}

// TestChangesWaitForLeases checks that a change is acknowledged when the last lease under an older record has ended.
// This also holds for a repeated delivery.
func TestChangesWaitForLeases(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	if ms := k.change(doc.Active, 3); ms != 0 {
		t.Errorf("without a lease: %d ms", ms)
	}
	a := keymeter.Admit{RequestID: "req_a", Version: 3, Mode: keymeter.ModeReserve, AmountPico: 100}
	k.borrowAs(a, 1)
	if ms := k.change(doc.Active, 3); ms != 0 {
		t.Errorf("repeat of the record of the lease: %d ms", ms)
	}
	k.now += 500
	if ms := k.change(doc.Inactive, 4); ms != heldMs-500 {
		t.Errorf("after half a second: %d ms", ms)
	}
	k.now += 1000
	for _, version := range []uint64{4, 3, 2} { // repeated, and late
		if ms := k.change(doc.Inactive, version); ms != heldMs-1500 {
			t.Errorf("version %d: %d ms", version, ms)
		}
	}
	k.now = start + heldMs - 1
	if ms := k.change(doc.Inactive, 4); ms != 1 {
		t.Errorf("before the end: %d ms", ms)
	}
	k.now++
	if ms := k.change(doc.Inactive, 4); ms != 0 {
		t.Errorf("at the end: %d ms", ms)
	}
	k.now -= 1000
	k.report(keymeter.Report{LeaseID: 1, Seq: 1, Close: true})
	if ms := k.change(doc.Inactive, 5); ms != 0 {
		t.Errorf("after the close: %d ms", ms)
	}
}

// TestClockGoesBack checks that if the clock goes back, a lease is extended by at most its duration, and nothing is
// admitted twice.
func TestClockGoesBack(t *testing.T) {
	for _, back := range []uint64{1000, calendar.DayMs} {
		k := lender(t, "lending-by-second", money.Dollar)
		k.borrow(1)
		k.now -= back
		if ms := k.change(doc.Inactive, 3); ms > heldMs {
			t.Errorf("back by %d ms: a change waits for %d ms", back, ms)
		}
		k.put(doc.Active, withVersion(record("lending-by-second"), 4))
		if w := k.check().Windows[0]; w.Remaining != 0 {
			t.Errorf("back by %d ms: %+v", back, w)
		}
		k.now += 1000
		if w := k.check().Windows[0]; w.Remaining != 1000-50 {
			t.Errorf("back by %d ms, a second later: %+v", back, w)
		}
		k.now += heldMs
		if w := k.check().Windows[0]; w.Remaining != 1000 {
			t.Errorf("back by %d ms, after the end: %+v", back, w)
		}
		k.settle("req_1", 0, 0)
		k.ringUntil(k.now + 60_000)
		k.expectUsage(fmt.Sprint("back by ", back), keymeter.Unreported, 50, 50, lentPico)
	}
}

func withVersion(r doc.Record, version uint64) doc.Record {
	r.Version = version
	return r
}

// TestClockGoesBackWhileResting checks a meter that stops lending for five seconds. If the clock goes back, the meter
// does not rest any longer.
func TestClockGoesBackWhileResting(t *testing.T) {
	k := lender(t, "lending", 100_000)
	k.borrow(1)
	k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: money.Dollar})
	k.now -= calendar.DayMs / 2
	k.expectLease("after the step", k.borrow(2).Lease, keymeter.Lease{})
	k.now += 5000
	if l := k.borrow(3).Lease; l.DurationMs == 0 {
		t.Errorf("five seconds later: %+v", l)
	}
}

// TestClockGoesForward checks that a lease ends and is booked if the clock jumps past its end. When the isolate
// reports the lease's requests, they replace the booking.
func TestClockGoesForward(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	k.ringUntil(start + calendar.HourMs)
	k.expectUsage("booked", keymeter.Unreported, 512, 512, lentPico)
	k.mustAdmit("req_more", 50_000)
	k.settle("req_more", 0, 0)
	if reply := k.borrow(1); reply.Verdict != keymeter.Admitted || reply.Lease != (keymeter.Lease{}) {
		t.Errorf("extension of a booked lease: %+v", reply)
	}
	k.settle("req_2", 0, 0)
	l := k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Renew: true, AmountPico: 100, Requests: []keymeter.Leased{ended("a", 300, 100, 70), running("b", 100, 100)}}).Lease
	if l.DurationMs != 0 {
		t.Errorf("renewed: %+v", l)
	}
	k.report(keymeter.Report{SentMs: reportTime + 700, LeaseID: 1, Seq: 2, Close: true, Requests: []keymeter.Leased{ended("c", 0, 100, 60)}, Settles: [][]byte{settleOf("b", 50)}})
	k.expectUsage("replaced", keymeter.Unreported, 0, 0, 0)
	k.expectUsage("reported", "m", 6, 0, 180)
	if n := k.open(); n != 0 {
		t.Errorf("%d open", n)
	}
}

// meterOfFormat4 converts a meter's row to format 4, which has no leases.
func meterOfFormat4(row []byte) []byte {
	return append([]byte{4}, row[1:len(row)-2]...)
}

// TestMeterWithoutLeases checks that a meter in format 4 is decoded and can lend.
func TestMeterWithoutLeases(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.Rows["h"] = meterOfFormat4(k.Rows["h"])
	if l := k.borrow(1).Lease; l.DurationMs != 2000 || k.Rows["h"][0] != 5 {
		t.Errorf("%+v, row %x", l, k.Rows["h"])
	}
}

// TestStoredLease checks that the stored form of a lease does not change. The meter has format 5 and a lease of 60
// admissions, 10 of which are reported.
func TestStoredLease(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	row := k.Rows["h"]
	w := abi.Writer{Buf: append([]byte{}, row[:len(row)-2]...)}
	w.Uint(1) // leases
	w.Uint(7) // ID
	w.Uint(2) // version of the record
	w.Uint(3) // last report
	w.Uint(start - 1000)
	w.Uint(start + 1350)
	w.Bool(false) // ended
	w.Uint(uint64(november))
	w.Uint(60_000) // lifetime of a request
	w.Uint(60)     // lent
	w.Uint(10)     // reported
	w.Int(6000)    // lent
	w.Int(5000)    // held
	w.Uint(25)     // slots
	w.Uint(0)      // does not rest
	k.Rows["h"] = w.Buf
	if ms := k.change(doc.Inactive, 3); ms != 1350 {
		t.Errorf("a change waits for %d ms", ms)
	}
	k.AlarmMs = start
	k.ringUntil(start + 1350 + 60_000)
	k.expectUsage("booked", keymeter.Unreported, 50, 50, 5000)
	if string(k.Rows["l/7"]) != string(storedBooking(1)) {
		t.Errorf("row %x, want %x", k.Rows["l/7"], storedBooking(1))
	}
}

// storedBooking returns the stored row of the booked lease.
func storedBooking(format uint64) []byte {
	var w abi.Writer
	w.Uint(format)
	w.Uint(3)
	w.Uint(start - 1000)
	w.Uint(start + 1350)
	w.Uint(uint64(november))
	w.Uint(50)
	w.Int(5000)
	return w.Buf
}

// TestStoredBooking checks that a late report replaces a booking in format 1, and that a booking in another format is
// ignored.
func TestStoredBooking(t *testing.T) {
	for format, known := range []bool{false, true, false} {
		k := lender(t, "lending", money.Dollar)
		k.Rows["l/7"] = storedBooking(uint64(format))
		reply := k.report(keymeter.Report{SentMs: reportTime, LeaseID: 7, Seq: 4, Close: true, Requests: []keymeter.Leased{ended("a", 0, 100, 20)}})
		if u := k.reportedUsage(); (reply.Lease.ID == 7) != known || known && u.CostPico != 20-5000 || !known && u.CostPico != 0 {
			t.Errorf("format %d: %+v, %+v", format, reply, u)
		}
	}
}

// TestOlderVersions checks that older isolates and objects see no new fields unless a lease is requested.
func TestOlderVersions(t *testing.T) {
	k := lender(t, "lending", 100)
	plain := keymeter.Admit{RequestID: "a", Version: 2, Mode: keymeter.ModeReserve, AmountPico: 50, Model: "m"}
	asking := plain
	asking.LeaseID = 300
	if p, a := plain.Encode(), asking.Encode(); len(a) != len(p)+2 || string(a[:len(p)]) != string(p) {
		t.Errorf("%x and %x", p, a)
	}
	reply := k.call(plain.Encode())
	r := keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: 50}
	if want := r.Encode(); string(reply) != string(want) || want[len(want)-1] != 0 || len(want) > 16 {
		t.Errorf("%x, want %x", reply, want)
	}
	flush := keymeter.Flush{}
	if reply := k.call(flush.Encode()); len(reply) != 2 {
		t.Errorf("%x", reply)
	}
	for _, data := range [][]byte{append(r.Encode(), 0, 0, 0, 0, 0, 0), append(r.Encode(), 1)} {
		if got, err := keymeter.DecodeAdmitReply(data); err == nil {
			t.Errorf("decoded %x: %+v", data, got)
		}
	}
}
