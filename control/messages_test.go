package control

import (
	"fmt"
	"strings"
	"testing"
)

// Messages name the value and the remedy. They repeat no long values, and none that could be an API key.
func TestMessages(t *testing.T) {
	b := routedCatalog(t)
	path := b.project()
	keyPath, _ := b.key(path)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/admin/projects", `{}`, "name is required"},
		{"POST", "/api/admin/projects", `{"name":7}`, "name must be a string, got 7"},
		{"POST", "/api/admin/projects", `{"name":"x","budgetPeriod":"year"}`, `budgetPeriod must be month, week or day, got "year"`},
		{"POST", "/api/admin/projects", `{"name":"x","budgetPeriod":["day"]}`, "budgetPeriod must be a string, got an array"},
		{"POST", "/api/admin/projects", `{"name":"x","cacheTtlSeconds":-1}`, "cacheTtlSeconds must be an integer between 0 and 2592000, got -1"},
		{"PATCH", path, `{"budget":0.0000000000001}`, "budget must be dollars between 0 and 9000000 with at most 12 decimal places, got 0.0000000000001"},
		{"PATCH", path, `{"owner":"me"}`, "owner is unknown or cannot be set here; remove it"},
		{"PATCH", path, `{"routes":{"fast":{"targets":[]}}}`, "routes.fast.targets must be an array of 1 to 16 targets"},
		{"POST", path + "/keys", `{"name":"k","kind":"sk_live_0123456789abcdefghij"}`, "kind must be gateway or project, got a string of 28 bytes"},
		{"PATCH", keyPath, `{"models":["` + strings.Repeat("m", 99) + `"]}`, "models must contain only names of models or tiers, got a string of 99 bytes"},
		{"PATCH", keyPath, `{"limits":{"requestsPerDay":null,"tokensPerMinute":0}}`, "limits.tokensPerMinute must be an integer between 1 and 1000000000, got 0"},
		{"GET", "/api/admin/projects?limit=0", "", `limit must be an integer between 1 and 100, got "0"`},
		{"GET", "/api/admin/projects?after=x", "", `after must be the "next" of a previous page`},
		{"GET", path + "/usage?format=xml", "", `format must be json, csv or ndjson, got "xml"`},
		{"GET", path + "/usage?since=2026-11-01", "", "since is not a parameter of this endpoint"},
		{"GET", path + "/usage?to=tomorrow", "", `to must be a date such as 2026-11-21, got "tomorrow"`},
	} {
		got := b.do(c.method, c.path, c.body)
		details, _ := got.fields["details"].([]any)
		if len(details) != 1 {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.Code, got.Body)
			continue
		}
		detail := details[0].(map[string]any)
		if text := fmt.Sprint(detail["field"], " ", detail["message"]); text != c.want {
			t.Errorf("%s %s %s:\ngot  %s\nwant %s", c.method, c.path, c.body, text, c.want)
		}
	}
}
