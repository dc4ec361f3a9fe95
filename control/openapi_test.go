package control_test

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/postern-ai/postern/test/controltest"
)

func TestOpenAPINeedsNoAuthentication(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := unauthenticated(controltest.New(t), "GET", "/openapi.yaml")
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
	if id := got.Header().Get("X-Request-Id"); !controltest.RequestIDs.MatchString(id) {
		t.Errorf("x-request-id is %q", id)
	}
}

func TestOpenAPIHasATag(t *testing.T) {
	b := controltest.New(t)
	tag := unauthenticated(b, "GET", "/openapi.yaml").Header().Get("ETag")
	if got := unauthenticated(b, "GET", "/openapi.yaml?v=1", "If-None-Match", "W/"+tag); got.Code != 304 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("with its ETag: %d %v", got.Code, got.Header())
	}
	if got := unauthenticated(b, "HEAD", "/openapi.yaml"); got.Code != 200 || got.Body.Len() != 0 || got.Header().Get("ETag") != tag {
		t.Errorf("HEAD: %d %v", got.Code, got.Header())
	}
}

func TestOpenAPIMethodsAndPaths(t *testing.T) {
	b := controltest.New(t)
	onlyReads(t, func(method string) *httptest.ResponseRecorder { return unauthenticated(b, method, "/openapi.yaml") })
	for _, path := range []string{"/openapi.yaml/", "/openapi.yaml/x", "/openapi%2eyaml", "/openapi.json", "/OpenAPI.yaml"} {
		if got := unauthenticated(b, "GET", path); got.Code != 404 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}
