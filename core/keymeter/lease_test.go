package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// ended returns a leased request that has ended with a cost.
func ended(id string, ageMs uint64, amount, cost money.Pico) keymeter.Leased {
	s := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", CostPico: cost, Trace: keymeter.Trace{Status: 200}}
	return keymeter.Leased{RequestID: id, AdmittedMs: reportTime - ageMs, AmountPico: amount, LifetimeMs: 60_000, Model: "m", Settle: s.Encode()}
}

// running returns a leased request in progress.
func running(id string, ageMs uint64, amount money.Pico) keymeter.Leased {
	return keymeter.Leased{RequestID: id, AdmittedMs: reportTime - ageMs, AmountPico: amount, LifetimeMs: 60_000, Model: "m"}
}

// reportTime is the time of a report on the isolate's clock, which differs from the meter's.
const reportTime = 1_000_000

func settleOf(id string, cost money.Pico) []byte {
	s := keymeter.Settle{RequestID: id, Outcome: keymeter.Served, Model: "m", CostPico: cost, Trace: keymeter.Trace{Status: 200}}
	return s.Encode()
}

// usageByModel returns the usage that the meter has reported, by model.
func (k *key) usageByModel() map[string]ledger.Usage {
	k.Helper()
	query := ledger.Query{EndDay: 1 << 40, By: ledger.ByModel}
	reply, err := k.ledgerWithReports().Call(k.now, query.Encode())
	if err != nil {
		k.Fatal(err)
	}
	groups, err := ledger.DecodeQueryReply(reply)
	if err != nil {
		k.Fatal(err)
	}
	usage := map[string]ledger.Usage{}
	for i := range groups.Groups {
		usage[groups.Groups[i].Usage.Model] = groups.Groups[i].Usage
	}
	return usage
}

// expectUsage checks a model's number of requests, how many of them expired, and their cost.
func (k *key) expectUsage(about, model string, requests, expired uint64, cost money.Pico) {
	k.Helper()
	if u := k.usageByModel()[model]; u.Requests != requests || u.Expired != expired || u.CostPico != cost {
		k.Errorf("%s: %d requests, %d expired, %d picodollars; want %d, %d, %d", about, u.Requests, u.Expired, u.CostPico, requests, expired, cost)
	}
}

// open returns the number of reservations and leases.
func (k *key) open() uint64 {
	k.Helper()
	flush := keymeter.Flush{}
	reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply.Open
}

// TestReportCountsOnce checks that a report is booked once, however often it arrives. A repeat may arrive after a
// later report.
func TestReportCountsOnce(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	first := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{ended("a", 10, 100, 30), running("b", 5, 100)}}
	second := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 2, Requests: []keymeter.Leased{ended("c", 10, 100, 40)}, Settles: [][]byte{settleOf("b", 50), settleOf("b", 70)}}
	closing := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 3, Close: true, Requests: []keymeter.Leased{ended("d", 0, 100, 5)}}
	for i, r := range []keymeter.Report{first, first, second, first, second, closing, closing, first, second} {
		if reply := k.report(r); (reply.Lease.ID == 1) != (i <= 5) {
			t.Errorf("report %d: %+v", i, reply)
		}
	}
	k.expectUsage("all", "m", 5, 0, 30+40+50+5)
	if n := k.open(); n != 0 {
		t.Errorf("%d reservations and leases are open", n)
	}
	if _, ok := k.usageByModel()[keymeter.Unreported]; ok {
		t.Error("something was booked")
	}
}

