package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// exports collects the exports of a test.
type exports struct {
	files map[string]string
	order []string
	fail  func(name string) error
}

func (e *exports) put(_ context.Context, name string, body []byte) error {
	if e.fail != nil {
		if err := e.fail(name); err != nil {
			return err
		}
	}
	e.files[name] = string(body)
	e.order = append(e.order, name)
	return nil
}

// exportBench is a bench with exports and a project that is five days old and has usage.
func exportBench(t *testing.T) (b *bench, id string, kept *exports) {
	b = newBench(t)
	b.memory.reducers = true
	b.now = b.now.AddDate(0, 0, -5)
	path := b.project()
	b.now = b.now.AddDate(0, 0, 5)
	b.absorb(path, []booked{
		{today - 4, 1, "key_a", "m-a", 1, 100}, {today - 4, 2, "key_a", "m-b", 2, 200}, {today - 4, 2, "key_b", "m-a", 3, 300},
		{today - 2, 23, "key_a", "m-a", 4, 400}, {today - 1, 23, "key_a", "m-a", 5, 500}, {today, 0, "key_a", "m-a", 6, 600},
	})
	kept = &exports{files: map[string]string{}}
	b.handler.(*handler).Exports = kept.put
	return b, path[strings.LastIndex(path, "/")+1:], kept
}

func (b *bench) hourly() error { return (&Service{b.handler.(*handler)}).Hourly(b.Context()) }

func TestExportsOfClosedDays(t *testing.T) {
	b, id, kept := exportBench(t)
	name := func(daysAgo int) string { return "usage/" + dayOf(today-uint64(daysAgo)) + "/" + id + ".ndjson" }
	if err := b.hourly(); err != nil {
		t.Fatal(err)
	}
	// The current day is not closed, and days without usage have no file.
	if want := []string{name(4), name(2), name(1)}; !slices.Equal(kept.order, want) {
		t.Fatalf("exported %q, want %q", kept.order, want)
	}
	const figures = `"requests":%d,"hits":0,"misses":%d,"failed":0,"promptTokens":%d,"completionTokens":%d,"cost":0.0000000%s,"estimated":0,"expired":0,"latency":{"meanMs":40,"p50Ms":56,"p95Ms":56}}` + "\n"
	line := func(key, model string, n int, cost string) string {
		return fmt.Sprintf(`{"day":"2026-11-17","keyId":%q,"model":%q,`+figures, key, model, n, n, 10*n, n, cost)
	}
	if want := line("key_a", "m-a", 1, "001") + line("key_a", "m-b", 2, "002") + line("key_b", "m-a", 3, "003"); kept.files[name(4)] != want {
		t.Errorf("got %s\nwant %s", kept.files[name(4)], want)
	}
	for range 2 { // repeated runs export nothing again
		if err := b.hourly(); err != nil || len(kept.order) != 3 {
			t.Errorf("%v %q", err, kept.order)
		}
	}
	b.now = time.Date(2026, 11, 22, 0, 59, 59, 0, time.UTC) // not closed yet
	if err := b.hourly(); err != nil || len(kept.order) != 3 {
		t.Errorf("%v %q", err, kept.order)
	}
	b.now = b.now.Add(time.Second)
	if err := b.hourly(); err != nil || len(kept.order) != 4 || kept.order[3] != name(0) {
		t.Errorf("%v %q", err, kept.order)
	}
}

// A failed export is retried by the next run; completed exports are not repeated.
func TestExportsAreResumed(t *testing.T) {
	b, _, kept := exportBench(t)
	out := errors.New("bucket failed")
	kept.fail = func(name string) error {
		if strings.Contains(name, dayOf(today-2)) {
			return out
		}
		return nil
	}
	for range 2 {
		if err := b.hourly(); !errors.Is(err, out) {
			t.Fatalf("%v", err)
		}
		if len(kept.order) != 1 {
			t.Errorf("exported %q", kept.order)
		}
	}
	kept.fail = nil
	if err := b.hourly(); err != nil || len(kept.order) != 3 || !strings.Contains(kept.order[1], dayOf(today-2)) {
		t.Errorf("%v %q", err, kept.order)
	}
}

// A failure of one project's ledger does not stop the others.
func TestProjectFailuresAreIndependent(t *testing.T) {
	b, first, kept := exportBench(t)
	b.now = b.now.AddDate(0, 0, -5).Add(time.Millisecond)
	second := b.project()
	b.now = b.now.AddDate(0, 0, 5)
	b.absorb(second, []booked{{today - 1, 1, "key_c", "m", 1, 1}})
	b.memory.fail = func(class abi.Class, name string, _ []byte) error {
		if class == abi.ClassLedger && name == first {
			return errOut
		}
		return nil
	}
	if err := b.hourly(); !errors.Is(err, errOut) {
		t.Errorf("%v", err)
	}
	if len(kept.order) != 1 || !strings.Contains(kept.order[0], second[strings.LastIndex(second, "/")+1:]) {
		t.Errorf("exported %q", kept.order)
	}
}

