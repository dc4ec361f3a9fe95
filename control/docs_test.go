package control_test

import (
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func docsBench(t *testing.T) *controltest.Bench {
	b := filesBench(t)
	b.Docs = fstest.MapFS{}
	for name, text := range map[string]string{
		"docs/index.html": "<!doctype html>start", "docs/reference/errors/index.html": "<!doctype html>errors", "docs/404.html": "<!doctype html>404",
		"docs/_astro/page.Dk3_x-9a.js": "js", "docs/pagefind/pagefind.js": "search", "docs/sitemap.xml": "<x/>", "docs/.env": "e",
		"docs.json": `{"scripts":["'sha256-AAA='"],"styles":["'sha256-BBB='","'sha256-CCC='"]}`,
	} {
		b.Docs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return b
}

const closedPolicy = "default-src 'none'; frame-ancestors 'none'"

// sitePolicy consists of two policies, which apply together: paths of this origin, and paths of the documentation.
var sitePolicy = policyFor("'self'", "'self'") + ", " + policyFor("http://*:*/docs/", "http://*:*/docs/pagefind/")

func policyFor(files, search string) string {
	return "default-src 'none'; script-src " + files + " 'wasm-unsafe-eval' 'sha256-AAA='; style-src " + files + " 'sha256-BBB=' 'sha256-CCC='; img-src " + files +
		" data:; font-src " + files + "; connect-src " + search + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func TestDocs(t *testing.T) {
	b := docsBench(t)
	const html = "text/html; charset=utf-8"
	for path, want := range map[string][4]string{
		"/docs/":                        {"<!doctype html>start", html, "no-cache", sitePolicy},
		"/docs/index.html":              {"<!doctype html>start", html, "no-cache", sitePolicy},
		"/docs/reference/errors/":       {"<!doctype html>errors", html, "no-cache", sitePolicy},
		"/docs/reference/errors/?q=<b>": {"<!doctype html>errors", html, "no-cache", sitePolicy},
		"/docs/_astro/page.Dk3_x-9a.js": {"js", "text/javascript; charset=utf-8", immutable, sitePolicy},
		"/docs/pagefind/pagefind.js":    {"search", "text/javascript; charset=utf-8", "no-cache", sitePolicy},
		"/docs/sitemap.xml":             {"<x/>", "application/xml", "no-cache", closedPolicy},
	} {
		got := unauthenticated(b, "GET", path)
		h := got.Header()
		if got.Code != 200 || got.Body.String() != want[0] || h.Get("Content-Type") != want[1] || h.Get("Cache-Control") != want[2] {
			t.Errorf("%s: %d %q %v", path, got.Code, got.Body, h)
		}
		if p := h.Get("Content-Security-Policy"); p != want[3] || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: policy %s", path, p)
		}
		if head := unauthenticated(b, "HEAD", path); head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("ETag") != h.Get("ETag") {
			t.Errorf("HEAD %s: %d %v", path, head.Code, head.Header())
		}
		if again := unauthenticated(b, "GET", path, "If-None-Match", h.Get("ETag")); again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s: %d with its tag", path, again.Code)
		}
	}
}

// TestDocsWindows checks that all responses of the documentation are isolated, and that the dashboard is not: otherwise
// the two could use each other's windows.
func TestDocsWindows(t *testing.T) {
	b := docsBench(t)
	windows := func(path string) string {
		h := unauthenticated(b, "GET", path).Header()
		return h.Get("Cross-Origin-Opener-Policy") + ", " + h.Get("Cross-Origin-Embedder-Policy")
	}
	for _, path := range []string{"/docs", "/docs/", "/docs/_astro/page.Dk3_x-9a.js", "/docs/sitemap.xml", "/docs/missing"} {
		if got := windows(path); got != "same-origin, require-corp" {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, path := range []string{"/dashboard", "/dashboard/missing.js"} {
		if got := windows(path); got != "same-origin, " {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestDocsThatMoved(t *testing.T) {
	b := docsBench(t)
	for path, want := range map[string]string{
		"/docs": "/docs/", "/docs?x=1": "/docs/", "/docs/errors": "/docs/reference/errors/", "/docs/errors/": "/docs/reference/errors/",
		"/docs/reference/errors": "/docs/reference/errors/",
	} {
		if got := unauthenticated(b, "GET", path); got.Code != 308 || got.Header().Get("Location") != want || got.Body.Len() != 0 {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
}

func TestMissingDocs(t *testing.T) {
	b := docsBench(t)
	for _, path := range []string{
		"/docs/missing", "/docs/missing/", "/docs/missing.js", "/docs/.env", "/docs//example.com", "/docs/..%2Fdocs.json", "/docs/%2e%2e/index.html",
		"/docs/reference/../index.html", "/docs/%3Cscript%3E/", "/docs/docs.json", "/docs//", "/docs/index.html/",
	} {
		got := unauthenticated(b, "GET", path)
		if got.Code != 404 || got.Body.String() != "<!doctype html>404" || got.Header().Get("Content-Security-Policy") == closedPolicy {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
		for _, tags := range []string{got.Header().Get("ETag"), "*"} {
			if again := unauthenticated(b, "GET", path, "If-None-Match", tags); again.Code != 404 {
				t.Errorf("%s: %d with the tags %s", path, again.Code, tags)
			}
		}
	}
	b.Refused(b.Do("POST", "/docs/", ""), fault.MethodNotAllowed)
	b.Refused(b.Do("GET", "/docsx", ""), fault.NotFound)
	b.Faulty = errors.New("no asset")
	b.Refused(b.Do("GET", "/docs/", ""), fault.Unavailable)
}

// TestDocsWithoutASite checks that, without a built site, the Markdown files are served as text.
func TestDocsWithoutASite(t *testing.T) {
	b := filesBench(t)
	if got := unauthenticated(b, "GET", "/docs/"); got.Code != 503 || !strings.Contains(got.Body.String(), "make build") {
		t.Errorf("nothing is built: %d %s", got.Code, got.Body)
	}
	b.Docs = fstest.MapFS{"docs/README.md": {Data: []byte("# Index")}, "docs/reference/errors.md": {Data: []byte("# Errors")}}
	for path, want := range map[string]string{"/docs/": "# Index", "/docs/reference/errors/": "# Errors", "/docs/reference/errors.md": "# Errors"} {
		got := unauthenticated(b, "GET", path)
		if got.Code != 200 || got.Body.String() != want || got.Header().Get("Content-Type") != "text/plain; charset=utf-8" || got.Header().Get("Content-Security-Policy") != closedPolicy {
			t.Errorf("%s: %d %s %v", path, got.Code, got.Body, got.Header())
		}
	}
	b.Refused(b.Do("GET", "/docs/missing/", ""), fault.NotFound)
}

// TestDocsHosts checks that the policy is the same under every host that a browser may use. It neither repeats text of
// the request nor contains the configured address.
func TestDocsHosts(t *testing.T) {
	for _, host := range []string{
		"gw.example", "gw.example:8443", "upstream.internal:8787", "127.0.0.1:8787", "[::1]:8787", "my_gateway", "b\u00fccher.example", "evil';script-src *",
		strings.Repeat("a", 60<<10), "",
	} {
		b := docsBench(t)
		b.Configure(func(config *kernel.Config) {
			config.Addresses = func() kernel.Addresses {
				return kernel.Addresses{Public: "https://public.example", Bound: &net.TCPAddr{}}
			}
		})
		r := httptest.NewRequest("GET", "/docs/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		b.Service.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Security-Policy"); w.Code != 200 || got != sitePolicy {
			t.Errorf("%.80s: %d, %.200s", host, w.Code, got)
		}
	}
}

// TestHelpLink checks that an error response links to the documentation of its code. If the deployment serves no
// documentation, there is no link.
func TestHelpLink(t *testing.T) {
	b := docsBench(t)
	got := unauthenticated(b, "GET", "/api/admin/projects")
	if link := got.Header().Get("Link"); got.Code != 401 || link != `</docs/reference/errors/#missing_api_key>; rel="help"` {
		t.Errorf("%d: link %q, body %s", got.Code, link, got.Body)
	}
	if link := unauthenticated(b, "GET", "/api/admin/projects", "X-Postern-Docs", "off").Header().Get("Link"); link != "" {
		t.Errorf("link %q without documentation", link)
	}
	if link := unauthenticated(b, "GET", "/docs/").Header().Get("Link"); link != "" {
		t.Errorf("link %q of a page", link)
	}
}
