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

// story is a simulation with two active keys and a budget of one dollar, told step by step.
type story struct {
	*sim
	t     *testing.T
	count int
}

func newStory(t *testing.T, plan string) *story {
	s := &story{sim: newSim(), t: t}
	for _, meter := range []string{"meter0", "meter1"} {
		put := keymeter.Put{Status: doc.Active, Record: doc.Record{
			Version: 2, KeyID: "key_" + meter, ProjectID: project, Kind: keys.Gateway, Environment: keys.Production, Plan: plan,
		}}
		s.call(abi.ClassKeyMeter, meter, put.Encode())
	}
	s.call(abi.ClassLedger, project, (&ledger.Put{Version: 1, BudgetPico: money.Dollar}).Encode())
	return s
}

func (s *story) ask(mode keymeter.Mode, amount money.Pico) keymeter.Admit {
	s.count++
	return keymeter.Admit{
		RequestID: fmt.Sprint("req_", s.count), Version: 2, Mode: mode, Model: "m", AmountPico: amount, ExpiresMs: 10_000,
	}
}

// want asks a meter for an admission and fails the test if the verdict is another.
func (s *story) want(meter string, a keymeter.Admit, verdict keymeter.Verdict) keymeter.AdmitReply {
	s.t.Helper()
	reply := s.admit(meter, a)
	if reply.Verdict != verdict {
		s.t.Fatalf("%s got verdict %d, want %d", a.RequestID, reply.Verdict, verdict)
	}
	return reply
}

// slice asks the Ledger for what a meter is short of, and puts the answer into the request.
func (s *story) slice(meter string, a *keymeter.Admit, short keymeter.AdmitReply) {
	s.t.Helper()
	reply := s.grant(project, shortOf(meter, &short))
	if !reply.Granted {
		s.t.Fatalf("the Ledger had nothing for %s", meter)
	}
	a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.TotalPico}
}

// shortOf is the question that a short meter's answer leads to.
func shortOf(meter string, r *keymeter.AdmitReply) ledger.Grant {
	return ledger.Grant{Key: meter, Period: r.Period, Epoch: r.Epoch, HeldPico: r.HeldPico, NeedPico: r.NeedPico, LeastPico: r.LeastPico}
}

// enter lets a request in, with as much of the budget as it needs.
func (s *story) enter(meter string, mode keymeter.Mode, amount money.Pico) keymeter.Admit {
	s.t.Helper()
	a := s.ask(mode, amount)
	if reply := s.admit(meter, a); reply.Verdict != keymeter.Admitted {
		s.slice(meter, &a, reply)
		s.want(meter, a, keymeter.Admitted)
	}
	return a
}

func (s *story) settle(meter string, a keymeter.Admit, cost money.Pico) {
	settle := keymeter.Settle{RequestID: a.RequestID, Outcome: keymeter.Served, Model: "m", CostPico: cost}
	s.call(abi.ClassKeyMeter, meter, settle.Encode())
}

func (s *story) deliverAll() {
	for _, meter := range []string{"meter0", "meter1"} {
		for s.deliver(abi.ClassKeyMeter, meter, false) {
		}
	}
}

// recallAll has both meters give back what is idle.
func (s *story) recallAll() {
	for _, meter := range []string{"meter0", "meter1"} {
		if news := s.flush(meter, true).Absorbs; len(news) > 0 {
			s.call(abi.ClassLedger, project, ledger.Batch(news))
		}
	}
}

// month is the whole of the present month's usage, without asking the meters.
func (s *story) month() ledger.ReportReply {
	month := calendar.Month(s.told / dayMs)
	return s.report(project, ledger.Report{FirstDay: calendar.MonthStart(month), EndDay: calendar.MonthStart(month + 1), Final: true})
}

// TestGrantOutlivesRefusal: a slice that was given for a request which is then refused must not be lost to
// the project's other keys.
func TestGrantOutlivesRefusal(t *testing.T) {
	s := newStory(t, "tiny")
	a := s.ask(keymeter.ModeReserve, money.Dollar*9/10)
	short := s.want("meter0", a, keymeter.Short)
	for range 3 {
		s.enter("meter0", keymeter.ModeCount, 0)
	}
	s.slice("meter0", &a, short)
	s.want("meter0", a, keymeter.RateLimited)
	s.recallAll()
	s.enter("meter1", keymeter.ModeReserve, money.Dollar/2)
}

