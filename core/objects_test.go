package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// fixture is a simulation with two active keys and a budget of one dollar.
type fixture struct {
	*sim
	t     *testing.T
	count int
}

func newFixture(t *testing.T, plan string) *fixture {
	s := &fixture{sim: newSim(), t: t}
	for _, meter := range []string{"meter0", "meter1"} {
		put := keymeter.Put{Status: doc.Active, Record: doc.Record{
			Version: 2, KeyID: "key_" + meter, ProjectID: project, Kind: keys.Gateway, Environment: keys.Production, Plan: plan,
		}}
		s.call(abi.ClassKeyMeter, meter, put.Encode())
	}
	s.call(abi.ClassLedger, project, (&ledger.Put{Version: 1, BudgetPico: money.Dollar}).Encode())
	return s
}

func (s *fixture) newAdmit(mode keymeter.Mode, amount money.Pico) keymeter.Admit {
	s.count++
	return keymeter.Admit{
		RequestID: fmt.Sprint("req_", s.count), Version: 2, Mode: mode, Model: "m", AmountPico: amount, LifetimeMs: 10_000,
	}
}

// expect calls admit and fails the test unless the verdict is the expected one.
func (s *fixture) expect(meter string, a keymeter.Admit, verdict keymeter.Verdict) keymeter.AdmitReply {
	s.t.Helper()
	reply := s.admit(meter, a)
	if reply.Verdict != verdict {
		s.t.Fatalf("%s: got verdict %d, want %d", a.RequestID, reply.Verdict, verdict)
	}
	return reply
}

// grantSlice requests a grant for a meter that is short of budget and adds it to the admission.
func (s *fixture) grantSlice(meter string, a *keymeter.Admit, short keymeter.AdmitReply) {
	s.t.Helper()
	reply := s.grant(project, grantFor(meter, &short))
	if !reply.Granted {
		s.t.Fatalf("the Ledger granted nothing to %s", meter)
	}
	a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
}

// grantFor returns the grant request for the reply of a meter that is short of budget.
func grantFor(meter string, r *keymeter.AdmitReply) ledger.Grant {
	return ledger.Grant{Key: meter, Period: r.Period, Epoch: r.Epoch, HeldPico: r.HeldPico, NeedPico: r.NeedPico, LeastPico: r.LeastPico}
}

// mustAdmit admits a request, using a grant if it needs one.
func (s *fixture) mustAdmit(meter string, mode keymeter.Mode, amount money.Pico) keymeter.Admit {
	s.t.Helper()
	a := s.newAdmit(mode, amount)
	if reply := s.admit(meter, a); reply.Verdict != keymeter.Admitted {
		s.grantSlice(meter, &a, reply)
		s.expect(meter, a, keymeter.Admitted)
	}
	return a
}

func (s *fixture) settle(meter string, a keymeter.Admit, cost money.Pico) {
	settle := keymeter.Settle{RequestID: a.RequestID, Outcome: keymeter.Served, Model: "m", CostPico: cost}
	s.call(abi.ClassKeyMeter, meter, settle.Encode())
}

func (s *fixture) deliverAll() {
	for _, meter := range []string{"meter0", "meter1"} {
		for s.deliver(abi.ClassKeyMeter, meter, false) {
		}
	}
}

// recallAll recalls the idle budget of both meters.
func (s *fixture) recallAll() {
	for _, meter := range []string{"meter0", "meter1"} {
		if batches := s.flush(meter, true).Absorbs; len(batches) > 0 {
			s.call(abi.ClassLedger, project, ledger.Batch(batches))
		}
	}
}

// currentMonth returns the usage of the current month without flushing the meters.
func (s *fixture) currentMonth() ledger.ReportReply {
	month := calendar.Month(s.clockMs / dayMs)
	return s.report(project, ledger.Report{FirstDay: calendar.MonthStart(month), EndDay: calendar.MonthStart(month + 1), Final: true})
}

// TestGrantOutlivesRefusal: if a request is refused after a slice was granted for it, the slice stays available to
// the project's other keys.
func TestGrantOutlivesRefusal(t *testing.T) {
	s := newFixture(t, "tiny")
	a := s.newAdmit(keymeter.ModeReserve, money.Dollar*9/10)
	short := s.expect("meter0", a, keymeter.Short)
	for range 3 {
		s.mustAdmit("meter0", keymeter.ModeCount, 0)
	}
	s.grantSlice("meter0", &a, short)
	s.expect("meter0", a, keymeter.RateLimited)
	s.recallAll()
	s.mustAdmit("meter1", keymeter.ModeReserve, money.Dollar/2)
}

