package control_test

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

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// Every route requires a token, except sign-in and the routes for project keys. None of the routes works if no owner
// token is configured.
func TestEveryRouteRequiresToken(t *testing.T) {
	for _, route := range *control.Table(controltest.New(t).Service) {
		if route.For == kernel.Anyone || route.Permission != 0 {
			continue
		}
		path := controltest.Example(route.Path)
		b := controltest.New(t)
		b.Refused(b.Do(route.Method, path, "{}", "Authorization", ""), fault.MissingAdmin)
		for _, value := range []string{"Bearer", "Bearer ", "Basic " + controltest.Token, controltest.Token, "Bearer\t" + controltest.Token} {
			b.Refused(b.Do(route.Method, path, "{}", "Authorization", value), fault.MissingAdmin)
		}
		for i, value := range []string{"x", controltest.Token[:len(controltest.Token)-1], controltest.Token + "x", strings.ToUpper(controltest.Token), controltest.Token + "," + controltest.Token, controltest.Token + " x"} {
			got := b.Do(route.Method, path, "{}", "Authorization", "Bearer "+value, "X-Postern-Address", fmt.Sprint("192.0.2.", i))
			b.Refused(got, fault.InvalidAdmin)
			if got.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Error("no WWW-Authenticate")
			}
		}
		b.Token = ""
		for _, value := range []string{"Bearer " + controltest.Token, "Bearer ", ""} {
			b.Refused(b.Do(route.Method, path, "{}", "Authorization", value), fault.AdminOff)
		}
		for key := range b.Memory.Rows {
			if !strings.HasPrefix(key, "d/s/") && !strings.HasPrefix(key, "d/a/") { // records of failed attempts, and their audit entries
				t.Errorf("%s %s wrote %s", route.Method, path, key)
			}
		}
		if len(b.Memory.Sent) != 0 {
			t.Errorf("%s %s called an object", route.Method, path)
		}
	}
}

func TestTokenWithCommas(t *testing.T) {
	b := controltest.New(t)
	b.Token = "a token, with,,commas"
	b.Configure(func(c *kernel.Config) { c.AdminToken = func() string { return b.Token } })
	if got := b.Do("GET", "/api/admin/projects", "", "Authorization", "bearer a token, with,,commas"); got.Code != 200 {
		t.Error(got.Body)
	}
}

func TestUnknownPaths(t *testing.T) {
	b := controltest.New(t)
	project := "/api/admin/projects/proj_" + controltest.SomeID
	for _, path := range []string{
		"/", "/api/admin", "/api/admin/", "/api/admin/projects/", "/api/admin//projects", "/api/admin/projects/x", "/API/admin/projects",
		"/api/admin/projects/proj_", "/api/admin/projects/proj_..", "/api/admin/projects/proj_a%2Fkeys", "/api/admin/projects/proj_%00",
		"/api/admin/projects/../projects", project + "/", project + "%2Fkeys", project + "/keys/", project + "/keys/proj_x",
		project + "/keys/key_" + strings.Repeat("a", 65) + "/deactivate", project + "/keys/key_x/explode",
	} {
		b.Refused(b.Do("GET", path, "", "Authorization", ""), fault.NotFound)
	}
}

func TestMethods(t *testing.T) {
	b := controltest.New(t)
	for path, want := range map[string]string{
		"/api/admin/projects":                                                       "GET, HEAD, POST",
		"/api/admin/projects/proj_" + controltest.SomeID:                            "GET, HEAD, PATCH",
		"/api/admin/projects/proj_" + controltest.SomeID + "/keys":                  "GET, HEAD, POST",
		"/api/admin/projects/proj_" + controltest.SomeID + "/keys/key_1":            "DELETE, GET, HEAD, PATCH",
		"/api/admin/projects/proj_" + controltest.SomeID + "/keys/key_1/deactivate": "POST",
	} {
		for _, method := range []string{"PUT", "OPTIONS", "NONSENSE"} {
			got := b.Do(method, path, "", "Authorization", "")
			b.Refused(got, fault.MethodNotAllowed)
			if allow := got.Header().Get("Allow"); allow != want {
				t.Errorf("%s: Allow %q, want %q", path, allow, want)
			}
		}
	}
	path := "/api/admin/projects/proj_" + controltest.SomeID + "/keys/key_1/deactivate"
	if got := b.Do("HEAD", path, ""); got.Code != 405 || got.Body.Len() != 0 || got.Header().Get("Allow") != "POST" {
		t.Errorf("HEAD: %d %q %v", got.Code, got.Body, got.Header())
	}
}

