package keymeter_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// heldMs is how long a meter considers a two-second lease live, because the isolate's clock may be slow.
const heldMs = 2000 + 100 + 250

// lentPico is the budget of a lease requested with a reservation of 100 picodollars.
const lentPico = 128 * 100

// lender returns a key on a plan, with a grant.
func lender(t *testing.T, plan string, granted money.Pico) *key {
	k := newKey(t, record(plan))
	k.fund(granted)
	return k
}

// fund sets the total that the Ledger has granted to the meter.
func (k *key) fund(granted money.Pico) {
	k.Helper()
	period := calendar.NewPeriod(calendar.Monthly, 0, calendar.Day(k.now))
	check := keymeter.Admit{RequestID: "req_fund", Mode: keymeter.ModeCheck, Grant: keymeter.Grant{Period: period, Epoch: 1, TotalPico: granted}}
	k.admit(check)
}

// borrow admits a request that reserves 100 picodollars and asks for a lease, while the Ledger has no more budget.
func (k *key) borrow(lease uint64) keymeter.AdmitReply {
	k.Helper()
	k.count++
	a := keymeter.Admit{RequestID: fmt.Sprint("req_", k.count), Version: 2, Mode: keymeter.ModeReserve, AmountPico: 100}
	reply := k.borrowAs(a, lease)
	if reply.Verdict == keymeter.Short && reply.NeedPico == 0 {
		a.Grant = keymeter.Grant{Period: reply.Period, Epoch: reply.Epoch, TotalPico: reply.HeldPico}
		reply = k.borrowAs(a, lease)
	}
	return reply
}

func (k *key) borrowAs(a keymeter.Admit, lease uint64) keymeter.AdmitReply {
	k.Helper()
	a.Model, a.LifetimeMs, a.LeaseID = "m", 60_000, lease
	reply, err := keymeter.DecodeAdmitReply(k.call(a.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply
}

func (k *key) expectLease(about string, got, want keymeter.Lease) {
	k.Helper()
	if got != want {
		k.Errorf("%s: %+v, want %+v", about, got, want)
	}
}

func (k *key) report(r keymeter.Report) keymeter.ReportReply {
	k.Helper()
	reply, err := keymeter.DecodeReportReply(k.call(r.Encode()))
	if err != nil {
		k.Fatal(err)
	}
	return reply
}

func TestLeaseTerms(t *testing.T) {
	usual := keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 512, AmountPico: lentPico, Slots: 125}
	midnight := uint64(today+1) * calendar.DayMs
	for _, c := range []struct {
		name, plan string
		granted    money.Pico
		prepare    func(*key)
		want       keymeter.Lease
	}{
		{"a plan without limits", "lending", money.Dollar, nil, usual},
		{"a plan that does not lend", "wide", money.Dollar, nil, keymeter.Lease{}},
		{"the limited plan", "free", money.Dollar, nil, keymeter.Lease{}},
		{"a token limit", "lending-with-tokens", money.Dollar, nil, keymeter.Lease{}},
		{"the key's own token limit", "lending", money.Dollar, func(k *key) { k.limit(doc.Limits{TokensPerMinute: 5}) }, keymeter.Lease{}},
		{"a tenth of a second", "lending-by-second", money.Dollar, nil, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 50, AmountPico: lentPico, Slots: 125}},
		{"a tenth of the key's own day", "lending", money.Dollar, func(k *key) { k.limit(doc.Limits{PerDay: 300}) }, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 15, AmountPico: lentPico, Slots: 125}},
		{"a limit too small to lend", "lending", money.Dollar, func(k *key) { k.limit(doc.Limits{PerSecond: 140}) }, keymeter.Lease{}},
		{"the rest of a day", "lending-by-day", money.Dollar, func(k *key) { k.admitTimes(183) }, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 8, AmountPico: lentPico, Slots: 125}},
		{"almost no rest of a day", "lending-by-day", money.Dollar, func(k *key) { k.admitTimes(185) }, keymeter.Lease{}},
		{"before midnight", "lending", money.Dollar, func(k *key) { k.now = midnight - 1000 }, keymeter.Lease{ID: 7, DurationMs: 713, Requests: 512, AmountPico: lentPico, Slots: 125}},
		{"at midnight", "lending", money.Dollar, func(k *key) { k.now = midnight - 350 }, keymeter.Lease{}},
		{"before the key expires", "lending", money.Dollar, func(k *key) { k.expire(start + 1000) }, keymeter.Lease{ID: 7, DurationMs: 713, Requests: 512, AmountPico: lentPico, Slots: 125}},
		{"when the key expires", "lending", money.Dollar, func(k *key) { k.expire(start + 350) }, keymeter.Lease{}},
		{"a little budget", "lending", 100 + 800, nil, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 512, AmountPico: 400, Slots: 125}},
		{"almost no budget", "lending", 100 + 798, nil, keymeter.Lease{}},
		{"a tenth of the concurrent requests", "lending-to-few", money.Dollar, func(k *key) { k.reserveTimes(24) }, keymeter.Lease{ID: 7, DurationMs: 2000, Requests: 64, AmountPico: lentPico, Slots: 5}},
		{"near the concurrent requests", "lending-to-few", money.Dollar, func(k *key) { k.reserveTimes(25) }, keymeter.Lease{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := lender(t, c.plan, c.granted)
			if c.prepare != nil {
				c.prepare(k)
			}
			reply := k.borrow(7)
			if reply.Verdict != keymeter.Admitted {
				t.Errorf("verdict %d", reply.Verdict)
			}
			k.expectLease(c.name, reply.Lease, c.want)
		})
	}
}