// TestGrantOutlivesDeactivation is the same with a key that was deactivated meanwhile.
func TestGrantOutlivesDeactivation(t *testing.T) {
	s := newStory(t, "wide")
	a := s.ask(keymeter.ModeReserve, money.Dollar*9/10)
	short := s.want("meter0", a, keymeter.Short)
	s.slice("meter0", &a, short)
	put := keymeter.Put{Status: doc.Inactive, Record: doc.Record{Version: 5, ProjectID: project, Kind: keys.Gateway, Environment: keys.Production, Plan: "wide"}}
	s.call(abi.ClassKeyMeter, "meter0", put.Encode())
	if reply := s.admit("meter0", a); reply.Verdict == keymeter.Admitted {
		t.Fatal("admitted on an inactive key")
	}
	s.recallAll()
	s.enter("meter1", keymeter.ModeReserve, money.Dollar/2)
}

// TestOldQuestionGetsNoSlice: a question from before the meter gave back gets nothing: the meter would not take it.
// It is told what holds instead, and what the meter has is what the Ledger counts.
func TestOldQuestionGetsNoSlice(t *testing.T) {
	s := newStory(t, "wide")
	slow := s.ask(keymeter.ModeReserve, money.Dollar/4)
	slowShort := s.want("meter0", slow, keymeter.Short)
	s.enter("meter0", keymeter.ModeReserve, money.Dollar/4)
	s.recallAll()
	before := s.object(abi.ClassLedger, project).book().committed
	s.slice("meter0", &slow, slowShort)
	again := s.want("meter0", slow, keymeter.Short)
	given := s.object(abi.ClassLedger, project).book().committed
	if taken := s.object(abi.ClassKeyMeter, "meter0").slices()[0].granted; taken != given || given != before {
		t.Errorf("the Ledger counts %d as given (%d before the old question), the meter has %d", given, before, taken)
	}
	s.slice("meter0", &slow, again)
	s.want("meter0", slow, keymeter.Admitted)
}

// TestExpiredRowsAreForgotten: what is remembered of an expired reservation goes after a day, even if the
// alarm that wrote it had usage to report too and nobody uses the key again.
func TestExpiredRowsAreForgotten(t *testing.T) {
	s := newStory(t, "wide")
	s.enter("meter0", keymeter.ModeReserve, money.Cent)
	s.enter("meter0", keymeter.ModeHit, 0)
	s.pass(hourMs)
	s.ring(abi.ClassKeyMeter, "meter0")
	s.settleDown([]string{"meter0", "meter1"}, func(string) {})
	if rows := s.object(abi.ClassKeyMeter, "meter0").Keys("", "~"); !slices.Equal(rows, []string{"h"}) {
		t.Errorf("left are %q", rows)
	}
}

