package usage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/usage"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// exportBench returns a bench with exports, and a project that is five days old and has usage.
func exportBench(t *testing.T) (b *controltest.Bench, id string, kept *controltest.Exports) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	b.Now = b.Now.AddDate(0, 0, -5)
	path := b.Project()
	b.Now = b.Now.AddDate(0, 0, 5)
	b.Absorb(path, []controltest.Booked{
		{Day: controltest.Today - 4, Hour: 1, Key: "key_a", Model: "m-a", Requests: 1, Pico: 100}, {Day: controltest.Today - 4, Hour: 2, Key: "key_a", Model: "m-b", Requests: 2, Pico: 200}, {Day: controltest.Today - 4, Hour: 2, Key: "key_b", Model: "m-a", Requests: 3, Pico: 300},
		{Day: controltest.Today - 2, Hour: 23, Key: "key_a", Model: "m-a", Requests: 4, Pico: 400}, {Day: controltest.Today - 1, Hour: 23, Key: "key_a", Model: "m-a", Requests: 5, Pico: 500}, {Day: controltest.Today, Hour: 0, Key: "key_a", Model: "m-a", Requests: 6, Pico: 600},
	})
	kept = &controltest.Exports{Files: map[string]string{}}
	b.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	return b, path[strings.LastIndex(path, "/")+1:], kept
}

func TestExportsOfClosedDays(t *testing.T) {
	b, id, kept := exportBench(t)
	name := func(daysAgo int) string {
		return "usage/" + controltest.DayOf(controltest.Today-uint64(daysAgo)) + "/" + id + ".ndjson"
	}
	if err := b.Hourly(); err != nil {
		t.Fatal(err)
	}
	// The current day is not closed, and days without usage have no file.
	if want := []string{name(4), name(2), name(1)}; !slices.Equal(kept.Order, want) {
		t.Fatalf("exported %q, want %q", kept.Order, want)
	}
	const figures = `"requests":%d,"hits":0,"misses":%d,"failed":0,"promptTokens":%d,"completionTokens":%d,"cost":0.0000000%s,"estimated":0,"expired":0,"latency":{"meanMs":40,"p50Ms":56,"p90Ms":56,"p95Ms":56,"p99Ms":56},"timeToFirstToken":null,` +
		`"promptCache":{"readTokens":%d,"writeTokens":%d,"saved":%s},%s}` + "\n"
	line := func(key, model string, n int, cost string) string {
		booked := controltest.Booked{Requests: uint64(n), Pico: uint64(100 * n)}
		cached := booked.PromptCache()
		return fmt.Sprintf(`{"day":"2026-11-17","keyId":%q,"model":%q,`+figures, key, model, n, n, 10*n, n, cost,
			cached.Read, cached.Written, money.Append(nil, cached.SavedPico, money.Dollar), controltest.AttemptsText(uint64(n)))
	}
	if want := line("key_a", "m-a", 1, "001") + line("key_a", "m-b", 2, "002") + line("key_b", "m-a", 3, "003"); kept.Files[name(4)] != want {
		t.Errorf("got %s\nwant %s", kept.Files[name(4)], want)
	}
	for range 2 { // repeated runs must not export anything again
		if err := b.Hourly(); err != nil || len(kept.Order) != 3 {
			t.Errorf("%v %q", err, kept.Order)
		}
	}
	b.Now = time.Date(2026, 11, 22, 0, 59, 59, 0, time.UTC) // not closed yet
	if err := b.Hourly(); err != nil || len(kept.Order) != 3 {
		t.Errorf("%v %q", err, kept.Order)
	}
	b.Now = b.Now.Add(time.Second)
	if err := b.Hourly(); err != nil || len(kept.Order) != 4 || kept.Order[3] != name(0) {
		t.Errorf("%v %q", err, kept.Order)
	}
}

// A failed export is retried by the next run. Completed exports are not repeated.
func TestExportsAreResumed(t *testing.T) {
	b, _, kept := exportBench(t)
	out := errors.New("bucket failed")
	kept.Fail = func(name string) error {
		if strings.Contains(name, controltest.DayOf(controltest.Today-2)) {
			return out
		}
		return nil
	}
	for range 2 {
		if err := b.Hourly(); !errors.Is(err, out) {
			t.Fatalf("%v", err)
		}
		if len(kept.Order) != 1 {
			t.Errorf("exported %q", kept.Order)
		}
	}
	kept.Fail = nil
	if err := b.Hourly(); err != nil || len(kept.Order) != 3 || !strings.Contains(kept.Order[1], controltest.DayOf(controltest.Today-2)) {
		t.Errorf("%v %q", err, kept.Order)
	}
}

