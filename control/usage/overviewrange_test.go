package usage_test

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// readTable downloads a table and returns its rows, keyed by the names of the columns.
func readTable(b *controltest.Bench, path string) (rows []map[string]string) {
	b.Helper()
	records, err := csv.NewReader(strings.NewReader(download(b, path).String())).ReadAll()
	if err != nil {
		b.Fatal(err)
	}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// twoHours returns a bench whose project has requests for one model in the current hour and in each of the two hours
// before.
func twoHours(t *testing.T) (b *controltest.Bench, path string, hour uint64) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	path = b.Project()
	now := b.Now
	hour = uint64(now.UnixMilli()) / calendar.HourMs
	for ago, requests := range []uint64{4, 2, 1} {
		b.Now = now.Add(-time.Duration(ago) * time.Hour)
		serveAt(b, path, requests, "key_1", "gpt-5.5", 100)
	}
	b.Now = now
	b.Summarize(path)
	return b, path, hour
}

// TestOverviewOfHours checks the two-hour range and custom ranges with times. Such times are rounded outward to
// hours.
func TestOverviewOfHours(t *testing.T) {
	b, _, hour := twoHours(t)
	at := func(hour uint64) string { return kernel.Timestamp(hour * calendar.HourMs) }
	for query, want := range map[string][2]uint64{
		"?range=2h": {6, 1},
		"?from=" + at(hour) + "&to=" + at(hour+1):                     {4, 2},
		"?from=" + at(hour-1) + "&to=" + at(hour - 1)[:14] + "10:00Z": {2, 1},
		"?from=" + at(hour)[:14] + "59:00Z&to=" + at(hour+1):          {4, 2},
	} {
		o := readOverview(b, query)
		if o.Totals.Outcomes.Served != want[0] || o.Before.Outcomes.Served != want[1] || o.Step != "hour" {
			t.Errorf("%s: %d served, %d before, want %v; from %s to %s", query, o.Totals.Outcomes.Served, o.Before.Outcomes.Served, want, o.From, o.To)
		}
		if m := o.Models[0]; m.Model != "gpt-5.5" || m.Outcomes.Served != want[0] {
			t.Errorf("%s: %+v", query, o.Models)
		}
	}
	day := at(hour)[:10]
	if o := readOverview(b, "?from="+day+"&to="+day); o.Range != "custom" || o.Step != "day" || o.From != day+"T00:00:00.000Z" || len(o.Series) != 1 {
		t.Errorf("a day: %+v", o)
	}
}

// TestOverviewBounds checks that anything other than a range or valid bounds is rejected.
func TestOverviewBounds(t *testing.T) {
	b, _, hour := twoHours(t)
	at := kernel.Timestamp(hour * calendar.HourMs)
	for _, query := range []string{
		"range=1h", "range=2h&from=2026-11-01", "from=" + at + "&to=" + at, "from=2026-11-02&to=2026-11-01", "from=x", "to=2026-13-01",
		"from=2001-01-01T00:00:00Z&to=" + at, "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "from=2020-01-01&to=2026-11-01", "compare=1", "to=",
	} {
		if query == "to=" {
			b.Must(200, "GET", "/api/admin/overview?"+query, "")
			continue
		}
		b.Must(400, "GET", "/api/admin/overview?"+query, "")
	}
}

// TestTablesOfTwoRanges checks that each row begins with the bounds of its range. It checks the table of all projects
// and the table of one project.
func TestTablesOfTwoRanges(t *testing.T) {
	b, path, hour := twoHours(t)
	from, middle := kernel.Timestamp((hour-3)*calendar.HourMs), kernel.Timestamp((hour-1)*calendar.HourMs)
	rows := readTable(b, "/api/admin/overview?range=2h&format=csv&compare=true")
	if len(rows) != 2 || rows[0]["from"] != middle || rows[0]["served"] != "6" || rows[1]["from"] != from || rows[1]["to"] != middle || rows[1]["served"] != "1" {
		t.Errorf("%v", rows)
	}
	if rows[0]["projectId"] == "" || rows[1]["projectId"] != rows[0]["projectId"] || rows[1]["cost"] != "0.01" {
		t.Errorf("%v", rows)
	}
	query := path + "/usage?by=model&from=" + kernel.Timestamp(hour*calendar.HourMs) + "&to=" + kernel.Timestamp((hour+1)*calendar.HourMs)
	rows = readTable(b, query+"&format=csv&compare=true")
	if len(rows) != 2 || rows[0]["model"] != "gpt-5.5" || rows[0]["served"] != "4" || rows[1]["to"] != rows[0]["from"] || rows[1]["served"] != "2" {
		t.Errorf("%v", rows)
	}
	if rows = readTable(b, query+"&format=csv"); len(rows) != 1 || rows[0]["from"] != "" {
		t.Errorf("%v", rows)
	}
	lines := strings.Split(strings.TrimSpace(download(b, query+"&format=ndjson&compare=true").String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"from":"`) || !strings.Contains(lines[1], `"served":2,`) {
		t.Errorf("%q", lines)
	}
	if line := download(b, query+"&format=ndjson").String(); strings.Contains(line, `"from"`) {
		t.Error(line)
	}
}

// TestOverviewOfTestMode checks responses of the built-in provider. They are not counted as attempts, do not affect a
// provider's health, and do not hide failures of production keys.
func TestOverviewOfTestMode(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	b.Memory.Deliver(t)
	id := path[strings.LastIndex(path, "/")+1:]
	now := b.Memory.NowMs()
	hour := now / calendar.HourMs
	served := func(key, provider string, u ledger.Usage) {
		u.Day, u.Hour, u.Model = hour/24, hour%24, "gpt-5.5"
		batch := ledger.Absorb{Key: key, KeyID: key, Seq: 1, Usage: []ledger.Usage{u}, Recent: []ledger.Request{{AtMs: now, Model: u.Model, Provider: provider, Status: 200, DurationMs: 9}}}
		b.Ask(abi.ClassLedger, id, batch.Encode())
	}
	provider := func() (state string, attempts, failed uint64) {
		b.Now = b.Now.Add(31 * time.Second)
		b.Summarize(path)
		for _, p := range readOverview(b, "").Providers {
			if p.Provider == "openai" {
				return p.State, p.Attempts.Total, p.Attempts.Failed.Unavailable
			}
		}
		return "", 0, 0
	}
	served("key_test", "mock", ledger.Usage{Requests: 200, Hits: 20})
	if state, attempts, _ := provider(); state != "idle" || attempts != 0 {
		t.Errorf("with test traffic only: %s, %d attempts", state, attempts)
	}
	u := ledger.Usage{Requests: 2}
	u.Attempts.Failed[ledger.CauseUnavailable] = 7
	served("key_live", "openai", u)
	if state, attempts, failed := provider(); state != "failing" || attempts != 9 || failed != 7 {
		t.Errorf("with failures: %s, %d of %d attempts failed", state, failed, attempts)
	}
	for _, by := range []string{"model", "provider", "day"} {
		for _, window := range []string{"range=24h", "range=30d"} {
			got := controltest.Field(b.Must(200, "GET", path+"/usage?"+window+"&by="+by, ""), "totals")
			if !strings.Contains(got, `"attempts":{"total":9,`) || !strings.Contains(got, `"served":202,`) {
				t.Errorf("%s by %s: %s", window, by, got)
			}
		}
	}
}
