package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/ledger"
)

const hour = today*24 + 8

func (b *harness) tally(t ledger.Tally) {
	b.Helper()
	if t.KeyID == "" {
		t.KeyID = "key_1"
	}
	b.call(t.Encode())
}

// ends reads all pages of a query, and formats each group: key, day, hour and model, then the number of each end.
func (b *harness) ends(q ledger.Query) (groups []string) {
	b.Helper()
	for {
		command := ledger.EndsQuery{Query: q}
		reply, err := ledger.DecodeEndsReply(b.call(command.Encode()))
		if err != nil {
			b.Fatal(err)
		}
		for i := range reply.Groups {
			g := &reply.Groups[i]
			text := fmt.Sprintf("%s/%d/%d/%s:", g.KeyID, g.Usage.Day, g.Usage.Hour, g.Usage.Model)
			for end, n := range g.Usage.Ends.By {
				if n > 0 {
					text += fmt.Sprintf(" %d=%d", end, n)
				}
			}
			groups = append(groups, fmt.Sprintf("%s served=%d failed=%d", text, g.Usage.Ends.Served, g.Usage.Ends.Failed))
		}
		if q.After = reply.Next; q.After == "" {
			return groups
		}
	}
}

// TestTalliesAreCountedOnce checks the counts in every grouping. A repeated tally must count nothing. If one tally
// overtakes another, neither may be lost.
func TestTalliesAreCountedOnce(t *testing.T) {
	b := newHarness(t)
	first := ledger.Tally{Source: 5, Seq: 1, Counts: []ledger.EndCount{
		{Hour: hour, Model: "m", End: ledger.EndLimited, Count: 3}, {Hour: hour - 24, Model: "n", End: ledger.EndTimeout, Booked: ledger.BookedFailed, Count: 2},
		{Hour: hour, Model: "", End: ledger.EndInvalid, Count: 1}, {Hour: hour, Model: "m", End: ledger.EndLeft, Booked: ledger.BookedServed, Count: 4},
	}}
	b.tally(first)
	b.tally(first)
	b.tally(ledger.Tally{Source: 6, Seq: 9, KeyID: "key_2", Counts: []ledger.EndCount{{Hour: hour, Model: "m", End: ledger.EndLimited, Count: 10}}})
	b.tally(ledger.Tally{Source: 6, Seq: 8, KeyID: "key_2", Counts: []ledger.EndCount{{Hour: hour, Model: "m", End: ledger.EndLimited, Count: 100}}})
	for _, c := range []struct {
		q    ledger.Query
		want string
	}{
		{ledger.Query{By: ledger.ByDay}, "/20777/0/: 14=2 served=0 failed=2; /20778/0/: 0=1 10=13 19=4 served=4 failed=0"},
		{ledger.Query{By: ledger.ByModel}, "/0/0/n: 14=2 served=0 failed=2; /0/0/m: 10=13 19=4 served=4 failed=0; /0/0/: 0=1 served=0 failed=0"},
		{ledger.Query{By: ledger.ByHour}, "/20777/8/: 14=2 served=0 failed=2; /20778/8/: 0=1 10=13 19=4 served=4 failed=0"},
		{ledger.Query{By: ledger.ByKey}, "key_1/0/0/: 0=1 10=3 14=2 19=4 served=4 failed=2; key_2/0/0/: 10=10 served=0 failed=0"},
		{ledger.Query{By: ledger.ByModel, Key: "key_2"}, "/0/0/m: 10=10 served=0 failed=0"},
		{ledger.Query{By: ledger.ByDay, Model: "n"}, "/20777/0/: 14=2 served=0 failed=2"},
		{ledger.Query{By: ledger.ByDetail, Model: "m"}, "key_1/20778/0/m: 10=3 19=4 served=4 failed=0; key_2/20778/0/m: 10=10 served=0 failed=0"},
	} {
		c.q.FirstDay, c.q.EndDay = today-1, today+1
		if got := strings.Join(b.ends(c.q), "; "); got != c.want {
			t.Errorf("%+v: %s\nwant %s", c.q, got, c.want)
		}
	}
	prune := ledger.Prune{FirstDay: today, FirstHourDay: today + 10}
	b.call(prune.Encode())
	if got := b.ends(ledger.Query{By: ledger.ByDay, FirstDay: today - 1, EndDay: today + 1}); len(got) != 1 {
		t.Errorf("after pruning: %q", got)
	}
	if got := b.ends(ledger.Query{By: ledger.ByHour, FirstDay: today - 1, EndDay: today + 1}); len(got) != 0 {
		t.Errorf("hours after pruning: %q", got)
	}
}

