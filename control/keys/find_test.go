package keys_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/controltest"
)

const keysPath = "/api/admin/keys"

// named creates a key with the given name and returns the response.
func named(b *controltest.KeyBench, project, name string) controltest.Reply {
	b.Helper()
	b.Now = b.Now.Add(time.Millisecond)
	return b.Must(201, "POST", project+"/keys", fmt.Sprintf(`{"name":%q}`, name))
}

// found returns the names on all pages of a search and the number of pages.
func found(b *controltest.KeyBench, query string) (names []string, pages int) {
	b.Helper()
	for after := ""; ; pages++ {
		got := b.Must(200, "GET", keysPath+"?"+query+after, "")
		for _, k := range got.Fields["keys"].([]any) {
			names = append(names, k.(map[string]any)["name"].(string))
		}
		if got.Fields["next"] == nil || pages > 1000 {
			return names, pages + 1
		}
		after = "&after=" + url.QueryEscape(got.Text("next"))
	}
}

func TestFindKeyByHash(t *testing.T) {
	b := controltest.NewKeyBench(t)
	named(b, b.Project, "other")
	made := named(b, b.Project, "leaked")
	at := keysPath + "/" + keys.Hash(made.Text("value"))
	got := b.Must(200, "GET", at, "")
	id := strings.TrimPrefix(b.Project, "/api/admin/projects/")
	if want := fmt.Sprintf(`{"id":%q,"name":"Test","status":"active"}`, id); controltest.Field(got, "project") != want {
		t.Errorf("%s, want %s", got.Body, want)
	}
	whole := b.Must(200, "GET", b.Project+"/keys/"+made.Text("id"), "")
	if controltest.Field(got, "key") != strings.TrimSpace(whole.Body.String()) {
		t.Errorf("got %s, want %s", got.Body, whole.Body)
	}
	if text := got.Body.String(); strings.Contains(text, made.Text("value")) || strings.Contains(text, keys.Hash(made.Text("value"))) {
		t.Errorf("the value or its hash is in %s", text)
	}
}

