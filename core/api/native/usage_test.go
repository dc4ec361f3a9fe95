package native_test

import (
	"testing"
	"time"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/native"
)

const dollarPico = 1_000_000_000_000

func TestParseUsageQuery(t *testing.T) {
	for query, want := range map[string]string{
		"":                                "projectId is required\n",
		"projectId=":                      "projectId is required\n",
		"period=year":                     "projectId is required\nperiod must be day, week or month, got \"year\"\n",
		"projectId=p&period=Day":          "period must be day, week or month, got \"Day\"\n",
		"projectId=p":                     "",
		"projectId=p&period=":             "",
		"period=day&projectId=p":          "",
		"projectId=p&period=week":         "",
		"projectId=p&period=month&x":      "",
		"projectId=p&projectId=&period=x": "period must be day, week or month, got \"x\"\n",
	} {
		p := api.Parser{}
		q := native.ParseUsageQuery(&p, query)
		if got := problems(&p); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
		if want == "" && q.ProjectID != "p" {
			t.Errorf("%s: the project is %q", query, q.ProjectID)
		}
	}
}

func TestUsageDays(t *testing.T) {
	day := func(date string) uint64 {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(at.Unix() / 86400)
	}
	for _, c := range []struct{ period, today, first, end string }{
		{"day", "2026-12-31", "2026-12-31", "2027-01-01"},
		{"week", "2026-11-16", "2026-11-16", "2026-11-23"}, // a Monday
		{"week", "2026-11-22", "2026-11-16", "2026-11-23"},
		{"month", "2026-12-31", "2026-12-01", "2027-01-01"},
		{"", "2028-02-29", "2028-02-01", "2028-03-01"},
	} {
		q := native.UsageQuery{Period: c.period}
		if first, end := q.Days(day(c.today)); first != day(c.first) || end != day(c.end) {
			t.Errorf("%s of %s is %d to %d, want %s to %s", c.period, c.today, first, end, c.first, c.end)
		}
	}
}

func TestAppendUsageReport(t *testing.T) {
	for _, c := range []struct {
		report native.UsageReport
		want   string
	}{
		{
			native.UsageReport{FirstDay: 20_759, EndDay: 20_789},
			`{"budget":{"limit":0,"used":0,"remaining":0},"cache":{"hits":0,"misses":0,"hitRate":0},"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},"models":{},` +
				`"period":{"start":"2026-11-02T00:00:00.000Z","end":"2026-12-02T00:00:00.000Z"}}`,
		},
		{
			native.UsageReport{EndDay: 1, BudgetPico: 7 * dollarPico, UsedPico: dollarPico / 2, Models: []native.ModelUsage{
				{Model: "asked", Requests: 2, Tokens: 30, Hits: 1, Misses: 1, PromptCache: native.PromptCache{Read: 5, Written: 6, SavedPico: -dollarPico / 4}},
				{Model: "seen", Tokens: 1, Misses: 1, PromptCache: native.PromptCache{Read: 1, SavedPico: 3}}, {Model: `p"id`, CostPico: dollarPico},
			}},
			`{"budget":{"limit":7,"used":0.5,"remaining":6.5},"cache":{"hits":1,"misses":2,"hitRate":33.33},` +
				`"promptCache":{"readTokens":6,"writeTokens":6,"saved":-0.249999999997},` +
				`"models":{"asked":{"requests":2,"tokens":30,"cost":0,"promptCache":{"readTokens":5,"writeTokens":6,"saved":-0.25}},"p\"id":{"requests":0,"tokens":0,"cost":1}},` +
				`"period":{"start":"1970-01-01T00:00:00.000Z","end":"1970-01-02T00:00:00.000Z"}}`,
		},
		{ // more than the budget was spent; percentages are rounded
			native.UsageReport{EndDay: 1, BudgetPico: 1, UsedPico: 2, Models: []native.ModelUsage{{Hits: 2, Misses: 1}}},
			`{"budget":{"limit":0.000000000001,"used":0.000000000002,"remaining":0},"cache":{"hits":2,"misses":1,"hitRate":66.67},` +
				`"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},` +
				`"models":{},"period":{"start":"1970-01-01T00:00:00.000Z","end":"1970-01-02T00:00:00.000Z"}}`,
		},
	} {
		if got := string(native.AppendUsageReport(nil, &c.report)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAppendHealth(t *testing.T) {
	if got, want := string(native.AppendHealth(nil, "prj_1")), `{"status":"ok","authenticated":true,"project_id":"prj_1"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
