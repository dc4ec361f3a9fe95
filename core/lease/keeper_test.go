package lease_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/money"
)

// confirmed is the meter's reply that extends a lease of 50 admissions.
var confirmed = &keymeter.ReportReply{Lease: lent}

// TestReports follows a lease through its reports. It is renewed while it is used and closed when it is not.
func TestReports(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	take(e, start+41, "b", 100)
	settle(t, e, start+60, "a", 30)
	for i, want := range []struct {
		text         string
		seq          uint64
		close, renew bool
		before       func()
	}{
		{"(b) a", 1, false, true, func() {}},
		{"(c) b settled", 2, false, true, func() { settle(t, e, start+600, "b", 50); take(e, start+600, "c", 100) }},
		{"c settled", 3, true, false, func() { settle(t, e, start+1100, "c", 50) }},
	} {
		want.before()
		now := start + 500*uint64(i+1)
		if duty := e.Wake(now, 1); duty != lease.Send {
			t.Fatalf("report %d: duty %d", i, duty)
		}
		r, sent := report(t, e, now, false)
		if summary(&r) != want.text || r.LeaseID != 7 || r.Seq != want.seq || r.Close != want.close || r.Renew != want.renew || r.Renew && r.AmountPico == 0 {
			t.Errorf("report %d: %s %+v", i, summary(&r), r)
		}
		e = again(t, e)
		e.Confirmed(now+20, sent, confirmed)
	}
	if data, _ := e.Encode(); e.Held() || lease.Decode(data).Held() || e.Wake(start+2000, 1) != lease.Leave {
		t.Errorf("holds %+v", e)
	}
	if command, _ := e.Report(start+2000, true); command != nil {
		t.Errorf("reports %x", command)
	}
}

// TestRepeatedReport checks that an unconfirmed report is repeated unchanged, except for its time. New requests wait
// for the next report.
func TestRepeatedReport(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	first, sent := report(t, e, start+500, false)
	take(e, start+510, "b", 100)
	settle(t, e, start+520, "a", 10) // of a request whose report is in flight
	if !e.InFlight() || e.Due() {
		t.Error("the report is not in flight")
	}
	e.Failed(sent)
	if e = again(t, e); e.InFlight() || e.Wake(start+1000, 1) != lease.Send {
		t.Error("the report is not repeated")
	}
	second, resent := report(t, e, start+1000, false)
	if first.SentMs = second.SentMs; fmt.Sprint(first) != fmt.Sprint(second) || resent.Number != sent.Number {
		t.Errorf("%+v is repeated as %+v", first, second)
	}
	e.Failed(lease.Sending{Number: sent.Number - 1}) // late, of an earlier report
	if !e.InFlight() {
		t.Error("the failure of an earlier report counts")
	}
	e.Confirmed(start+1010, resent, confirmed)
	if third, _ := report(t, e, start+1500, false); summary(&third) != "(b) a settled" || third.Seq != 2 {
		t.Errorf("%s %+v", summary(&third), third)
	}
}

// TestLateConfirmation checks that the reply to an earlier report or transmission neither confirms the next report
// nor extends the lease.
func TestLateConfirmation(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	_, first := report(t, e, start+100, true)
	_, second := report(t, e, start+5000, false) // presumed lost
	e.Confirmed(start+5010, first, confirmed)
	if take(e, start+5020, "b", 100) {
		t.Error("the lease counts from the second transmission, which the meter perhaps does not have")
	}
	e.Confirmed(start+5030, second, confirmed)
	if r, _ := report(t, e, start+5100, false); !r.Close {
		t.Errorf("%+v", r)
	}
	e.Confirmed(start+5110, second, confirmed)
	if r, _ := report(t, e, start+5200, false); !r.Close || r.Seq != 2 {
		t.Errorf("not repeated: %+v", r)
	}
}

// TestExtensionDuringTheClose checks that an extension that arrives after the close was sent admits nothing. The
// lease is closed again, because the meter may have seen the commands in the other order.
func TestExtensionDuringTheClose(t *testing.T) {
	e := granted(t, lent)
	asked := lease.Asked{ID: 7, SentMs: start + 400, Version: 2}
	_, sent := report(t, e, start+500, false) // unused
	more := lent
	more.Requests = 90
	if !e.Granted(start+510, asked, &more, nil) || take(e, start+520, "a", 100) {
		t.Error("admitted by a lease that is being closed")
	}
	e = again(t, e)
	e.Confirmed(start+530, sent, &keymeter.ReportReply{})
	r, sent := report(t, e, start+1000, false)
	if !r.Close || r.Seq != 2 || r.LeaseID != 7 {
		t.Errorf("%+v", r)
	}
	e.Confirmed(start+1010, sent, &keymeter.ReportReply{})
	if e.Held() {
		t.Errorf("holds %+v", e)
	}
	if e.Granted(start+1020, asked, &more, nil) {
		t.Error("an extension after the close is wanted")
	}
	if !e.Granted(start+1020, asked, &keymeter.Lease{}, nil) {
		t.Error("a refusal must be closed")
	}
}

// TestUnknownLease checks that requests of a lease that the meter does not know are reported once more, along with
// the close.
func TestUnknownLease(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	_, sent := report(t, e, start+500, false)
	take(e, start+510, "b", 100)
	e.Confirmed(start+520, sent, &keymeter.ReportReply{})
	if take(e, start+530, "c", 100) {
		t.Error("admitted")
	}
	if r, _ := report(t, e, start+1000, false); summary(&r) != "(b)" || !r.Close || r.Seq != 2 {
		t.Errorf("%+v", r)
	}
}

