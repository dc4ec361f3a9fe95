package control_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

const (
	contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	immutable = "public, max-age=31536000, immutable"
)

func unauthenticated(b *controltest.Bench, method, path string, headers ...string) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Service.ServeHTTP(w, r)
	return w
}

// page requests a dashboard file and checks the headers that every such file has.
func page(b *controltest.Bench, method, path string, headers ...string) *httptest.ResponseRecorder {
	b.Helper()
	w := unauthenticated(b, method, path, headers...)
	for name, want := range map[string]string{
		"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "X-Frame-Options": "DENY",
		"Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	} {
		if got := w.Header().Get(name); got != want {
			b.Errorf("%s %s: %s: %q", method, path, name, got)
		}
	}
	if id := w.Header().Get("X-Request-Id"); !controltest.RequestIDs.MatchString(id) {
		b.Errorf("%s %s: x-request-id %q", method, path, id)
	}
	return w
}

func filesBench(t *testing.T) *controltest.Bench {
	b := controltest.New(t)
	b.Files = fstest.MapFS{}
	for name, text := range map[string]string{
		"index.html": "<!doctype html>", "app-2X3YZ4AB.js": "js", "app-Q7QQQQQQ.css": "css", "favicon.svg": "<svg/>", "touch-icon.png": "png",
		"sub/chunk-ABCDEFGH.js": "chunk", "notes": "n", "robots.txt": "t", "app.bin": "b", ".gitkeep": "", ".secret.js": "s", "sub/.env": "e",
	} {
		b.Files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return b
}

func TestDashboardFiles(t *testing.T) {
	b := filesBench(t)
	const html = "text/html; charset=utf-8"
	for path, want := range map[string][3]string{
		"/dashboard":                            {"<!doctype html>", html, "no-cache"},
		"/dashboard/":                           {"<!doctype html>", html, "no-cache"},
		"/dashboard?x=1.js":                     {"<!doctype html>", html, "no-cache"},
		"/dashboard/index.html":                 {"<!doctype html>", html, "no-cache"},
		"/dashboard/projects/proj_1/keys":       {"<!doctype html>", html, "no-cache"},
		"/dashboard/projects/":                  {"<!doctype html>", html, "no-cache"},
		"/dashboard/v1.2/keys":                  {"<!doctype html>", html, "no-cache"},
		"/dashboard/sub":                        {"<!doctype html>", html, "no-cache"},
		"/dashboard/notes":                      {"<!doctype html>", html, "no-cache"},
		"/dashboard/%3Cscript%3E":               {"<!doctype html>", html, "no-cache"},
		"/dashboard/app-2X3YZ4AB.js":            {"js", "text/javascript; charset=utf-8", immutable},
		"/dashboard/app-Q7QQQQQQ.css":           {"css", "text/css; charset=utf-8", immutable},
		"/dashboard/sub/chunk-ABCDEFGH.js":      {"chunk", "text/javascript; charset=utf-8", immutable},
		"/dashboard/favicon.svg":                {"<svg/>", "image/svg+xml", "no-cache"},
		"/dashboard/touch-icon.png":             {"png", "image/png", "no-cache"},
		"/dashboard/robots.txt":                 {"t", "text/plain; charset=utf-8", "no-cache"},
		"/dashboard/app.bin":                    {"b", "application/octet-stream", "no-cache"},
		"https://gateway.example/dashboard/key": {"<!doctype html>", html, "no-cache"},
	} {
		got := page(b, "GET", path)
		if got.Code != 200 || got.Body.String() != want[0] || got.Header().Get("Content-Type") != want[1] || got.Header().Get("Cache-Control") != want[2] {
			t.Errorf("%s: %d %q %v", path, got.Code, got.Body, got.Header())
		}
		head := page(b, "HEAD", path)
		if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("ETag") != got.Header().Get("ETag") || head.Header().Get("Content-Type") != want[1] {
			t.Errorf("HEAD %s: %d %q %v", path, head.Code, head.Body, head.Header())
		}
	}
}

func TestMissingDashboardFiles(t *testing.T) {
	b := filesBench(t)
	for _, path := range []string{
		"/dashboard/app-old.js", "/dashboard/.gitkeep", "/dashboard/.secret.js", "/dashboard/sub/.env", "/dashboard/../control/control.go",
		"/dashboard/..%2Findex.html", "/dashboard/%2e%2e/index.html", "/dashboard/sub/../index.html", "/dashboard//index.html",
		"/dashboard/./index.html", "/dashboard/index.html/", "/dashboard/index.html%00.js", "/dashboard/app.bin%20", "/dashboard/..",
		`/dashboard/sub\..\index.html`, "/dashboard/INDEX.HTML",
	} {
		r := httptest.NewRequest("GET", "/dashboard/x", nil)
		r.URL.Path, r.URL.RawPath = unescape(t, path), path
		w := httptest.NewRecorder()
		b.Service.ServeHTTP(w, r)
		if w.Code != 404 || !strings.Contains(w.Body.String(), `"code":"not_found"`) || w.Header().Get("Content-Security-Policy") != contentPolicy {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/dashboards", "/dashboard.js", "/", "/Dashboard"} {
		b.Refused(b.Do("GET", path, ""), fault.NotFound)
	}
}

func unescape(t *testing.T, path string) string {
	t.Helper()
	text := strings.NewReplacer("%2F", "/", "%2e", ".", "%00", "\x00", "%20", " ").Replace(path)
	if strings.Contains(text, "%") {
		t.Fatalf("%s: not unescaped", path)
	}
	return text
}

func TestDashboardTags(t *testing.T) {
	b := filesBench(t)
	tag := page(b, "GET", "/dashboard").Header().Get("ETag")
	for header, want := range map[string]int{
		tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, `"x",W/` + tag + `,"y"`: 304, `"x"`: 200, "*": 304, " * ": 304, `"*"`: 200, "": 200, strings.Trim(tag, `"`): 200, tag[:len(tag)-1]: 200,
	} {
		got := page(b, "GET", "/dashboard/keys", "If-None-Match", header)
		if got.Code != want || (got.Body.Len() == 0) != (want == 304) || got.Header().Get("ETag") != tag || got.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %q %v", header, got.Code, got.Body, got.Header())
		}
	}
	b.Files["index.html"].Data = []byte("another build")
	if got := page(b, "GET", "/dashboard", "If-None-Match", tag); got.Code != 200 || got.Header().Get("ETag") == tag {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}

func TestDashboardMethods(t *testing.T) {
	b := filesBench(t)
	onlyReads(t, func(method string) *httptest.ResponseRecorder { return page(b, method, "/dashboard") })
}

// onlyReads checks that a path rejects every method except GET and HEAD.
func onlyReads(t *testing.T, call func(method string) *httptest.ResponseRecorder) {
	t.Helper()
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"} {
		got := call(method)
		if got.Code != 405 || got.Header().Get("Allow") != "GET, HEAD" || !strings.Contains(got.Body.String(), `"code":"method_not_allowed"`) {
			t.Errorf("%s: %d %s %v", method, got.Code, got.Body, got.Header())
		}
	}
}

func TestNoDashboard(t *testing.T) {
	b := controltest.New(t)
	for _, files := range []fstest.MapFS{nil, {".gitkeep": {}}} {
		b.Files = files
		for _, path := range []string{"/dashboard", "/dashboard/keys", "/dashboard/app-2X3YZ4AB.js"} {
			got := page(b, "GET", path)
			if got.Code != 503 || !strings.Contains(got.Body.String(), "make build") || got.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
	}
}

// A failed read does not cause a 404. A browser must not show a 404 if the deployment has the page.
func TestUnreadableFiles(t *testing.T) {
	controltest.Quiet(t)
	b := filesBench(t)
	b.Faulty = errors.New("unreachable")
	for _, path := range []string{"/dashboard", "/dashboard/keys", "/dashboard/app-2X3YZ4AB.js", "/dashboard/favicon.svg"} {
		page(b, "GET", path)
		b.Refused(b.Do("GET", path, ""), fault.Unavailable)
	}
	b.Refused(b.Do("GET", "/openapi.yaml", ""), fault.Unavailable)
	for _, path := range []string{"/dashboard/.env", "/dashboard/sub/../index.html"} {
		if got := page(b, "GET", path); got.Code != 404 {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	b.Faulty = nil
	if got := page(b, "GET", "/dashboard"); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
