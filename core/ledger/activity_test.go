package ledger_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/sketch"
)

const hourMs = calendar.HourMs

// activity reads all pages of a query, and merges the parts of a group.
func (b *harness) activity(q ledger.ActivityQuery) (all []ledger.ActivityGroup) {
	b.Helper()
	if q.End == 0 {
		q.End = 1 << 40
	}
	for {
		reply, err := ledger.DecodeActivityReply(b.call(q.Encode()))
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range reply.Groups {
			at := slices.IndexFunc(all, func(o ledger.ActivityGroup) bool { return o.Minute == g.Minute && o.Name == g.Name })
			if at < 0 {
				at, all = len(all), append(all, ledger.ActivityGroup{Minute: g.Minute, Named: ledger.Named{Name: g.Name}})
			}
			all[at].Plus(&g.Activity)
		}
		if q.After = reply.Next; q.After == "" {
			return all
		}
	}
}

// expectActivity compares groups: minute since the beginning of today, name, requests, p50 and p50 of the first token, and refusals.
func (b *harness) expectActivity(q ledger.ActivityQuery, want ...string) {
	b.Helper()
	got := []string{}
	for _, g := range b.activity(q) {
		at := int64(g.Minute) - today*24*60
		if g.Minute == 0 {
			at = 0
		}
		o := g.Usage.Outcomes()
		got = append(got, fmt.Sprintf("%d %s: %d p50=%d/%d refused=%d", at, g.Name, o.Served, g.Latency.Percentile(50), g.FirstToken.Percentile(50), o.Refused))
	}
	if !slices.Equal(got, want) {
		b.Errorf("%+v:\n got %q\nwant %q", q, got, want)
	}
}

func (b *harness) serve(key, model string, requests uint64, recent ...ledger.Request) {
	b.Helper()
	u := ledger.Usage{Day: b.now / calendar.DayMs, Hour: b.now / hourMs % 24, Model: model, Requests: requests, CostPico: money.Dollar}
	for i := range recent {
		recent[i].AtMs, recent[i].Model, recent[i].Status = b.now, model, 200
	}
	b.seqs[key]++
	batch := ledger.Absorb{Key: "meter of " + key, KeyID: key, Seq: b.seqs[key], Usage: []ledger.Usage{u}, Recent: recent}
	b.call(batch.Encode())
}

// TestActivityIsGroupedAlike checks that every grouping counts the same requests, both before and after the rows are
// merged into daily rows.
func TestActivityIsGroupedAlike(t *testing.T) {
	b := newHarness(t)
	b.now = today*calendar.DayMs + 8*hourMs + 3*minuteMs
	b.serve("key_1", "m", 1, ledger.Request{DurationMs: 20, FirstMs: 7})
	b.now += 2 * minuteMs
	b.serve("key_2", "m", 2, ledger.Request{DurationMs: 10}, ledger.Request{DurationMs: 30})
	b.tally(ledger.Tally{Source: 1, Seq: 1, KeyID: "key_2", Counts: []ledger.EndCount{{Hour: b.now / hourMs, Model: "n", End: ledger.EndLimited, Count: 5}}})
	b.now += 58 * minuteMs // 9:03
	b.serve("key_1", "n", 4, ledger.Request{DurationMs: 25})
	b.tally(ledger.Tally{Source: 1, Seq: 2, KeyID: "key_1", Counts: []ledger.EndCount{{Hour: b.now/hourMs - 1, Model: "n", End: ledger.EndInvalid, Count: 1}}})

	span := uint64(today*144 + 48)
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByMinute}, "483 : 1 p50=0/0 refused=0", "485 : 2 p50=0/0 refused=5", "539 : 0 p50=0/0 refused=1", "543 : 4 p50=0/0 refused=0")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 1}, "480 : 3 p50=20/7 refused=5", "530 : 0 p50=0/0 refused=1", "540 : 4 p50=25/0 refused=0")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 6}, "480 : 3 p50=20/7 refused=6", "540 : 4 p50=25/0 refused=0")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 6, First: span, End: span + 6}, "480 : 3 p50=20/7 refused=6")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 6, Key: "key_2"}, "480 : 2 p50=10/0 refused=5")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 6, Model: "n"}, "480 : 0 p50=0/0 refused=6", "540 : 4 p50=25/0 refused=0")
	byModel := []string{"0 m: 3 p50=20/7 refused=0", "0 n: 4 p50=25/0 refused=6"}
	byKey := []string{"0 key_1: 5 p50=25/7 refused=1", "0 key_2: 2 p50=10/0 refused=5"}
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByModel}, byModel...)
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByKey}, byKey...)

	prune := ledger.Prune{FirstDay: today, FirstHourDay: today + 10}
	for range 2 {
		b.call(prune.Encode())
	}
	if rows := b.rowsOf("h/"); rows != 0 || b.rowsOf("d/") != 1 {
		t.Errorf("%d rows by ten minutes and %d by day", rows, b.rowsOf("d/"))
	}
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByModel}, byModel...)
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByKey}, byKey...)
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 144}, "0 : 7 p50=25/7 refused=6")
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByStep, Step: 144, First: span}) // a part of the day
	prune.FirstDay++
	if b.call(prune.Encode()); b.rowsOf("d/") != 0 {
		t.Error("a row by day was kept too long")
	}
}