// The response to HEAD is the response to GET without the body, even for errors.
func TestHead(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	project := b.Project()
	keyPath, made := b.Key(project)
	entry := b.Must(201, "POST", project+"/models-registry", `{"model":"gpt-4.1"}`).Text("id")
	violation := b.Violate(project, ledger.Violation{Rule: "secret.a"})
	const request = "req_0123456789abcdef0123456789abcdef"
	b.Tally(project, ledger.Tally{Source: 1, Seq: 1, KeyID: "key_1", Records: []ledger.Record{{ID: request, Body: []byte("{}")}}})
	checked := 0
	routes := *control.Table(b.Service)
	for i := range routes {
		if routes[i].Method != http.MethodGet || routes[i].Permission != 0 {
			continue
		}
		checked++
		path := strings.NewReplacer("/api/admin/projects/{project}/keys/{key}", keyPath, "/api/admin/projects/{project}", project, "{group}", "root", "{violation}", violation, "{entry}", entry, "{request}", request, "{hash}", keys.Hash(made.Text("value"))).Replace(routes[i].Path)
		for _, authorization := range []string{"Bearer " + controltest.Token, "Bearer wrong", ""} {
			get, head := b.Do("GET", path, "", "Authorization", authorization), b.Do("HEAD", path, "", "Authorization", authorization)
			if head.Code != get.Code || head.Body.Len() != 0 || get.Body.Len() == 0 {
				t.Errorf("%s as %q: %d with %d bytes, GET %d with %d", path, authorization, head.Code, head.Body.Len(), get.Code, get.Body.Len())
			}
			for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "Www-Authenticate"} {
				if head.Header().Get(name) != get.Header().Get(name) {
					t.Errorf("%s as %q: %s %q, GET %q", path, authorization, name, head.Header().Get(name), get.Header().Get(name))
				}
			}
			if (authorization == "Bearer "+controltest.Token) != (get.Code == 200) {
				t.Errorf("%s as %q: %d", path, authorization, get.Code)
			}
			b.Now = b.Now.Add(time.Hour)
		}
	}
	if checked < 10 {
		t.Errorf("only %d routes", checked)
	}
}

func TestBodies(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	for _, body := range []string{
		"", " ", "null", "[]", `"name"`, "1", "{", `{"name":"x"}}`, `{"name":"x"}{}`, `{"name":"x",}`, `{'name':'x'}`, "\ufeff{}",
		"{\"name\":\"a\xffb\"}", `{"name":"x","name":"y"}`, `{"name":"x","n\u0061me":"y"}`, `{"name":"x"`, `{"name":"\x"}`, `{"name":` + "\"a\nb\"}",
		strings.Repeat("[", 60000), strings.Repeat(`{"a":`, 12000), "\x00",
	} {
		for _, call := range [][2]string{{"POST", "/api/admin/projects"}, {"PATCH", path}, {"POST", path + "/keys"}} {
			got := b.Do(call[0], call[1], body, "Content-Type", "application/json")
			b.Refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.Problems(), []string{"body"}) {
				t.Errorf("%.40q: %s", body, got.Body)
			}
		}
	}
	for _, mediaType := range []string{"", "text/plain", "application/jsonx", "application/x-www-form-urlencoded", "application/json, text/plain", "x y"} {
		got := b.Do("POST", "/api/admin/projects", `{"name":"x"}`, "Content-Type", mediaType)
		b.Refused(got, fault.UnsupportedType)
	}
	if got := b.Do("POST", "/api/admin/projects", `{"name":"x"}`, "Content-Type", "Application/JSON; charset=utf-8"); got.Code != 201 {
		t.Error(got.Body)
	}
	pad := func(n int) string { return `{"name":"x"` + strings.Repeat(" ", n-12) + "}" }
	b.Must(201, "POST", "/api/admin/projects", pad(64<<10))
	b.Refused(b.Do("POST", "/api/admin/projects", pad(64<<10+1)), fault.BodyTooLarge)
}

func TestHostileNames(t *testing.T) {
	b := controltest.New(t)
	for _, name := range []string{
		"", "a\nb", "\x00", "a\tb", "\u007f", "\u0085", "\u2028", strings.Repeat("é", 121), "a\u2029",
	} {
		body, _ := kernel.Encode(map[string]string{"name": name})
		b.Refused(b.Do("POST", "/api/admin/projects", string(body)), fault.InvalidRequest)
	}
	for _, name := range []string{
		strings.Repeat("𝔸", 120), `'; DROP TABLE projects; --`, `<script>alert(1)</script>`, "../../etc/passwd", `\"{}`, "👩‍👩‍👧‍👦 ﷽", "%s%n${7*7}", "d/p/o/seq",
	} {
		body, _ := kernel.Encode(map[string]string{"name": name})
		got := b.Must(201, "POST", "/api/admin/projects", string(body))
		if again := b.Must(200, "GET", "/api/admin/projects/"+got.Text("id"), ""); again.Text("name") != name {
			t.Errorf("%q was returned as %q", name, again.Text("name"))
		}
	}
}

