package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var everything = strings.ReplaceAll(`
projects:
  - name: My app
    plan: developer
    budget: 50.10
    budgetPeriod: week
    cache: global
    cacheTtlSeconds: 600
    unbounded: true
    recordProviderErrors: true
    contact: platform@example.com
    models: [balanced, gpt-4.1]
    routes:
      balanced: {targets: [{model: gpt-4.1-mini}, {model: gpt-4.1, weight: 2}]}
    alerts: {url: https://hooks.example.com/x}
    governor:
      enabled: true
      rules:
        personal: {input: redact, system: allow}
        personal.email: {output: block}
        secret: {input: block}
      keywords: [{name: names, words: [Project Blue]}]
      patterns: [{name: ticket, pattern: 'T-\d{4}', severity: low, system: allow}]
      exemptions: [{value: team@example.com}, {rule: personal, pattern: 'EMP-0+'}]
      exemptAgentAddresses: false
      answerSchema: {schema: {type: object, required: [a]}, action: block}
      maxInputCharacters: 10000
      classifier: {kind: moderation, mode: strict}
    keys:
      - name: Backend
        permissions: [models, completions]
        limits: {requestsPerSecond: 5}
        expiresAt: YEAR-01-31T00:00:00+01:00
      - name: Usage
        kind: project
        environment: development
        status: inactive
    registry:
      enforcement: warn
      models:
        - {model: gpt-4.1, state: approved, reason: Reviewed, owner: " ann@example.com ", reviewDate: 2031-01-31, links: [https://example.com/card]}
        - {model: openai/gpt-4.1-mini, state: restricted, reason: Pilot, keys: [Backend], successor: gpt-4.1}
        - {model: gpt-4o, state: blocked, reason: Old}
  - name: Old
    cache: off
    status: archived
`, "YEAR", strconv.Itoa(time.Now().Year()+5))

