package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/internal/admin"
)

const token = "s3cret-token-of-the-owner"

// client returns a client of a server and the waits before its retries.
func client(t *testing.T, serve http.HandlerFunc) (*admin.Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	waits := &[]time.Duration{}
	c, err := admin.New(admin.Options{URL: server.URL, Token: token, Sleep: func(_ context.Context, d time.Duration) error { *waits = append(*waits, d); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c, waits
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://gateway.example": true, "https://gateway.example/": true, "http://127.0.0.1:8787": true, "http://localhost:8787": true, "http://[::1]:8787": true,
		"http://gateway.example": false, "http://127.0.0.1.example": false, "http://0.0.0.0:8787": false, "gateway.example": false, "ftp://gateway.example": false,
		"https://gateway.example/path": false, "https://u:s3cret@gateway.example": false, "https://gateway.example?x=1": false, "": false,
	} {
		_, err := admin.New(admin.Options{URL: address, Token: token})
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := admin.New(admin.Options{URL: "http://gateway.example", Token: token, Insecure: true}); err != nil {
		t.Error(err)
	}
	if _, err := admin.New(admin.Options{URL: "https://gateway.example", Token: "with\nnewline"}); err == nil {
		t.Error("a token with a newline is accepted")
	}
}

// If a call may be repeated, it is retried after the time that the response asks for. Calls that create something are
// not retried.
func TestRetries(t *testing.T) {
	for _, one := range []struct {
		method        string
		status, calls int
		retryAfter    string
		context       context.Context
	}{
		{http.MethodGet, 503, 4, "", context.Background()}, {http.MethodGet, 429, 4, "2", context.Background()}, {http.MethodPut, 500, 4, "", context.Background()},
		{http.MethodPost, 503, 1, "", context.Background()}, {http.MethodPatch, 503, 1, "", context.Background()}, {http.MethodPost, 503, 4, "", admin.WithRetry(context.Background())},
		{http.MethodGet, 404, 1, "", context.Background()}, {http.MethodGet, 429, 1, "3600", context.Background()},
	} {
		calls := 0
		c, waits := client(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Retry-After", one.retryAfter)
			w.Header().Set("X-Request-Id", "req_1")
			w.WriteHeader(one.status)
		})
		err := c.Do(one.context, one.method, "/api/admin/projects", nil, nil)
		if calls != one.calls || !admin.Is(err, one.status) || !strings.Contains(err.Error(), "req_1") {
			t.Errorf("%s %d: %d calls, want %d: %v", one.method, one.status, calls, one.calls, err)
		}
		if one.retryAfter == "2" && (len(*waits) != 3 || (*waits)[0] != 2*time.Second) {
			t.Errorf("waits %v", *waits)
		}
	}
}

// If the response to a DELETE was lost and the retry finds nothing, the call has succeeded.
func TestRepeatedDelete(t *testing.T) {
	calls := 0
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	if err := c.Do(context.Background(), http.MethodDelete, "/api/admin/projects/p/keys/k", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called with %v", r.Header) }))
	defer other.Close()
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if err := c.Do(context.Background(), http.MethodGet, "/api/admin/projects", nil, nil); err == nil || !strings.Contains(err.Error(), "redirects") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestPages(t *testing.T) {
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		after := r.URL.Query().Get("after")
		next := map[string]any{"": "a", "a": "b", "b": nil}[after]
		_ = json.NewEncoder(w).Encode(map[string]any{"projects": []any{map[string]string{"id": "proj_" + after}}, "next": next})
	})
	all, err := c.Projects(context.Background(), "")
	if err != nil || len(all) != 3 || all[2].ID != "proj_b" {
		t.Errorf("%v %v", all, err)
	}
	c, _ = client(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"projects":[],"next":"same"}`)) })
	if _, err := c.Projects(context.Background(), ""); err == nil {
		t.Error("an endless list is accepted")
	}
	c, _ = client(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`<html>`)) })
	if _, err := c.Projects(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "check the address") {
		t.Error(err)
	}
}
