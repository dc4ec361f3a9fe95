package keymeter_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/testobject"
)

type reporter struct {
	*key
	project *testobject.Object
}

func newReporter(t *testing.T, plan string) *reporter {
	r := &reporter{newKey(t, record(plan)), &testobject.Object{Class: abi.ClassLedger, Name: "proj_1", Reads: ledger.Reads, Apply: ledger.Apply}}
	put := ledger.Put{Version: 1, BudgetPico: 1, Period: calendar.NewPeriod(calendar.Monthly, 0, today)}
	r.toLedger(put.Encode())
	return r
}

func (r *reporter) toLedger(command []byte) []byte {
	r.Helper()
	reply, err := r.project.Call(r.now, command)
	if err != nil {
		r.Fatal(err)
	}
	return reply
}

// deliver delivers each row of the outbox to the Ledger twice.
func (r *reporter) deliver() {
	r.Helper()
	rows, deliveries, err := r.Outbox()
	if err != nil {
		r.Fatal(err)
	}
	for i, d := range deliveries {
		r.toLedger(d.Data)
		r.toLedger(d.Data)
		r.Delete(rows[i])
	}
}

// listed returns all violations of the project, newest first, after the meter's alarm and deliveries. If the meter
// has something to report, the alarm is due within five seconds.
func (r *reporter) listed() (all []ledger.StoredViolation) {
	r.Helper()
	r.ringUntil(r.now + 5000)
	r.deliver()
	query := ledger.Violations{Limit: ledger.MaxViolationPage}
	for {
		page, err := ledger.DecodeViolations(r.toLedger(query.Encode()))
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, page.Violations...)
		if query.After = page.Next; query.After == "" {
			return all
		}
	}
}

// expect checks the listed violations, each as "rule×count", in any order.
func (r *reporter) expect(want ...string) {
	r.Helper()
	var got []string
	for _, v := range r.listed() {
		got = append(got, fmt.Sprint(v.Rule, "×", v.Count))
	}
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		r.Errorf("violations %v, want %v", got, want)
	}
}

// found returns one violation of a rule.
func found(rule string) []ledger.Violation {
	return []ledger.Violation{{
		RequestID: "req_x", Rule: rule, Category: "secret", Severity: "high", Decision: "review", Model: "m", Path: "messages[0].content",
		Start: 1, End: 9, Risk: 40, Policy: 7, MAC: strings.Repeat("a", 32), Count: 1,
	}}
}

// blocked admits a request that is blocked because of the given rules.
func (r *reporter) blocked(id string, rules ...string) keymeter.AdmitReply {
	r.Helper()
	var list []ledger.Violation
	for _, rule := range rules {
		list = append(list, found(rule)...)
	}
	return r.admit(keymeter.Admit{RequestID: id, Mode: keymeter.ModeCount, Trace: keymeter.Trace{Status: 422}, Violations: list})
}

// TestViolationsOfAdmissions checks that an admission in any mode stores its violations once, with the admission.
func TestViolationsOfAdmissions(t *testing.T) {
	for _, mode := range []keymeter.Mode{keymeter.ModeCheck, keymeter.ModeCount, keymeter.ModeHit, keymeter.ModeReserve} {
		r := newReporter(t, "wide")
		r.mustAdmit("req_0", 0) // there is a slice
		for range 3 {           // replies were lost
			if reply := r.admit(keymeter.Admit{RequestID: "req_1", Mode: mode, Violations: found("secret.a")}); reply.Verdict != keymeter.Admitted {
				t.Fatalf("mode %d: %+v", mode, reply)
			}
		}
		r.expect("secret.a×1")
		r.settle("req_1", 2, 0)
		r.admit(keymeter.Admit{RequestID: "req_1", Mode: mode, Violations: found("secret.a")})
		r.expect("secret.a×1")
	}
}

