package control

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

const someID = "0123456789abcdef0123456789abcdef"

// Every route but sign-in and those for project keys requires a token, and none works if no owner token is configured.
func TestEveryRouteRequiresToken(t *testing.T) {
	for _, route := range routes {
		if route.isSignIn() || route.permission != 0 {
			continue
		}
		path := route.example()
		b := newBench(t)
		b.refused(b.do(route.method, path, "{}", "Authorization", ""), fault.MissingAdmin)
		for _, value := range []string{"Bearer", "Bearer ", "Basic " + token, token, "Bearer\t" + token} {
			b.refused(b.do(route.method, path, "{}", "Authorization", value), fault.MissingAdmin)
		}
		for i, value := range []string{"x", token[:len(token)-1], token + "x", strings.ToUpper(token), token + "," + token, token + " x"} {
			got := b.do(route.method, path, "{}", "Authorization", "Bearer "+value, "X-Postern-Address", fmt.Sprint("192.0.2.", i))
			b.refused(got, fault.InvalidAdmin)
			if got.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Error("no WWW-Authenticate")
			}
		}
		b.token = ""
		for _, value := range []string{"Bearer " + token, "Bearer ", ""} {
			b.refused(b.do(route.method, path, "{}", "Authorization", value), fault.AdminOff)
		}
		for key := range b.memory.rows {
			if !strings.HasPrefix(key, "d/s/") && !strings.HasPrefix(key, "d/a/") { // failed attempts are recorded
				t.Errorf("%s %s wrote %s", route.method, path, key)
			}
		}
		if len(b.memory.sent) != 0 {
			t.Errorf("%s %s called an object", route.method, path)
		}
	}
}

func TestTokenWithCommas(t *testing.T) {
	b := newBench(t)
	b.token = "a token, with,,commas"
	b.handler.(*handler).AdminToken = func() string { return b.token }
	if got := b.do("GET", "/api/admin/projects", "", "Authorization", "bearer a token, with,,commas"); got.Code != 200 {
		t.Error(got.Body)
	}
}

func TestUnknownPaths(t *testing.T) {
	b := newBench(t)
	project := "/api/admin/projects/proj_" + someID
	for _, path := range []string{
		"/", "/api/admin", "/api/admin/", "/api/admin/projects/", "/api/admin//projects", "/api/admin/projects/x", "/API/admin/projects",
		"/api/admin/projects/proj_", "/api/admin/projects/proj_..", "/api/admin/projects/proj_a%2Fkeys", "/api/admin/projects/proj_%00",
		"/api/admin/projects/../projects", project + "/", project + "%2Fkeys", project + "/keys/", project + "/keys/proj_x",
		project + "/keys/key_" + strings.Repeat("a", 65) + "/deactivate", project + "/keys/key_x/explode",
	} {
		b.refused(b.do("GET", path, "", "Authorization", ""), fault.NotFound)
	}
}

func TestMethods(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]string{
		"/api/admin/projects":                                           "GET, HEAD, POST",
		"/api/admin/projects/proj_" + someID:                            "GET, HEAD, PATCH",
		"/api/admin/projects/proj_" + someID + "/keys":                  "GET, HEAD, POST",
		"/api/admin/projects/proj_" + someID + "/keys/key_1":            "DELETE, GET, HEAD, PATCH",
		"/api/admin/projects/proj_" + someID + "/keys/key_1/deactivate": "POST",
	} {
		for _, method := range []string{"PUT", "OPTIONS", "NONSENSE"} {
			got := b.do(method, path, "", "Authorization", "")
			b.refused(got, fault.MethodNotAllowed)
			if allow := got.Header().Get("Allow"); allow != want {
				t.Errorf("%s: Allow %q, want %q", path, allow, want)
			}
		}
	}
	path := "/api/admin/projects/proj_" + someID + "/keys/key_1/deactivate"
	if got := b.do("HEAD", path, ""); got.Code != 405 || got.Body.Len() != 0 || got.Header().Get("Allow") != "POST" {
		t.Errorf("HEAD: %d %q %v", got.Code, got.Body, got.Header())
	}
}