// TestReportedRequestsInProgress checks that a reported request in progress becomes a reservation that starts at its
// admission. It can be extended, settled in time or late, and it expires.
func TestReportedRequestsInProgress(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	k.now += 400
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Close: true, Requests: []keymeter.Leased{
		running("settled", 100, 10), running("extended", 100, 10), running("expired", 100, 10), running("late", 100, 10),
	}})
	extend := keymeter.Extend{RequestID: "extended", TotalPico: 500}
	if reply, err := keymeter.DecodeAdmitReply(k.call(extend.Encode())); err != nil || reply.Verdict != keymeter.Admitted || reply.ReservedPico != 500 {
		t.Errorf("%v %+v", err, reply)
	}
	k.settle("settled", 0, 7)
	k.settle("extended", 0, 400)
	k.ringUntil(start + 305 + 60_000 - 1)
	k.expectUsage("before the expiry", "m", 3, 0, 407)
	k.ringUntil(start + 305 + 60_000)
	k.expectUsage("at the expiry", "m", 5, 2, 427)
	k.report(keymeter.Report{Settles: [][]byte{settleOf("late", 3), settleOf("late", 4), settleOf("unknown", 9)}})
	k.expectUsage("after a late settle", "m", 5, 1, 420)
}

// TestMixedSettles checks a report with settles of registered, expired and unknown requests, and with malformed ones.
func TestMixedSettles(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.admit(keymeter.Admit{RequestID: "expired", Mode: keymeter.ModeReserve, AmountPico: 100})
	k.ringUntil(start + 60_000)
	k.admit(keymeter.Admit{RequestID: "open", Mode: keymeter.ModeReserve, AmountPico: 100})
	finish := keymeter.Settle{RequestID: "open", Outcome: keymeter.Finish}
	r := keymeter.Report{Settles: [][]byte{settleOf("expired", 60), {}, settleOf("open", 50), finish.Encode(), settleOf("expired", 61), settleOf("nobody", 1), {7, 1}}}
	for range 2 {
		if reply := k.report(r); reply.Lease != (keymeter.Lease{}) {
			t.Errorf("%+v", reply)
		}
	}
	k.expectUsage("settles", "m", 2, 0, 110)
}

// TestAges checks the time at which a request counts on the meter's clock. It is later by a twentieth of the
// request's age, because the isolate's clock may be fast. It is never before the start of the lease or in the future.
func TestAges(t *testing.T) {
	k := lender(t, "lending-by-second", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	k.now += 1500
	list := []keymeter.Leased{ended("young", 300, 1, 1), ended("older", 1100, 1, 1), ended("too old", 9000, 1, 1), ended("far too old", reportTime, 1, 1), ended("future", 0, 1, 1)}
	list[4].AdmittedMs = reportTime + 5000
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Close: true, Requests: list})
	want := map[string]uint64{"young": 1215, "older": 455, "too old": 0, "far too old": 0, "future": 1500}
	for _, q := range k.recent() {
		if ms, ok := want[q.ID]; ok && q.AtMs != start+ms {
			t.Errorf("%s: %d ms after the start, want %d", q.ID, q.AtMs-start, ms)
		}
	}
	if w := k.check().Windows[0]; w.Remaining != 1000-2 { // young and future
		t.Errorf("%+v", w)
	}
	k.now += 715
	if w := k.check().Windows[0]; w.Remaining != 1000-1 {
		t.Errorf("%+v", w)
	}
}

// TestCloseReturnsTheRest checks that the unused part of a lease returns to the windows, the day and the slice.
func TestCloseReturnsTheRest(t *testing.T) {
	k := lender(t, "lending-by-day", 10_000)
	k.borrow(1)
	k.expectReserve(5000, keymeter.Grant{}, keymeter.AdmitReply{
		Verdict: keymeter.Short, Period: november, Epoch: 1, HeldPico: 10_000, NeedPico: 5000, LeastPico: 50, LentMs: heldMs + 250,
	})
	if w := k.check().Windows[0]; w.Remaining != 200-1-10 {
		t.Errorf("%+v", w)
	}
	k.now += heldMs + 1 // it has ended
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Close: true, Requests: []keymeter.Leased{ended("a", 10, 100, 30)}})
	if w := k.check().Windows[0]; w.Remaining != 200-2 {
		t.Errorf("%+v", w)
	}
	k.settle("req_1", 0, 100)
	k.expectReserve(10_000-130, keymeter.Grant{}, admitted(10_000-130))
}

