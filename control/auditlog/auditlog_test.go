package auditlog_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

type view struct {
	Name   string         `json:"name"`
	Budget json.Number    `json:"budget"`
	Models []string       `json:"models"`
	Value  string         `json:"value,omitempty"`
	Alerts map[string]any `json:"alerts"`
}

func TestAuditEntry(t *testing.T) {
	b := controltest.New(t)
	before := view{Name: "Old <b>", Budget: "100.000000000001", Models: []string{"a"}, Alerts: map[string]any{"url": "https://a.example"}}
	after := before
	after.Name, after.Budget = "New <b>", "200"
	b.Audit(controltest.Boss, "project.update", "proj_1", "", before, after)
	got := b.Must(200, "GET", controltest.AuditLog, "")
	entries, next := b.Entries("")
	id, _ := entries[0]["id"].(string)
	want := `{"entries":[{"id":"` + id + `","time":"2026-11-21T08:08:07.006Z","actor":"boss@example.com","role":"owner","via":"access",` +
		`"action":"project.update","project":"proj_1","key":null,"address":"2001:db8::7",` +
		`"before":{"budget":100.000000000001,"name":"Old <b>"},"after":{"budget":200,"name":"New <b>"}}],"next":null}`
	if got.Body.String() != want || next != "" || !kernel.IsID(id, "aud_") {
		t.Errorf("%s\nwant %s", got.Body, want)
	}
}

func TestEntriesOfCreationAndDeletion(t *testing.T) {
	for _, c := range []struct{ before, after any }{{nil, view{Name: "x"}}, {view{Name: "x"}, nil}, {nil, nil}, {view{Name: "x"}, view{Name: "x"}}} {
		b := controltest.New(t)
		b.Audit(controltest.Boss, "key.create", "proj_1", "key_1", c.before, c.after)
		entries, _ := b.Entries("")
		e := entries[0]
		if (e["before"] == nil) != (c.before == nil) || (e["after"] == nil) != (c.after == nil) || e["key"] != "key_1" {
			t.Errorf("%v", e)
		}
		if c.before == nil && c.after != nil && e["after"].(map[string]any)["name"] != "x" {
			t.Errorf("%v", e)
		}
		if c.before != nil && c.after != nil && len(e["before"].(map[string]any))+len(e["after"].(map[string]any)) != 0 {
			t.Errorf("unchanged fields in %v", e)
		}
	}
}

func TestEntriesHaveNoSecrets(t *testing.T) {
	b := controltest.New(t)
	b.Audit(controltest.Boss, "key.create", "proj_1", "key_1", nil, view{Name: "k", Value: "sk_live_secret"})
	b.Audit(controltest.Boss, "project.update", "proj_1", "",
		view{Alerts: map[string]any{"url": "https://a.example", "secret": "whsec_secret"}},
		view{Alerts: map[string]any{"url": "https://b.example", "Secret": "whsec_secret", "deep": []any{map[string]any{"token": "t_secret", "password": 1}}}})
	b.Audit(controltest.Boss, "provider_key.set", "proj_1", "", nil, map[string]any{"provider": "openai", "key": "sk-secret", "last4": "cret"})
	b.Try("192.0.2.1", "wrong_secret")
	b.Try("192.0.2.1", controltest.Token)
	text := b.Must(200, "GET", controltest.AuditLog, "").Body.String()
	if strings.Contains(text, "secret") || strings.Contains(text, controltest.Token) || strings.Contains(text, "password") {
		t.Error(text)
	}
	for _, rest := range []string{`"last4":"cret"`, `"alerts":{"deep":[{}],"url":"https://b.example"}`, `"models":null,"name":"k"`} {
		if !strings.Contains(text, rest) {
			t.Errorf("no %s in %s", rest, text)
		}
	}
}

func TestLongEntriesAreTruncated(t *testing.T) {
	many := map[string]any{}
	for i := range 5000 {
		many[fmt.Sprint("field", i)] = i
	}
	for name, c := range map[string]struct {
		after any
		has   string
	}{
		"fits":        {map[string]any{"name": "x", "models": strings.Repeat("m", 7000)}, "mmmm"},
		"one field":   {map[string]any{"name": "x", "models": strings.Repeat("m", 9000)}, `"models":"(9002 bytes)","name":"x"`},
		"two fields":  {map[string]any{"name": "x", "a": strings.Repeat("m", 5000), "b": strings.Repeat("m", 5000)}, `{"a":"(5002 bytes)","b":"(5002 bytes)","name":"x"}`},
		"many fields": {many, `"after":null`},
	} {
		b := controltest.New(t)
		write := b.Audit(controltest.Boss, "project.update", "proj_1", "", nil, c.after)
		if len(write.Value) > 8<<10 || !strings.Contains(string(write.Value), c.has) {
			t.Errorf("%s: %d bytes: %.300s", name, len(write.Value), write.Value)
		}
		b.Entries("")
	}
}