// TestDurationsOfUnlistedRequests checks that listed requests represent the unlisted ones of their batch.
func TestDurationsOfUnlistedRequests(t *testing.T) {
	b := newHarness(t)
	b.serve("key_1", "m", 1000, ledger.Request{DurationMs: 10}, ledger.Request{DurationMs: 20}, ledger.Request{DurationMs: 400})
	b.serve("key_1", "m", 1, ledger.Request{DurationMs: 900})
	g := b.activity(ledger.ActivityQuery{By: ledger.ActivityByModel})[0]
	if g.Latency.Count() != 1001 || g.Latency.Percentile(30) != 10 || g.Latency.Percentile(60) != 20 || g.Latency.Percentile(99) < 388 || g.Latency.Percentile(99) > 412 {
		t.Errorf("%+v", g.Latency)
	}
	// No request is listed, so the batch's coarse histogram is used.
	u := ledger.Usage{Day: b.now / calendar.DayMs, Hour: b.now / hourMs % 24, Model: "o", Requests: 2}
	u.Latency.Add(50)
	u.Latency.Add(1 << 30)
	b.absorb(u)
	for _, g := range b.activity(ledger.ActivityQuery{By: ledger.ActivityByModel}) {
		if g.Name == "o" && (g.Latency.Count() != 2 || g.Latency.Percentile(50) < 54 || g.Latency.Percentile(50) > 58) {
			t.Errorf("%+v", g.Latency)
		}
	}
}

// TestUnlistedDurations checks that no duration is lost when a list is full, in whatever order the models alternate.
func TestUnlistedDurations(t *testing.T) {
	var list abi.Encoded[ledger.Request]
	b := newHarness(t)
	want := map[string]*sketch.Sketch{"m": {}, "n": {}, "first": {}}
	for i := range uint64(1000) {
		q := ledger.Request{AtMs: b.now, Model: []string{"m", "n"}[i/3%2], Status: 200, DurationMs: i * i % 5000, Provider: "openai", Agent: "curl/8"}
		if i%4 == 0 {
			q.FirstMs = 1 + i%300
			want["first"].Add(q.FirstMs, 1)
		}
		if i%10 == 9 {
			q.Status = 0 // its exchange has died
		} else {
			want[q.Model].Add(q.DurationMs, 1)
		}
		list.Append(32, &q, ledger.RequestFields, (*ledger.Request).TakePlace)
	}
	recent := list.Decode(ledger.RequestFields)
	hour := b.now / hourMs
	usage := []ledger.Usage{{Day: hour / 24, Hour: hour % 24, Model: "m"}, {Day: hour / 24, Hour: hour % 24, Model: "n"}}
	for i := range usage {
		usage[i].Requests = want[usage[i].Model].Count()
	}
	b.call((&ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: 1, Usage: usage, Recent: recent}).Encode())
	var first sketch.Sketch
	for _, g := range b.activity(ledger.ActivityQuery{By: ledger.ActivityByModel}) {
		if !reflect.DeepEqual(g.Latency, *want[g.Name]) {
			t.Errorf("%s: %+v, want %+v", g.Name, g.Latency, *want[g.Name])
		}
		first.Plus(&g.FirstToken)
	}
	if first.Count() < 240 || first.Percentile(50) != want["first"].Percentile(50) {
		t.Errorf("%+v, want %+v", first, *want["first"])
	}
	kept, err := ledger.DecodeRecent(b.call((&ledger.Recent{Limit: 1}).Encode()))
	if err != nil || len(kept[0].Requests) != 32 || kept[0].Requests[31].Unlisted != "" || kept[0].Requests[31].Agent != "curl/8" {
		t.Errorf("%v, %+v", err, kept)
	}
}

