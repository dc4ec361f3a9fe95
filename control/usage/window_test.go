package usage_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// windowBench returns a bench with requests for one model that were made 8 days, 25 hours, 90 minutes, 50 minutes and
// 5 minutes ago.
func windowBench(t *testing.T) (b *controltest.Bench, path string, now time.Time) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	path = b.Project()
	now = b.Now
	for i, ago := range []time.Duration{8 * 24 * time.Hour, 25 * time.Hour, 90 * time.Minute, 50 * time.Minute, 5 * time.Minute} {
		b.Now = now.Add(-ago)
		serveAt(b, path, uint64(i+1), fmt.Sprint("key_", i%2), "gpt-5.5", uint64(100*(i+1)))
	}
	b.Now = now
	return b, path, now
}

// serveAt reports n served requests and n refused requests, all at the current time.
func serveAt(b *controltest.Bench, path string, n uint64, key, model string, ms uint64) {
	b.Helper()
	at, id := uint64(b.Now.UnixMilli()), path[strings.LastIndex(path, "/")+1:]
	hour := at / calendar.HourMs
	u := ledger.Usage{Day: hour / 24, Hour: hour % 24, Model: model, Requests: n, CostPico: int64(n) * money.Cent}
	batch := ledger.Absorb{
		Key: fmt.Sprint("meter ", at, model), KeyID: key, Seq: 1, Usage: []ledger.Usage{u},
		Recent: []ledger.Request{{AtMs: at, Model: model, Status: 200, DurationMs: ms, FirstMs: ms / 10}},
	}
	b.Ask(abi.ClassLedger, id, batch.Encode())
	tally := ledger.Tally{Source: at, Seq: 1, KeyID: key, Counts: []ledger.EndCount{{Hour: hour, Model: model, End: ledger.EndLimited, Count: n}}}
	b.Ask(abi.ClassLedger, id, tally.Encode())
}

type windowRow struct {
	Day, Hour, Minute, Model, KeyID, Provider string
	Requests                                  uint64
	Cost                                      json.Number
	Latency, TimeToFirstToken                 *struct{ P50Ms, P90Ms, P95Ms, P99Ms, MeanMs uint64 }
	Outcomes                                  struct{ Served, Refused uint64 }
}

type windowReport struct {
	From, To, By string
	Step         *string
	Totals       windowRow
	Rows         []windowRow
	Compared     *windowReport
}

func (w *windowReport) served() (each []uint64) {
	for _, r := range w.Rows {
		each = append(each, r.Outcomes.Served)
	}
	return each
}

func readWindow(b *controltest.Bench, path, query string) (w windowReport) {
	b.Helper()
	if err := json.Unmarshal(b.Must(200, "GET", path+"/usage?"+query, "").Body.Bytes(), &w); err != nil {
		b.Fatal(err)
	}
	return w
}

