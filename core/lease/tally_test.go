package lease_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
)

// ended counts a request in the entry.
func ended(e *lease.Entry, now uint64, id string, end ledger.End) {
	c := ledger.EndCount{Hour: now / 3_600_000, Model: "m", End: end, Count: 1}
	e.Count(now, 7, &c, &ledger.Record{ID: id, End: end, Body: []byte(`{}`)})
}

// tallyOf returns the tally that an entry sends. Its Seq is 0 if the entry sends none.
func tallyOf(t *testing.T, e *lease.Entry, now uint64, closing bool) (tally ledger.Tally) {
	t.Helper()
	command, seq := e.Tally(now, "key_1", closing)
	if command == nil {
		return tally
	}
	tally, err := ledger.DecodeTally(command)
	if err != nil || tally.Seq != seq || tally.KeyID != "key_1" || tally.Source != 7 {
		t.Fatalf("%v %+v, number %d", err, tally, seq)
	}
	return tally
}

// TestTallyIsSentEveryFiveSeconds checks when a tally is sent. It is repeated until the Ledger has it, and later
// counts wait for the next one.
func TestTallyIsSentEveryFiveSeconds(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start, "a", ledger.EndLimited)
	ended(e, start+100, "b", ledger.EndLimited)
	if n := tallyOf(t, e, start+4999, false); n.Seq != 0 {
		t.Fatalf("sent after less than five seconds: %+v", n)
	}
	first := tallyOf(t, again(t, e), start+5000, false)
	e.Tally(start+5000, "key_1", false)
	if len(first.Counts) != 1 || first.Counts[0].Count != 2 || len(first.Records) != 2 {
		t.Fatalf("%+v", first)
	}
	ended(e, start+5100, "c", ledger.EndBudget)
	e = again(t, e)
	if n := tallyOf(t, e, start+9999, false); n.Seq != 0 {
		t.Errorf("repeated after less than five seconds: %+v", n)
	}
	if n := tallyOf(t, e, start+10_000, false); n.Seq != 1 || fmt.Sprint(n) != fmt.Sprint(first) {
		t.Errorf("repeated as %+v", n)
	}
	e.Tallied(0, true) // of another tally
	e.Tallied(1, false)
	if n := tallyOf(t, e, start+15_000, false); n.Seq != 1 {
		t.Errorf("not repeated: %+v", n)
	}
	e.Tallied(1, true)
	if n := tallyOf(t, e, start+15_001, false); n.Seq != 2 || n.Counts[0].End != ledger.EndBudget {
		t.Errorf("next: %+v", n)
	}
	e.Tallied(2, true)
	if e.Held() {
		t.Error("something is left")
	}
}

// TestTallyIsGivenUp checks that a Ledger that never replies does not keep an entry alive forever.
func TestTallyIsGivenUp(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start, "a", ledger.EndOurs)
	sent := 0
	for now := uint64(start); e.Held(); now += 5000 {
		if tallyOf(t, e, now, false).Seq > 0 {
			sent++
		}
		if now > start+600_000 {
			t.Fatal("kept for ten minutes")
		}
	}
	if sent != 12 {
		t.Errorf("sent %d times", sent)
	}
}

// TestShutdownSendsTheTally checks that a keeper that wakes early sends whatever it has.
func TestShutdownSendsTheTally(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start, "a", ledger.EndLimited)
	if !e.Keep(start, 1) || e.Nap(start, 1) != 5000 {
		t.Fatal("the keeper does not sleep for five seconds")
	}
	if e.Early(start+4990, 1) || e.Early(start+100, 2) || !e.Early(start+100, 1) {
		t.Error("early is another time")
	}
	if n := tallyOf(t, e, start+100, true); n.Seq != 1 {
		t.Errorf("%+v", n)
	}
}

