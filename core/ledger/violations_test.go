package ledger_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// group returns a group of violations of a rule in one minute.
func group(rule string, firstMs, count uint64) ledger.ViolationGroup {
	return ledger.ViolationGroup{FirstMs: firstMs, Violation: ledger.Violation{
		AtMs: firstMs, Rule: rule, Category: "secret", Severity: "high", Decision: "review", Model: "m", Risk: 40, Count: count,
	}}
}

// violate reports the next batch of violations of the meter "meter".
func (b *harness) violate(groups ...ledger.ViolationGroup) {
	b.Helper()
	b.seq++
	command := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: b.seq, Violations: groups}
	b.call(command.Encode())
}

// list returns a page of violations.
func (b *harness) list(q ledger.Violations) ledger.ViolationsReply {
	b.Helper()
	page, err := ledger.DecodeViolations(b.call(q.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return page
}

// all returns all violations, newest first.
func (b *harness) all() (all []ledger.StoredViolation) {
	b.Helper()
	q := ledger.Violations{Limit: ledger.MaxViolationPage}
	for {
		page := b.list(q)
		all = append(all, page.Violations...)
		if q.After = page.Next; q.After == "" {
			return all
		}
	}
}

// expectRules checks the rules of all violations, newest first, and that totals and rows agree.
func (b *harness) expectRules(want ...string) {
	b.Helper()
	var got []string
	byState := [4]uint64{}
	for _, v := range b.all() {
		got = append(got, v.Rule)
		byState[v.State]++
	}
	if !slices.Equal(got, want) {
		b.Errorf("violations of %v, want %v", got, want)
	}
	if totals := b.list(ledger.Violations{}); totals.ByState != byState || len(totals.Violations) != 0 || totals.Next != "" {
		b.Errorf("totals %+v, want %v", totals, byState)
	}
	if rows, entries := len(b.Keys("v/", "v0")), len(b.Keys("w/", "w0")); rows != len(want) || entries != rows {
		b.Errorf("%d rows and %d index entries, want %d", rows, entries, len(want))
	}
}

// TestViolationBatches checks that repeated and reordered batches add nothing, and that batches of one minute share a row.
func TestViolationBatches(t *testing.T) {
	b := newHarness(t)
	first := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Violations: []ledger.ViolationGroup{group("a", start, 2), group("b", start, 1)}}
	second := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 2, Violations: []ledger.ViolationGroup{group("a", start, 3), group("c", start+5, 1)}}
	second.Violations[0].AtMs, second.Violations[0].Risk = start+20_000, 100
	other := ledger.Absorb{Key: "other", KeyID: "key_2", Seq: 1, Violations: []ledger.ViolationGroup{group("a", start, 1)}}
	b.call(second.Encode()) // too early: dropped
	for range 3 {
		b.call(first.Encode())
	}
	b.call(ledger.Batch([][]byte{first.Encode(), second.Encode(), second.Encode()}))
	b.call(first.Encode())
	b.call(other.Encode())
	counts := map[string]uint64{}
	for _, v := range b.all() {
		counts[v.KeyID+" "+v.Rule] = v.Count
	}
	if want := map[string]uint64{"key_1 a": 5, "key_1 b": 1, "key_1 c": 1, "key_2 a": 1}; !reflect.DeepEqual(counts, want) {
		t.Errorf("%v, want %v", counts, want)
	}
	if page := b.list(ledger.Violations{KeyID: "key_1", Rule: "a", Limit: 5}); len(page.Violations) != 1 || page.Violations[0].AtMs != start+20_000 || page.Violations[0].FirstMs != start || page.Violations[0].Risk != 100 {
		t.Errorf("%+v", page)
	}
	if events := b.list(ledger.Violations{}).Events; events != 4 {
		t.Errorf("%d events, want 4", events)
	}
}

// fill reports n violations, one per millisecond from firstMs, in batches of 65.
func (b *harness) fill(n, firstMs uint64) {
	b.Helper()
	for i := uint64(0); i < n; i += 65 {
		var groups []ledger.ViolationGroup
		for j := i; j < min(i+65, n); j++ {
			groups = append(groups, group("fill", firstMs+j, 1))
		}
		b.violate(groups...)
	}
}