// TestRanges checks the requests in each range and its previous range, with different groupings.
func TestRanges(t *testing.T) {
	b, path, now := windowBench(t)
	for _, c := range []struct {
		query         string
		served        []uint64
		step          string
		before, total uint64
	}{
		{"range=1h&by=time&compare=true", []uint64{4, 5}, "minute", 3, 9},
		{"range=1h&by=model&compare=true", []uint64{9}, "", 3, 9},
		{"range=24h&by=time&compare=true", []uint64{3, 4, 5}, "hour", 2, 12},
		{"range=24h&by=key", []uint64{8, 4}, "", 0, 12},
		{"range=24h&by=provider", []uint64{12}, "", 0, 12},
		{"range=24h&by=time&key=key_1", []uint64{4}, "hour", 0, 4},
		{"range=24h&by=hour&model=gpt-5.5", []uint64{3, 4, 5}, "hour", 0, 12},
		{"range=24h&by=hour&model=other", nil, "hour", 0, 0},
		{"range=7d&by=day&compare=true", []uint64{2, 12}, "day", 1, 14},
		{"range=30d&by=time&compare=true", []uint64{1, 2, 12}, "day", 0, 15},
		{"range=90d&by=provider", []uint64{15}, "", 0, 15},
		{"range=month&by=key", []uint64{9, 6}, "", 0, 15},
	} {
		w := readWindow(b, path, c.query)
		step := ""
		if w.Step != nil {
			step = *w.Step
		}
		got := w.served()
		if !slices.Equal(got, c.served) || step != c.step || w.Totals.Outcomes.Served != c.total || w.Totals.Outcomes.Refused != c.total || w.Totals.Requests != 2*c.total {
			t.Errorf("%s: served %v by %q, totals %+v; want %v by %q, %d", c.query, got, step, w.Totals, c.served, c.step, c.total)
		}
		if want := strings.Contains(c.query, "compare"); want != (w.Compared != nil) || want && w.Compared.Totals.Outcomes.Served != c.before {
			t.Errorf("%s: before %+v, want %d", c.query, w.Compared, c.before)
		}
	}
	times := fmt.Sprintf("from=%s&to=%s&by=minute", now.UTC().Add(-95*time.Minute).Format(time.RFC3339), now.UTC().Add(-45*time.Minute).Format(time.RFC3339))
	if w := readWindow(b, path, times); !slices.Equal(w.served(), []uint64{3, 4}) || w.Rows[0].Minute != now.Add(-90*time.Minute).Truncate(time.Minute).UTC().Format("2006-01-02T15:04:05.000Z") {
		t.Errorf("%s: %+v", times, w)
	}
}

// TestPercentiles checks that ranges of hours and of days have the same percentiles, and that these are accurate to 5
// %.
func TestPercentiles(t *testing.T) {
	b, path, _ := windowBench(t)
	b.Now = b.Now.Add(time.Minute)
	for _, query := range []string{"range=24h&by=model", "range=24h&by=hour", "range=month&by=model", "range=month&by=key"} {
		w := readWindow(b, path, query)
		l, f := w.Totals.Latency, w.Totals.TimeToFirstToken
		if l == nil || f == nil || l.P99Ms < 485 || l.P99Ms > 515 || l.P50Ms < 388 || l.P50Ms > 412 || f.P95Ms < 48 || f.P95Ms > 52 {
			t.Errorf("%s: %+v %+v", query, l, f)
		}
	}
	if w := readWindow(b, path, "range=1h&by=minute"); w.Totals.Latency != nil || len(w.Rows) != 2 {
		t.Errorf("%+v", w) // reports by the minute have no durations
	}
}

func TestRangesThatAreRefused(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	now := b.Now.UTC()
	old, present := now.Add(-9*24*time.Hour).Format(time.RFC3339), now.Format(time.RFC3339)
	for query, field := range map[string]string{
		"range=2h": "range", "range=1h&from=2026-11-01": "range", "range=24h&by=all": "by", "range=24h&by=minute": "by", "by=minute": "by",
		"range=24h&by=model&key=key_01a1fd25fa5ea7a7e2ab0cfb8a5b5a5a": "by", "range=24h&by=hour&model=m&key=key_01a1fd25fa5ea7a7e2ab0cfb8a5b5a5a": "model",
		"from=" + present: "to", "from=" + present + "&to=" + present: "", "from=" + present + "&to=" + old: "to",
		"from=" + old + "&to=" + present: "from", "from=2026-11-20T25:00:00Z&to=" + present: "from", "from=2026-11-20&to=" + present: "",
		"from=" + present + "&to=" + now.Add(20*24*time.Hour).Format(time.RFC3339): "to", "compare=yes": "compare",
	} {
		status := 400
		if field == "" {
			status = 200 // accepted: the range is the ten-minute span that contains the time
		}
		got := b.Must(status, "GET", path+"/usage?"+query, "")
		if field != "" && !strings.Contains(got.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %s", query, got.Body.String())
		}
	}
}
