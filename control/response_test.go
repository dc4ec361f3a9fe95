package control_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// The response to a HEAD request for a file declares the same length as a GET.
func TestHeadOfFileHasLength(t *testing.T) {
	b := controltest.New(t)
	b.Files = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}
	for _, path := range []string{"/openapi.yaml", "/dashboard"} {
		get, head := b.Raw(httptest.NewRequest("GET", "/", nil), path), b.Raw(httptest.NewRequest("HEAD", "/", nil), path)
		length := get.Header().Get("Content-Length")
		if length == "" || head.Header().Get("Content-Length") != length || head.Body.Len() != 0 {
			t.Errorf("%s: HEAD has length %q and %d bytes, GET %q", path, head.Header().Get("Content-Length"), head.Body.Len(), length)
		}
	}
}

// Even refusals that do not concern a field of the body describe the remedy.
func TestRemedies(t *testing.T) {
	b := controltest.New(t)
	keyPath, _ := b.Key(b.Project())
	replacement := b.Must(201, "POST", keyPath+"/rotate", `{}`).Text("id")
	again := b.Do("POST", keyPath+"/rotate", `{}`)
	if want := `{"field":"key","message":"was already rotated; rotate ` + replacement + `, which replaced it"}`; !strings.Contains(again.Body.String(), want) {
		t.Errorf("rotated twice: %s", again.Body)
	}
	apiKeyHeader := b.Do("GET", "/api/admin/projects", "", "Authorization", "", "X-API-Key", controltest.Token)
	if want := `[{"field":"Authorization","message":"must be Bearer TOKEN"}]`; !strings.Contains(apiKeyHeader.Body.String(), want) {
		t.Errorf("token in X-API-Key: %s", apiKeyHeader.Body)
	}
	for range 5 { // wrong tokens that cause no lockout yet
		b.Try("192.0.2.1", "wrong")
	}
	locked := b.Try("192.0.2.1", "wrong")
	b.Refused(locked, fault.RateLimited)
	if want := `"was wrong too often; try again in 1 second. The right token is accepted at once"`; !strings.Contains(locked.Body.String(), want) {
		t.Errorf("locked out: %s", locked.Body)
	}
}