// TestLostLeaseIsBooked checks that a lease without reports is booked in full once its last request must have ended.
// A late report replaces the booking, and later ones add to it.
func TestLostLeaseIsBooked(t *testing.T) {
	const bookMs = start + heldMs + 60_000
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{ended("a", 10, 400, 300)}})
	k.ringUntil(bookMs - 1)
	if n := k.open(); n != 1 {
		t.Errorf("%d open before the booking", n)
	}
	k.expectUsage("before", keymeter.Unreported, 0, 0, 0)
	k.ringUntil(bookMs)
	k.expectUsage("booked", keymeter.Unreported, 511, 511, lentPico-300)
	if n := k.open(); n != 0 {
		t.Errorf("%d open after the booking", n)
	}
	late := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 2, Requests: []keymeter.Leased{ended("b", 70_000, 400, 200), running("c", 70_000, 400)}}
	for range 2 {
		if reply := k.report(late); reply.Lease != (keymeter.Lease{ID: 1}) {
			t.Errorf("%+v", reply)
		}
	}
	k.expectUsage("replaced", keymeter.Unreported, 0, 0, 0)
	k.expectUsage("reported late", "m", 3, 0, 500)
	last := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 3, Close: true, Requests: []keymeter.Leased{ended("d", 70_000, 400, 20)}, Settles: [][]byte{settleOf("c", 30)}}
	for range 2 {
		k.report(last)
		k.report(late)
	}
	k.expectUsage("closed late", "m", 5, 0, 550)
	k.ringUntil(bookMs + 2*calendar.DayMs)
	k.expectUsage("in the end", "m", 5, 0, 550)
}

// TestRestartBooksLeases checks that a restart of the only process books everything that its leases have not reported.
// The booked admissions still count in the windows, and nothing of the leases is left.
func TestRestartBooksLeases(t *testing.T) {
	k := lender(t, "lending-by-second", money.Dollar)
	k.borrow(1)
	k.settle("req_1", 0, 0)
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{ended("a", 10, 400, 300)}})
	k.now += 600
	restart := keymeter.Restart{}
	for range 2 {
		k.call(restart.Encode())
	}
	if n := k.open(); n != 0 {
		t.Errorf("%d open after the restart", n)
	}
	k.expectUsage("booked", keymeter.Unreported, 49, 49, lentPico-300)
	if w := k.check().Windows[0]; w.Remaining != 1000-2-49 {
		t.Errorf("after the restart: %+v", w)
	}
	k.now += 1000
	if w := k.check().Windows[0]; w.Remaining != 1000 {
		t.Errorf("a second later: %+v", w)
	}
	newer := record("lending-by-second")
	newer.Version++
	put := keymeter.Put{Status: doc.Active, Record: newer}
	if reply, err := keymeter.DecodePutReply(k.call(put.Encode())); err != nil || reply.WaitMs != 0 {
		t.Errorf("a change waits for a booked lease: %v %+v", err, reply)
	}
}

// TestBookingIsForgotten checks that a late report is accepted for a day.
func TestBookingIsForgotten(t *testing.T) {
	const bookMs = start + heldMs + 60_000
	for at, cost := range map[uint64]money.Pico{bookMs + calendar.DayMs - 1: 20, bookMs + calendar.DayMs: lentPico} {
		k := lender(t, "lending", money.Dollar)
		k.borrow(1)
		k.settle("req_1", 0, 0)
		k.ringUntil(at)
		k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Close: true, Requests: []keymeter.Leased{ended("a", 10, 100, 20)}})
		if u := k.reportedUsage(); u.CostPico != cost {
			t.Errorf("%d ms after the booking: %+v", at-bookMs, u)
		}
	}
}

