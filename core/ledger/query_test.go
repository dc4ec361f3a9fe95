package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
)

// sums are the groups of a query, as key/day/hour/model=requests, with the days counted from today.
func (b *book) sums(q ledger.Query) (list []string, next string) {
	b.Helper()
	reply, err := ledger.DecodeQueryReply(b.do(q.Encode()))
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

func (b *book) sumsAre(q ledger.Query, want ...string) {
	b.Helper()
	if got, next := b.sums(q); !slices.Equal(got, want) || next != "" {
		b.Errorf("%+v: %q, next %q, want %q", q, got, next, want)
	}
}

// twoKeys is a ledger with usage of two keys and models on three days; each has a power of two of requests.
func twoKeys(t *testing.T) *book {
	b := newBook(t)
	at := func(day, hour uint64, model string, n int) ledger.Usage {
		return ledger.Usage{Day: day, Hour: hour, Model: model, Requests: 1 << n}
	}
	for seq, key := range []string{"key_1", "key_2"} {
		usage := []ledger.Usage{at(today-1, 3, "m", 0), at(today-1, 4, "n", 1), at(today, 3, "m", 2), at(today+1, 3, "m", 3)}
		for i := range usage {
			usage[i].Requests <<= 4 * seq
		}
		news := ledger.Absorb{Key: "meter_" + key, KeyID: key, Seq: 1, Usage: usage}
		b.do(news.Encode())
	}
	return b
}

func TestQueries(t *testing.T) {
	b := twoKeys(t)
	q := func(by ledger.Grouping) ledger.Query {
		return ledger.Query{FirstDay: today - 1, EndDay: today + 1, By: by}
	}
	b.sumsAre(q(ledger.ByModel), "//0/m=85", "//0/n=34")
	b.sumsAre(q(ledger.ByDay), "/-1/0/=51", "/0/0/=68")
	b.sumsAre(q(ledger.ByHour), "/-1/3/=17", "/-1/4/=34", "/0/3/=68")
	b.sumsAre(q(ledger.ByKey), "key_1//0/=7", "key_2//0/=112")
	b.sumsAre(q(ledger.ByDetail), "key_1/-1/0/m=1", "key_1/-1/0/n=2", "key_2/-1/0/m=16", "key_2/-1/0/n=32", "key_1/0/0/m=4", "key_2/0/0/m=64")
	of := func(by ledger.Grouping, key, model string) ledger.Query {
		return ledger.Query{FirstDay: today - 1, EndDay: today + 1, By: by, Key: key, Model: model}
	}
	b.sumsAre(of(ledger.ByModel, "key_2", ""), "//0/m=80", "//0/n=32")
	b.sumsAre(of(ledger.ByDay, "key_1", ""), "/-1/0/=3", "/0/0/=4")
	b.sumsAre(of(ledger.ByDetail, "key_1", "m"), "key_1/-1/0/m=1", "key_1/0/0/m=4")
	b.sumsAre(of(ledger.ByKey, "", "n"), "key_1//0/=2", "key_2//0/=32")
	b.sumsAre(of(ledger.ByDay, "", "m"), "/-1/0/=17", "/0/0/=68")
	b.sumsAre(of(ledger.ByDay, "key", ""))
	b.sumsAre(ledger.Query{FirstDay: today, EndDay: today, By: ledger.ByDay, Key: "key_1"})
}

// One key's figures go back as far as they are kept, whatever is asked for.
func TestQueryOfAKeyIsBounded(t *testing.T) {
	b := twoKeys(t)
	for first, want := range map[uint64][]string{today - ledger.KeepDays: {"/-1/0/=3"}, today + 1 - ledger.KeepDays: {"/-1/0/=3", "/0/0/=4"}} {
		b.sumsAre(ledger.Query{FirstDay: first, EndDay: 1 << 40, By: ledger.ByDay, Key: "key_1"}, want...)
	}
}

// A query of many rows is answered in parts of 4,096; one for a key reads its own rows only.
func TestPartsOfAQuery(t *testing.T) {
	const rows = 4096
	b := newBook(t)
	for i := range rows + 1 {
		usage := ledger.Usage{Day: today, Model: "m", Requests: 1}
		name := fmt.Sprintf("key_%04d", i)
		news := ledger.Absorb{Key: name, KeyID: name, Seq: 1, Usage: []ledger.Usage{usage}}
		b.do(news.Encode())
		if i < rows-2 {
			continue
		}
		q := ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByDetail}
		first, next := b.sums(q)
		if len(first) != min(i+1, rows) || (next != "") != (i+1 >= rows) {
			t.Errorf("of %d rows: %d, next %q", i+1, len(first), next)
		}
		if q.After = next; next != "" {
			b.sumsAre(q, []string{"key_4096/0/0/m=1"}[:i+1-rows]...)
		}
	}
	b.sumsAre(ledger.Query{FirstDay: today, EndDay: today + 1, By: ledger.ByModel, Key: "key_4096"}, "//0/m=1")
}

// A key's rows that fill a part of a query are all of its answer.
func TestQueryOfAKeyHasOnePart(t *testing.T) {
	const models, days = 256, 17
	b := newBook(t)
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
	b.sumsAre(ledger.Query{FirstDay: today + 1 - days, EndDay: today + 1, By: ledger.ByDay, Key: "key_1"}, want...)
}

// What is over is removed by day, and by hour sooner; the budget and all else stay.
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
		{ledger.Prune{FirstDay: today - 1, FirstHourDay: today - 1}, 0, []string{"/-1/0/=51", "/0/0/=68", "/1/0/=136"}, []string{"/-1/3/=17", "/-1/4/=34", "/0/3/=68", "/1/3/=136"}},
		{ledger.Prune{FirstDay: today - 1, FirstHourDay: today}, 2, []string{"/-1/0/=51", "/0/0/=68", "/1/0/=136"}, []string{"/0/3/=68", "/1/3/=136"}},
		{ledger.Prune{FirstDay: today, FirstHourDay: today + 1}, 2 + 4 + 1, []string{"/0/0/=68", "/1/0/=136"}, []string{"/1/3/=136"}},
	} {
		removed, err := ledger.DecodePruned(b.do(c.prune.Encode()))
		if err != nil || removed != c.removed {
			t.Errorf("%+v: %v, %d removed, want %d", c.prune, err, removed, c.removed)
		}
		b.sumsAre(all, c.days...)
		b.sumsAre(hours, c.hours...)
	}
	if r := b.report(); r.BudgetPico != 10_000_000_000_000 || r.Period != calendar.NewPeriod(calendar.Monthly, 0, today) {
		t.Errorf("%+v", r)
	}
}