func (k *key) limit(l doc.Limits) {
	r := record("lending")
	r.Version, r.Limits = 2, l
	k.Rows = nil
	k.put(doc.Active, r)
	k.fund(money.Dollar)
}

func (k *key) expire(ms uint64) {
	r := record("lending")
	r.ExpiresMs = ms
	k.Rows = nil
	k.put(doc.Active, r)
	k.fund(money.Dollar)
}

func (k *key) admitTimes(n int) {
	for range n {
		k.admit(keymeter.Admit{Mode: keymeter.ModeHit})
	}
}

func (k *key) reserveTimes(n int) {
	for range n {
		k.admit(keymeter.Admit{Mode: keymeter.ModeReserve})
	}
}

// TestMeterAsksBeforeItLends checks that a meter whose slice covers fewer than 32 more reservations asks the Ledger
// once before it lends. It does not ask for a request that does not want a lease.
func TestMeterAsksBeforeItLends(t *testing.T) {
	for granted, asks := range map[money.Pico]bool{100 + 3200: false, 100 + 3199: true} {
		k := lender(t, "lending", granted)
		a := keymeter.Admit{RequestID: "a", Version: 2, Mode: keymeter.ModeReserve, AmountPico: 100}
		reply := k.borrowAs(a, 7)
		if want := (keymeter.AdmitReply{Verdict: keymeter.Short, Period: november, Epoch: 1, HeldPico: granted}); asks && !reflect.DeepEqual(budgetFields(reply), want) || !asks && reply.Verdict != keymeter.Admitted {
			t.Errorf("%d: %+v", granted, reply)
		}
		a.RequestID = "b"
		if reply := k.borrowAs(a, 0); reply.Verdict != keymeter.Admitted {
			t.Errorf("%d, without a lease: %+v", granted, reply)
		}
		a.RequestID, a.Grant = "c", keymeter.Grant{Period: november, Epoch: 1, TotalPico: granted}
		if reply := k.borrowAs(a, 8); reply.Lease.DurationMs != 2000 {
			t.Errorf("%d, the Ledger has no more: %+v", granted, reply)
		}
	}
}