// All days of many projects are exported.
func TestExportsOfManyProjects(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	kept := &exports{files: map[string]string{}}
	b.handler.(*handler).Exports = kept.put
	var paths []string
	for range largeProjects {
		b.now = b.now.Add(time.Millisecond)
		paths = append(paths, b.project())
	}
	for day := uint64(today); day < today+3; day++ {
		for _, path := range paths {
			id := path[strings.LastIndex(path, "/")+1:]
			b.absorb(path, []booked{{day, 1, "key_of_" + id + fmt.Sprint(day), "m", 1, 1}})
		}
		b.now = b.now.AddDate(0, 0, 1)
		if err := b.hourly(); err != nil {
			t.Fatal(err)
		}
		if want := largeProjects * int(day-today+1); len(kept.files) != want {
			t.Fatalf("%d files after day %d, want %d", len(kept.files), day, want)
		}
	}
}

// One run does a limited amount of work; the next runs continue, for every day and any number of projects.
func TestRoundOfManyRuns(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	kept := &exports{files: map[string]string{}}
	b.handler.(*handler).Exports = kept.put
	var last string
	for range maxRunCalls {
		b.now = b.now.Add(time.Millisecond)
		last = b.project()
	}
	for day := uint64(today); day < today+2; day++ {
		b.absorb(last, []booked{{day, 1, "key_" + fmt.Sprint(day), "m", 1, 1}})
		b.now = b.now.AddDate(0, 0, 1)
		runs := 0
		for ; len(kept.files) <= int(day-today) && runs < 12; runs++ {
			before := b.memory.calls
			if err := b.hourly(); err != nil {
				t.Fatal(err)
			}
			if n := b.memory.calls - before; n > maxRunCalls+100 {
				t.Fatalf("a run made %d calls", n)
			}
		}
		if runs < 2 || runs == 12 {
			t.Errorf("day %d: exported after %d runs", day, runs)
		}
	}
}

// A day with more rows than one file holds continues in another file.
func TestExportOfLargeDay(t *testing.T) {
	b, id, kept := exportBench(t)
	var all []booked
	for i := range exportRows + 5000 {
		all = append(all, booked{today - 3, 1, fmt.Sprint("key_", i), "m", 1, 1})
	}
	b.absorb("/api/admin/projects/"+id, all)
	if err := b.hourly(); err != nil {
		t.Fatal(err)
	}
	name := "usage/" + dayOf(today-3) + "/" + id
	lines := strings.Count(kept.files[name+".ndjson"]+kept.files[name+".2.ndjson"], "\n")
	if len(kept.order) != 5 || lines != len(all) || kept.files[name+".2.ndjson"] == "" {
		t.Errorf("%d lines in %q", lines, kept.order)
	}
}

// After a long outage, days that are too old are not exported. Without a bucket nothing is exported.
func TestExportsOfLongAgo(t *testing.T) {
	b, _, kept := exportBench(t)
	b.now = b.now.AddDate(0, 0, maxExportDays-1)
	if err := b.hourly(); err != nil || len(kept.order) != 2 || !strings.Contains(kept.order[0], dayOf(today-1)) {
		t.Errorf("%v %q", err, kept.order)
	}
	without, _, _ := exportBench(t)
	without.handler.(*handler).Exports = nil
	if err := without.hourly(); err != nil {
		t.Error(err)
	}
}

// Totals are kept for 400 days; totals by hour for today and the nine days before.
func TestOldUsageIsPruned(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := b.project()
	id := path[strings.LastIndex(path, "/")+1:]
	var all []booked
	for _, ago := range []uint64{0, 8, 9, 10, 399, 400, 401, 500} {
		all = append(all, booked{today - ago, 5, "key_a", "m", 1, 1})
	}
	for i := range uint64(1200) { // more than one step removes
		all = append(all, booked{today - 401, i % 24, "key_a", fmt.Sprint("m", i), 1, 1})
	}
	b.absorb(path, all)
	if err := b.hourly(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, row := range b.memory.object(abi.ClassLedger, id).Read(abi.Range{Start: "u/", End: "z", Limit: 1 << 20}) {
		left = append(left, row.Key)
	}
	var want []string
	for _, ago := range []uint64{400, 399, 10, 9, 8, 0} {
		want = append(want, "u/"+abi.Fixed(today-ago)+"/m")
	}
	for _, ago := range []uint64{400, 399, 10, 9, 8, 0} {
		want = append(want, "x/"+abi.Fixed(today-ago)+"/key_a/m")
	}
	for _, ago := range []uint64{9, 8, 0} {
		want = append(want, "y/"+abi.Fixed((today-ago)*24+5))
	}
	if !slices.Equal(left, want) {
		t.Errorf("%d rows remain: %.300q\nwant %q", len(left), left, want)
	}
	got := b.must(200, "GET", path+"/usage?from=2025-10-18&to=2026-11-21", "")
	if rows := got.fields["rows"].([]any); len(rows) != 5 {
		t.Errorf("%v", rows)
	}
}