func TestSessionsAreLogged(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	b.Try("192.0.2.1", "wrong")
	b.Do("GET", controltest.AuditLog, "", "Authorization", "Bearer wrong")
	b.Now = b.Now.Add(time.Millisecond)
	cookie := b.SignIn(controltest.ViewerToken)
	b.Now = b.Now.Add(time.Millisecond)
	b.With(cookie, "DELETE", controltest.Sessions, "", "Origin", "http://example.com")
	entries, _ := b.Entries("")
	var lines []string
	for _, e := range entries {
		lines = append(lines, fmt.Sprint(e["actor"], " ", e["role"], " ", e["via"], " ", e["action"], " ", e["address"], " ", e["project"], " ", e["after"]))
	}
	want := []string{
		"viewer viewer session session.delete <nil> <nil> <nil>",
		"viewer viewer session session.create <nil> <nil> <nil>",
	}
	refused := map[string]bool{
		"unknown none session session.refuse 192.0.2.1 <nil> <nil>": true,
		"unknown none bearer session.refuse <nil> <nil> <nil>":      true,
	}
	if len(lines) != 4 || lines[0] != want[0] || lines[1] != want[1] || !refused[lines[2]] || !refused[lines[3]] || lines[2] == lines[3] {
		t.Errorf("%q", lines)
	}
}

// fill writes entries one second apart, alternating between two projects.
func fill(b *controltest.Bench, n int) {
	for i := range n {
		b.Now = b.Now.Add(time.Second)
		b.Audit(controltest.Boss, fmt.Sprint("n", i), fmt.Sprint("proj_", i%2), "", nil, nil)
	}
}

func TestAuditPages(t *testing.T) {
	b := controltest.New(t)
	fill(b, 300)
	after, seen := "", 300
	for range 100 {
		entries, next := b.Entries("?limit=3&after=" + after)
		if len(entries) != 3 {
			t.Fatalf("%d entries", len(entries))
		}
		for _, e := range entries {
			if seen--; e["action"] != fmt.Sprint("n", seen) {
				t.Fatalf("%v, want n%d", e["action"], seen)
			}
		}
		after = next
	}
	if seen != 0 || after != "" {
		t.Errorf("%d not seen, next %q", seen, after)
	}
}

func TestEntriesOfOneProject(t *testing.T) {
	b := controltest.New(t)
	fill(b, 21)
	entries, next := b.Entries("?project=proj_1&limit=4")
	if len(entries) != 4 || entries[0]["action"] != "n19" || entries[3]["action"] != "n13" || next == "" {
		t.Errorf("%v, next %q", entries, next)
	}
	entries, next = b.Entries("?project=proj_1&limit=100&after=" + next)
	if len(entries) != 6 || entries[0]["action"] != "n11" || entries[5]["action"] != "n1" || next != "" {
		t.Errorf("%v, next %q", entries, next)
	}
	if entries, next = b.Entries("?project=proj_9"); len(entries) != 0 || next != "" {
		t.Errorf("%v, next %q", entries, next)
	}
}

// One request scans only a limited part of the log, and "next" continues the scan.
func TestAuditScanLimit(t *testing.T) {
	b := controltest.New(t)
	b.Audit(controltest.Boss, "the first", "proj_rare", "", nil, nil)
	fill(b, 2050)
	calls := 0
	b.Memory.Before = func([]byte) { calls++ }
	entries, next := b.Entries("?project=proj_rare")
	if len(entries) != 0 || next == "" || calls != 10 {
		t.Errorf("%v, next %q, %d lists", entries, next, calls)
	}
	if entries, next = b.Entries("?project=proj_rare&after=" + next); len(entries) != 1 || next != "" {
		t.Errorf("%v, next %q", entries, next)
	}
}

