package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/config"
)

// TestRefusalsWithoutLeases checks that a server whose operator has turned leases off counts and records the requests
// that it refuses.
func TestRefusalsWithoutLeases(t *testing.T) {
	t.Parallel()
	c := testConfig(nil)
	c.Test.Store = nil
	c.Env[config.EnvLeases] = "off"
	c.Data, c.Out = filepath.Join(t.TempDir(), "data"), &buffer{}
	r := start(t, c, nil)
	refuse := func(key string, status int) {
		request, _ := http.NewRequest("POST", r.url+"/v1/chat/completions", strings.NewReader("{nope"))
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		response, err := r.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%d, want %d", response.StatusCode, status)
		}
	}
	for range 3 {
		refuse(r.key, 400)
		refuse("sk_live_unknown", 401)
	}
	eventually(t, "all are counted", func() bool {
		totals := r.admin("GET", "/"+r.project+"/usage?range=1h", "")["totals"].(map[string]any)
		return totals["requests"].(float64) == 3
	})
	if found, _ := r.admin("GET", "/"+r.project+"/requests?cause=invalid_request", "")["requests"].([]any); len(found) != 3 {
		t.Errorf("%d records", len(found))
	}
}
