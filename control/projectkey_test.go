package control_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/controltest"
)

// withProbe adds two routes for project keys. GET /api/probe requires the permission to see violations. POST
// /api/probe requires the permission to triage them, and reads a body.
func withProbe(b *controltest.KeyBench) *controltest.KeyBench {
	whoAmI := func(c *kernel.Call) (kernel.Answer, error) {
		return kernel.OK(map[string]string{"project": c.Project, "actor": c.Actor.Name, "role": string(c.Actor.Role), "via": c.Actor.Via}), nil
	}
	*control.Table(b.Service) = append(*control.Table(b.Service), kernel.ForBoth(
		kernel.Route{Method: http.MethodGet, Path: "/probe", For: kernel.Operators, Permission: doc.MaySeeViolations, Serve: whoAmI},
		kernel.Route{Method: http.MethodPost, Path: "/probe", For: kernel.Owners, Permission: doc.MayTriage, Body: kernel.MaxBody, Serve: func(c *kernel.Call) (kernel.Answer, error) {
			if f, err := c.Fields(); err != nil {
				return kernel.Answer{}, err
			} else if err := f.Err(); err != nil {
				return kernel.Answer{}, err
			}
			return whoAmI(c)
		}})...)
	return b
}

func TestProjectKeys(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	path, value := b.NewKey(`"kind":"project"`)
	id := path[strings.LastIndex(path, "/")+1:]
	for _, header := range [][2]string{{"X-API-Key", value}, {"X-API-Key", " " + value + " "}, {"Authorization", "Bearer " + value}, {"Authorization", "bearer  " + value}} {
		got := b.Do("GET", "/api/probe", "", "Authorization", "", header[0], header[1])
		if got.Code != 200 || b.Project != "/api/admin/projects/"+got.Text("project") || got.Text("actor") != id || got.Text("role") != "project key" || got.Text("via") != "key" {
			t.Errorf("%s: %d %s", header[0], got.Code, got.Body)
		}
	}
	// If a request has an unrelated credential besides the key, the credential is ignored. A second key is not
	// ignored. An operator's token does not count as a key.
	for _, headers := range [][]string{{"Authorization", "Bearer " + value, "X-API-Key", "pk_live_x"}, {"X-API-Key", value}} {
		if got := b.Do("GET", "/api/probe", "", headers...); got.Code != 200 || got.Text("actor") != id {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	_, other := b.NewKey(`"kind":"project"`)
	b.Refused(b.Do("GET", "/api/probe", "", "Authorization", "Bearer "+value, "X-API-Key", other), fault.InvalidRequest)
	b.Refused(b.Do("GET", "/api/probe", ""), fault.InvalidKey)
	// The equivalent admin route accepts only operators.
	if got := b.Do("GET", b.Project+"/probe", ""); got.Code != 200 || got.Text("actor") != "owner" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.Refused(b.With(value, "GET", b.Project+"/probe", ""), fault.MissingAdmin)
	b.Refused(b.Do("GET", b.Project+"/probe", "", "Authorization", "Bearer "+value), fault.InvalidAdmin)
	b.Viewer = controltest.ViewerToken
	b.Refused(b.Do("POST", b.Project+"/probe", "{}", "Authorization", "Bearer "+controltest.ViewerToken), fault.ViewerForbidden)
	// Keys work even if no operator token is configured.
	b.Token, b.Viewer = "", ""
	if got := b.With(value, "POST", "/api/probe", "{}"); got.Code != 200 {
		t.Error(got.Body)
	}
}

// Refusals follow the gateway's order: 404, 405, 401, 403, 415, 413, 400.
func TestProjectKeyRefusals(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	_, value := b.NewKey(`"kind":"project"`)
	_, reader := b.NewKey(`"kind":"project","permissions":["violations"]`)
	_, gateway := b.NewKey(`"kind":"gateway"`)
	unknown := keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{1})
	large := `{"a":"` + strings.Repeat("a", kernel.MaxBody) + `"}`
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
		got := b.With(c.key, c.method, c.path, c.body, "Content-Type", c.contentType)
		b.Refused(got, c.want)
		if (got.Header().Get("WWW-Authenticate") == "Bearer") != (got.Code == 401) {
			t.Errorf("%d: WWW-Authenticate %q", got.Code, got.Header().Get("WWW-Authenticate"))
		}
	}
	for _, value := range []string{value, reader} {
		if got := b.With(value, "GET", "/api/probe", ""); got.Code != 200 {
			t.Error(got.Body)
		}
	}
	if got := b.With(value, "HEAD", "/api/probe", ""); got.Code != 200 || got.Body.Len() != 0 {
		t.Errorf("HEAD: %d %s", got.Code, got.Body)
	}
}