// TestManyKeysTakePages checks a query with more rows than one page reads.
func TestManyKeysTakePages(t *testing.T) {
	b := newHarness(t)
	for i := range uint64(1500) {
		b.tally(ledger.Tally{Source: i + 1, Seq: 1, KeyID: fmt.Sprintf("key_%04d", i), Counts: []ledger.EndCount{{Hour: hour, End: ledger.EndBudget, Count: 1}}})
	}
	if got := b.ends(ledger.Query{By: ledger.ByKey, FirstDay: today, EndDay: today + 1}); len(got) != 1500 {
		t.Errorf("%d keys", len(got))
	}
}

// TestRecordsAreKept checks that at least the last 10,000 records are kept, newest first, each once, and within the
// limit on their bytes.
func TestRecordsAreKept(t *testing.T) {
	b := newHarness(t)
	body := bytes.Repeat([]byte("x"), ledger.MaxRecordBytes)
	const all = 15_000
	for i := range uint64(all / 6) {
		next := ledger.Tally{Source: 1, Seq: i + 1, Counts: []ledger.EndCount{{Hour: hour, End: ledger.EndTimeout, Count: 6}}}
		for n := range uint64(6) {
			next.Records = append(next.Records, ledger.Record{AtMs: start, ID: fmt.Sprintf("req_%032d", 6*i+n), End: ledger.EndTimeout, Body: body})
		}
		b.tally(next)
	}
	kept, size, want := 0, 0, uint64(all)
	for before := uint64(0); before != 1; {
		command := ledger.Records{Before: before, Limit: 100}
		chunks, err := ledger.DecodeRecords(b.call(command.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunks {
			for j := len(chunks[i].Records) - 1; j >= 0; j-- {
				r := &chunks[i].Records[j]
				if want--; r.ID != fmt.Sprintf("req_%032d", want) || r.KeyID != "key_1" {
					t.Fatalf("record %d is %s of %s", want, r.ID, r.KeyID)
				}
				kept++
			}
			before = chunks[i].Seq
		}
		if len(chunks) < 100 {
			break
		}
	}
	for _, key := range b.Keys("q/", "q0") {
		size += len(b.Rows[key])
	}
	if kept < 10_000 || size > 24<<20 {
		t.Errorf("%d records in %d bytes", kept, size)
	}
}

// TestMalformedTallies checks that a malformed tally changes nothing.
func TestMalformedTallies(t *testing.T) {
	b := newHarness(t)
	good := ledger.Tally{Source: 1, Seq: 1, KeyID: "key_1", Counts: []ledger.EndCount{{Hour: hour, End: ledger.EndLeft, Count: 1}}, Records: []ledger.Record{{ID: "req_1", End: ledger.EndLeft}}}
	data := good.Encode()
	for n := range data {
		if _, err := b.Call(b.now, data[:n]); n > 0 && err == nil {
			t.Errorf("the first %d bytes are a command", n)
		}
	}
	bad := good
	bad.Counts = []ledger.EndCount{{Hour: hour, End: ledger.Ends, Count: 1}}
	if _, err := b.Call(b.now, bad.Encode()); err == nil {
		t.Error("an unknown end is counted")
	}
	if len(b.Rows) != 0 {
		t.Errorf("%d rows", len(b.Rows))
	}
}

// TestOutcomes checks that each request counts once, in whatever order its usage and its end arrive.
func TestOutcomes(t *testing.T) {
	usage := ledger.Usage{Requests: 10, Failed: 3}
	usage.Ends.Count(&ledger.EndCount{End: ledger.EndLeft, Booked: ledger.BookedServed, Count: 2})
	usage.Ends.Count(&ledger.EndCount{End: ledger.EndTimeout, Booked: ledger.BookedFailed, Count: 2})
	usage.Ends.Count(&ledger.EndCount{End: ledger.EndBudget, Count: 5})
	if o := usage.Outcomes(); o != (ledger.Outcomes{Requests: 18, Served: 8, Refused: 5, Failed: 3, Left: 2}) {
		t.Errorf("%+v", o)
	}
	usage.Requests, usage.Failed = 0, 0 // not reported yet
	if o := usage.Outcomes(); o != (ledger.Outcomes{Requests: 9, Refused: 5, Failed: 2, Left: 2}) {
		t.Errorf("%+v", o)
	}
}
