package keys_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/controltest"
)

// made creates a key with additional fields and returns its path and the response.
func made(b *controltest.Bench, project, fields string) (path string, made controltest.Reply) {
	b.Helper()
	made = b.Must(201, "POST", project+"/keys", `{"name":"k"`+fields+`}`)
	return project + "/keys/" + made.Text("id"), made
}

func TestPermissions(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	const all = `["completions","embeddings","models","usage","validate"]`
	const look = `["models","usage","violations","triage","registry","registry.edit","compliance"]`
	for _, c := range []struct{ kind, permissions, want string }{
		{"gateway", "", all}, {"project", "", look},
		{"gateway", all, all}, {"project", look, look},
		{"gateway", `["usage","completions"]`, `["completions","usage"]`}, {"gateway", `["models","models"]`, `["models"]`},
		{"project", `["usage"]`, `["usage"]`},
		{"gateway", `[]`, ""}, {"gateway", `null`, ""}, {"gateway", `"models"`, ""}, {"gateway", `["Models"]`, ""}, {"gateway", `[""]`, ""},
		{"gateway", `["models",null]`, ""}, {"gateway", `["admin"]`, ""}, {"project", `["completions"]`, ""}, {"project", all, ""}, {"gateway", `{}`, ""},
	} {
		body := fmt.Sprintf(`{"name":"k","kind":%q,"permissions":%s}`, c.kind, c.permissions)
		if c.permissions == "" {
			body = fmt.Sprintf(`{"name":"k","kind":%q}`, c.kind)
		}
		got := b.Do("POST", project+"/keys", body)
		if c.want == "" {
			b.Refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.Problems(), []string{"permissions"}) {
				t.Errorf("%s: %q", body, got.Problems())
			}
			continue
		}
		if text := controltest.Field(got, "permissions"); got.Code != 201 || text != c.want {
			t.Errorf("%s: %s", body, got.Body)
		}
	}
}

// The kind of a key limits the permissions that a PATCH can set. The record carries the permissions to the data
// plane.
func TestPermissionsArePatched(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, made := made(b, project, `,"kind":"project"`)
	if got := b.Do("PATCH", path, `{"permissions":["completions"]}`); got.Code != 400 {
		t.Error(got.Body)
	}
	b.Must(200, "PATCH", path, `{"permissions":["usage"]}`)
	_, record := b.MeterView(keys.Hash(made.Text("value")))
	if !record.May(doc.MaySeeUsage) || record.May(doc.MayListModels) || record.May(doc.MayComplete) {
		t.Errorf("%+v", record)
	}
}

func TestKeyLimits(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	limits := func(second, day, tokens string) string {
		return fmt.Sprintf(`{"requestsPerSecond":%s,"requestsPerDay":%s,"tokensPerMinute":%s,"requestsPerPeriod":null,"tokensPerPeriod":null}`, second, day, tokens)
	}
	path, made := made(b, project, `,"limits":{"requestsPerSecond":2,"tokensPerMinute":null}`)
	if got := controltest.Field(made, "limits"); got != limits("2", "null", "null") {
		t.Error(got)
	}
	for _, step := range []struct{ body, want string }{
		{`{"name":"other"}`, limits("2", "null", "null")},
		{`{"limits":{"requestsPerDay":1000000000,"tokensPerMinute":1}}`, limits("null", "1000000000", "1")},
		{`{"limits":{}}`, limits("null", "null", "null")},
	} {
		if got := controltest.Field(b.Must(200, "PATCH", path, step.body), "limits"); got != step.want {
			t.Errorf("%s: %s, want %s", step.body, got, step.want)
		}
	}
	for body, want := range map[string]string{
		`null`: "limits", `[]`: "limits", `5`: "limits", `{"requestsPerSecond":0}`: "limits.requestsPerSecond", `{"requestsPerDay":-1}`: "limits.requestsPerDay",
		`{"requestsPerDay":1.5}`: "limits.requestsPerDay", `{"tokensPerMinute":"5"}`: "limits.tokensPerMinute", `{"requestsPerHour":5}`: "limits.requestsPerHour",
		`{"requestsPerSecond":1000001}`: "limits.requestsPerSecond", `{"tokensPerMinute":1000000001}`: "limits.tokensPerMinute",
		`{"requestsPerDay":99999999999999999999}`: "limits.requestsPerDay", `{"requestsPerDay":1e3}`: "limits.requestsPerDay",
	} {
		if got := b.Do("PATCH", path, `{"limits":`+body+`}`); got.Code != 400 || !reflect.DeepEqual(got.Problems(), []string{want}) {
			t.Errorf("%s: %d %q", body, got.Code, got.Problems())
		}
	}
	b.Must(200, "PATCH", path, `{"limits":{"requestsPerSecond":3,"requestsPerDay":4,"tokensPerMinute":5}}`)
	if _, record := b.MeterView(keys.Hash(made.Text("value"))); record.Limits != (doc.Limits{PerSecond: 3, PerDay: 4, TokensPerMinute: 5}) {
		t.Errorf("%+v", record)
	}
}