// TestLeaseClosedBeforeItIsAskedFor checks an Admit that arrives after its lease was closed, and after many other
// admissions and leases. The Admit does not create the lease, because nobody would use it.
func TestLeaseClosedBeforeItIsAskedFor(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.report(keymeter.Report{LeaseID: 1, Seq: 1, Close: true})
	k.expectLease("the late Admit", k.borrow(1).Lease, keymeter.Lease{})
	for i := range uint64(50) {
		id := fmt.Sprint("req_", 10+i)
		k.mustAdmit(id, 100)
		k.settle(id, 0, 100)
		if i < 7 {
			k.report(keymeter.Report{LeaseID: 10 + i, Seq: 1, Close: true})
		}
	}
	k.expectLease("a later Admit", k.borrow(1).Lease, keymeter.Lease{})
	k.ringUntil(start + 2*minuteMs)
	k.expectUsage("afterwards", keymeter.Unreported, 0, 0, 0)
}

// TestManyClosedLeases checks that a meter that remembers closed leases still recognizes repeats of admissions.
func TestManyClosedLeases(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	for i := range uint64(40) {
		k.report(keymeter.Report{LeaseID: 10 + i, Seq: 1, Close: true})
	}
	const admissions = 24
	for range 2 {
		for i := range admissions {
			id := fmt.Sprint("req_", 10+i)
			k.mustAdmit(id, 0)
			k.settle(id, 0, 0)
		}
	}
	if u := k.reportedUsage(); u.Requests != admissions {
		t.Errorf("%d requests, want %d", u.Requests, admissions)
	}
}

// TestRepeatOnAnInactiveKey checks a request whose first reply was lost and whose key was then deactivated or
// removed. The isolate can still return the reservation and the lease of the request.
func TestRepeatOnAnInactiveKey(t *testing.T) {
	for status, verdict := range map[doc.Status]keymeter.Verdict{doc.Inactive: keymeter.Inactive, doc.Removed: keymeter.Unknown} {
		k := lender(t, "lending", money.Dollar)
		a := keymeter.Admit{RequestID: "req_a", Version: 2, Mode: keymeter.ModeReserve, AmountPico: 100}
		lent := k.borrowAs(a, 1).Lease
		k.put(status, withVersion(record("lending"), 3))
		repeat := k.borrowAs(a, 1)
		if lent.DurationMs = 0; repeat.Verdict != verdict || repeat.Lease != lent || lent.ID == 0 || repeat.ReservedPico != 100 {
			t.Errorf("%+v, want verdict %d and %+v", repeat, verdict, lent)
		}
		if a.RequestID = "req_b"; k.borrowAs(a, 0).ReservedPico != 0 {
			t.Error("a new request has a reservation")
		}
	}
}

// TestClosedLeaseStaysClosed checks an admission that asked for a lease before the close but arrives after it. The
// admission does not create the lease again, because nobody would close it.
func TestClosedLeaseStaysClosed(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	k.borrow(1)
	k.report(keymeter.Report{LeaseID: 1, Seq: 1, Close: true})
	k.expectLease("late", k.borrow(1).Lease, keymeter.Lease{})
	if l := k.borrow(2).Lease; l.DurationMs != 2000 {
		t.Errorf("%+v", l)
	}
}

// TestLeasesShareAWindow checks that all leases together get at most a tenth of a window, and that this part counts
// as used.
func TestLeasesShareAWindow(t *testing.T) {
	k := lender(t, "lending-by-second", money.Dollar)
	lent := uint64(0)
	for i, want := range []uint64{50, 25, 13, 0, 0} {
		reply := k.borrow(uint64(i) + 1)
		if lent += want; reply.Lease.Requests != want || reply.Windows[0].Remaining != 1000-uint64(i)-1-lent {
			t.Errorf("lease %d: %+v", i+1, reply)
		}
	}
	k.now += heldMs + 1000 // lent admissions count as used for a second after the end of the lease
	if w := k.check().Windows[0]; w.Remaining != 1000 {
		t.Errorf("%+v", w)
	}
}