// A change to a key applies to the next request, because nothing is cached.
func TestProjectKeyChanges(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	path, value := b.NewKey(`"kind":"project"`)
	works := func(want bool) {
		t.Helper()
		got := b.With(value, "GET", "/api/probe", "")
		if want && got.Code != 200 {
			t.Errorf("refused: %s", got.Body)
		}
		if !want {
			b.Refused(got, fault.InvalidKey)
		}
	}
	works(true)
	b.Must(200, "POST", path+"/deactivate", "")
	works(false)
	b.Must(200, "POST", path+"/reactivate", "")
	works(true)
	b.Must(200, "PATCH", path, `{"permissions":["usage"]}`)
	b.Refused(b.With(value, "GET", "/api/probe", ""), fault.Forbidden)
	b.Must(200, "PATCH", path, `{"permissions":["violations"]}`)
	works(true)
	b.Must(200, "POST", b.Project+"/archive", "")
	works(false)
	b.Must(200, "POST", b.Project+"/restore", "")
	works(true)
	b.Must(200, "PATCH", path, `{"expiresAt":"`+kernel.Timestamp(uint64(b.Now.Add(time.Hour).UnixMilli()))+`"}`)
	works(true)
	b.Now = b.Now.Add(time.Hour)
	works(false)
	b.Must(204, "DELETE", path, "")
	works(false)
}

func TestProjectKeyMeterFails(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	controltest.Quiet(t)
	_, value := b.NewKey(`"kind":"project"`)
	b.Memory.FailAll(abi.ClassKeyMeter)
	got := b.With(value, "GET", "/api/probe", "")
	b.Refused(got, fault.Unavailable)
	if got.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// Malformed keys cause no calls. Unknown keys from one network cause at most 30 calls per minute. An unknown key that
// was tried a moment ago causes no call. Keys that this instance has seen before always work.
func TestUnknownProjectKeys(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	_, value := b.NewKey(`"kind":"project"`)
	if got := b.With(value, "GET", "/api/probe", ""); got.Code != 200 {
		t.Fatal(got.Body)
	}
	b.Memory.Sent = nil
	for _, malformed := range []string{"x", "pk_live_", value + "0", value[:len(value)-1], strings.ToLower(value), strings.Repeat("0", 1<<16)} {
		b.Refused(b.With(malformed, "GET", "/api/probe", ""), fault.InvalidKey)
	}
	if n := b.MeterCalls(); n != 0 {
		t.Errorf("%d calls for malformed keys", n)
	}
	from := func(address string, n int) controltest.Reply {
		unknown := keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{byte(n), byte(n >> 8), 1})
		return b.With(unknown, "GET", "/api/probe", "", "X-Postern-Address", address)
	}
	for range 5 {
		b.Refused(from("192.0.2.1", 0), fault.InvalidKey)
	}
	for n := range 100 {
		got := from("192.0.2.1", n)
		if n < 30 {
			b.Refused(got, fault.InvalidKey)
			continue
		}
		b.Refused(got, fault.RateLimited)
		if got.Header().Get("Retry-After") != "60" {
			t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
		}
	}
	if n := b.MeterCalls(); n != 30 {
		t.Errorf("%d calls for unknown keys", n)
	}
	if got := b.With(value, "GET", "/api/probe", "", "X-Postern-Address", "192.0.2.1"); got.Code != 200 {
		t.Errorf("a key that works: %s", got.Body)
	}
	b.Refused(from("192.0.2.2", 99), fault.InvalidKey)
	b.Now = b.Now.Add(time.Minute)
	b.Refused(from("192.0.2.1", 99), fault.InvalidKey)
}