func TestRequestID(t *testing.T) {
	b := controltest.New(t)
	if got := b.Do("GET", "/nowhere", "", "X-Request-Id", "req_"+controltest.SomeID); got.Text("requestId") != "req_"+controltest.SomeID {
		t.Error(got.Body)
	}
	for _, id := range []string{"req_" + strings.ToUpper(controltest.SomeID), "req_" + controltest.SomeID + "0", controltest.SomeID, "req_\n" + controltest.SomeID, `req_"`} {
		if got := b.Do("GET", "/nowhere", "", "X-Request-Id", id); got.Header().Get("X-Request-Id") == id {
			t.Errorf("%q was accepted as the request ID", id)
		}
	}
}

func TestObjectFailureIs503(t *testing.T) {
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	for _, out := range []abi.Class{abi.ClassDirectory, abi.ClassLedger, abi.ClassKeyMeter} {
		b := controltest.New(t)
		path := b.Project()
		keyPath, made := b.Key(path)
		b.Memory.Fail = func(class abi.Class, _ string, _ []byte) error {
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
			got := b.Do(call[0], call[1], call[2])
			b.Refused(got, fault.Unavailable)
			if got.Header().Get("Retry-After") != "2" {
				t.Errorf("%s %s: Retry-After %q", call[0], call[1], got.Header().Get("Retry-After"))
			}
		}
		if strings.Contains(lines.String(), made.Text("value")) || strings.Contains(lines.String(), controltest.Token) {
			t.Error("the log contains a secret")
		}
	}
	if !strings.Contains(lines.String(), `"object is\nout"`) {
		t.Errorf("log: %s", lines.String())
	}
}

// A deactivation must not depend on the ledger, because the ledger only provides the time of last use.
func TestDeactivationWithoutLedger(t *testing.T) {
	b := controltest.New(t)
	keyPath, _ := b.Key(b.Project())
	controltest.Quiet(t)
	b.Memory.FailAll(abi.ClassLedger)
	if got := b.Must(200, "POST", keyPath+"/deactivate", ""); got.Text("status") != "inactive" {
		t.Error(got.Body)
	}
}

func TestUndeliveredChangeIsInOutbox(t *testing.T) {
	b := controltest.New(t)
	controltest.Quiet(t)
	path := b.Project()
	keyPath, _ := b.Key(path)
	b.Memory.FailAll(abi.ClassKeyMeter)
	b.Refused(b.Do("POST", keyPath+"/deactivate", ""), fault.Unavailable)
	first := b.Memory.Outbox(t)
	if len(first) != 1 || first[0].Class != abi.ClassKeyMeter {
		t.Fatalf("outbox: %+v", first)
	}
	// The key is already listed as inactive, but the change is not acknowledged yet. The next attempt delivers the
	// change before it returns 200.
	b.Memory.Fail = nil
	if got := b.Must(200, "GET", path+"/keys", ""); !strings.Contains(got.Body.String(), `"status":"inactive"`) {
		t.Error(got.Body)
	}
	b.Memory.Sent = nil
	b.Must(200, "POST", keyPath+"/deactivate", "")
	if len(b.Memory.Sent) == 0 || b.Memory.Sent[0].Class != abi.ClassKeyMeter {
		t.Errorf("sent: %+v", b.Memory.Sent)
	}
}

func TestPanicIs500(t *testing.T) {
	b := controltest.New(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b.Memory.Fail = func(abi.Class, string, []byte) error { panic("sk_live_secret") }
	b.Refused(b.Do("GET", "/api/admin/projects", ""), fault.Internal)
	if strings.Contains(lines.String(), "sk_live_secret") || !strings.Contains(lines.String(), "panic") {
		t.Errorf("log: %s", lines.String())
	}
}

func TestMalformedDocumentIs500(t *testing.T) {
	b := controltest.New(t)
	controltest.Quiet(t)
	commit := directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey("proj_1"), Value: []byte{99}}}}
	if _, err := b.Memory.Call(t.Context(), abi.ClassDirectory, directory.Name, "", commit.Encode()); err != nil {
		t.Fatal(err)
	}
	b.Refused(b.Do("GET", "/api/admin/projects/proj_1", ""), fault.Internal)
}

func TestViewersAreReadOnly(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	cookie := b.SignIn(controltest.ViewerToken)
	b.ForgetLog()
	for _, route := range *control.Table(b.Service) {
		path := controltest.Example(route.Path)
		if route.For != kernel.Owners {
			continue
		}
		byCookie := b.With(cookie, route.Method, path, "{}", "Origin", "http://example.com")
		b.Refused(byCookie, fault.ViewerForbidden)
		byBearer := b.Do(route.Method, path, "{}", "Authorization", "Bearer "+controltest.ViewerToken)
		b.Refused(byBearer, fault.ViewerForbidden)
	}
	if len(b.Memory.Rows) != 0 || len(b.Memory.Sent) != 0 {
		t.Error("a viewer changed something")
	}
	for _, path := range []string{"/api/admin/projects", "/api/admin/audit", controltest.Sessions} {
		if got := b.With(cookie, "GET", path, ""); got.Code != 200 {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	if got := b.With(cookie, "DELETE", controltest.Sessions, "", "Sec-Fetch-Site", "same-origin"); got.Code != 204 {
		t.Error(got.Body)
	}
}
