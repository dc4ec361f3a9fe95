package control

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
)

// keyBench is a bench with reducers, a project, and two routes of the test for project keys: GET /api/probe with the
// permission to see violations, and POST /api/probe, which reads a body, with the permission to triage.
type keyBench struct {
	*bench
	project string // its path
}

func newKeyBench(t *testing.T) *keyBench {
	before := routes
	t.Cleanup(func() { routes = before })
	whoAmI := func(_ *handler, c *call) (answer, error) {
		return answer{http.StatusOK, map[string]string{"project": c.project, "actor": c.actor.Name, "role": string(c.actor.Role), "via": c.actor.Via}}, nil
	}
	routes = slices.Concat(before, forBoth([]route{
		{http.MethodGet, "/probe", whoAmI, doc.MaySeeViolations},
		{http.MethodPost, "/probe", func(h *handler, c *call) (answer, error) {
			if f, err := readFields(c.request); err != nil {
				return answer{}, err
			} else if err := f.err(); err != nil {
				return answer{}, err
			}
			return whoAmI(h, c)
		}, doc.MayTriage},
	}))
	b := &keyBench{bench: newBench(t)}
	b.memory.reducers = true
	b.project = b.bench.project()
	return b
}

// newKey creates a key from the fields of a request, and returns its path and value.
func (b *keyBench) newKey(fields string) (path, value string) {
	b.Helper()
	made := b.must(201, "POST", b.project+"/keys", `{"name":"k",`+fields+`}`)
	return b.project + "/keys/" + made.text("id"), made.text("value")
}

// with sends a request with an API key; "" for none.
func (b *keyBench) with(value, method, path, body string, headers ...string) reply {
	b.Helper()
	return b.do(method, path, body, append([]string{"Authorization", "", "X-API-Key", value}, headers...)...)
}

// meterCalls counts the calls to meters.
func (b *keyBench) meterCalls() (n int) {
	for _, s := range b.memory.sent {
		if s.class == abi.ClassKeyMeter {
			n++
		}
	}
	return n
}