// TestDue checks that a report is sent early when 64 requests have ended, or when more than half of the slots are in
// use.
func TestDue(t *testing.T) {
	for slots, want := range map[uint64]int{300: 64, 20: 11, 4: 3} {
		l := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 200, AmountPico: money.Dollar, Slots: slots}
		e, n := granted(t, l), 0
		for ; !again(t, e).Due(); n++ {
			if !take(e, start+60, fmt.Sprint(n), 1) {
				t.Fatalf("%d slots: not due after %d requests", slots, n)
			}
			if slots == 300 {
				settle(t, e, start+60, fmt.Sprint(n), 1)
			}
		}
		if n != want {
			t.Errorf("%d slots: due after %d requests, want %d", slots, n, want)
		}
	}
}

// TestClockGoesBack checks that the lease ends when a step sees that the clock went back. No reply revives the lease,
// its requests are reported, and the keeper stays awake. Steps that run in parallel may see the clock slightly out of
// order.
func TestClockGoesBack(t *testing.T) {
	e := granted(t, lent)
	if !take(e, start, "earlier by a little", 100) {
		t.Error("30 ms earlier")
	}
	take(e, start+200, "a", 100)
	_, sent := report(t, e, start+300, true)
	take(e, start+400, "b", 100)
	const back = start - 3_600_000
	if take(e, back, "c", 100) {
		t.Error("admitted after the clock went back")
	}
	e = again(t, e)
	e.Granted(back+10, lease.Asked{ID: 7, SentMs: start + 350, Version: 2}, &lent, nil)
	e.Confirmed(back+10, sent, confirmed)
	if take(e, back+20, "c", 100) {
		t.Error("a reply has revived the lease")
	}
	if id, _ := e.Ask(back+20, 2, 8, 2); id != 0 {
		t.Errorf("asked for lease %d", id)
	}
	if e.Wake(back+500, 1) == lease.Sleep {
		e.Wake(back+1000, 1)
	}
	if r, _ := report(t, e, back+1000, false); summary(&r) != "(b)" || !r.Close || r.Requests[0].AdmittedMs != start+400 {
		t.Errorf("%s %+v", summary(&r), r)
	}
}

// TestKeeper checks who keeps an entry. The first keeper is the exchange that asked for the lease. If that keeper is
// a second and a half late, another exchange keeps the entry. If nothing is left to keep, there is no keeper.
func TestKeeper(t *testing.T) {
	e := &lease.Entry{}
	if e.Keep(start, 1) || e.Wake(start, 1) != lease.Leave {
		t.Error("an empty entry has a keeper")
	}
	e = granted(t, lent)
	if e.Wake(start+500, 1) == lease.Leave || e.Keep(start+1000, 1) || e.Keep(start+1000+1499, 3) {
		t.Error("the keeper is not exchange 1")
	}
	if e = again(t, e); !e.Keep(start+1000+1500, 3) || e.Wake(start+2600, 1) != lease.Leave || e.Keeper() != 3 {
		t.Errorf("exchange 1 is dead, but the keeper is %d", e.Keeper())
	}
	_, sent := report(t, e, start+3100, false)
	e.Confirmed(start+3200, sent, &keymeter.ReportReply{})
	if e.Keeper() != 0 {
		t.Errorf("%d keeps nothing", e.Keeper())
	}
	if e.Settle(start+3250, &keymeter.Settle{RequestID: "y", Outcome: keymeter.Served, Model: "m", CostPico: 1}) {
		t.Error("an entry without a lease takes a settle, for which the host may have no room")
	}
}

// TestDutyEnds checks that a keeper lets another exchange take over after 15 seconds. If there is no other exchange,
// the keeper continues.
func TestDutyEnds(t *testing.T) {
	serve := func(e *lease.Entry, from, to uint64, takeOver bool) (at uint64) {
		for now := from; now <= to; now += lease.ReportMs {
			duty := e.Wake(now, 1)
			if duty == lease.Leave {
				return now - start
			}
			if duty == lease.Send {
				take(e, now, fmt.Sprint(now), 1)
				settle(t, e, now, fmt.Sprint(now), 1)
				if command, sent := e.Report(now, false); command != nil {
					l := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: money.Dollar, Slots: 20}
					e.Confirmed(now+10, sent, &keymeter.ReportReply{Lease: l})
				}
			}
			if takeOver {
				e.Keep(now+20, 2)
			}
		}
		return 0
	}
	usual := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 1000, AmountPico: money.Dollar, Slots: 20}
	e := granted(t, usual)
	if at := serve(e, start+500, start+20_000, true); at != 15_500 || e.Keeper() != 2 {
		t.Errorf("handed over after %d ms to %d", at, e.Keeper())
	}
	if e = granted(t, usual); serve(e, start+500, start+20_000, false) != 0 {
		t.Error("the keeper left the entry to nobody")
	}
}

// TestKeeperSleeps checks that the keeper does not report again in the interval of an early report. If the exchange
// that sent a report has died, the keeper repeats the report after ten intervals.
func TestKeeperSleeps(t *testing.T) {
	e := granted(t, lent)
	take(e, start+40, "a", 100)
	_, sent := report(t, e, start+100, true)
	e.Confirmed(start+110, sent, confirmed)
	if duty := e.Wake(start+500, 1); duty != lease.Sleep {
		t.Errorf("after an early report: duty %d", duty)
	}
	if duty := e.Wake(start+1000, 1); duty != lease.Send {
		t.Errorf("in the next interval: duty %d", duty)
	}
	take(e, start+1100, "b", 100)
	report(t, e, start+1200, true)
	naps := 0
	for now := uint64(start + 1500); again(t, e).InFlight() && e.Wake(now, 1) == lease.Sleep; now += lease.ReportMs {
		naps++
	}
	if r, _ := report(t, e, start+7000, false); naps != 10 || summary(&r) != "(b)" {
		t.Errorf("after %d intervals: %+v", naps, r)
	}
}