// HEAD is GET without the body, also for errors.
func TestHead(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	project := b.project()
	keyPath, _ := b.key(project)
	entry := b.must(201, "POST", project+"/models-registry", `{"model":"gpt-4.1"}`).text("id")
	violation := b.violate(project, ledger.Violation{Rule: "secret.a"})
	checked := 0
	for i := range routes {
		if routes[i].method != http.MethodGet || routes[i].permission != 0 {
			continue
		}
		checked++
		path := strings.NewReplacer("/api/admin/projects/{project}/keys/{key}", keyPath, "/api/admin/projects/{project}", project, "{violation}", violation, "{entry}", entry).Replace(routes[i].pattern)
		for _, authorization := range []string{"Bearer " + token, "Bearer wrong", ""} {
			get, head := b.do("GET", path, "", "Authorization", authorization), b.do("HEAD", path, "", "Authorization", authorization)
			if head.Code != get.Code || head.Body.Len() != 0 || get.Body.Len() == 0 {
				t.Errorf("%s as %q: %d with %d bytes, GET %d with %d", path, authorization, head.Code, head.Body.Len(), get.Code, get.Body.Len())
			}
			for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "Www-Authenticate"} {
				if head.Header().Get(name) != get.Header().Get(name) {
					t.Errorf("%s as %q: %s %q, GET %q", path, authorization, name, head.Header().Get(name), get.Header().Get(name))
				}
			}
			if (authorization == "Bearer "+token) != (get.Code == 200) {
				t.Errorf("%s as %q: %d", path, authorization, get.Code)
			}
			b.now = b.now.Add(time.Hour)
		}
	}
	if checked < 10 {
		t.Errorf("only %d routes", checked)
	}
}

func TestBodies(t *testing.T) {
	b := newBench(t)
	path := b.project()
	for _, body := range []string{
		"", " ", "null", "[]", `"name"`, "1", "{", `{"name":"x"}}`, `{"name":"x"}{}`, `{"name":"x",}`, `{'name':'x'}`, "\ufeff{}",
		"{\"name\":\"a\xffb\"}", `{"name":"x","name":"y"}`, `{"name":"x","n\u0061me":"y"}`, `{"name":"x"`, `{"name":"\x"}`, `{"name":` + "\"a\nb\"}",
		strings.Repeat("[", 60000), strings.Repeat(`{"a":`, 12000), "\x00",
	} {
		for _, call := range [][2]string{{"POST", "/api/admin/projects"}, {"PATCH", path}, {"POST", path + "/keys"}} {
			got := b.do(call[0], call[1], body, "Content-Type", "application/json")
			b.refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.problems(), []string{"body"}) {
				t.Errorf("%.40q: %s", body, got.Body)
			}
		}
	}
	for _, mediaType := range []string{"", "text/plain", "application/jsonx", "application/x-www-form-urlencoded", "application/json, text/plain", "x y"} {
		got := b.do("POST", "/api/admin/projects", `{"name":"x"}`, "Content-Type", mediaType)
		b.refused(got, fault.UnsupportedType)
	}
	if got := b.do("POST", "/api/admin/projects", `{"name":"x"}`, "Content-Type", "Application/JSON; charset=utf-8"); got.Code != 201 {
		t.Error(got.Body)
	}
	pad := func(n int) string { return `{"name":"x"` + strings.Repeat(" ", n-12) + "}" }
	b.must(201, "POST", "/api/admin/projects", pad(64<<10))
	b.refused(b.do("POST", "/api/admin/projects", pad(64<<10+1)), fault.BodyTooLarge)
}

func TestHostileNames(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{
		"", "a\nb", "\x00", "a\tb", "\u007f", "\u0085", "\u2028", strings.Repeat("é", 121), "a\u2029",
	} {
		body, _ := encode(map[string]string{"name": name})
		b.refused(b.do("POST", "/api/admin/projects", string(body)), fault.InvalidRequest)
	}
	for _, name := range []string{
		strings.Repeat("𝔸", 120), `'; DROP TABLE projects; --`, `<script>alert(1)</script>`, "../../etc/passwd", `\"{}`, "👩‍👩‍👧‍👦 ﷽", "%s%n${7*7}", "d/p/o/seq",
	} {
		body, _ := encode(map[string]string{"name": name})
		got := b.must(201, "POST", "/api/admin/projects", string(body))
		if again := b.must(200, "GET", "/api/admin/projects/"+got.text("id"), ""); again.text("name") != name {
			t.Errorf("%q was returned as %q", name, again.text("name"))
		}
	}
}

func TestRequestID(t *testing.T) {
	b := newBench(t)
	if got := b.do("GET", "/nowhere", "", "X-Request-Id", "req_"+someID); got.text("requestId") != "req_"+someID {
		t.Error(got.Body)
	}
	for _, id := range []string{"req_" + strings.ToUpper(someID), "req_" + someID + "0", someID, "req_\n" + someID, `req_"`} {
		if got := b.do("GET", "/nowhere", "", "X-Request-Id", id); got.Header().Get("X-Request-Id") == id {
			t.Errorf("%q was accepted as the request ID", id)
		}
	}
}