// TestManyKeysInTenMinutes checks that keys that do not fit into a row are counted together, and that none is lost.
func TestManyKeysInTenMinutes(t *testing.T) {
	b := newHarness(t)
	for i := range 200 {
		b.serve(fmt.Sprintf("key_%03d", i), fmt.Sprintf("m%d", i%100), 1, ledger.Request{DurationMs: 5})
	}
	b.serve("key_000", "m0", 1, ledger.Request{DurationMs: 5})
	for by, names := range map[ledger.ActivityBy]int{ledger.ActivityByKey: 129, ledger.ActivityByModel: 65} {
		groups := b.activity(ledger.ActivityQuery{By: by})
		total := uint64(0)
		for _, g := range groups {
			total += g.Usage.Requests
		}
		if len(groups) != names || total != 201 || groups[0].Usage.Requests != 3-uint64(by-ledger.ActivityByModel) {
			t.Errorf("%d groups of %d requests, the first of %d", len(groups), total, groups[0].Usage.Requests)
		}
	}
}

// TestActivityHasPages checks a range with more rows than one page reads.
func TestActivityHasPages(t *testing.T) {
	b := newHarness(t)
	for range 600 {
		b.serve("key_1", "m", 1, ledger.Request{DurationMs: 5})
		b.now += 10 * minuteMs
	}
	reply, err := ledger.DecodeActivityReply(b.call((&ledger.ActivityQuery{End: 1 << 40, By: ledger.ActivityByModel}).Encode()))
	if err != nil || reply.Next == "" || reply.Groups[0].Usage.Requests != 512 {
		t.Errorf("%v, %+v", err, reply)
	}
	b.expectActivity(ledger.ActivityQuery{By: ledger.ActivityByModel}, "0 m: 600 p50=5/0 refused=0")
}

// TestHoursOfOlderVersions checks that hourly queries include rows that an older version has written or still writes.
func TestHoursOfOlderVersions(t *testing.T) {
	b := newHarness(t)
	b.serve("key_1", "m", 3)
	b.tally(ledger.Tally{Source: 1, Seq: 1, Counts: []ledger.EndCount{{Hour: b.now / hourMs, End: ledger.EndLimited, Count: 2}}})
	day, hour := b.now/calendar.DayMs, b.now/hourMs
	b.Rows["y/"+abi.Fixed(hour)] = b.Rows["u/"+abi.Fixed(day)+"/m"]
	b.Rows["g/"+abi.Fixed(hour)] = b.Rows["e/"+abi.Fixed(day)]
	query := ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByHour}
	reply, err := ledger.DecodeQueryReply(b.call(query.Encode()))
	sum := uint64(0)
	for _, g := range reply.Groups {
		sum += g.Usage.Requests
	}
	if err != nil || sum != 6 {
		t.Errorf("%v, %+v", err, reply)
	}
	ends, refused := ledger.EndsQuery{Query: query}, uint64(0)
	endsReply, err := ledger.DecodeEndsReply(b.call(ends.Encode()))
	for _, g := range endsReply.Groups {
		refused += g.Usage.Ends.By[ledger.EndLimited]
	}
	if err != nil || refused != 4 {
		t.Errorf("%v, %+v", err, endsReply)
	}
}
