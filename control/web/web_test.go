package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

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
		if file, err := File(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %d bytes, %v", name, len(file.Data), err)
		}
	}
}

// TestRequestsShareFiles checks that requests whose responses nobody reads cost no copy of the file each.
func TestRequestsShareFiles(t *testing.T) {
	const size, requests = 1 << 20, 64
	page := bytes.Repeat([]byte("page "), size/5)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(page)
	_ = w.Close()
	all := filesOf(fstest.MapFS{"dist/app.js": {Data: page}}, fstest.MapFS{"docsite/docs/page.txt.gz": {Data: packed.Bytes()}}, page)
	service := control.New(control.Config{Files: all.file, Rand: strings.NewReader(strings.Repeat("r", 64<<10))})
	for _, path := range []string{"/dashboard/app.js", "/docs/page.txt", "/openapi.yaml"} {
		first := httptest.NewRecorder()
		service.ServeHTTP(first, httptest.NewRequest("GET", path, nil))
		if first.Code != 200 || !bytes.Equal(first.Body.Bytes(), page) {
			t.Fatalf("%s: %d with %d bytes", path, first.Code, first.Body.Len())
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range requests {
			service.ServeHTTP(unread{httptest.NewRecorder()}, httptest.NewRequest("GET", path, nil))
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("If-None-Match", first.Header().Get("ETag"))
			service.ServeHTTP(httptest.NewRecorder(), r)
			service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("HEAD", path, nil))
		}
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 4*size {
			t.Errorf("%s: %d requests allocated %d bytes for a file of %d", path, 3*requests, spent, size)
		}
	}
}

// unread is a response whose body the recorder does not copy.
type unread struct{ *httptest.ResponseRecorder }

func (unread) Write(data []byte) (int, error) { return len(data), nil }

// TestDamagedFile checks that a file that cannot be read is unavailable, not missing.
func TestDamagedFile(t *testing.T) {
	all := filesOf(fstest.MapFS{}, fstest.MapFS{"docsite/docs/page.txt.gz": {Data: []byte("not compressed")}}, nil)
	if _, err := all.file(t.Context(), "docs/page.txt"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