// A day with more rows than fit into one file continues in another file.
func TestExportOfLargeDay(t *testing.T) {
	b, id, kept := exportBench(t)
	var all []controltest.Booked
	for i := range usage.ExportRows + 5000 {
		all = append(all, controltest.Booked{Day: controltest.Today - 3, Hour: 1, Key: fmt.Sprint("key_", i), Model: "m", Requests: 1, Pico: 1})
	}
	b.Absorb("/api/admin/projects/"+id, all)
	if err := b.Hourly(); err != nil {
		t.Fatal(err)
	}
	name := "usage/" + controltest.DayOf(controltest.Today-3) + "/" + id
	lines := strings.Count(kept.Files[name+".ndjson"]+kept.Files[name+".2.ndjson"], "\n")
	if len(kept.Order) != 5 || lines != len(all) || kept.Files[name+".2.ndjson"] == "" {
		t.Errorf("%d lines in %q", lines, kept.Order)
	}
}

// After a long outage, days that are too old are not exported. Without a bucket, nothing is exported.
func TestExportsOfLongAgo(t *testing.T) {
	b, _, kept := exportBench(t)
	b.Now = b.Now.AddDate(0, 0, usage.MaxExportDays-1)
	if err := b.Hourly(); err != nil || len(kept.Order) != 2 || !strings.Contains(kept.Order[0], controltest.DayOf(controltest.Today-1)) {
		t.Errorf("%v %q", err, kept.Order)
	}
	without, _, _ := exportBench(t)
	without.Configure(func(c *kernel.Config) { c.Exports = nil })
	if err := without.Hourly(); err != nil {
		t.Error(err)
	}
}

// Daily usage is kept for 400 days. Ten-minute rows are kept for today and the eighteen days before, and are then
// merged into one row per day.
func TestOldUsageIsPruned(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	id := path[strings.LastIndex(path, "/")+1:]
	var all []controltest.Booked
	for _, ago := range []uint64{0, 8, 9, 10, 399, 400, 401, 500} {
		all = append(all, controltest.Booked{Day: controltest.Today - ago, Hour: 5, Key: "key_a", Model: "m", Requests: 1, Pico: 1})
	}
	for i := range uint64(1200) { // more rows than one step can remove
		all = append(all, controltest.Booked{Day: controltest.Today - 401, Hour: i % 24, Key: "key_a", Model: fmt.Sprint("m", i), Requests: 1, Pico: 1})
	}
	b.Absorb(path, all)
	if err := b.Hourly(); err != nil {
		t.Fatal(err)
	}
	var left, want []string
	for _, prefix := range []string{"d/", "h/", "u/", "x/"} {
		for _, row := range b.Memory.Object(abi.ClassLedger, id).Read(abi.Range{Start: prefix, End: prefix + "z", Limit: 1 << 20}) {
			left = append(left, row.Key)
		}
	}
	for _, ago := range []uint64{400, 399} {
		want = append(want, "d/"+abi.Fixed(controltest.Today-ago))
	}
	for _, ago := range []uint64{10, 9, 8, 0} {
		want = append(want, "h/"+abi.Fixed((controltest.Today-ago)*144+5*6+5))
	}
	for _, ago := range []uint64{400, 399, 10, 9, 8, 0} {
		want = append(want, "u/"+abi.Fixed(controltest.Today-ago)+"/m")
	}
	for _, ago := range []uint64{400, 399, 10, 9, 8, 0} {
		want = append(want, "x/"+abi.Fixed(controltest.Today-ago)+"/key_a/m")
	}
	if !slices.Equal(left, want) {
		t.Errorf("%d rows remain: %.300q\nwant %q", len(left), left, want)
	}
	got := b.Must(200, "GET", path+"/usage?from=2025-10-18&to=2026-11-21", "")
	if rows := got.Fields["rows"].([]any); len(rows) != 5 {
		t.Errorf("%v", rows)
	}
}

// If the ledger of one project fails, the others are still exported.
func TestProjectFailuresAreIndependent(t *testing.T) {
	b, first, kept := exportBench(t)
	b.Now = b.Now.AddDate(0, 0, -5).Add(time.Millisecond)
	second := b.Project()
	b.Now = b.Now.AddDate(0, 0, 5)
	b.Absorb(second, []controltest.Booked{{Day: controltest.Today - 1, Hour: 1, Key: "key_c", Model: "m", Requests: 1, Pico: 1}})
	b.Memory.Fail = func(class abi.Class, name string, _ []byte) error {
		if class == abi.ClassLedger && name == first {
			return controltest.ErrOut
		}
		return nil
	}
	if err := b.Hourly(); !errors.Is(err, controltest.ErrOut) {
		t.Errorf("%v", err)
	}
	if len(kept.Order) != 1 || !strings.Contains(kept.Order[0], second[strings.LastIndex(second, "/")+1:]) {
		t.Errorf("exported %q", kept.Order)
	}
}