// TestGrantOutlivesDeactivation: if a key is deactivated after a slice was granted for its request, the slice stays
// available to the project's other keys.
func TestGrantOutlivesDeactivation(t *testing.T) {
	s := newFixture(t, "wide")
	a := s.newAdmit(keymeter.ModeReserve, money.Dollar*9/10)
	short := s.expect("meter0", a, keymeter.Short)
	s.grantSlice("meter0", &a, short)
	put := keymeter.Put{Status: doc.Inactive, Record: doc.Record{Version: 5, ProjectID: project, Kind: keys.Gateway, Environment: keys.Production, Plan: "wide"}}
	s.call(abi.ClassKeyMeter, "meter0", put.Encode())
	if reply := s.admit("meter0", a); reply.Verdict == keymeter.Admitted {
		t.Fatal("admitted on an inactive key")
	}
	s.recallAll()
	s.mustAdmit("meter1", keymeter.ModeReserve, money.Dollar/2)
}

// TestStaleGrantRequestGetsNoSlice: a grant request from before the meter returned its slice gets nothing, because
// the meter would not accept the grant. Instead, the reply has the current state, and the meter and the Ledger agree
// on the slice.
func TestStaleGrantRequestGetsNoSlice(t *testing.T) {
	s := newFixture(t, "wide")
	stale := s.newAdmit(keymeter.ModeReserve, money.Dollar/4)
	staleShort := s.expect("meter0", stale, keymeter.Short)
	s.mustAdmit("meter0", keymeter.ModeReserve, money.Dollar/4)
	s.recallAll()
	before := s.object(abi.ClassLedger, project).ledgerState().committed
	s.grantSlice("meter0", &stale, staleShort)
	again := s.expect("meter0", stale, keymeter.Short)
	committed := s.object(abi.ClassLedger, project).ledgerState().committed
	if meterGranted := s.object(abi.ClassKeyMeter, "meter0").slices()[0].granted; meterGranted != committed || committed != before {
		t.Errorf("the Ledger has granted %d (%d before the stale request), but the meter has %d", committed, before, meterGranted)
	}
	s.grantSlice("meter0", &stale, again)
	s.expect("meter0", stale, keymeter.Admitted)
}

// TestExpiredReservationRowsAreDeleted: the row of an expired reservation is deleted after a day. The key is not used
// again, and the alarm that wrote the row also had usage to report.
func TestExpiredReservationRowsAreDeleted(t *testing.T) {
	s := newFixture(t, "wide")
	s.mustAdmit("meter0", keymeter.ModeReserve, money.Cent)
	s.mustAdmit("meter0", keymeter.ModeHit, 0)
	s.sleep(hourMs)
	s.fireAlarm(abi.ClassKeyMeter, "meter0")
	s.runToEnd([]string{"meter0", "meter1"}, func(string) {})
	if rows := s.object(abi.ClassKeyMeter, "meter0").Keys("", "~"); !slices.Equal(rows, []string{"h"}) {
		t.Errorf("got rows %q, want only h", rows)
	}
}

