package control

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/postern-ai/postern/core/fault"
)

// A response that cannot be encoded is a 500 in the usual shape.
func TestUnencodableResponseIs500(t *testing.T) {
	quiet(t)
	w := httptest.NewRecorder()
	write(w, httptest.NewRequest("GET", "/", nil), "req_1", answer{200, make(chan int)})
	want := string(fault.Internal.Append(nil, "req_1", nil))
	if w.Code != 500 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// The response to a HEAD of a file declares the length that a GET has.
func TestHeadOfFileHasLength(t *testing.T) {
	b := newBench(t)
	b.files = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}
	for _, path := range []string{"/openapi.yaml", "/dashboard"} {
		get, head := b.raw(httptest.NewRequest("GET", "/", nil), path), b.raw(httptest.NewRequest("HEAD", "/", nil), path)
		length := get.Header().Get("Content-Length")
		if length == "" || head.Header().Get("Content-Length") != length || head.Body.Len() != 0 {
			t.Errorf("%s: HEAD has length %q and %d bytes, GET %q", path, head.Header().Get("Content-Length"), head.Body.Len(), length)
		}
	}
}

// Refusals that are not about a field of the body describe the remedy as well.
func TestRemedies(t *testing.T) {
	b := newBench(t)
	keyPath, _ := b.key(b.project())
	replacement := b.must(201, "POST", keyPath+"/rotate", `{}`).text("id")
	again := b.do("POST", keyPath+"/rotate", `{}`)
	if want := `{"field":"key","message":"was already rotated; rotate ` + replacement + `, which replaced it"}`; !strings.Contains(again.Body.String(), want) {
		t.Errorf("rotated twice: %s", again.Body)
	}
	apiKeyHeader := b.do("GET", "/api/admin/projects", "", "Authorization", "", "X-API-Key", token)
	if want := `[{"field":"Authorization","message":"must be Bearer TOKEN"}]`; !strings.Contains(apiKeyHeader.Body.String(), want) {
		t.Errorf("token in X-API-Key: %s", apiKeyHeader.Body)
	}
	for range freeFailures {
		b.try("192.0.2.1", "wrong")
	}
	locked := b.try("192.0.2.1", "wrong")
	b.refused(locked, fault.RateLimited)
	if want := `"was wrong too often; try again in 1 second. The right token is accepted at once"`; !strings.Contains(locked.Body.String(), want) {
		t.Errorf("locked out: %s", locked.Body)
	}
}
