package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/conformance"
)

// TestFootprint prints how many rows and bytes keys, a project and the deployment use after requests. It checks that
// a key does not grow with the number of its requests.
func TestFootprint(t *testing.T) {
	local := deployment(t)
	s := newShell(t, local.URL)
	s.ok("projects", "create", "My app", "--plan", "unlimited", "--cache-ttl", "0")
	var k struct{ Value string }
	s.decode(&k, "keys", "create", "--name", "Tests", "--environment", "development")
	var after [3]map[string][2]int
	for round := range after {
		for range 200 {
			request, err := http.NewRequest(http.MethodPost, local.URL+"/api/ai/complete", strings.NewReader(`{"messages":[{"role":"user","content":"Hello"}],"maxTokens":20}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+k.Value)
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
				t.Fatalf("status %d: %s", response.StatusCode, body)
			}
		}
		advance(t, local)
		after[round] = footprint(t, s)
		for _, object := range slices.Sorted(maps.Keys(after[round])) {
			t.Logf("after %d requests: %-10s %5d rows, %7d bytes", 200*(round+1), object, after[round][object][0], after[round][object][1])
		}
	}
	if first, last := after[1]["meter"], after[2]["meter"]; last[0] > first[0] || last[1] > first[1]+200*5 { // 200 requests may add 5 bytes each
		t.Errorf("a key grows with its requests: %v, then %v rows and bytes", first, last)
	}
}

// advance moves the deployment's clock forward by a minute so that the key's usage reaches the project's ledger.
func advance(t *testing.T, local *conformance.Local) {
	t.Helper()
	body := fmt.Sprintf(`{"nowMs":%d}`, local.Now()+60_000)
	response, err := http.Post(local.ControlURL+"/__test/clock", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode >= 300 {
		t.Fatalf("the clock did not move: status %d", response.StatusCode)
	}
}

// footprint returns the rows and bytes of each kind of object. It reads them from an export.
func footprint(t *testing.T, s *shell) map[string][2]int {
	t.Helper()
	name := filepath.Join(t.TempDir(), "export")
	s.ok("export", name)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][2]int{}
	for line := range strings.Lines(string(text)) {
		var part struct {
			Object string
			Rows   []struct {
				Key   string
				Value []byte
			}
		}
		if json.Unmarshal([]byte(line), &part) != nil || part.Object == "" {
			continue
		}
		kind, _, _ := strings.Cut(part.Object, "/")
		sum := found[kind]
		for _, row := range part.Rows {
			sum[0]++
			sum[1] += len(row.Key) + len(row.Value)
		}
		found[kind] = sum
	}
	return found
}