func TestObjectFailureIs503(t *testing.T) {
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	for _, out := range []abi.Class{abi.ClassDirectory, abi.ClassLedger, abi.ClassKeyMeter} {
		b := newBench(t)
		path := b.project()
		keyPath, made := b.key(path)
		b.memory.fail = func(class abi.Class, _ string, _ []byte) error {
			if class == out {
				return errors.New("object is\nout")
			}
			return nil
		}
		calls := map[abi.Class][][3]string{
			abi.ClassDirectory: {
				{"POST", "/api/admin/projects", `{"name":"x"}`}, {"GET", "/api/admin/projects", ""}, {"GET", path, ""},
				{"PATCH", path, `{}`}, {"POST", path + "/keys", `{"name":"k","kind":"project","environment":"development"}`},
				{"GET", path + "/keys", ""}, {"POST", keyPath + "/deactivate", ""}, {"POST", keyPath + "/reactivate", ""}, {"DELETE", keyPath, ""},
			},
			abi.ClassLedger:   {{"POST", "/api/admin/projects", `{"name":"x"}`}, {"PATCH", path, `{}`}, {"GET", path + "/keys", ""}},
			abi.ClassKeyMeter: {{"POST", keyPath + "/deactivate", ""}, {"POST", keyPath + "/reactivate", ""}, {"DELETE", keyPath, ""}},
		}
		for _, call := range calls[out] {
			got := b.do(call[0], call[1], call[2])
			b.refused(got, fault.Unavailable)
			if got.Header().Get("Retry-After") != "2" {
				t.Errorf("%s %s: Retry-After %q", call[0], call[1], got.Header().Get("Retry-After"))
			}
		}
		if strings.Contains(lines.String(), made.text("value")) || strings.Contains(lines.String(), token) {
			t.Error("the log contains a secret")
		}
	}
	if !strings.Contains(lines.String(), `"object is\nout"`) {
		t.Errorf("log: %s", lines.String())
	}
}

// A deactivation must not depend on the ledger, which only provides the last use.
func TestDeactivationWithoutLedger(t *testing.T) {
	b := newBench(t)
	keyPath, _ := b.key(b.project())
	quiet(t)
	b.memory.failAll(abi.ClassLedger)
	if got := b.must(200, "POST", keyPath+"/deactivate", ""); got.text("status") != "inactive" {
		t.Error(got.Body)
	}
}

func TestUndeliveredChangeIsInOutbox(t *testing.T) {
	b := newBench(t)
	quiet(t)
	path := b.project()
	keyPath, _ := b.key(path)
	b.memory.failAll(abi.ClassKeyMeter)
	b.refused(b.do("POST", keyPath+"/deactivate", ""), fault.Unavailable)
	first := b.memory.outbox(t)
	if len(first) != 1 || first[0].Class != abi.ClassKeyMeter {
		t.Fatalf("outbox: %+v", first)
	}
	// The key is listed as inactive already, but that is no acknowledgement. The next attempt delivers before
	// it returns 200.
	b.memory.fail = nil
	if got := b.must(200, "GET", path+"/keys", ""); !strings.Contains(got.Body.String(), `"status":"inactive"`) {
		t.Error(got.Body)
	}
	b.memory.sent = nil
	b.must(200, "POST", keyPath+"/deactivate", "")
	if len(b.memory.sent) == 0 || b.memory.sent[0].class != abi.ClassKeyMeter {
		t.Errorf("sent: %+v", b.memory.sent)
	}
}

func TestPanicIs500(t *testing.T) {
	b := newBench(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b.memory.fail = func(abi.Class, string, []byte) error { panic("sk_live_secret") }
	b.refused(b.do("GET", "/api/admin/projects", ""), fault.Internal)
	if strings.Contains(lines.String(), "sk_live_secret") || !strings.Contains(lines.String(), "panic") {
		t.Errorf("log: %s", lines.String())
	}
}

func TestMalformedDocumentIs500(t *testing.T) {
	b := newBench(t)
	quiet(t)
	commit := directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey("proj_1"), Value: []byte{99}}}}
	if _, err := b.memory.Call(t.Context(), abi.ClassDirectory, directory.Name, "", commit.Encode()); err != nil {
		t.Fatal(err)
	}
	b.refused(b.do("GET", "/api/admin/projects/proj_1", ""), fault.Internal)
}