// TestUnusedLeaseCountsAsUsed checks that the unreported admissions of a lease count in the window for a second after
// its end. If a lease takes the last admissions of a window, other requests are rejected.
func TestUnusedLeaseCountsAsUsed(t *testing.T) {
	k := lender(t, "lending-by-second", money.Dollar)
	k.borrow(1)
	for _, c := range []struct{ afterMs, remaining uint64 }{{1, 949}, {1000, 950}, {heldMs, 950}, {heldMs + 999, 950}, {heldMs + 1000, 1000}} {
		k.now = start + c.afterMs
		if w := k.check().Windows[0]; w.Remaining != c.remaining {
			t.Errorf("after %d ms: %+v", c.afterMs, w)
		}
	}
}

// TestLeaseFillsTheConcurrentRequests checks that the slots of leases count as requests in progress.
func TestLeaseFillsTheConcurrentRequests(t *testing.T) {
	k := lender(t, "lending-to-few", money.Dollar)
	if reply := k.borrow(1); reply.Lease.Slots != 5 {
		t.Errorf("%+v", reply)
	}
	k.reserveTimes(40 - 5 - 1)
	if reply := k.borrow(2); reply.Verdict != keymeter.ConcurrencyLimited || reply.Lease != (keymeter.Lease{}) {
		t.Errorf("%+v", reply)
	}
	k.report(keymeter.Report{LeaseID: 1, Seq: 1, Close: true})
	if reply := k.borrow(2); reply.Verdict != keymeter.Admitted {
		t.Errorf("%+v", reply)
	}
}

// TestRepeatedAdmissionEndsItsLease checks an admission that is repeated because its reply was lost. The second reply
// names the lease. The lease can only be closed, because its time has been running since the first reply.
func TestRepeatedAdmissionEndsItsLease(t *testing.T) {
	for _, mode := range []keymeter.Mode{keymeter.ModeReserve, keymeter.ModeHit} {
		k := lender(t, "lending", money.Dollar)
		a := keymeter.Admit{RequestID: "req_1", Version: 2, Mode: mode, AmountPico: 100}
		first := k.borrowAs(a, 7).Lease
		k.now += 1500
		want := first
		want.DurationMs = 0
		k.expectLease(fmt.Sprint("mode ", mode), k.borrowAs(a, 7).Lease, want)
		if first.DurationMs != 2000 {
			t.Errorf("mode %d: %+v", mode, first)
		}
	}
}

// TestExtension checks that the totals of a lease grow by the reported admissions and amounts, and that both sides agree on its end.
func TestExtension(t *testing.T) {
	k := lender(t, "lending-by-second", money.Dollar)
	first := k.borrow(1).Lease
	k.now += 1000
	k.expectLease("nothing was used", k.borrow(1).Lease, first)
	k.now += 500
	used := []keymeter.Leased{{RequestID: "req_a", AmountPico: 30, LifetimeMs: 1, Model: "m"}, {RequestID: "req_b", AmountPico: 50, LifetimeMs: 1, Model: "m"}}
	reply := k.report(keymeter.Report{LeaseID: 1, Seq: 1, Requests: used, Renew: true, AmountPico: 100})
	want := first
	want.Requests, want.AmountPico = first.Requests+2, first.AmountPico+80
	k.expectLease("two were used", reply.Lease, want)
	k.now += heldMs - 1
	k.expectLease("at the end", k.report(keymeter.Report{LeaseID: 1, Seq: 2, Renew: true, AmountPico: 100}).Lease, want)
	k.now += heldMs
	want.DurationMs = 0
	k.expectLease("after the end", k.report(keymeter.Report{LeaseID: 1, Seq: 3, Renew: true, AmountPico: 100}).Lease, want)
}