// TestRefusedRequestsStoreNothing checks that requests that are not admitted leave no violation and write no row.
func TestRefusedRequestsStoreNothing(t *testing.T) {
	r := newReporter(t, "counted")
	for i := range 4 {
		r.blocked(fmt.Sprint("req_", i), "secret.a")
	}
	before := string(r.Rows["h"])
	for i := range 50 {
		if reply := r.blocked(fmt.Sprint("req_limited_", i), "secret.b"); reply.Verdict != keymeter.RateLimited {
			t.Fatalf("%+v", reply)
		}
	}
	if string(r.Rows["h"]) != before {
		t.Error("refused requests changed the meter")
	}
	stale := keymeter.Admit{RequestID: "req_stale", Version: 1, Mode: keymeter.ModeCount, Violations: found("secret.c")}
	r.call(stale.Encode())
	if short := r.admit(keymeter.Admit{RequestID: "req_short", Mode: keymeter.ModeReserve, AmountPico: 5, Violations: found("secret.d")}); short.Verdict == keymeter.Admitted {
		t.Fatal("admitted without a slice")
	}
	r.now += 1000
	r.put(doc.Inactive, doc.Record{Version: 9, KeyID: "key_1", ProjectID: "proj_1"})
	r.blocked("req_inactive", "secret.e")
	r.expect("secret.a×4")
}

// TestViolationsOfSettles checks that the first settle of a request stores its violations, even if it is late or the
// request has no reservation. Repeats and unknown requests store nothing.
func TestViolationsOfSettles(t *testing.T) {
	r := newReporter(t, "wide")
	settle := func(id string, outcome keymeter.Outcome) {
		t.Helper()
		command := keymeter.Settle{RequestID: id, Outcome: outcome, Model: "m", Violations: found("personal." + id)}
		for range 3 {
			r.call(command.Encode())
		}
	}
	settle("unknown", keymeter.Served)
	for i, outcome := range []keymeter.Outcome{keymeter.Served, keymeter.Hit, keymeter.Released} {
		id := fmt.Sprint("r", i)
		r.mustAdmit(id, 5)
		settle(id, outcome)
	}
	r.mustAdmit("late", 5)
	r.ringUntil(r.now + 2*minuteMs) // it expires
	settle("late", keymeter.Served)
	r.blocked("finished", "secret.a")
	settle("finished", keymeter.Finish)
	r.expect("personal.r0×1", "personal.r1×1", "personal.r2×1", "personal.late×1", "personal.finished×1", "secret.a×1")
}

// TestViolationsAreReportedSoon checks that a single violation is reported within five seconds, and is kept in the
// meter's row until then.
func TestViolationsAreReportedSoon(t *testing.T) {
	r := newReporter(t, "wide")
	r.admit(keymeter.Admit{Mode: keymeter.ModeCheck, Violations: found("secret.a")})
	if r.AlarmMs != start+5000 {
		t.Errorf("alarm after %d ms", r.AlarmMs-start)
	}
	if n := r.outboxLen(); n != 0 {
		t.Errorf("%d batches", n)
	}
	r.expectOutbox(start+5000, 1)
	r.expect("secret.a×1")
	r.admit(keymeter.Admit{Mode: keymeter.ModeCheck, Violations: found("secret.b")})
	if n := r.flushedBatches(); n != 1 {
		t.Errorf("a flush returns %d batches", n)
	}
	r.expect("secret.a×1", "secret.b×1")
}