// TestRecordsAreBounded checks that a minute has at most twenty records of refusals. Every failure has a record while
// there is room. A tally with enough records is sent early.
func TestRecordsAreBounded(t *testing.T) {
	e := &lease.Entry{}
	for i := range 500 {
		ended(e, start+uint64(i), fmt.Sprint("refused ", i), ledger.EndLimited)
	}
	ended(e, start+600, "failed", ledger.EndTimeout)
	n := tallyOf(t, e, start+5000, false)
	if len(n.Records) != 21 || n.Counts[0].Count != 500 || n.Records[20].ID != "failed" {
		t.Fatalf("%d records, %+v", len(n.Records), n.Counts)
	}
	e.Tallied(1, true)
	e = again(t, e) // nothing is held, but the minute is remembered
	ended(e, start+6000, "more", ledger.EndLimited)
	if n := tallyOf(t, e, start+11_000, false); len(n.Records) != 0 || n.Counts[0].Count != 1 {
		t.Errorf("%+v", n)
	}
	e.Tallied(2, true)
	ended(e, start+60_000, "next minute", ledger.EndLimited)
	body := slices.Repeat([]byte("x"), 1000)
	for i := range 100 {
		c := ledger.EndCount{Model: "m", End: ledger.EndTimeout, Count: 1}
		e.Count(start+60_001, 7, &c, &ledger.Record{ID: fmt.Sprint(i), End: ledger.EndTimeout, Body: body})
	}
	n = tallyOf(t, e, start+60_002, false)
	size := 0
	for i := range n.Records {
		size += len(n.Records[i].Body)
	}
	if n.Records[0].ID != "next minute" || size < 5<<10 || size > 8<<10 {
		t.Errorf("%d records of %d bytes, sent early: %d", len(n.Records), size, n.Seq)
	}
	if data, _ := e.Encode(); len(data) > 64<<10 {
		t.Errorf("%d bytes", len(data))
	}
}

// TestManyModelsCountTogether checks that an entry has a bounded number of counts, and that none is lost.
func TestManyModelsCountTogether(t *testing.T) {
	e, sum := &lease.Entry{}, uint64(0)
	for i := range 1000 {
		c := ledger.EndCount{Model: fmt.Sprint("model ", i%200), End: ledger.End(i % int(ledger.Ends)), Count: 1}
		e.Count(start, 7, &c, &ledger.Record{})
	}
	n := tallyOf(t, e, start+5000, false)
	for i := range n.Counts {
		sum += n.Counts[i].Count
	}
	if sum != 1000 || len(n.Counts) > 64+int(ledger.Ends) {
		t.Errorf("%d requests in %d counts", sum, len(n.Counts))
	}
}

// TestTallyBesideALease checks that a new lease does not lose the counts.
func TestTallyBesideALease(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start-500, "a", ledger.EndLimited)
	e.Ask(start-400, 2, 9, 3)
	if id, _ := e.Ask(start, 2, 9, 1); id != 9 {
		t.Fatalf("lease %d", id)
	}
	l := lent
	l.ID = 9
	e.Granted(start+30, lease.Asked{ID: 9, SentMs: start, Version: 2}, &l, nil)
	if !take(e, start+40, "b", 100) {
		t.Error("the lease does not admit")
	}
	settle(t, e, start+50, "b", 10)
	_, sent := report(t, e, start+500, false)
	e.Confirmed(start+510, sent, &keymeter.ReportReply{})
	if n := tallyOf(t, again(t, e), start+5000, false); n.Seq != 1 || n.Counts[0].Count != 1 {
		t.Errorf("%+v", n)
	}
}

// TestCopyCountsForItself: counting in a copy does not change the original.
func TestCopyCountsForItself(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start, "a", ledger.EndLimited)
	before, _ := e.Encode()
	for range 2 {
		ended(e.Copy(), start, "b", ledger.EndLimited)
		ended(e.Copy(), start, "c", ledger.EndBudget)
	}
	if after, _ := e.Encode(); string(after) != string(before) {
		t.Errorf("%x, then %x", before, after)
	}
}

// TestSettlementsDoNotWaitForTallies: a keeper that has only a tally sleeps longer than an interval of reports, so a
// settlement goes to the meter at once.
func TestSettlementsDoNotWaitForTallies(t *testing.T) {
	e := &lease.Entry{}
	ended(e, start, "a", ledger.EndLimited)
	e.Keep(start, 1)
	if ms := e.Nap(start, 1); ms <= lease.ReportMs {
		t.Fatalf("the keeper sleeps for %d ms", ms)
	}
	if e.Settle(start+10, &keymeter.Settle{RequestID: "b", Outcome: keymeter.Served, Model: "m"}) {
		t.Error("the settlement waits for the tally")
	}
}