// TestNoLeaseUnderAnotherRecord checks that a changed, deactivated or expired key does not renew its leases.
func TestNoLeaseUnderAnotherRecord(t *testing.T) {
	changed := func(status doc.Status) *key {
		k := lender(t, "lending", money.Dollar)
		k.borrow(1)
		r := record("lending")
		r.Version = 3
		k.put(status, r)
		return k
	}
	for _, status := range []doc.Status{doc.Active, doc.Inactive, doc.Removed} {
		k := changed(status)
		want := keymeter.Lease{ID: 1, Requests: 512, AmountPico: lentPico, Slots: 125}
		k.expectLease(fmt.Sprint("status ", status), k.report(keymeter.Report{LeaseID: 1, Seq: 1, Renew: true, AmountPico: 100}).Lease, want)
	}
	k := changed(doc.Active)
	if stale := k.borrow(1); stale.Verdict != keymeter.Stale || stale.Lease != (keymeter.Lease{}) {
		t.Errorf("%+v", stale)
	}
	a := keymeter.Admit{RequestID: "req_new", Version: 3, Mode: keymeter.ModeReserve, AmountPico: 100}
	if reply := k.borrowAs(a, 2); reply.Lease.DurationMs != 2000 {
		t.Errorf("%+v", reply)
	}
}

// TestShortKeyRests checks that a key stops lending for five seconds after its slice was too small or was recalled.
// The reply says when lent budget may be free again.
func TestShortKeyRests(t *testing.T) {
	const lentMs = heldMs + 250
	for name, ask := range map[string]func(*key) uint64{
		"admission": func(k *key) uint64 {
			return k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: money.Dollar}).LentMs
		},
		"extension": func(k *key) uint64 {
			extend := keymeter.Extend{RequestID: "req_1", TotalPico: money.Dollar}
			reply, err := keymeter.DecodeAdmitReply(k.call(extend.Encode()))
			if err != nil || reply.Verdict != keymeter.Short {
				k.Errorf("%v %+v", err, reply)
			}
			return reply.LentMs
		},
		"recall": func(k *key) uint64 {
			flush := keymeter.Flush{Recall: true, HeldPico: 1}
			reply, err := keymeter.DecodeFlushReply(k.call(flush.Encode()))
			if err != nil || reply.Open != 3 {
				k.Errorf("%v %+v", err, reply)
			}
			return reply.LentMs
		},
	} {
		k := lender(t, "lending", 100_000)
		k.borrow(1)
		k.reserveTimes(1)
		k.now += 100
		if got := ask(k); got != lentMs-100 {
			t.Errorf("%s: budget returns in %d ms", name, got)
		}
		if l := k.report(keymeter.Report{LeaseID: 1, Seq: 1, Renew: true, AmountPico: 100}).Lease; l.DurationMs != 0 || l.ID != 1 {
			t.Errorf("%s: %+v", name, l)
		}
		k.report(keymeter.Report{LeaseID: 1, Seq: 2, Close: true})
		if reply := k.admit(keymeter.Admit{Mode: keymeter.ModeReserve, AmountPico: money.Dollar}); reply.Verdict != keymeter.Short || reply.LentMs != 0 {
			t.Errorf("%s: %+v after the close", name, reply)
		}
		k.mustAdmit("req_more", 50_000)
		k.settle("req_more", 2, 0)
		k.now += 4999
		k.expectLease(name+": before the end of the rest", k.borrow(2).Lease, keymeter.Lease{})
		k.now++
		k.expectLease(name+": after it", k.borrow(3).Lease, keymeter.Lease{ID: 3, DurationMs: 2000, Requests: 512, AmountPico: lentPico, Slots: 125})
	}
}

// TestHitsAskForALease checks that a cached hit gets a lease without budget. An uncached request extends the lease.
func TestHitsAskForALease(t *testing.T) {
	k := lender(t, "lending", money.Dollar)
	a := keymeter.Admit{RequestID: "req_hit", Version: 2, Mode: keymeter.ModeHit, Trace: keymeter.Trace{Status: 200}}
	k.expectLease("hit", k.borrowAs(a, 1).Lease, keymeter.Lease{ID: 1, DurationMs: 2000, Requests: 512, Slots: 125})
	k.expectLease("miss", k.borrow(1).Lease, keymeter.Lease{ID: 1, DurationMs: 2000, Requests: 512, AmountPico: lentPico, Slots: 125})
	check := keymeter.Admit{RequestID: "req_check", Version: 2, Mode: keymeter.ModeCheck}
	k.expectLease("check", k.borrowAs(check, 2).Lease, keymeter.Lease{})
}