// TestOneRowPerRuleAndMinute checks that the batches of a minute update the same rows. A row has the first and the
// last time, the highest risk, the strongest decision, and the other fields of the newest violation.
func TestOneRowPerRuleAndMinute(t *testing.T) {
	r := newReporter(t, "wide")
	first := uint64(start + 7)
	for i, c := range []struct {
		at       uint64
		risk     uint64
		decision string
	}{{first, 40, "redact"}, {first + 1000, 100, "block"}, {first + 20_000, 60, "review"}, {start + 59_000, 5, "redact"}} {
		r.now = c.at
		v := found("secret.a")
		v[0].RequestID, v[0].Risk, v[0].Decision, v[0].Count, v[0].AtMs = fmt.Sprint("req_", i), c.risk, c.decision, uint64(i), 5
		r.admit(keymeter.Admit{RequestID: v[0].RequestID, Mode: keymeter.ModeCount, Violations: v})
		if i != 0 {
			r.ringUntil(r.now) // a batch for the third, one for the fourth
		}
	}
	r.now = start + minuteMs
	r.blocked("req_next", "secret.a")
	list := r.listed()
	if len(list) != 2 {
		t.Fatalf("%d rows", len(list))
	}
	got, want := list[1].ViolationGroup, ledger.ViolationGroup{FirstMs: first, Violation: found("secret.a")[0]}
	want.AtMs, want.RequestID, want.Risk, want.Decision, want.Count = start+59_000, "req_3", 100, "block", 1+1+2+3
	if got != want || list[1].KeyID != "key_1" || list[0].FirstMs != start+minuteMs || list[0].Count != 1 {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestFloodOfRules checks the effects of a flood of violations: at most 65 rows per key per minute, a meter below 32
// KiB, and every finding counted.
func TestFloodOfRules(t *testing.T) {
	r := newReporter(t, "wide")
	const rules, rounds = 200, 13 // every five seconds for a minute and five seconds
	for round := range rounds {
		for i := range rules {
			v := found(fmt.Sprintf("pattern.%d-%s", i, strings.Repeat("é", 100)))
			v[0].Path, v[0].Model, v[0].MAC = strings.Repeat("path.", 1000), strings.Repeat("m", 1000), strings.Repeat("f", 1000)
			r.admit(keymeter.Admit{RequestID: fmt.Sprint("req_", round, "_", i), Mode: keymeter.ModeCount, Violations: v})
			if n := len(r.Rows["h"]); n > 32<<10 {
				t.Fatalf("the meter has %d bytes", n)
			}
		}
		r.ringUntil(r.now + 5000)
		r.deliver()
	}
	minutes, total := map[uint64]int{}, uint64(0)
	for _, v := range r.listed() {
		minutes[v.FirstMs/minuteMs]++
		total += v.Count
		if len(v.Rule) > 64 || len(v.Path) > 128 || len(v.Model) > 96 || strings.ContainsRune(v.Rule, '\uFFFD') {
			t.Errorf("long texts: %+v", v)
		}
	}
	if len(minutes) != 2 || minutes[start/minuteMs] != ledger.MaxMinuteRules+1 || minutes[start/minuteMs+1] != ledger.MaxMinuteRules+1 || total != rules*rounds {
		t.Errorf("rows by minute %v, %d violations", minutes, total)
	}
}

// TestFloodAtTheEndOfAMinute checks that violations of two minutes that do not fit into one batch are sent at once.
func TestFloodAtTheEndOfAMinute(t *testing.T) {
	r := newReporter(t, "wide")
	r.now = start + minuteMs - 1
	var rules []string
	for i := range 70 {
		rules = append(rules, fmt.Sprint("rule.", i))
	}
	r.blocked("req_1", rules...)
	r.now++
	r.blocked("req_2", rules...)
	if n := r.outboxLen(); n != 1 || r.AlarmMs > r.now+abi.RedeliverMs {
		t.Errorf("%d batches, alarm in %d ms", n, r.AlarmMs-r.now)
	}
	total := uint64(0)
	list := r.listed()
	for _, v := range list {
		total += v.Count
	}
	if len(list) != 2*65 || total != 2*70 {
		t.Errorf("%d rows, %d violations", len(list), total)
	}
}

// TestViolationsWhenTheClockGoesBack checks that violations get the latest time seen. A minute then has one row per
// rule, and the list is in the order of the violations.
func TestViolationsWhenTheClockGoesBack(t *testing.T) {
	r := newReporter(t, "wide")
	for i, at := range []uint64{start, start + calendar.HourMs, start + 1000, start + calendar.HourMs - 1, start + calendar.HourMs + 30_000, start + calendar.HourMs + minuteMs} {
		r.now = at
		r.blocked(fmt.Sprint("req_", i), "secret.a")
		r.now += 5000
		if _, err := r.Ring(r.now); err != nil {
			t.Fatal(err)
		}
		r.deliver()
	}
	r.now = start + 3*calendar.HourMs
	var got []string
	for _, v := range r.listed() {
		got = append(got, fmt.Sprintf("%d to %d: %d", v.FirstMs-start, v.AtMs-start, v.Count))
	}
	if want := []string{"3660000 to 3660000: 1", "3600000 to 3630000: 4", "0 to 0: 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMeterWithoutViolations checks that a meter in format 3 is decoded.
func TestMeterWithoutViolations(t *testing.T) {
	r := newReporter(t, "wide")
	row := r.Rows["h"]
	const newer = "\x00\x00\x00" + "\x00\x00" // violations; then leases and restUntilMs
	if row[0] != 5 || !bytes.HasSuffix(row, []byte(newer)) {
		t.Fatalf("the row is %x", row)
	}
	r.Rows["h"] = append([]byte{3}, row[1:len(row)-len(newer)]...)
	r.blocked("req_2", "secret.a")
	if r.expect("secret.a×1"); r.Rows["h"][0] != 5 {
		t.Errorf("the row is %x", r.Rows["h"])
	}
}
