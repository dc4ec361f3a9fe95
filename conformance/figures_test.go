package conformance

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

// mixed is a burst of requests with one outcome.
type mixed struct {
	cause    string // empty: served
	key      string
	model    string // of the request's counts
	requests int
	status   int
	upstream string // a step before the burst
	body     string
}

// flood is the number of simultaneous refusals.
const flood = 10_000

func mixes() []mixed {
	const ask = `{"model":"%s","messages":[{"role":"user","content":"%s #N"}]}`
	all := []mixed{
		{"", "live", "only", 900, 200, "", fmt.Sprintf(ask, "only", "served")},
		{"", "second", "bard", 300, 200, "", fmt.Sprintf(ask, "bard", "served, too")},
		{"", "other", "only", 200, 200, "", fmt.Sprintf(ask, "only", "of another project")},
		{"invalid_request", "live", "", 400, 400, "", `{"model":"only","messages":"none"}`},
		{"not_found", "second", "", 300, 404, "", fmt.Sprintf(ask, "nobody-has-it", "x")},
		{"forbidden", "narrow", "bard", 200, 403, "", fmt.Sprintf(ask, "bard", "x")},
		{"provider_unavailable", "live", "only", 150, 502, "upstream status status=500 times=150", fmt.Sprintf(ask, "only", "fails")},
		{"provider_busy", "second", "only", 100, 502, "upstream status status=429 times=100", fmt.Sprintf(ask, "only", "is busy")},
		{"provider_unavailable", "live", "only", 60, 502, "upstream status status=500 times=60", strings.ReplaceAll(fmt.Sprintf(ask, "only", "one call fails for all"), "#N", "")},
		{"budget", "poor", "only", 250, 402, "", fmt.Sprintf(ask, "only", "too dear")},
	}
	return append(all, mixed{"rate_limit", "limited", "only", flood, 429, "", fmt.Sprintf(ask, "only", "flood")})
}

// TestFiguresAgree sends thousands of requests with known outcomes, several at a time, and checks that all reports
// show these outcomes.
func TestFiguresAgree(t *testing.T) {
	t.Parallel()
	upstream := NewUpstream()
	defer upstream.Close()
	c := newFixtureOn(t, upstream, func(clock store.Clock) (store.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Clock: clock})
	})
	c.do("routing retries=0", "project main plan=unlimited budget=1000", "project broke plan=unlimited budget=0", "project friends plan=unlimited budget=1000",
		"key live main", "key second main", "key narrow main models=only", "key limited main requestsPerDay=1", "key poor broke", "key other friends")
	c.script("first", completion("limited", 0, 200))
	want := map[string]map[string]int{"main": {"": 1}, "broke": {}, "friends": {}}
	models, keys := map[string]int{"only": 1}, map[string]int{"limited": 1}
	rows := int64(0)
	for _, m := range mixes() {
		step := fmt.Sprintf("burst %d POST /v1/chat/completions key=%s\n  %s\nstatuses %d=%d", m.requests, m.key, m.body, m.status, m.requests)
		if m.upstream != "" {
			step = m.upstream + "\n" + step
		}
		before := c.stat("rowsWritten")
		c.local.naps.Store(m.requests == flood) // with shortened naps, the counts would be reported more often than every five seconds
		c.script("burst of "+m.cause, "== one\n"+step)
		rows = c.stat("rowsWritten") - before // after the loop, this is the count of the last burst
		project := map[string]string{"poor": "broke", "other": "friends"}[m.key]
		if project == "" {
			project = "main"
			models[m.model] += m.requests
			keys[m.key] += m.requests
		}
		want[project][m.cause] += m.requests
	}
	c.local.naps.Store(false)
	if rows > 25 {
		t.Errorf("%d rows written for %d refusals of a key at once", rows, flood)
	}
	c.do("advance 20s")
	for project, causes := range want {
		for _, query := range []string{"range=1h&by=minute", "range=24h&by=hour", "range=24h&by=model", "range=24h&by=key", "range=7d&by=provider", "range=month&by=day", "range=month&by=key"} {
			c.agrees(project, query, causes)
		}
	}
	c.groups("main", "range=24h&by=model", "model", models)
	c.groups("main", "range=month&by=model", "model", models)
	named := map[string]int{}
	for key, n := range keys {
		named[c.run.names[key+".id"]] = n
	}
	c.groups("main", "range=24h&by=key", "keyId", named)
	c.groups("main", "range=month&by=key", "keyId", named)
	c.do("advance 60s")
	overview := c.get("/api/admin/overview?range=24h")
	total := 0
	for project, causes := range want {
		sum := 0
		for _, n := range causes {
			sum += n
		}
		total += sum
		if got := overview.Get(`projects.#(projectId=="` + c.run.names[project] + `").requests`).Int(); got != int64(sum) {
			t.Errorf("overview of %s: %d requests, want %d", project, got, sum)
		}
	}
	if got := overview.Get("totals.requests").Int(); got != int64(total) {
		t.Errorf("overview: %d requests, want %d", got, total)
	}
}

func (c *fixture) get(path string) gjson.Result {
	c.Helper()
	got, err := c.run.adminCall("GET", path, "")
	c.must(err)
	if got.status != 200 {
		c.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return gjson.ParseBytes(got.body)
}

// agrees compares three parts of a report with the expected numbers: the causes in its totals, the sum of its rows,
// and the sum of its table.
func (c *fixture) agrees(project, query string, causes map[string]int) {
	c.Helper()
	path := "/api/admin/projects/" + c.run.names[project] + "/usage?" + query
	report := c.get(path)
	sum := 0
	for cause, n := range causes {
		sum += n
		at := "totals.outcomes.causes." + cause
		if cause == "" {
			at = "totals.outcomes.served"
		}
		if got := report.Get(at).Int(); got != int64(n) {
			c.Errorf("%s of %s: %s is %d, want %d", query, project, at, got, n)
		}
	}
	rows := int64(0)
	for _, n := range report.Get("rows.#.requests").Array() {
		rows += n.Int()
	}
	if got := report.Get("totals.requests").Int(); got != int64(sum) || rows != got {
		c.Errorf("%s of %s: %d requests, %d in rows, want %d", query, project, got, rows, sum)
	}
	file, err := c.run.adminCall("GET", path+"&format=csv", "")
	c.must(err)
	table, err := csv.NewReader(strings.NewReader(string(file.body))).ReadAll()
	c.must(err)
	cells := 0
	for _, row := range table[1:] {
		for i, name := range table[0] {
			if name == "requests" {
				n, err := strconv.Atoi(row[i])
				c.must(err)
				cells += n
			}
		}
	}
	if cells != sum {
		c.Errorf("%s of %s: %d requests in the table, want %d", query, project, cells, sum)
	}
}

// groups compares each group's number of requests with the expected one.
func (c *fixture) groups(project, query, name string, want map[string]int) {
	c.Helper()
	report := c.get("/api/admin/projects/" + c.run.names[project] + "/usage?" + query)
	for _, row := range report.Get("rows").Array() {
		if got := row.Get(name).Str; row.Get("requests").Int() != int64(want[got]) {
			c.Errorf("%s: %s has %s requests, want %d", query, got, row.Get("requests").Raw, want[got])
		}
	}
	if got := len(report.Get("rows").Array()); got != len(want) {
		c.Errorf("%s: %d rows, want %d", query, got, len(want))
	}
}