// TestClosedBatchDoesNotHideANewGrant: a batch that closes a slice arrives late, when the meter already has another
// slice. The Ledger must still know that the meter may have unreported usage.
func TestClosedBatchDoesNotHideANewGrant(t *testing.T) {
	s := newFixture(t, "wide")
	s.settle("meter0", s.mustAdmit("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	s.sleep(61_000)
	s.flush("meter0", false) // the exchange dies before it delivers this batch
	s.settle("meter0", s.mustAdmit("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	s.deliverAll()
	s.sleep(1000)
	reply := s.report(project, ledger.Report{EndDay: s.clockMs/dayMs + 1})
	if !slices.Contains(reply.Flush, "meter0") && reply.WaitMs == 0 {
		t.Errorf("the report does not flush meter0, which has unreported usage: %+v", reply)
	}
}

// TestConcurrentReports: a second report arrives while the first one's flush is in progress. Its figures must include
// the usage that the first report is still fetching.
func TestConcurrentReports(t *testing.T) {
	s := newFixture(t, "wide")
	s.settle("meter0", s.mustAdmit("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	report := ledger.Report{EndDay: s.clockMs/dayMs + 1}
	if first := s.report(project, report); !slices.Contains(first.Flush, "meter0") {
		t.Fatalf("%+v", first)
	}
	if second := s.report(project, report); len(second.Flush) == 0 && second.WaitMs == 0 {
		t.Errorf("the report lacks the cent that was spent: %+v", second)
	}
}

// TestReportAfterClockWentBack: a flush that appears to be in the future does not count as recent.
func TestReportAfterClockWentBack(t *testing.T) {
	s := newFixture(t, "wide")
	s.mustAdmit("meter0", keymeter.ModeHit, 0)
	if reply := s.report(project, ledger.Report{EndDay: s.clockMs/dayMs + 1}); len(reply.Flush) != 1 {
		t.Fatalf("the first report: %+v", reply)
	}
	s.clockMs -= hourMs
	s.mustAdmit("meter0", keymeter.ModeCheck, 0)
	s.sleep(2000)
	s.mustAdmit("meter0", keymeter.ModeHit, 0)
	reply := s.report(project, ledger.Report{EndDay: s.clockMs/dayMs + 1})
	if len(reply.Flush) == 0 && (reply.WaitMs == 0 || reply.WaitMs > 1000) {
		t.Errorf("the report after the clock went back: %+v", reply)
	}
}

// TestSumsSaturate: excessive costs saturate and never overflow into a credit.
func TestSumsSaturate(t *testing.T) {
	s := newFixture(t, "wide")
	meters := []string{"meter0", "meter0", "meter1", "meter0"}
	var open []keymeter.Admit
	for _, meter := range meters {
		open = append(open, s.mustAdmit(meter, keymeter.ModeReserve, 1))
	}
	used := 1000 * money.Dollar // the minimum to book for each request
	for i, meter := range meters {
		s.settle(meter, open[i], money.Max)
		s.recallAll()
		report := s.currentMonth()
		if len(report.Models) != 1 || report.UsedPico < used || report.Models[0].CostPico < used {
			t.Errorf("after %d requests of %d picodollars each: %+v", i+1, money.Max, report)
		}
		used = max(used, report.UsedPico)
	}
	a := s.newAdmit(keymeter.ModeReserve, 1)
	if reply := s.expect("meter1", a, keymeter.Short); s.grant(project, grantFor("meter1", &reply)).Granted {
		t.Error("got a grant from an exhausted budget")
	}
}

// TestIdempotencyRecordLastsADay: a record that replaces an older one is kept for a full day.
func TestIdempotencyRecordLastsADay(t *testing.T) {
	s := newFixture(t, "wide")
	first := s.newAdmit(keymeter.ModeReserve, 1)
	first.Idempotency, first.BodyHash = "i", "b"
	s.grantSlice("meter0", &first, s.expect("meter0", first, keymeter.Short))
	s.expect("meter0", first, keymeter.Admitted)
	release := keymeter.Settle{RequestID: first.RequestID, Outcome: keymeter.Released, Model: "m", Idempotency: "i"}
	s.call(abi.ClassKeyMeter, "meter0", release.Encode())
	s.sleep(23 * hourMs)
	second := s.newAdmit(keymeter.ModeCount, 0)
	second.Idempotency, second.BodyHash = "i", "b"
	s.expect("meter0", second, keymeter.Admitted)
	finish := keymeter.Settle{RequestID: second.RequestID, Outcome: keymeter.Finish, Idempotency: "i", Answer: []byte("answer")}
	s.call(abi.ClassKeyMeter, "meter0", finish.Encode())
	for range 22 {
		s.sleep(hourMs)
		s.fireAlarm(abi.ClassKeyMeter, "meter0")
	}
	third := s.newAdmit(keymeter.ModeCount, 0)
	third.Idempotency, third.BodyHash = "i", "b"
	if reply := s.expect("meter0", third, keymeter.Replay); string(reply.Answer) != "answer" {
		t.Errorf("got the replay %q", reply.Answer)
	}
}

// TestRepeatedAdmissionsCountOnce: an admission that is repeated because its reply was lost counts only once, in
// every mode.
func TestRepeatedAdmissionsCountOnce(t *testing.T) {
	for mode := keymeter.ModeCheck; mode <= keymeter.ModeHit; mode++ {
		s := newFixture(t, "tiny")
		a := s.mustAdmit("meter0", mode, 0)
		once := s.admit("meter0", a)
		for range 5 {
			if again := s.admit("meter0", a); again.Verdict != keymeter.Admitted || !slices.Equal(again.Windows, once.Windows) {
				t.Errorf("mode %d: got %+v, and for the repeat %+v", mode, once, again)
			}
		}
		for _, w := range once.Windows {
			if used := w.Limit - w.Remaining; mode == keymeter.ModeCheck && used != 0 || mode != keymeter.ModeCheck && used != 1 {
				t.Errorf("mode %d: counted %d times", mode, used)
			}
		}
	}
}

// TestRepeatedAdmissionAfterSettle: a copy of an admission arrives after its request was settled. It is not counted
// and reserves nothing, because no settlement would follow.
func TestRepeatedAdmissionAfterSettle(t *testing.T) {
	s := newFixture(t, "wide")
	a := s.mustAdmit("meter0", keymeter.ModeReserve, money.Cent)
	s.settle("meter0", a, money.Cent/2)
	s.expect("meter0", a, keymeter.Admitted)
	s.runToEnd([]string{"meter0", "meter1"}, func(string) {})
	month := s.currentMonth()
	if len(month.Models) != 1 || month.Models[0].Requests != 1 || month.UsedPico != money.Cent/2 || month.Models[0].Expired != 0 {
		t.Errorf("%+v", month)
	}
}
