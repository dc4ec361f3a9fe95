package web

import (
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control"
)

func get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	control.New(control.Config{Files: File, Rand: strings.NewReader(strings.Repeat("r", 64))}).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// The embedded dashboard is either complete or absent.
func TestEmbeddedDashboard(t *testing.T) {
	got := get("/dashboard")
	switch {
	case got.Code == 503 && strings.Contains(got.Body.String(), "make build"):
	case got.Code == 200 && strings.Contains(got.Body.String(), "/dashboard/app-"):
	default:
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := get("/dashboard/.gitkeep"); got.Code == 200 {
		t.Error(".gitkeep is served")
	}
}

func TestEmbeddedOpenAPI(t *testing.T) {
	text, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := get("/openapi.yaml"); got.Code != 200 || got.Body.String() != string(text) {
		t.Errorf("%d with %d bytes", got.Code, got.Body.Len())
	}
}

func TestNoOtherFiles(t *testing.T) {
	for _, name := range []string{"", "index.html", "dashboard", "dashboard/", "dashboard/missing.js", "dashboard/../web.go", "dist/index.html", "/openapi.yaml"} {
		if data, err := File(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}
