package projects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// cacheOf returns the cache settings in a response.
func cacheOf(r controltest.Reply) string {
	return fmt.Sprint(r.Fields["cache"], " ", r.Fields["cacheTtlSeconds"])
}

func TestCacheOfNewProjects(t *testing.T) {
	b := controltest.New(t)
	for body, want := range map[string]string{
		``: "colo 3600", `,"cache":"off"`: "off 0", `,"cache":"colo"`: "colo 3600", `,"cache":"global"`: "global 3600",
		`,"cacheTtlSeconds":0`: "off 0", `,"cacheTtlSeconds":5`: "colo 5", `,"cache":"off","cacheTtlSeconds":0`: "off 0",
		`,"cache":"colo","cacheTtlSeconds":1`: "colo 1", `,"cache":"global","cacheTtlSeconds":60`: "global 60",
	} {
		made := b.Must(201, "POST", "/api/admin/projects", `{"name":"x"`+body+`}`)
		got := b.Must(200, "GET", "/api/admin/projects/"+made.Text("id"), "")
		if cacheOf(made) != want || cacheOf(got) != want {
			t.Errorf("%s: made %s, read %s", body, cacheOf(made), cacheOf(got))
		}
	}
}

// Clients that know only the TTL can turn the cache off and on with it. After a change by a client that knows only
// the scope, the TTL is always one that the scope allows.
func TestCacheChanges(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	_, made := b.Key(path)
	scopes := map[string]doc.CacheScope{"off": doc.CacheOff, "colo": doc.CacheColo, "global": doc.CacheGlobal}
	for _, step := range []struct{ patch, want string }{
		{`{"cacheTtlSeconds":600}`, "colo 600"},
		{`{"cache":"global"}`, "global 600"},
		{`{"cacheTtlSeconds":60}`, "global 60"},
		{`{"name":"x"}`, "global 60"},
		{`{"cache":"off"}`, "off 0"},
		{`{"cache":"off","cacheTtlSeconds":0}`, "off 0"},
		{`{"cache":"colo"}`, "colo 3600"},
		{`{"cacheTtlSeconds":0}`, "off 0"},
		{`{"cacheTtlSeconds":30}`, "colo 30"},
		{`{"cache":"global","cacheTtlSeconds":61}`, "global 61"},
		{`{"cacheTtlSeconds":0}`, "off 0"},
		{`{"cache":"global"}`, "global 3600"},
	} {
		got := b.Must(200, "PATCH", path, step.patch)
		if cacheOf(got) != step.want || cacheOf(b.Must(200, "GET", path, "")) != step.want {
			t.Errorf("%s: got %s, want %s", step.patch, cacheOf(got), step.want)
		}
		rec := b.RecordOf(made)
		if rec.Cache != scopes[got.Text("cache")] || fmt.Sprint(rec.CacheTTLSeconds) != fmt.Sprint(got.Fields["cacheTtlSeconds"]) {
			t.Errorf("%s: the key has %d and %d s", step.patch, rec.Cache, rec.CacheTTLSeconds)
		}
	}
}

func TestCacheErrors(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	b.Must(200, "PATCH", path, `{"cacheTtlSeconds":30}`)
	global := b.Project()
	b.Must(200, "PATCH", global, `{"cache":"global"}`)
	const ttl = "cacheTtlSeconds "
	for _, c := range []struct{ path, body, want string }{
		{path, `{"cache":"edge"}`, `cache must be off, colo or global, got "edge"`},
		{path, `{"cache":false}`, "cache must be a string, got false; put quotes around off"},
		{path, `{"cache":null}`, "cache must be a string, got null"},
		{path, `{"cache":{"scope":"colo"}}`, "cache must be a string, got an object"},
		{path, `{"cache":"off","cacheTtlSeconds":5}`, ttl + "must be 0 or absent with cache off, got 5"},
		{path, `{"cache":"colo","cacheTtlSeconds":0}`, ttl + "must be at least 1 with cache colo, got 0"},
		{path, `{"cache":"global","cacheTtlSeconds":59}`, ttl + "must be at least 60 with cache global, got 59"},
		{path, `{"cache":"global","cacheTtlSeconds":0}`, ttl + "must be at least 60 with cache global, got 0"},
		{path, `{"cache":"global"}`, ttl + "must be at least 60 with cache global; it is 30"},
		{global, `{"cacheTtlSeconds":59}`, ttl + "must be at least 60 with cache global, got 59"},
	} {
		got := b.Do("PATCH", c.path, c.body)
		b.Refused(got, fault.InvalidRequest)
		field, message, _ := strings.Cut(c.want, " ")
		detail, _ := got.Fields["details"].([]any)
		if len(detail) != 1 || fmt.Sprint(detail[0]) != fmt.Sprintf("map[field:%s message:%s]", field, message) {
			t.Errorf("%s: %s", c.body, got.Body)
		}
	}
	if a, c := cacheOf(b.Must(200, "GET", path, "")), cacheOf(b.Must(200, "GET", global, "")); a != "colo 30" || c != "global 3600" {
		t.Errorf("a rejected change was made: %s, %s", a, c)
	}
}

func TestCacheInAuditLog(t *testing.T) {
	b := controltest.New(t)
	b.Must(200, "PATCH", b.Project(), `{"cache":"global"}`)
	log, _ := b.Entries("?action=project")
	for _, entry := range log {
		if entry["action"] != "project.update" {
			continue
		}
		if before, after := entry["before"].(map[string]any), entry["after"].(map[string]any); before["cache"] != "colo" || after["cache"] != "global" {
			t.Errorf("%v", entry)
		}
		return
	}
	t.Errorf("no entry in %v", log)
}