// TestOldestViolationsAreDeleted checks that there are never more than 10,000 violations. Each additional violation
// deletes the oldest one, whatever its state. The oldest one may be the new violation itself.
func TestOldestViolationsAreDeleted(t *testing.T) {
	b := newHarness(t)
	b.violate(group("oldest", start, 1), group("second", start+1, 1))
	b.triage("oldest", ledger.ViolationAcknowledged)
	b.fill(ledger.KeepViolations-2, start+10)
	if n := len(b.all()); n != ledger.KeepViolations {
		t.Fatalf("%d violations", n)
	}
	b.violate(group("second", start+1, 1)) // the same minute: no new row
	b.violate(group("late", start-1, 1))   // older than all others
	expect := func(about string, states [4]uint64, want ...string) {
		t.Helper()
		all := b.all()
		var oldest []string
		for _, v := range all[len(all)-3:] {
			oldest = append(oldest, v.Rule)
		}
		if len(all) != ledger.KeepViolations || !slices.Equal(oldest, want) {
			t.Errorf("%s: %d violations, the oldest %v, want %v", about, len(all), oldest, want)
		}
		if totals := b.list(ledger.Violations{}).ByState; totals != states {
			t.Errorf("%s: totals %v, want %v", about, totals, states)
		}
	}
	expect("a late one", [4]uint64{ledger.KeepViolations - 1, 1}, "fill", "second", "oldest")
	b.violate(group("new", start+calendar.HourMs, 1))
	expect("one more", [4]uint64{ledger.KeepViolations}, "fill", "fill", "second")
	b.fill(65, start+2*calendar.HourMs)
	expect("a full batch more", [4]uint64{ledger.KeepViolations}, "fill", "fill", "fill")
	if all := b.all(); all[len(all)-1].FirstMs != start+10+64 {
		t.Errorf("the oldest is of %d", all[len(all)-1].FirstMs-start)
	}
	if events := b.list(ledger.Violations{}).Events; events != ledger.KeepViolations+1+1+1+65+(1+1+65) {
		t.Errorf("%d events", events)
	}
	if rows := len(b.Keys("v", "x")); rows != 2*ledger.KeepViolations+1 {
		t.Errorf("%d rows", rows)
	}
}

// triage changes the state of the violation of a rule.
func (b *harness) triage(rule string, to ledger.ViolationState) {
	b.Helper()
	v := b.list(ledger.Violations{Rule: rule, Limit: 1}).Violations[0]
	command := ledger.Triage{ID: v.ID, Version: v.Version, State: to, By: "owner"}
	outcome, now, err := ledger.DecodeTriage(b.call(command.Encode()))
	if err != nil || outcome != ledger.Triaged || now.State != to || now.Version != v.Version+1 || now.ChangedMs != b.now || now.ChangedBy != "owner" {
		b.Errorf("%v, outcome %d, %+v", err, outcome, now)
	}
}

// TestViolationsAreKept400Days checks that old violations are deleted, both by the next batch and by Prune.
func TestViolationsAreKept400Days(t *testing.T) {
	const keep = ledger.KeepViolationDays * calendar.DayMs
	for _, byBatch := range []bool{true, false} {
		b := newHarness(t)
		for i := range uint64(3) {
			b.violate(group(fmt.Sprint("old", i), start+i, 1))
		}
		prune := func() {
			if byBatch {
				b.violate(group("new", start+keep, 1))
				return
			}
			command := ledger.Prune{FirstDay: calendar.Day(b.now) - ledger.KeepViolationDays}
			b.call(command.Encode())
		}
		b.now = start + keep + 1
		prune()
		if byBatch {
			b.expectRules("new", "old2", "old1")
			b.now++
			b.violate(group("new", start+keep, 1))
			b.expectRules("new", "old2")
			continue
		}
		b.expectRules("old2", "old1", "old0") // Prune deletes whole days
		b.now = start + keep + calendar.DayMs
		prune()
		b.expectRules()
		prune()
		if rows := b.Keys("v", "x"); !slices.Equal(rows, []string{"vs"}) {
			t.Errorf("rows %v", rows)
		}
	}
}

// TestWorkPerCommand checks that every command about violations reads a bounded number of rows, even if many
// violations are too old.
func TestWorkPerCommand(t *testing.T) {
	b := newHarness(t)
	b.fill(3000, start)
	b.now = start + 401*calendar.DayMs
	reads := func(command []byte) (rows int) {
		t.Helper()
		ranges, err := ledger.Reads(&abi.ObjectInput{NowMs: b.now, Command: command})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range ranges {
			rows += len(b.Object.Read(r))
		}
		return rows
	}
	filtered, page, last := ledger.Violations{Limit: 100, Rule: "none"}, ledger.Violations{Limit: 100}, ledger.Violations{Limit: 1 << 60}
	batch := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: b.seq + 1, Violations: []ledger.ViolationGroup{group("a", b.now, 1)}}
	prune := ledger.Prune{FirstDay: calendar.Day(b.now)}
	for name, c := range map[string]struct {
		command []byte
		most    int
	}{
		"a filtered page": {filtered.Encode(), 500 + 2}, "a page": {page.Encode(), 101 + 2}, "a page of any length": {last.Encode(), 101 + 2},
		"a batch": {batch.Encode(), 1 + 16 + 4}, "Prune": {prune.Encode(), 500 + 3},
	} {
		if rows := reads(c.command); rows > c.most || rows < c.most-2 {
			t.Errorf("%s reads %d rows, want at most %d", name, rows, c.most)
		}
	}
	if got := b.list(filtered); len(got.Violations) != 0 || got.Next == "" {
		t.Errorf("%+v", got)
	}
	pages := 0
	for q := filtered; ; pages++ {
		if q.After = b.list(q).Next; q.After == "" {
			break
		}
	}
	if pages != 6 {
		t.Errorf("%d pages of 500 rows have a next one, want 6", pages)
	}
	before := len(b.all())
	b.call(batch.Encode())
	if n := len(b.all()); n != before+1-17 {
		t.Errorf("a batch deleted %d violations, want 17", before+1-n)
	}
	for range 6 {
		b.call(prune.Encode())
	}
	b.expectRules("a")
}