func TestExpiry(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, made := made(b, project, `,"expiresAt":"2026-11-21T10:09:07.5+01:00"`)
	if made.Text("expiresAt") != "2026-11-21T09:09:07.500Z" || made.Text("status") != "active" {
		t.Fatal(made.Body)
	}
	if _, record := b.MeterView(keys.Hash(made.Text("value"))); record.ExpiresMs != 1795252147_500 {
		t.Errorf("%+v", record)
	}
	b.Now = b.Now.Add(time.Hour + time.Minute + 494*time.Millisecond) // exactly at the expiry
	for _, c := range []struct{ query, want string }{{"", "expired"}, {"?status=expired", "expired"}, {"?status=active", ""}, {"?status=inactive", ""}} {
		list := b.Must(200, "GET", project+"/keys"+c.query, "").Fields["keys"].([]any)
		if len(list) != 1 && c.want != "" || len(list) != 0 && c.want == "" {
			t.Errorf("%s: %v", c.query, list)
		} else if c.want != "" && list[0].(map[string]any)["status"] != c.want {
			t.Errorf("%s: %v", c.query, list)
		}
	}
	if got := b.Must(200, "PATCH", path, `{"name":"kept"}`); got.Text("expiresAt") == "" || got.Text("status") != "expired" {
		t.Error(got.Body)
	}
	if got := b.Must(200, "PATCH", path, `{"expiresAt":null}`); got.Fields["expiresAt"] != nil || got.Text("status") != "active" {
		t.Error(got.Body)
	}
	for _, at := range []string{
		`""`, `"tomorrow"`, `"2026-11-22"`, `"2026-11-22T00:00:00"`, `"2026-11-21T08:08:07Z"`, `"1970-01-01T00:00:00Z"`, `"2036-11-25T00:00:00Z"`,
		`"9999-12-31T23:59:59Z"`, `"2027-02-30T00:00:00Z"`, `"-2027-01-01T00:00:00Z"`, `1795252147500`, `[]`, `"2027-01-01T00:00:00Z\u0000"`,
	} {
		if got := b.Do("PATCH", path, `{"expiresAt":`+at+`}`); got.Code != 400 || !reflect.DeepEqual(got.Problems(), []string{"expiresAt"}) {
			t.Errorf("%s: %d %s", at, got.Code, got.Body)
		}
	}
}

// TestRotate checks that the new key has the settings of the old key. The old key stays valid for the grace period.
func TestRotate(t *testing.T) {
	for _, kind := range kernel.KindWords {
		for _, environment := range kernel.EnvironmentWords {
			b := controltest.New(t)
			project := b.Project()
			path, old := made(b, project, fmt.Sprintf(`,"kind":%q,"environment":%q,"models":["m"],"permissions":["usage"],"limits":{"requestsPerDay":9}`, kind, environment))
			b.Now = b.Now.Add(time.Second)
			fresh := b.Must(201, "POST", path+"/rotate", `{"graceSeconds":60}`)
			value := fresh.Text("value")
			k, e, ok := keys.Parse(value)
			if !ok || kernel.Translate(k, kernel.KindValues, kernel.KindWords) != kind || kernel.Translate(e, kernel.Environments, kernel.EnvironmentWords) != environment || value == old.Text("value") {
				t.Errorf("%s %s: the new key has the value %q", kind, environment, value)
			}
			want := fmt.Sprintf(`{"id":%q,"name":"k","kind":%q,"environment":%q,"prefix":%q,"last4":%q,"status":"active",`+
				`"createdAt":"2026-11-21T08:08:08.006Z","lastUsedAt":null,"models":["m"],"permissions":["usage"],`+
				`"limits":{"requestsPerSecond":null,"requestsPerDay":9,"tokensPerMinute":null,"requestsPerPeriod":null,"tokensPerPeriod":null},"budget":null,"budgetPeriod":"month","enforce":"hard","expiresAt":null,"replacedBy":null,`+
				`"version":1,"value":%q}`, fresh.Text("id"), kind, environment, value[:8], value[len(value)-4:], value)
			if fresh.Body.String() != want {
				t.Errorf("got %s\nwant %s", fresh.Body, want)
			}
			after := b.Must(200, "GET", path, "")
			if after.Text("replacedBy") != fresh.Text("id") || after.Text("expiresAt") != "2026-11-21T08:09:08.006Z" || fmt.Sprint(after.Fields["version"]) != "2" {
				t.Errorf("the old key: %s", after.Body)
			}
			rotatedMeters(b, old, fresh)
		}
	}
}

