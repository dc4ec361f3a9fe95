package control

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestOpenAPIIsServedToAnybody(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	get := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		return w
	}
	got := get("GET", "/openapi.yaml")
	header := got.Header()
	if got.Code != 200 || got.Body.String() != string(text) {
		t.Errorf("%d with %d bytes, want the file's %d", got.Code, got.Body.Len(), len(text))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/yaml", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
	} {
		if header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, header.Get(name), want)
		}
	}
	if !requestIDs.MatchString(header.Get("X-Request-Id")) {
		t.Errorf("x-request-id is %q", header.Get("X-Request-Id"))
	}
	tag := header.Get("ETag")
	if got := get("GET", "/openapi.yaml?v=1", "If-None-Match", "W/"+tag); got.Code != 304 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("with its ETag: %d %v", got.Code, got.Header())
	}
	if got := get("HEAD", "/openapi.yaml"); got.Code != 200 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("HEAD: %d %v", got.Code, got.Header())
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"} {
		got := get(method, "/openapi.yaml")
		if got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "GET, HEAD" || !strings.Contains(got.Body.String(), `"code":"method_not_allowed"`) {
			t.Errorf("%s: %d %s %v", method, got.Code, got.Body, got.Header())
		}
	}
	for _, path := range []string{"/openapi.yaml/", "/openapi.yaml/x", "/openapi%2eyaml", "/openapi.json", "/OpenAPI.yaml"} {
		if got := get("GET", path); got.Code != 404 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}