// TestPagesByTime checks the bounds of FromMs and ToMs.
func TestPagesByTime(t *testing.T) {
	b := newHarness(t)
	for i := range uint64(10) {
		b.violate(group(fmt.Sprint(i), start+i*1000, 1))
	}
	for _, c := range []struct {
		from, to uint64
		want     string
	}{
		{0, 0, "9876543210"}, {start, start + 9001, "9876543210"}, {start + 1, start + 9000, "87654321"}, {start + 3000, start + 3001, "3"},
		{start + 3000, start + 3000, ""}, {start + 5000, start + 3000, ""}, {start + 9001, 0, ""}, {0, start, ""}, {1 << 62, 1 << 63, ""}, {0, 1 << 63, "9876543210"},
	} {
		for _, limit := range []uint64{1, 3, 100} {
			var got strings.Builder
			for q := (ledger.Violations{FromMs: c.from, ToMs: c.to, Limit: limit}); ; {
				page := b.list(q)
				for _, v := range page.Violations {
					got.WriteString(v.Rule)
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if got.String() != c.want {
				t.Errorf("from %d to %d by %d: %s, want %s", int64(c.from)-start, int64(c.to)-start, limit, got.String(), c.want)
			}
		}
	}
}

// TestTriageOutcomes checks every outcome of a change.
func TestTriageOutcomes(t *testing.T) {
	b := newHarness(t)
	b.violate(group("a", start, 1))
	id := b.all()[0].ID
	audit := abi.Delivery{Class: abi.ClassDirectory, Name: "directory", Data: []byte("entry")}
	send := func(c ledger.Triage) (ledger.TriageOutcome, ledger.StoredViolation) {
		t.Helper()
		c.Audit = audit
		outcome, now, err := ledger.DecodeTriage(b.call(c.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return outcome, now
	}
	for i, c := range []struct {
		command ledger.Triage
		want    ledger.TriageOutcome
		audits  int
	}{
		{ledger.Triage{ID: "x", Version: 1}, ledger.NoViolation, 0},
		{ledger.Triage{ID: "", Version: 1}, ledger.NoViolation, 0},
		{ledger.Triage{ID: id, Version: 2, State: ledger.ViolationResolved}, ledger.ViolationMoved, 0},
		{ledger.Triage{ID: id, Version: 1, State: 4}, ledger.StateNotAllowed, 0},
		{ledger.Triage{ID: id, Version: 1}, ledger.Triaged, 0}, // no change
		{ledger.Triage{ID: id, Version: 1, State: ledger.ViolationResolved, Note: "n"}, ledger.Triaged, 1},
		{ledger.Triage{ID: id, Version: 1, State: ledger.ViolationResolved, Note: "n"}, ledger.ViolationMoved, 1}, // a repeat
		{ledger.Triage{ID: id, Version: 2, State: ledger.ViolationFalsePositive}, ledger.StateNotAllowed, 1},
		{ledger.Triage{ID: id, Version: 2, State: ledger.ViolationResolved, Note: "m"}, ledger.Triaged, 2},
		{ledger.Triage{ID: id, Version: 3}, ledger.Triaged, 3},
	} {
		if outcome, now := send(c.command); outcome != c.want || outcome == ledger.Triaged && (now.State != c.command.State || now.Note != c.command.Note) {
			t.Errorf("%d: outcome %d, want %d: %+v", i, outcome, c.want, now)
		}
		rows, deliveries, err := b.Outbox()
		if err != nil || len(rows) != c.audits || len(rows) > 0 && !reflect.DeepEqual(deliveries[len(deliveries)-1], audit) {
			t.Errorf("%d: %v, outbox %+v", i, err, deliveries)
		}
	}
	// Further violations in the same minute are counted, and leave the state and the version unchanged.
	b.triage("a", ledger.ViolationAcknowledged)
	b.violate(group("a", start, 4))
	if v := b.all()[0]; v.State != ledger.ViolationAcknowledged || v.Count != 5 || v.Version != 5 {
		t.Errorf("%+v", v)
	}
}

// TestThirdAbsorb checks that a batch in the layout from before violations is absorbed.
func TestThirdAbsorb(t *testing.T) {
	b := newHarness(t)
	batch := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: []ledger.Usage{{Day: today, Model: "m", Requests: 3}}}
	current := batch.Encode()
	old := append([]byte{13}, current[1:len(current)-1]...)
	if current[0] != 14 || current[len(current)-1] != 0 {
		t.Fatalf("%x", current)
	}
	b.call(old)
	b.call(ledger.Batch([][]byte{old}))
	b.expectGroups(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDay}, ledger.Group{Usage: ledger.Usage{Day: today, Requests: 3}})
	b.expectRules()
}
