package control_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/test/controltest"
)

// Error messages name the value and the remedy. They never repeat a value that is long or could be an API key.
func TestMessages(t *testing.T) {
	b := controltest.RoutedCatalog(t)
	path := b.Project()
	keyPath, _ := b.Key(path)
	var owned []string
	for _, name := range b.Must(200, "GET", path+"/provider-keys", "").Fields["providers"].([]any) {
		owned = append(owned, name.(string))
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/admin/projects", `{}`, "name is required"},
		{"POST", "/api/admin/projects", `{"name":7}`, "name must be a string, got a number"},
		{"POST", "/api/admin/projects", `{"name":"x","budgetPeriod":"year"}`, `budgetPeriod must be month, week, day or total, got "year"`},
		{"POST", "/api/admin/projects", `{"name":"x","budgetPeriod":["day"]}`, "budgetPeriod must be a string, got an array"},
		{"POST", "/api/admin/projects", `{"name":"x","cacheTtlSeconds":-1}`, "cacheTtlSeconds must be an integer between 0 and 2592000, got -1"},
		{"PATCH", path, `{"budget":0.0000000000001}`, "budget must be a dollar amount between 0 and 9000000 with at most 12 decimal places, got 0.0000000000001"},
		{"POST", "/api/admin/projects", `{"name":"x","cacheTtlSeconds":"1h"}`, `cacheTtlSeconds must be an integer between 0 and 2592000, got "1h"`},
		{"POST", "/api/admin/projects", `{"name":"x","budget":null}`, "budget must be a dollar amount between 0 and 9000000 with at most 12 decimal places, got null"},
		{"POST", "/api/admin/projects", `{"name":"x","models":"m"}`, "models must be an array of strings, got a string"},
		{"POST", "/api/admin/projects", `{"name":"x","models":[5]}`, "models must be an array of strings, got an array with other elements"},
		{"POST", "/api/admin/projects", `{"name":"x","alerts":{}}`, "alerts cannot be set when the project is created; set it with PATCH afterwards"},
		{"POST", "/api/admin/projects", `[]`, "body must be a JSON object, got an array"},
		{"PATCH", path, `{"owner":"me"}`, "owner is unknown; the fields are version, name, plan, budget, budgetPeriod, limits, enforce, cache, cacheTtlSeconds, unbounded, recordProviderErrors, contact, models, routes, group and alerts"},
		{"PATCH", path, `{"region":"weur"}`, "region cannot be changed after creation"},
		{"PATCH", path, `{"version":99}`, "version is 1, got 99"},
		{"PATCH", keyPath, `{"version":7}`, "version is 1, got 7"},
		{"PATCH", keyPath, `{"kind":"project"}`, "kind cannot be changed; create another key"},
		{"PATCH", path, `{"alerts":"https://hooks.example/x"}`, "alerts must be an object, got a string"},
		{"PATCH", path, `{"alerts":{}}`, "alerts.url is required"},
		{"PATCH", path, `{"alerts":{"url":"http://hooks.example/x"}}`, "alerts.url must be an https URL, got http"},
		{"PATCH", path, `{"routes":{"rapid":{}}}`, "routes.rapid is not a tier; the tiers are cheap, balanced, frontier, fast and best"},
		{"PATCH", path, `{"routes":{"fast":{}}}`, "routes.fast.targets is required"},
		{"PATCH", path, `{"routes":{"fast":{"targets":[]}}}`, "routes.fast.targets must have 1 to 16 elements, got 0"},
		{"PATCH", path, `{"routes":{"fast":{"targets":[{}]}}}`, "routes.fast.targets[0].model is required"},
		{"PATCH", path, `{"routes":{"fast":{"targets":[{"model":"b-free","weight":"1"}]}}}`, `routes.fast.targets[0].weight must be an integer between 0 and 1000000, got "1"`},
		{"DELETE", path, "", `method must be GET, HEAD or PATCH, got "DELETE"; archive the project with POST ` + path + "/archive"},
		{"GET", "/api/admin/nothing", "", "path is not an endpoint; GET /openapi.yaml lists all endpoints"},
		{"GET", "/api/admin/groups/x", "", `group must be root or a group ID, which starts with grp_, got "x"`},
		{"DELETE", "/api/admin/groups/root", "", "group must not be root, which cannot be deleted; to remove its budget, PATCH it with budget null"},
		{"POST", "/api/admin/projects", `{"name":"x","group":"root"}`, `group must be null or a group ID, which starts with grp_, got "root"`},
		{"GET", "/api/admin/projects/x", "", `project must be a project ID, which starts with proj_, got "x"`},
		{"GET", "/api/admin/projects/proj_1", "", "project proj_1 does not exist"},
		{"GET", path + "/keys/key_1", "", "key key_1 does not exist"},
		{"PUT", path + "/provider-keys/opnai", `{}`, `provider must be ` + kernel.OneOf(owned) + `, got "opnai"`},
		{"PUT", path + "/provider-keys/openai", `{}`, "key is required"},
		{"PUT", path + "/provider-keys/openai", `{"key":123456789012345678901234}`, "key must be a string, got a number"},
		{"DELETE", path + "/provider-keys/openai", "", "provider openai has no key in this project"},
		{"GET", path + "/requests?key=backend", "", `key must be a key ID, which starts with key_, got "backend"`},
		{"GET", path + "/usage?from=2027-01-01", "", `from must not be after 2026-11-30, got "2027-01-01"`},
		{"GET", path + "/usage?from=2025-01-01", "", `from must not be before 2025-10-27, got "2025-01-01"; one response covers at most 400 days`},
		{"POST", path + "/keys", `{"name":"k","kind":"sk_live_0123456789abcdefghij"}`, "kind must be gateway or project, got a string of 28 bytes"},
		{"PATCH", keyPath, `{"models":["` + strings.Repeat("m", 99) + `"]}`, "models must contain only names of models or tiers, got a string of 99 bytes"},
		{"PATCH", keyPath, `{"limits":{"requestsPerDay":null,"tokensPerMinute":0}}`, "limits.tokensPerMinute must be an integer between 1 and 1000000000, got 0"},
		{"GET", "/api/admin/projects?limit=0", "", `limit must be an integer between 1 and 100, got "0"`},
		{"GET", "/api/admin/projects?after=x", "", `after must be the "next" of a previous page, got "x"`},
		{"GET", path + "/usage?format=xml", "", `format must be json, csv or ndjson, got "xml"`},
		{"GET", path + "/usage?since=2026-11-01", "", "since is not a parameter of this endpoint; the parameters are range, from, to, by, key, model, compare and format"},
		{"GET", path + "/usage?to=tomorrow", "", `to must be a date such as 2026-11-21, got "tomorrow"`},
	} {
		got := b.Do(c.method, c.path, c.body)
		details, _ := got.Fields["details"].([]any)
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

// The headers that describe a body are checked, and errors name the remedy.
func TestBodyHeadMessages(t *testing.T) {
	b := controltest.New(t)
	for _, c := range []struct {
		name, value, body string
		status            int
		want              string
	}{
		{"Content-Type", "", `{}`, 415, "Content-Type is required; send application/json"},
		{"Content-Type", "text/plain", `{}`, 415, `Content-Type must be application/json, got "text/plain"`},
		{"Content-Encoding", "gzip", `{}`, 415, `Content-Encoding must be identity, got "gzip"; send the body uncompressed`},
		{"X-Any", "x", strings.Repeat(" ", kernel.MaxBody+1), 413, "body must be at most 65536 bytes"},
		{"Content-Type", "application/json", "", 400, "body is required"},
	} {
		got := b.Do("POST", "/api/admin/projects", c.body, c.name, c.value)
		details, _ := got.Fields["details"].([]any)
		if got.Code != c.status || len(details) != 1 {
			t.Errorf("%+v: %d %s", c, got.Code, got.Body)
			continue
		}
		detail := details[0].(map[string]any)
		if text := fmt.Sprint(detail["field"], " ", detail["message"]); text != c.want {
			t.Errorf("got %s, want %s", text, c.want)
		}
	}
}

func TestParseSwitch(t *testing.T) {
	for value, want := range map[string]bool{"": false, "on": true, "off": false} {
		if on, err := kernel.ParseSwitch("POSTERN_X", value); on != want || err != nil {
			t.Errorf("%q: %v %v", value, on, err)
		}
	}
	for _, value := range []string{"true", "On", "1", " on"} {
		on, err := kernel.ParseSwitch("POSTERN_X", value)
		if on || err == nil || !strings.Contains(err.Error(), `POSTERN_X must be on or off, got "`+value+`"`) {
			t.Errorf("%q: %v %v", value, on, err)
		}
	}
}
