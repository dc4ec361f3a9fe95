package control

import (
	"net/http/httptest"
	"os"
	"testing"
)

func TestOpenAPINeedsNoAuthentication(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := newBench(t).unauthenticated("GET", "/openapi.yaml")
	if got.Code != 200 || got.Body.String() != string(text) {
		t.Errorf("%d with %d bytes, want the file's %d", got.Code, got.Body.Len(), len(text))
	}
	for name, want := range map[string]string{
		"Content-Type": "application/yaml", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff",
	} {
		if header := got.Header().Get(name); header != want {
			t.Errorf("%s is %q, want %q", name, header, want)
		}
	}
	if id := got.Header().Get("X-Request-Id"); !requestIDs.MatchString(id) {
		t.Errorf("x-request-id is %q", id)
	}
}

func TestOpenAPIHasATag(t *testing.T) {
	b := newBench(t)
	tag := b.unauthenticated("GET", "/openapi.yaml").Header().Get("ETag")
	if got := b.unauthenticated("GET", "/openapi.yaml?v=1", "If-None-Match", "W/"+tag); got.Code != 304 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("with its ETag: %d %v", got.Code, got.Header())
	}
	if got := b.unauthenticated("HEAD", "/openapi.yaml"); got.Code != 200 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("HEAD: %d %v", got.Code, got.Header())
	}
}

func TestOpenAPIMethodsAndPaths(t *testing.T) {
	b := newBench(t)
	onlyReads(t, func(method string) *httptest.ResponseRecorder { return b.unauthenticated(method, "/openapi.yaml") })
	for _, path := range []string{"/openapi.yaml/", "/openapi.yaml/x", "/openapi%2eyaml", "/openapi.json", "/OpenAPI.yaml"} {
		if got := b.unauthenticated("GET", path); got.Code != 404 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}