// rotatedMeters checks the deliveries to the meters of a rotated key and its replacement.
func rotatedMeters(b *controltest.Bench, old, fresh controltest.Reply) {
	b.Helper()
	for i, made := range []controltest.Reply{old, fresh} {
		status, record := b.MeterView(keys.Hash(made.Text("value")))
		if expires := []uint64{1795248548_006, 0}[i]; status != doc.Active || record.KeyID != made.Text("id") || record.ExpiresMs != expires {
			b.Errorf("%s: status %d, %+v", made.Text("id"), status, record)
		}
	}
	b.Memory.Deliver(b.T)
	for _, made := range []controltest.Reply{old, fresh} {
		if record, err := doc.DecodeRecord(b.Memory.Kv[doc.RecordKey(keys.Hash(made.Text("value")))]); err != nil || record.KeyID != made.Text("id") {
			b.Errorf("KV: %v %+v", err, record)
		}
	}
}

func TestGracePeriods(t *testing.T) {
	for _, c := range []struct{ body, expires, status string }{
		{`{}`, "2026-11-22T08:08:07.006Z", "active"},
		{`{"graceSeconds":0}`, "2026-11-21T08:07:07.006Z", "expired"}, // earlier by clockDifference, because the clocks of two machines may differ
		{`{"graceSeconds":2592000}`, "2026-12-21T08:08:07.006Z", "active"},
	} {
		b := controltest.New(t)
		path, _ := b.Key(b.Project())
		b.Must(201, "POST", path+"/rotate", c.body)
		if got := b.Must(200, "GET", path, ""); got.Text("expiresAt") != c.expires || got.Text("status") != c.status {
			t.Errorf("%s: %s", c.body, got.Body)
		}
	}
	b := controltest.New(t)
	path, _ := b.Key(b.Project())
	for _, body := range []string{`{"graceSeconds":-1}`, `{"graceSeconds":2592001}`, `{"graceSeconds":1.5}`, `{"graceSeconds":"5"}`, `{"graceSeconds":null}`, `{"graceSeconds":1e3}`, `{"graceSeconds":99999999999999999999}`, `{"grace":5}`} {
		b.Refused(b.Do("POST", path+"/rotate", body), fault.InvalidRequest)
	}
	if got := b.Must(200, "GET", path, ""); got.Fields["replacedBy"] != nil || got.Fields["expiresAt"] != nil {
		t.Error(got.Body)
	}
}

// Rotation does not extend the lifetime of a key that expires before the grace period ends.
func TestRotationKeepsEarlierExpiry(t *testing.T) {
	b := controltest.New(t)
	path, _ := made(b, b.Project(), `,"expiresAt":"2026-11-21T09:00:00Z"`)
	fresh := b.Must(201, "POST", path+"/rotate", `{"graceSeconds":86400}`)
	if got := b.Must(200, "GET", path, ""); got.Text("expiresAt") != "2026-11-21T09:00:00.000Z" {
		t.Error(got.Body)
	}
	if fresh.Text("expiresAt") != "2026-11-21T09:00:00.000Z" {
		t.Errorf("the new key has other settings: %s", fresh.Body)
	}
}

// The replacement of an expired key would be expired, too.
func TestRotationOfExpiredKey(t *testing.T) {
	b := controltest.New(t)
	path, _ := made(b, b.Project(), `,"expiresAt":"2026-11-21T09:00:00Z"`)
	b.Now = b.Now.Add(2 * time.Hour)
	got := b.Do("POST", path+"/rotate", `{}`)
	b.Refused(got, fault.InvalidRequest)
	if p := got.Problems(); len(p) != 1 || p[0] != "key" {
		t.Error(got.Body)
	}
	b.Must(200, "PATCH", path, `{"expiresAt":null}`)
	if got := b.Must(201, "POST", path+"/rotate", `{}`); got.Text("status") != "active" {
		t.Error(got.Body)
	}
}