// Requests with the keys of two projects run concurrently. Each request gets its key's project, and each refused
// request stays refused.
func TestConcurrentProjectKeys(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	_, first := b.NewKey(`"kind":"project"`)
	ownProject := b.Project
	b.Project = b.Bench.Project()
	_, second := b.NewKey(`"kind":"project"`)
	_, gateway := b.NewKey(`"kind":"gateway"`)
	b.Token = "" // set before the requests, which read it concurrently
	send := func(value string) (int, string) {
		r := httptest.NewRequest("GET", "/api/probe", nil)
		r.Header.Set("X-API-Key", value)
		w := httptest.NewRecorder()
		b.Service.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			value, code, text := first, 200, ownProject[len("/api/admin/projects/"):]
			switch i % 4 {
			case 1:
				value, text = second, b.Project[len("/api/admin/projects/"):]
			case 2:
				value, code, text = gateway, 403, fault.Forbidden.Text()
			case 3:
				value, code, text = "pk_live_x", 401, fault.InvalidKey.Text()
			}
			if got, body := send(value); got != code || !strings.Contains(body, text) {
				t.Errorf("%d: %d %s", i, got, body)
			}
		})
	}
	wait.Wait()
}

// Every route for project keys requires a key with the right permission. An operator's token does not replace the
// key. Each of these routes has an equivalent route for operators.
func TestEveryRouteForKeysRequiresItsPermission(t *testing.T) {
	b := withProbe(controltest.NewKeyBench(t))
	_, gateway := b.NewKey(`"kind":"gateway"`)
	_, development := b.NewKey(`"kind":"project","environment":"development"`)
	lacking := map[doc.Permission]string{}
	checked := 0
	routes := *control.Table(b.Service)
	for i := range routes {
		r := &routes[i]
		if r.Permission == 0 {
			continue
		}
		checked++
		if lacking[r.Permission] == "" {
			var others []string
			for j, name := range doc.PermissionNames {
				p := doc.Permission(1 << j)
				if doc.MayManage.May(keys.Project, p) && p != r.Permission {
					others = append(others, `"`+name+`"`)
				}
			}
			_, lacking[r.Permission] = b.NewKey(`"kind":"project","permissions":[` + strings.Join(others, ",") + `]`)
		}
		path := controltest.Example(r.Path)
		b.Refused(b.With("", r.Method, path, "{}"), fault.MissingKey)
		b.Refused(b.Do(r.Method, path, "{}"), fault.InvalidKey) // with the owner token
		b.Refused(b.With(gateway, r.Method, path, "{}"), fault.Forbidden)
		b.Refused(b.With(lacking[r.Permission], r.Method, path, "{}"), fault.Forbidden)
		if got := b.With(development, r.Method, path, "{}"); got.Code == 401 || got.Code == 403 {
			t.Errorf("%s %s with all permissions: %d %s", r.Method, path, got.Code, got.Body)
		}
		if !slices.ContainsFunc(routes, func(o kernel.Route) bool {
			return o.Method == r.Method && o.Permission == 0 && o.Path == kernel.ProjectPath+strings.TrimPrefix(r.Path, "/api")
		}) {
			t.Errorf("%s %s has no twin", r.Method, r.Path)
		}
	}
	if checked < 5 {
		t.Errorf("only %d routes", checked)
	}
}