func TestProjectKeys(t *testing.T) {
	b := newKeyBench(t)
	path, value := b.newKey(`"kind":"project"`)
	id := path[strings.LastIndex(path, "/")+1:]
	for _, header := range [][2]string{{"X-API-Key", value}, {"X-API-Key", " " + value + " "}, {"Authorization", "Bearer " + value}, {"Authorization", "bearer  " + value}} {
		got := b.do("GET", "/api/probe", "", "Authorization", "", header[0], header[1])
		if got.Code != 200 || b.project != "/api/admin/projects/"+got.text("project") || got.text("actor") != id || got.text("role") != "project key" || got.text("via") != "key" {
			t.Errorf("%s: %d %s", header[0], got.Code, got.Body)
		}
	}
	// A foreign credential beside the key is ignored, a second key is not. Neither token of an operator is a key.
	for _, headers := range [][]string{{"Authorization", "Bearer " + value, "X-API-Key", "pk_live_x"}, {"X-API-Key", value}} {
		if got := b.do("GET", "/api/probe", "", headers...); got.Code != 200 || got.text("actor") != id {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	_, other := b.newKey(`"kind":"project"`)
	b.refused(b.do("GET", "/api/probe", "", "Authorization", "Bearer "+value, "X-API-Key", other), fault.InvalidRequest)
	b.refused(b.do("GET", "/api/probe", ""), fault.InvalidKey)
	// The admin twin takes operators only.
	if got := b.do("GET", b.project+"/probe", ""); got.Code != 200 || got.text("actor") != "owner" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.refused(b.with(value, "GET", b.project+"/probe", ""), fault.MissingAdmin)
	b.refused(b.do("GET", b.project+"/probe", "", "Authorization", "Bearer "+value), fault.InvalidAdmin)
	b.viewer = viewerToken
	b.refused(b.do("POST", b.project+"/probe", "{}", "Authorization", "Bearer "+viewerToken), fault.ViewerForbidden)
	// Keys work without any operator.
	b.token, b.viewer = "", ""
	if got := b.with(value, "POST", "/api/probe", "{}"); got.Code != 200 {
		t.Error(got.Body)
	}
}

// Every refusal, in the gateway's order: 404, 405, 401, 403, 415, 413, 400.
func TestProjectKeyRefusals(t *testing.T) {
	b := newKeyBench(t)
	_, value := b.newKey(`"kind":"project"`)
	_, reader := b.newKey(`"kind":"project","permissions":["violations"]`)
	_, gateway := b.newKey(`"kind":"gateway"`)
	unknown := keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{1})
	large := `{"a":"` + strings.Repeat("a", maxBody) + `"}`
	for _, c := range []struct {
		key, method, path, body, contentType string
		want                                 fault.Fault
	}{
		{"", "GET", "/api/probes", "", "", fault.NotFound},
		{"", "DELETE", "/api/probe", "", "", fault.MethodNotAllowed},
		{"", "GET", "/api/probe", "", "", fault.MissingKey},
		{"", "POST", "/api/probe", large, "text/plain", fault.MissingKey},
		{"x", "GET", "/api/probe", "", "", fault.InvalidKey},
		{value[:len(value)-1] + "!", "GET", "/api/probe", "", "", fault.InvalidKey},
		{unknown, "POST", "/api/probe", large, "text/plain", fault.InvalidKey},
		{gateway, "GET", "/api/probe", "", "", fault.Forbidden},
		{gateway, "POST", "/api/probe", large, "text/plain", fault.Forbidden},
		{reader, "POST", "/api/probe", large, "text/plain", fault.Forbidden},
		{value, "POST", "/api/probe", large, "text/plain", fault.UnsupportedType},
		{value, "POST", "/api/probe", large, "application/json", fault.BodyTooLarge},
		{value, "POST", "/api/probe", "[]", "application/json", fault.InvalidRequest},
	} {
		got := b.with(c.key, c.method, c.path, c.body, "Content-Type", c.contentType)
		b.refused(got, c.want)
		if (got.Header().Get("WWW-Authenticate") == "Bearer") != (got.Code == 401) {
			t.Errorf("%d: WWW-Authenticate %q", got.Code, got.Header().Get("WWW-Authenticate"))
		}
	}
	for _, value := range []string{value, reader} {
		if got := b.with(value, "GET", "/api/probe", ""); got.Code != 200 {
			t.Error(got.Body)
		}
	}
	if got := b.with(value, "HEAD", "/api/probe", ""); got.Code != 200 || got.Body.Len() != 0 {
		t.Errorf("HEAD: %d %s", got.Code, got.Body)
	}
}

// A change of a key applies to the next request, without any caching.
func TestProjectKeyChanges(t *testing.T) {
	b := newKeyBench(t)
	path, value := b.newKey(`"kind":"project"`)
	works := func(want bool) {
		t.Helper()
		got := b.with(value, "GET", "/api/probe", "")
		if want && got.Code != 200 {
			t.Errorf("refused: %s", got.Body)
		}
		if !want {
			b.refused(got, fault.InvalidKey)
		}
	}
	works(true)
	b.must(200, "POST", path+"/deactivate", "")
	works(false)
	b.must(200, "POST", path+"/reactivate", "")
	works(true)
	b.must(200, "PATCH", path, `{"permissions":["usage"]}`)
	b.refused(b.with(value, "GET", "/api/probe", ""), fault.Forbidden)
	b.must(200, "PATCH", path, `{"permissions":["violations"]}`)
	works(true)
	b.must(200, "POST", b.project+"/archive", "")
	works(false)
	b.must(200, "POST", b.project+"/restore", "")
	works(true)
	b.must(200, "PATCH", path, `{"expiresAt":"`+timestamp(uint64(b.now.Add(time.Hour).UnixMilli()))+`"}`)
	works(true)
	b.now = b.now.Add(time.Hour)
	works(false)
	b.must(204, "DELETE", path, "")
	works(false)
}

func TestProjectKeyMeterFails(t *testing.T) {
	b := newKeyBench(t)
	quiet(t)
	_, value := b.newKey(`"kind":"project"`)
	b.memory.failAll(abi.ClassKeyMeter)
	got := b.with(value, "GET", "/api/probe", "")
	b.refused(got, fault.Unavailable)
	if got.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// Malformed keys cause no call. Unknown keys cause 30 calls a minute from a network, and none that was tried a moment
// ago. Keys that this instance has seen work all the time.
func TestUnknownProjectKeys(t *testing.T) {
	b := newKeyBench(t)
	_, value := b.newKey(`"kind":"project"`)
	if got := b.with(value, "GET", "/api/probe", ""); got.Code != 200 {
		t.Fatal(got.Body)
	}
	b.memory.sent = nil
	for _, malformed := range []string{"x", "pk_live_", value + "0", value[:len(value)-1], strings.ToLower(value), strings.Repeat("0", 1<<16)} {
		b.refused(b.with(malformed, "GET", "/api/probe", ""), fault.InvalidKey)
	}
	if n := b.meterCalls(); n != 0 {
		t.Errorf("%d calls for malformed keys", n)
	}
	from := func(address string, n int) reply {
		unknown := keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{byte(n), byte(n >> 8), 1})
		return b.with(unknown, "GET", "/api/probe", "", "X-Postern-Address", address)
	}
	for range 5 {
		b.refused(from("192.0.2.1", 0), fault.InvalidKey)
	}
	for n := range 100 {
		got := from("192.0.2.1", n)
		if n < 30 {
			b.refused(got, fault.InvalidKey)
			continue
		}
		b.refused(got, fault.RateLimited)
		if got.Header().Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
		}
	}
	if n := b.meterCalls(); n != 30 {
		t.Errorf("%d calls for unknown keys", n)
	}
	if got := b.with(value, "GET", "/api/probe", "", "X-Postern-Address", "192.0.2.1"); got.Code != 200 {
		t.Errorf("a key that works: %s", got.Body)
	}
	b.refused(from("192.0.2.2", 99), fault.InvalidKey)
	b.now = b.now.Add(time.Minute)
	b.refused(from("192.0.2.1", 99), fault.InvalidKey)
	for n := range 3 * maxSeenKeys {
		from(fmt.Sprintf("2001:db8:%x::1", n), n)
	}
	if n := len(b.handler.(*handler).seenKeys.known); n != maxSeenKeys {
		t.Errorf("%d keys cached", n)
	}
}

