package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// query returns the groups of a Query as key/day/hour/model=requests, with days relative to today.
func (b *harness) query(q ledger.Query) (list []string, next string) {
	b.Helper()
	reply, err := ledger.DecodeQueryReply(b.call(q.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range reply.Groups {
		day := ""
		if g.Usage.Day != 0 {
			day = fmt.Sprint(int64(g.Usage.Day) - today)
		}
		list = append(list, fmt.Sprintf("%s/%s/%d/%s=%d", g.KeyID, day, g.Usage.Hour, g.Usage.Model, g.Usage.Requests))
	}
	return list, reply.Next
}

func (b *harness) expectQuery(q ledger.Query, want ...string) {
	b.Helper()
	if got, next := b.query(q); !slices.Equal(got, want) || next != "" {
		b.Errorf("%+v: %q, next %q, want %q", q, got, next, want)
	}
}

// twoKeys returns a ledger with usage of two keys and two models on three days. The number of requests is a different
// power of two for each combination of key, model and day.
func twoKeys(t *testing.T) *harness {
	b := newHarness(t)
	at := func(day, hour uint64, model string, n int) ledger.Usage {
		return ledger.Usage{Day: day, Hour: hour, Model: model, Requests: 1 << n}
	}
	for seq, key := range []string{"key_1", "key_2"} {
		usage := []ledger.Usage{at(today-1, 3, "m", 0), at(today-1, 4, "n", 1), at(today, 3, "m", 2), at(today+1, 3, "m", 3)}
		for i := range usage {
			usage[i].Requests <<= 4 * seq
		}
		batch := ledger.Absorb{Key: "meter_" + key, KeyID: key, Seq: 1, Usage: usage}
		b.call(batch.Encode())
	}
	return b
}

func TestQueries(t *testing.T) {
	b := twoKeys(t)
	q := func(by ledger.Grouping) ledger.Query {
		return ledger.Query{FirstDay: today - 1, EndDay: today + 1, By: by}
	}
	b.expectQuery(q(ledger.ByModel), "//0/m=85", "//0/n=34")
	b.expectQuery(q(ledger.ByDay), "/-1/0/=51", "/0/0/=68")
	b.expectQuery(q(ledger.ByHour), "/-1/3/=17", "/-1/4/=34", "/0/3/=68")
	b.expectQuery(q(ledger.ByKey), "key_1//0/=7", "key_2//0/=112")
	b.expectQuery(q(ledger.ByDetail), "key_1/-1/0/m=1", "key_1/-1/0/n=2", "key_2/-1/0/m=16", "key_2/-1/0/n=32", "key_1/0/0/m=4", "key_2/0/0/m=64")
	of := func(by ledger.Grouping, key, model string) ledger.Query {
		return ledger.Query{FirstDay: today - 1, EndDay: today + 1, By: by, Key: key, Model: model}
	}
	b.expectQuery(of(ledger.ByModel, "key_2", ""), "//0/m=80", "//0/n=32")
	b.expectQuery(of(ledger.ByDay, "key_1", ""), "/-1/0/=3", "/0/0/=4")
	b.expectQuery(of(ledger.ByDetail, "key_1", "m"), "key_1/-1/0/m=1", "key_1/0/0/m=4")
	b.expectQuery(of(ledger.ByKey, "", "n"), "key_1//0/=2", "key_2//0/=32")
	b.expectQuery(of(ledger.ByDay, "", "m"), "/-1/0/=17", "/0/0/=68")
	b.expectQuery(of(ledger.ByDay, "key", ""))
	b.expectQuery(ledger.Query{FirstDay: today, EndDay: today, By: ledger.ByDay, Key: "key_1"})
}

// TestQueryOfAKeyIsBounded checks that a query for one key covers at most KeepDays days.
func TestQueryOfAKeyIsBounded(t *testing.T) {
	b := twoKeys(t)
	for first, want := range map[uint64][]string{today - ledger.KeepDays: {"/-1/0/=3"}, today + 1 - ledger.KeepDays: {"/-1/0/=3", "/0/0/=4"}} {
		b.expectQuery(ledger.Query{FirstDay: first, EndDay: 1 << 40, By: ledger.ByDay, Key: "key_1"}, want...)
	}
}

// TestQueryPages checks that a query reads pages of 4,096 rows, and that a query for one key reads only its rows.
func TestQueryPages(t *testing.T) {
	const rows = 4096
	b := newHarness(t)
	for i := range rows + 1 {
		usage := ledger.Usage{Day: today, Model: "m", Requests: 1}
		name := fmt.Sprintf("key_%04d", i)
		batch := ledger.Absorb{Key: name, KeyID: name, Seq: 1, Usage: []ledger.Usage{usage}}
		b.call(batch.Encode())
		if i < rows-2 {
			continue
		}
		q := ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDetail}
		first, next := b.query(q)
		if len(first) != min(i+1, rows) || (next != "") != (i+1 >= rows) {
			t.Errorf("first page of %d rows: %d groups, next %q", i+1, len(first), next)
		}
		if q.After = next; next != "" {
			b.expectQuery(q, []string{"key_4096/0/0/m=1"}[:i+1-rows]...)
		}
	}
	b.expectQuery(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel, Key: "key_4096"}, "//0/m=1")
}