func TestBadAuditQueries(t *testing.T) {
	b := controltest.New(t)
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=101": "limit", "?limit=x": "limit", "?after=x": "after", "?after=aud_": "after", "?after=aud_..%2Fp": "after",
		"?action=keys": "action", "?after=proj_1": "after", "?project=x": "project", "?project=proj_%00": "project", "?project=key_1": "project",
	} {
		got := b.Do("GET", controltest.AuditLog+query, "")
		b.Refused(got, fault.InvalidRequest)
		if p := got.Problems(); len(p) != 1 || p[0] != field {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
}

func TestPruneAudit(t *testing.T) {
	b := controltest.New(t)
	fill(b, 700)
	b.Now = b.Now.Add(400 * 24 * time.Hour).Add(-99500 * time.Millisecond)
	if err := b.Hourly(); err != nil || b.Documents("a/") != 100 {
		t.Errorf("%v, %d remain", err, b.Documents("a/"))
	}
	entries, _ := b.Entries("?limit=100")
	if entries[0]["action"] != "n699" || entries[99]["action"] != "n600" {
		t.Errorf("%v to %v remain", entries[0]["action"], entries[99]["action"])
	}
	b.Now = b.Now.Add(time.Hour)
	if err := b.Hourly(); err != nil || b.Documents("a/") != 0 {
		t.Errorf("%v, %d remain", err, b.Documents("a/"))
	}
}

// TestEveryChangeIsLogged calls every endpoint that changes something. Each call must log the actor, and no call may
// log a secret.
func TestEveryChangeIsLogged(t *testing.T) {
	b := controltest.New(t)
	b.Masters = "m1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	project := "/api/admin/projects/" + b.Must(201, "POST", "/api/admin/projects", `{"name":"Test"}`).Text("id")
	made := b.Must(201, "POST", project+"/keys", `{"name":"k"}`)
	keyPath := project + "/keys/" + made.Text("id")
	alerts := b.Must(200, "PATCH", project, `{"alerts":{"url":"https://alerts.example/hook"}}`).Fields["alerts"].(map[string]any)
	rotated := b.Must(201, "POST", keyPath+"/rotate", `{}`)
	for _, c := range [][3]string{
		{"PATCH", keyPath, `{"name":"other"}`}, {"POST", keyPath + "/deactivate", ""}, {"POST", keyPath + "/reactivate", ""}, {"DELETE", keyPath, ""},
		{"PUT", project + "/provider-keys/openai", `{"key":"sk-of-the-provider"}`}, {"DELETE", project + "/provider-keys/openai", ""},
		{"POST", project + "/archive", ""}, {"POST", project + "/restore", ""},
	} {
		if got := b.Do(c[0], c[1], c[2]); got.Code >= 300 {
			t.Fatalf("%s %s: %d %s", c[0], c[1], got.Code, got.Body)
		}
	}
	text := b.Must(200, "GET", controltest.AuditLog+"?limit=100", "").Body.String()
	for _, secret := range []string{made.Text("value"), rotated.Text("value"), alerts["secret"].(string), "sk-of-the-provider", controltest.Token} {
		if secret == "" || strings.Contains(text, secret) {
			t.Errorf("%q is in the log or was never created", secret)
		}
	}
	entries, _ := b.Entries("?limit=100")
	actions := map[string]int{}
	for _, e := range entries {
		if actions[e["action"].(string)]++; e["actor"] != "owner" || e["via"] != "bearer" || e["project"] == nil {
			t.Errorf("%v", e)
		}
	}
	for _, action := range []string{
		"project.create", "project.update", "project.archive", "project.restore", "key.create", "key.update", "key.deactivate", "key.reactivate",
		"key.rotate", "key.delete", "provider_key.set", "provider_key.delete",
	} {
		if actions[action] != 1 {
			t.Errorf("%s: %d entries", action, actions[action])
		}
	}
}

// The entry for a replaced provider key names the provider, although the provider did not change.
func TestEntryOfReplacedProviderKey(t *testing.T) {
	b := controltest.New(t)
	b.Masters, _ = controltest.Master("k1", 1)
	path := b.Project()
	for _, key := range []string{"sk-first-key-aaaa", "sk-second-key-bbbb"} {
		b.Now = b.Now.Add(time.Minute)
		b.Must(200, "PUT", path+"/provider-keys/openai", `{"key":"`+key+`"}`)
	}
	entries, _ := b.Entries("?limit=1")
	before, after := entries[0]["before"].(map[string]any), entries[0]["after"].(map[string]any)
	if before["provider"] != "openai" || before["last4"] != "aaaa" || after["provider"] != "openai" || after["last4"] != "bbbb" {
		t.Errorf("%v", entries[0])
	}
}

// The log can be filtered by the kind of action. Entries of one kind then cannot hide entries of another kind.
func TestAuditActionFilter(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	b.Key(path)
	b.SignIn(controltest.Token)
	for kind, want := range map[string]string{"project": "project.create", "key": "key.create", "session": "session.create"} {
		entries, next := b.Entries("?action=" + kind)
		if len(entries) != 1 || entries[0]["action"] != want || next != "" {
			t.Errorf("%s: %v", kind, entries)
		}
	}
	if entries, _ := b.Entries("?action=provider_key"); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

// A webhook's URL may contain a secret, so only owners see more than its host.
func TestOnlyOwnersSeeWebhookURLs(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	path := b.Project()
	b.Must(200, "PATCH", path, `{"alerts":{"url":"https://hooks.example:8443/services/SECRET?token=SECRET"}}`)
	b.Must(200, "PATCH", path, `{"name":"Other"}`)
	for _, at := range []string{path, "/api/admin/projects", controltest.AuditLog} {
		got := b.Do("GET", at, "", "Authorization", "Bearer "+controltest.ViewerToken)
		if text := got.Body.String(); strings.Contains(text, "SECRET") || !strings.Contains(text, `"https://hooks.example:8443/***"`) {
			t.Errorf("%s shows a viewer: %s", at, text)
		}
	}
	if text := b.Must(200, "GET", controltest.AuditLog, "").Body.String(); strings.Contains(text, "SECRET") {
		t.Errorf("the log shows an owner: %s", text)
	}
	for _, at := range []string{path, "/api/admin/projects"} {
		if text := b.Must(200, "GET", at, "").Body.String(); !strings.Contains(text, "/services/SECRET?token=SECRET") {
			t.Errorf("%s shows an owner: %s", at, text)
		}
	}
}