// A key is found in every state except removed, and the lookup changes neither documents nor meters.
func TestFindKeyInEveryState(t *testing.T) {
	b := controltest.NewKeyBench(t)
	made := named(b, b.Project, "leaked")
	path, at := b.Project+"/keys/"+made.Text("id"), keysPath+"/"+keys.Hash(made.Text("value"))
	status := func() string {
		got := b.Must(200, "GET", at, "")
		return got.Fields["key"].(map[string]any)["status"].(string) + ", project " + got.Fields["project"].(map[string]any)["status"].(string)
	}
	check := func(want string) {
		t.Helper()
		if got := status(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("active, project active")
	b.Must(200, "POST", path+"/deactivate", "")
	check("inactive, project active")
	b.Must(200, "POST", path+"/reactivate", "")
	b.Must(200, "PATCH", path, `{"expiresAt":"2026-11-21T10:00:00Z"}`)
	b.Now = b.Now.Add(3 * time.Hour)
	check("expired, project active")
	b.Must(200, "PATCH", path, `{"expiresAt":null}`)
	b.Must(200, "POST", b.Project+"/archive", "")
	check("active, project archived")
	before := len(b.Memory.Rows)
	b.Must(200, "GET", at, "")
	if len(b.Memory.Rows) != before {
		t.Error("the lookup wrote a document")
	}
	b.Must(200, "POST", b.Project+"/restore", "")
	b.Must(204, "DELETE", path, "")
	b.Refused(b.Do("GET", at, ""), fault.NotFound)
}

func TestUnknownHashes(t *testing.T) {
	b := controltest.NewKeyBench(t)
	made := named(b, b.Project, "k")
	value, hash := made.Text("value"), keys.Hash(made.Text("value"))
	elsewhere := controltest.NewKeyBench(t)
	foreign := keys.Hash(named(elsewhere, elsewhere.Project, "k").Text("value"))
	for _, text := range []string{
		foreign, strings.Repeat("0", 64), hash[:63], hash + "0", strings.ToUpper(hash), strings.Repeat("g", 64), hash[:63] + "%00", value,
		url.PathEscape(hash[:60] + "/../"), "..", made.Text("id"), url.PathEscape(strings.Repeat("é", 32)), strings.Repeat("a", 10_000),
	} {
		got := b.Do("GET", keysPath+"/"+text, "")
		b.Refused(got, fault.NotFound)
		if strings.Contains(got.Body.String(), text[:min(len(text), 40)]) && text != ".." {
			t.Errorf("%.80s is repeated in %.300s", text, got.Body)
		}
	}
	if calls := b.MeterCalls(); calls > 4 { // for creating the key and looking up the two hashes
		t.Errorf("%d calls to meters: malformed text became an object's name", calls)
	}
	b.Must(200, "GET", keysPath+"/"+hash, "")
}

func TestFindAudience(t *testing.T) {
	b := controltest.NewKeyBench(t)
	b.Viewer = controltest.ViewerToken
	made := named(b, b.Project, "k")
	at := keysPath + "/" + keys.Hash(made.Text("value"))
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for _, path := range []string{at, keysPath, keysPath + "?q=k"} {
		if got := b.Do("GET", path, "", as(controltest.ViewerToken)...); got.Code != 200 {
			t.Errorf("viewer, %s: %s", path, got.Body)
		}
		b.Refused(b.Do("GET", path, "", "Authorization", ""), fault.MissingAdmin)
		b.Refused(b.Do("GET", path, "", as(made.Text("value"))...), fault.InvalidAdmin)
		b.Refused(b.Do("POST", path, "{}"), fault.MethodNotAllowed)
	}
	deactivate := b.Project + "/keys/" + made.Text("id") + "/deactivate"
	b.Refused(b.Do("POST", deactivate, "", as(controltest.ViewerToken)...), fault.ViewerForbidden)
	b.Must(200, "POST", deactivate, "")
}

func TestSearchKeys(t *testing.T) {
	b := controltest.NewKeyBench(t)
	b.Now = b.Now.Add(time.Millisecond)
	second := b.Bench.Project()
	_, front := named(b, b.Project, "Backend, Frankfurt"), named(b, second, "frontend")
	last4 := front.Text("last4")
	b.Must(204, "DELETE", b.Project+"/keys/"+named(b, b.Project, "Backend, removed").Text("id"), "")
	for query, want := range map[string][]string{
		"": {"Backend, Frankfurt", "frontend"}, "q=END": {"Backend, Frankfurt", "frontend"}, "q=backend": {"Backend, Frankfurt"},
		"q=" + last4: {"frontend"}, "q=" + strings.ToLower(last4): {"frontend"}, "q=%20" + last4 + "%20": {"frontend"}, "q=" + last4[:3]: nil,
		"q=" + front.Text("id"): {"frontend"}, "q=" + front.Text("id")[:20]: nil, "q=nobody": nil, "limit=1": {"Backend, Frankfurt", "frontend"},
	} {
		if names, _ := found(b, query); !reflect.DeepEqual(names, want) {
			t.Errorf("%s: %q, want %q", query, names, want)
		}
	}
	got := b.Must(200, "GET", keysPath+"?q=frontend", "")
	want := fmt.Sprintf(`[{"id":%q,"name":"frontend","kind":"gateway","environment":"production","prefix":"sk_live_","last4":%q,"status":"active",`+
		`"project":{"id":%q,"name":"Test","status":"active"}}]`, front.Text("id"), last4, second[len("/api/admin/projects/"):])
	if controltest.Field(got, "keys") != want || got.Fields["next"] != nil {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
}

func TestSearchBounds(t *testing.T) {
	b := controltest.NewKeyBench(t)
	value := named(b, b.Project, "k").Text("value")
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "after=key_1": "after", "after=proj_1": "after", "after=proj_1/key_": "after",
		"after=proj_1/key_1/x": "after", "after=proj_1%00/key_1": "after", "hash=x": "hash", "status=active": "status",
		"q=" + strings.Repeat("a", 201): "q", "q=" + value: "q", "q=%20" + value: "q",
	} {
		got := b.Do("GET", keysPath+"?"+query, "")
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), []string{field}) || strings.Contains(got.Body.String(), value) {
			t.Errorf("%s: %s", query, got.Body)
		}
	}
	if names, _ := found(b, "after=proj_0/key_0"); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// All keys of many projects are found exactly once, on pages that make few calls.
func TestSearchManyProjects(t *testing.T) {
	b := controltest.NewKeyBench(t)
	var want []string
	for i := range 30 {
		b.Now = b.Now.Add(time.Millisecond)
		project := b.Bench.Project()
		for j := range 5 {
			want = append(want, fmt.Sprint("key ", i, " ", j))
			named(b, project, want[len(want)-1])
		}
	}
	for query, pages := range map[string]int{"limit=100": 2, "limit=7": 22, "q=key&limit=50": 3} {
		b.Memory.Calls = 0
		names, n := found(b, query)
		if !reflect.DeepEqual(names, want) || n != pages || b.Memory.Calls > 2*n {
			t.Errorf("%s: %d keys on %d pages with %d calls", query, len(names), n, b.Memory.Calls)
		}
	}
}

// If an object fails, the response is a 503. A project that no longer exists does not hide the keys of other
// projects.
func TestFindFailures(t *testing.T) {
	controltest.Quiet(t)
	b := controltest.NewKeyBench(t)
	made := named(b, b.Project, "k")
	for _, class := range []abi.Class{abi.ClassKeyMeter, abi.ClassDirectory, abi.ClassLedger} {
		b.Memory.FailAll(class)
		b.Refused(b.Do("GET", keysPath+"/"+keys.Hash(made.Text("value")), ""), fault.Unavailable)
	}
	b.Memory.FailAll(abi.ClassDirectory)
	b.Refused(b.Do("GET", keysPath, ""), fault.Unavailable)
	b.Memory.Fail = nil
	delete(b.Memory.Rows, "d/"+doc.KeyKey(strings.TrimPrefix(b.Project, "/api/admin/projects/"), made.Text("id")))
	b.Refused(b.Do("GET", keysPath+"/"+keys.Hash(made.Text("value")), ""), fault.NotFound)
}