func TestRotateTwice(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, _ := b.Key(project)
	first := b.Must(201, "POST", path+"/rotate", `{}`)
	again := b.Do("POST", path+"/rotate", `{}`)
	b.Refused(again, fault.InvalidRequest)
	if !reflect.DeepEqual(again.Problems(), []string{"key"}) {
		t.Error(again.Body)
	}
	second := b.Must(201, "POST", project+"/keys/"+first.Text("id")+"/rotate", `{}`)
	if got := b.Must(200, "GET", project+"/keys/"+first.Text("id"), ""); got.Text("replacedBy") != second.Text("id") {
		t.Error(got.Body)
	}
	if got := b.Must(200, "GET", project+"/keys", ""); len(got.Fields["keys"].([]any)) != 3 {
		t.Error(got.Body)
	}
	b.Refused(b.Do("POST", project+"/keys/key_nobody/rotate", `{}`), fault.NotFound)
	b.Must(204, "DELETE", path, "")
	b.Refused(b.Do("POST", path+"/rotate", `{}`), fault.NotFound)
}

// Of two concurrent rotations, one succeeds and the other does not create a key.
func TestConcurrentRotations(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, _ := b.Key(project)
	b.Interleave(func() { b.Must(201, "POST", path+"/rotate", `{}`) })
	b.Refused(b.Do("POST", path+"/rotate", `{}`), fault.InvalidRequest)
	if got := b.Must(200, "GET", project+"/keys", ""); len(got.Fields["keys"].([]any)) != 2 {
		t.Error(got.Body)
	}
}

// A rotation that lost a race to another change is retried with the same new key.
func TestRotationAfterLostRace(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, _ := b.Key(project)
	b.Interleave(func() { b.Must(200, "PATCH", path, `{"name":"renamed","limits":{"requestsPerDay":3}}`) })
	fresh := b.Must(201, "POST", path+"/rotate", `{}`)
	if fresh.Text("name") != "renamed" || !strings.Contains(fresh.Body.String(), `"requestsPerDay":3`) {
		t.Errorf("the new key has outdated settings: %s", fresh.Body)
	}
	if got := b.Must(200, "GET", project+"/keys", ""); len(got.Fields["keys"].([]any)) != 2 {
		t.Error(got.Body)
	}
	if record := b.RecordOf(fresh); record.Limits.PerDay != 3 || record.KeyID != fresh.Text("id") {
		t.Errorf("%+v", record)
	}
}

// A rotation shows the new value once and does not log it.
func TestRotatedValueIsNotStored(t *testing.T) {
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b := controltest.New(t)
	project := b.Project()
	path, _ := b.Key(project)
	value := b.Must(201, "POST", path+"/rotate", `{}`).Text("value")
	for _, at := range []string{path, project + "/keys", "/api/admin/audit"} {
		if got := b.Must(200, "GET", at, ""); strings.Contains(got.Body.String(), value[8:]) {
			t.Errorf("%s shows the secret", at)
		}
	}
	for key, row := range b.Memory.Rows {
		if strings.Contains(key+string(row), value[8:]) {
			t.Errorf("row %q contains the secret", key)
		}
	}
	if strings.Contains(lines.String(), value[8:]) {
		t.Error("the log contains the value")
	}
}

func TestPatchKey(t *testing.T) {
	b := controltest.New(t)
	project := b.Project()
	path, _ := b.Key(project)
	got := b.Must(200, "PATCH", path, `{"name":"Neu","models":["gpt-4.1","cheap"]}`)
	if got.Text("name") != "Neu" || controltest.Field(got, "models") != `["gpt-4.1","cheap"]` || fmt.Sprint(got.Fields["version"]) != "2" {
		t.Error(got.Body)
	}
	if again := b.Must(200, "GET", path, ""); again.Body.String() != got.Body.String() {
		t.Errorf("read back: %s", again.Body)
	}
	for body, want := range map[string][]string{
		`{"kind":"project","environment":"development","status":"inactive","value":"x","id":"key_1"}`: {"kind", "environment", "id", "status", "value"},
		`{"name":"","models":"m"}`: {"name", "models"}, `{"models":[""]}`: {"models"}, `{"models":["a b"]}`: {"models"},
		`{"models":["` + strings.Repeat("m", 65) + `"]}`: {"models"}, `{"models":[` + strings.Repeat(`"m",`, 32) + `"m"]}`: {"models"},
	} {
		if got := b.Do("PATCH", path, body); got.Code != 400 || !reflect.DeepEqual(got.Problems(), want) {
			t.Errorf("%s: %d %q, want %q", body, got.Code, got.Problems(), want)
		}
	}
	b.Refused(b.Do("PATCH", project+"/keys/key_nobody", `{}`), fault.NotFound)
	b.Refused(b.Do("GET", project+"/keys/key_nobody", ""), fault.NotFound)
}