func TestApplyConverges(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	file, keys := s.file("postern.yaml", everything), filepath.Join(t.TempDir(), "keys.jsonl")
	s.fails(exitDifferent, "", "apply", "-f", file, "--dry-run")
	if out := s.ok("projects", "list"); strings.Contains(out, "My app") {
		t.Fatalf("--dry-run made a project\n%s", out)
	}
	s.fails(exitUsage, "--keys-out", "apply", "-f", file, "--yes")
	s.fails(exitUsage, "pass --yes", "apply", "-f", file, "--keys-out", keys)
	s.ok("apply", "-f", file, "--yes", "--keys-out", keys)
	if out := s.ok("apply", "-f", file); !strings.HasPrefix(out, "No changes") {
		t.Errorf("the second run has changes\n%s", out)
	}
	checkSecrets(t, keys)
	var shown struct {
		Keys []struct{ Name, Status string }
	}
	s.decode(&shown, "keys", "list", "-p", "My app")
	states := map[string]string{} // the order of keys that were created in the same millisecond is not defined
	for _, k := range shown.Keys {
		states[k.Name] = k.Status
	}
	if len(shown.Keys) != 2 || states["Usage"] != "inactive" || states["Backend"] != "active" {
		t.Errorf("keys: %+v", shown.Keys)
	}
	changed := strings.NewReplacer("50.10", "60", "requestsPerSecond: 5", "requestsPerDay: 7", "keys: [Backend]", "keys: [Backend, Batch]",
		"- name: Usage\n", "- name: Batch\n      - name: Usage\n", "personal: {input: redact}", "personal: {input: flag}", "status: inactive", "status: active",
		"state: blocked, reason: Old", "state: approved, reason: Needed again").Replace(everything)
	out := s.ok("apply", "-f", s.file("changed.yaml", changed), "--yes", "--keys-out", keys)
	for _, want := range []string{
		"budget: 50.1 → 60", `limits: {"requestsPerSecond":5,"requestsPerDay":null,"tokensPerMinute":null,"requestsPerPeriod":null,"tokensPerPeriod":null} → {"requestsPerDay":7,`,
		`create key "Batch"`, `activate key "Usage"`, `"blocked" → "pending"`, `"pending" → "approved"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the difference lacks %s\n%s", want, out)
		}
	}
	if out := s.ok("apply", "-f", s.file("changed.yaml", changed)); !strings.HasPrefix(out, "No changes") {
		t.Errorf("the second run has changes\n%s", out)
	}
}

// checkSecrets checks the file with the values. It must contain both keys and the webhook's secret, and only the
// owner may be able to read it.
func checkSecrets(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	prefixes := map[string]string{"alerts": "whsec_", "Backend": "sk_live_", "Usage": "pk_test_"}
	for line := range strings.Lines(string(text)) {
		var secret struct{ Name, Value, Project string }
		if err := json.Unmarshal([]byte(line), &secret); err != nil || secret.Project != "My app" || !strings.HasPrefix(secret.Value, prefixes[secret.Name]) {
			t.Errorf("secret %q: %v", secret.Name, err)
		}
		delete(prefixes, secret.Name)
	}
	if len(prefixes) > 0 {
		t.Errorf("the file lacks %v", prefixes)
	}
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// relay forwards calls to a deployment. For each change, the function fail decides whether the connection breaks, and
// whether that happens before or after the call is forwarded.
func relay(t *testing.T, to string, fail func(n int64, r *http.Request) (before, after bool)) *httptest.Server {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var changes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			proxy.ServeHTTP(w, r)
			return
		}
		before, after := fail(changes.Add(1), r)
		if after {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		if before || after {
			panic(http.ErrAbortHandler) // closes the connection
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// After a failure in the middle, the next run completes the deployment, no matter whether the failed change was made.
func TestApplyContinuesAfterFailures(t *testing.T) {
	for n := int64(1); n <= 12; n++ {
		for _, made := range []bool{false, true} {
			local := deployment(t)
			broken := relay(t, local.URL, func(i int64, _ *http.Request) (bool, bool) { return i == n && !made, i == n && made })
			s := newShell(t, broken.URL)
			file, keys := s.file("postern.yaml", everything), filepath.Join(t.TempDir(), "keys.jsonl")
			_, message, code := s.run("apply", "-f", file, "--yes", "--keys-out", keys)
			if code == exitFailed && !strings.Contains(message, "run the command again") {
				t.Errorf("change %d: %s", n, message)
			}
			again := newShell(t, local.URL)
			again.ok("apply", "-f", file, "--yes", "--keys-out", keys)
			if out := again.ok("apply", "-f", file); !strings.HasPrefix(out, "No changes") {
				t.Errorf("change %d, made %t: %s", n, made, out)
			}
			var list struct{ Projects []struct{ Name string } }
			if again.decode(&list, "projects", "list"); len(list.Projects) != 2 {
				t.Errorf("change %d, made %t: %d projects", n, made, len(list.Projects))
			}
		}
	}
}

// If someone else makes a change after the difference was computed, it is not overwritten.
func TestApplyMeetsOtherChanges(t *testing.T) {
	local := deployment(t)
	direct := newShell(t, local.URL)
	direct.ok("projects", "create", "My app", "--budget", "10")
	direct.ok("keys", "create", "--name", "Backend")
	for _, c := range []struct{ file, rival, method string }{
		{"projects: [{name: My app, budget: 20}]", "budget", http.MethodPatch},
		{"projects: [{name: My app, governor: {strictMode: true}}]", "budget", http.MethodPut},
		{"projects: [{name: My app, keys: [{name: Backend, limits: {requestsPerDay: 9}}]}]", "key", http.MethodPatch},
	} {
		done := false
		between := relay(t, local.URL, func(_ int64, r *http.Request) (bool, bool) {
			if r.Method == c.method && !done {
				done = true
				if c.rival == "budget" {
					direct.ok("projects", "update", "My app", "--cache-ttl", "7")
				} else {
					direct.ok("keys", "deactivate", "Backend")
				}
			}
			return false, false
		})
		s := newShell(t, between.URL)
		file := s.file("postern.yaml", c.file)
		s.fails(exitFailed, "Run the command again", "apply", "-f", file, "--yes")
		s.ok("apply", "-f", file, "--yes")
		if out := s.ok("apply", "-f", file); !strings.HasPrefix(out, "No changes") {
			t.Errorf("%s: %s", c.file, out)
		}
		var p struct{ CacheTTLSeconds int }
		if s.decode(&p, "projects", "show", "My app"); p.CacheTTLSeconds != 7 {
			t.Errorf("%s: the other change is lost: %+v", c.file, p)
		}
	}
}

// A file without a list of projects is an error: it must not mean a deployment without projects.
func TestPruneNeedsAnExplicitList(t *testing.T) {
	s := newShell(t, deployment(t).URL)
	for _, name := range []string{"One", "Two"} {
		s.ok("projects", "create", name)
	}
	for _, text := range []string{"", "\n# nothing\n", "{}", "projects:\n", "projects: null", "null", "---\n"} {
		file := s.file("postern.yaml", text)
		s.fails(exitUsage, "projects is missing", "apply", "-f", file, "--prune", "--yes")
		s.fails(exitUsage, "projects is missing", "apply", "-f", file, "--yes")
	}
	if out := s.ok("projects", "list"); strings.Count(out, "active") != 2 {
		t.Fatalf("projects were archived\n%s", out)
	}
	all := s.file("none.yaml", "projects: []")
	if out := s.ok("apply", "-f", all, "--yes"); !strings.HasPrefix(out, "No changes") {
		t.Errorf("without --prune: %s", out)
	}
	s.fails(exitUsage, "Make 2 changes (archived projects: 2)?", "apply", "-f", all, "--prune")
	if out := s.ok("apply", "-f", all, "--prune", "--yes"); !strings.Contains(out, "archived projects: 2") {
		t.Errorf("the number is missing\n%s", out)
	}
}