// Concurrent requests with keys of two projects: each gets its own project, and refusals stay refusals.
func TestConcurrentProjectKeys(t *testing.T) {
	b := newKeyBench(t)
	_, first := b.newKey(`"kind":"project"`)
	ownProject := b.project
	b.project = b.bench.project()
	_, second := b.newKey(`"kind":"project"`)
	_, gateway := b.newKey(`"kind":"gateway"`)
	b.token = "" // concurrent requests read it
	send := func(value string) (int, string) {
		r := httptest.NewRequest("GET", "/api/probe", nil)
		r.Header.Set("X-API-Key", value)
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			value, code, text := first, 200, ownProject[len("/api/admin/projects/"):]
			switch i % 4 {
			case 1:
				value, text = second, b.project[len("/api/admin/projects/"):]
			case 2:
				value, code, text = gateway, 403, fault.Forbidden.Text
			case 3:
				value, code, text = "pk_live_x", 401, fault.InvalidKey.Text
			}
			if got, body := send(value); got != code || !strings.Contains(body, text) {
				t.Errorf("%d: %d %s", i, got, body)
			}
		})
	}
	wait.Wait()
}

// Every route for project keys requires a key with its permission, whatever operators may send, and has a twin for
// operators.
func TestEveryRouteForKeysRequiresItsPermission(t *testing.T) {
	b := newKeyBench(t)
	_, gateway := b.newKey(`"kind":"gateway"`)
	_, development := b.newKey(`"kind":"project","environment":"development"`)
	lacking := map[doc.Permission]string{}
	checked := 0
	for i := range routes {
		r := &routes[i]
		if r.permission == 0 {
			continue
		}
		checked++
		if lacking[r.permission] == "" {
			var others []string
			for j, p := range permissions {
				if doc.MayManage.May(keys.Project, p) && p != r.permission {
					others = append(others, `"`+permissionWords[j]+`"`)
				}
			}
			_, lacking[r.permission] = b.newKey(`"kind":"project","permissions":[` + strings.Join(others, ",") + `]`)
		}
		path := r.example()
		b.refused(b.with("", r.method, path, "{}"), fault.MissingKey)
		b.refused(b.do(r.method, path, "{}"), fault.InvalidKey) // with the owner token
		b.refused(b.with(gateway, r.method, path, "{}"), fault.Forbidden)
		b.refused(b.with(lacking[r.permission], r.method, path, "{}"), fault.Forbidden)
		if got := b.with(development, r.method, path, "{}"); got.Code == 401 || got.Code == 403 {
			t.Errorf("%s %s with all permissions: %d %s", r.method, path, got.Code, got.Body)
		}
		if !slices.ContainsFunc(routes, func(o route) bool {
			return o.method == r.method && o.permission == 0 && o.pattern == projectPath+strings.TrimPrefix(r.pattern, "/api")
		}) {
			t.Errorf("%s %s has no twin", r.method, r.pattern)
		}
	}
	if checked < 5 {
		t.Errorf("only %d routes", checked)
	}
}