// TestLeaseOfTheLastMonth checks that requests of a lease are charged to the month of the lease, even if the lease
// ends at midnight.
func TestLeaseOfTheLastMonth(t *testing.T) {
	for _, beforeMs := range []uint64{2500, 505} {
		k := newKey(t, record("lending"))
		k.now = (today+10)*calendar.DayMs - beforeMs
		k.fund(10_000)
		k.borrow(1)
		k.settle("req_1", 0, 0)
		k.now += 2600
		k.fund(10_000)
		k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Close: true, Requests: []keymeter.Leased{ended("a", 200, 100, 90), running("b", 200, 100)}})
		k.settle("b", 0, 80)
		k.expectReserve(10_000, keymeter.Grant{}, admitted(10_000))
		for _, q := range k.recent() {
			if calendar.Day(q.AtMs) != today+9 {
				t.Errorf("%d ms before midnight: %+v", beforeMs, q)
			}
		}
	}
}

// TestViolationsOfLeasedRequests checks that the violations of a reported request reach the Ledger.
func TestViolationsOfLeasedRequests(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	s := keymeter.Settle{RequestID: "a", Outcome: keymeter.Served, Model: "m", Violations: []ledger.Violation{{Rule: "secret.a", Count: 1}}}
	k.report(keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{{RequestID: "a", Settle: s.Encode()}}})
	batch, ok := k.flush(false)
	if !ok || len(batch.Violations) != 1 || batch.Violations[0].Rule != "secret.a" {
		t.Errorf("%v %+v", ok, batch.Violations)
	}
}

// TestUnknownMeterTakesNoReport checks that a report to a key without a record writes nothing.
func TestUnknownMeterTakesNoReport(t *testing.T) {
	k := newKey(t, doc.Record{})
	if reply := k.report(keymeter.Report{LeaseID: 1, Seq: 1, Renew: true, Requests: []keymeter.Leased{running("a", 0, 100)}, Settles: [][]byte{settleOf("b", 1)}}); reply.Lease != (keymeter.Lease{}) || len(k.Rows) != 0 {
		t.Errorf("%+v, rows %v", reply, k.Rows)
	}
}

// TestHostileReports checks that malformed reports fail and change nothing. Reports with impossible amounts and
// numbers leave the meter usable.
func TestHostileReports(t *testing.T) {
	k := lender(t, "lending-by-second", 100_000)
	k.borrow(1)
	row := string(k.Rows["h"])
	whole := keymeter.Report{SentMs: reportTime, LeaseID: 1, Seq: 1, Requests: []keymeter.Leased{ended("a", 10, 100, 20)}, Settles: [][]byte{settleOf("b", 1)}, Renew: true, AmountPico: 5}
	encoded := whole.Encode()
	for n := range encoded {
		if _, err := k.Call(k.now, encoded[:n]); err == nil && n > 0 || string(k.Rows["h"]) != row {
			t.Errorf("accepted %x", encoded[:n])
		}
	}
	if _, err := k.Call(k.now, append(encoded, 0)); err == nil {
		t.Error("accepted a trailing byte")
	}
	other := ended("x", 0, 100, 20)
	other.RequestID = "y" // its settle belongs to another request, so it counts as in progress
	many := make([]keymeter.Leased, 200)
	for i := range many {
		many[i] = ended("many", 0, money.Max, 1)
	}
	for seq, list := range [][]keymeter.Leased{{other}, many, {ended("costly", 0, 1, money.Max)}} {
		k.report(keymeter.Report{LeaseID: 1, Seq: uint64(seq) + 1, Requests: list, Renew: true, AmountPico: money.Max})
	}
	k.report(keymeter.Report{LeaseID: 1, Seq: 1 << 62, Close: true})
	if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: 1}); reply.Verdict != keymeter.Short {
		t.Errorf("%+v", reply)
	}
	if n := k.open(); n != 2 { // req_1 and y
		t.Errorf("%d open", n)
	}
}