// TestQueryOfAKeyHasOnePage checks that a query for one key has one page, even if it reads as many rows as a full page.
func TestQueryOfAKeyHasOnePage(t *testing.T) {
	const models, days = 256, 17
	b := newHarness(t)
	for day := range uint64(days) {
		var usage []ledger.Usage
		for i := range models {
			usage = append(usage, ledger.Usage{Day: today - day, Model: fmt.Sprintf("m%03d", i), Requests: 1})
		}
		b.absorb(usage...)
	}
	want := []string{}
	for day := days - 1; day >= 0; day-- {
		want = append(want, fmt.Sprintf("/%d/0/=%d", -day, models))
	}
	b.expectQuery(ledger.Query{FirstDay: today + 1 - days, EndDay: today + 1, By: ledger.ByDay, Key: "key_1"}, want...)
}

// TestPrune checks that only old usage rows are deleted. Ten-minute rows have an earlier limit and are merged into a
// row for their day.
func TestPrune(t *testing.T) {
	b := twoKeys(t)
	b.put(10, month(), hook)
	all := ledger.Query{EndDay: 1 << 40, By: ledger.ByDay}
	hours := ledger.Query{EndDay: 1 << 40, By: ledger.ByHour}
	for _, c := range []struct {
		prune       ledger.Prune
		removed     uint64
		days, hours []string
	}{
		{ledger.Prune{FirstDay: today - 1, FirstHourDay: today + 8}, 0, []string{"/-1/0/=51", "/0/0/=68", "/1/0/=136"}, []string{"/-1/3/=17", "/-1/4/=34", "/0/3/=68", "/1/3/=136"}},
		{ledger.Prune{FirstDay: today - 1, FirstHourDay: today + 9}, 2, []string{"/-1/0/=51", "/0/0/=68", "/1/0/=136"}, []string{"/0/3/=68", "/1/3/=136"}},
		{ledger.Prune{FirstDay: today, FirstHourDay: today + 10}, 2 + 4 + 2, []string{"/0/0/=68", "/1/0/=136"}, []string{"/1/3/=136"}},
	} {
		removed, err := ledger.DecodePruned(b.call(c.prune.Encode()))
		if err != nil || removed != c.removed {
			t.Errorf("%+v: %v, %d rows deleted, want %d", c.prune, err, removed, c.removed)
		}
		b.expectQuery(all, c.days...)
		b.expectQuery(hours, c.hours...)
	}
	if r := b.report(); r.BudgetPico != 10_000_000_000_000 || r.Period != calendar.NewPeriod(calendar.Monthly, 0, today) {
		t.Errorf("%+v", r)
	}
}