// TestClosedBatchDoesNotHideANewGrant: a batch that closes a slice arrives late, when the meter has another.
// The Ledger must still know that the meter may have news.
func TestClosedBatchDoesNotHideANewGrant(t *testing.T) {
	s := newStory(t, "wide")
	s.settle("meter0", s.enter("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	s.pass(61_000)
	s.flush("meter0", false) // the exchange that asked for this dies before it carries it on
	s.settle("meter0", s.enter("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	s.deliverAll()
	s.pass(1000)
	reply := s.report(project, ledger.Report{EndDay: s.told/dayMs + 1})
	if !slices.Contains(reply.Flush, "meter0") && reply.WaitMs == 0 {
		t.Errorf("a report does not ask meter0, which has unreported usage: %+v", reply)
	}
}

// TestReportsBesideEachOther: the flush that one report has begun may not be over when another comes. That one's
// figures must not lack what the first is still fetching.
func TestReportsBesideEachOther(t *testing.T) {
	s := newStory(t, "wide")
	s.settle("meter0", s.enter("meter0", keymeter.ModeReserve, money.Cent), money.Cent)
	question := ledger.Report{EndDay: s.told/dayMs + 1}
	if first := s.report(project, question); !slices.Contains(first.Flush, "meter0") {
		t.Fatalf("%+v", first)
	}
	if second := s.report(project, question); len(second.Flush) == 0 && second.WaitMs == 0 {
		t.Errorf("figures without the cent that was spent: %+v", second)
	}
}

// TestReportAfterTheClockWentBack: a wave of flushes that seems to lie in the future has not been.
func TestReportAfterTheClockWentBack(t *testing.T) {
	s := newStory(t, "wide")
	s.enter("meter0", keymeter.ModeHit, 0)
	if reply := s.report(project, ledger.Report{EndDay: s.told/dayMs + 1}); len(reply.Flush) != 1 {
		t.Fatalf("the first report: %+v", reply)
	}
	s.told -= hourMs
	s.enter("meter0", keymeter.ModeCheck, 0)
	s.pass(2000)
	s.enter("meter0", keymeter.ModeHit, 0)
	reply := s.report(project, ledger.Report{EndDay: s.told/dayMs + 1})
	if len(reply.Flush) == 0 && (reply.WaitMs == 0 || reply.WaitMs > 1000) {
		t.Errorf("the report after the clock went back: %+v", reply)
	}
}

// TestSumsSaturate: costs beyond all measure do not turn into a credit.
func TestSumsSaturate(t *testing.T) {
	s := newStory(t, "wide")
	meters := []string{"meter0", "meter0", "meter1", "meter0"}
	var open []keymeter.Admit
	for _, meter := range meters {
		open = append(open, s.enter(meter, keymeter.ModeReserve, 1))
	}
	used := 1000 * money.Dollar // each is to be booked as at least that
	for i, meter := range meters {
		s.settle(meter, open[i], money.Max)
		s.recallAll()
		report := s.month()
		if len(report.Models) != 1 || report.UsedPico < used || report.Models[0].CostPico < used {
			t.Errorf("after %d requests of %d picodollars each: %+v", i+1, money.Max, report)
		}
		used = max(used, report.UsedPico)
	}
	a := s.ask(keymeter.ModeReserve, 1)
	if reply := s.want("meter1", a, keymeter.Short); s.grant(project, shortOf("meter1", &reply)).Granted {
		t.Error("there is money again")
	}
}

// TestIdempotencyRecordLastsADay: a record that took the place of an older one has a day of its own.
func TestIdempotencyRecordLastsADay(t *testing.T) {
	s := newStory(t, "wide")
	first := s.ask(keymeter.ModeReserve, 1)
	first.Idempotency, first.BodyHash = "i", "b"
	s.slice("meter0", &first, s.want("meter0", first, keymeter.Short))
	s.want("meter0", first, keymeter.Admitted)
	release := keymeter.Settle{RequestID: first.RequestID, Outcome: keymeter.Released, Model: "m", Idempotency: "i"}
	s.call(abi.ClassKeyMeter, "meter0", release.Encode())
	s.pass(23 * hourMs)
	second := s.ask(keymeter.ModeCount, 0)
	second.Idempotency, second.BodyHash = "i", "b"
	s.want("meter0", second, keymeter.Admitted)
	finish := keymeter.Settle{RequestID: second.RequestID, Outcome: keymeter.Finish, Idempotency: "i", Answer: []byte("answer")}
	s.call(abi.ClassKeyMeter, "meter0", finish.Encode())
	for range 22 {
		s.pass(hourMs)
		s.ring(abi.ClassKeyMeter, "meter0")
	}
	third := s.ask(keymeter.ModeCount, 0)
	third.Idempotency, third.BodyHash = "i", "b"
	if reply := s.want("meter0", third, keymeter.Replay); string(reply.Answer) != "answer" {
		t.Errorf("replayed %q", reply.Answer)
	}
}

// TestRepeatedAdmissionsCountOnce, in every mode: the reply was lost, the host asks again.
func TestRepeatedAdmissionsCountOnce(t *testing.T) {
	for mode := keymeter.ModeCheck; mode <= keymeter.ModeHit; mode++ {
		s := newStory(t, "tiny")
		a := s.enter("meter0", mode, 0)
		once := s.admit("meter0", a)
		for range 5 {
			if again := s.admit("meter0", a); again.Verdict != keymeter.Admitted || !slices.Equal(again.Windows, once.Windows) {
				t.Errorf("mode %d: %+v, and asked again %+v", mode, once, again)
			}
		}
		for _, w := range once.Windows {
			if used := w.Limit - w.Remaining; mode == keymeter.ModeCheck && used != 0 || mode != keymeter.ModeCheck && used != 1 {
				t.Errorf("mode %d has used up %d", mode, used)
			}
		}
	}
}

// TestLateRepeatOfASettledAdmission: the copy of an admission arrives after its request was settled. It counts
// nothing and reserves nothing: nobody would settle it.
func TestLateRepeatOfASettledAdmission(t *testing.T) {
	s := newStory(t, "wide")
	a := s.enter("meter0", keymeter.ModeReserve, money.Cent)
	s.settle("meter0", a, money.Cent/2)
	s.want("meter0", a, keymeter.Admitted)
	s.settleDown([]string{"meter0", "meter1"}, func(string) {})
	month := s.month()
	if len(month.Models) != 1 || month.Models[0].Requests != 1 || month.UsedPico != money.Cent/2 || month.Models[0].Expired != 0 {
		t.Errorf("%+v", month)
	}
}
