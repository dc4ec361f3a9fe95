package telemetry_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/telemetry"
	"github.com/postern-ai/postern/test/fakeprovider"
)

const (
	adminToken  = "admin-token-of-the-tests"
	providerKey = "sk-upstream-secret-of-the-tests"
	// secretPrompt is in every prompt, and secretAnswer is in every answer.
	secretPrompt = "prompt-that-stays-inside"
	secretAnswer = "answer-that-stays-inside"
)

type gateway struct {
	*testing.T
	telemetry *telemetry.Telemetry
	server    *server.Server
	upstream  *fakeprovider.Server
	url       string
	project   string
	key       string
	secrets   []string // values that must not be exported
}

type machineClock struct{}

func (machineClock) Now() uint64 { return uint64(time.Now().UnixMilli()) }

const overlay = `{
	"routing": {"retries": 0, "backoffMs": 5, "maxBackoffMs": 10, "coolAfter": 2, "coolMs": 60000, "headMs": 20000, "firstByteMs": 20000,
		"idleMs": 20000, "totalMs": 60000, "requestMs": 60000, "mockPauseMs": 0},
	"models": [
		{"name": "alpha", "provider": "openai", "input": "1.00", "output": "2.00", "context": 8192, "maxOutput": 4096},
		{"name": "beta", "provider": "anthropic", "input": "10.00", "output": "20.00", "context": 8192, "maxOutput": 4096},
		{"name": "gamma", "provider": "anthropic", "input": "1.00", "cached": "0.10", "write": "1.25", "write1h": "2.00", "output": "2.00"},
		{"name": "vectors", "kind": "embedding", "provider": "openai", "input": "1.00"}],
	"tiers": [{"name": "pair", "strategy": "ordered", "targets": [{"model": "alpha"}, {"model": "beta"}]}]}`

// open starts a gateway. It uses the process's OpenTelemetry variables; see t.Setenv.
func open(t *testing.T, c telemetry.Config, s store.Store) *gateway {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	observer, err := telemetry.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	g := openWith(t, observer, s)
	g.telemetry = observer
	return g
}

// openWith starts a gateway with an observer. variables are added to the gateway's.
func openWith(t *testing.T, observer host.Observer, s store.Store, variables ...map[string]string) *gateway {
	t.Helper()
	g := &gateway{T: t, upstream: fakeprovider.New()}
	t.Cleanup(g.upstream.Close)
	if s == nil {
		s = memory.New(machineClock{})
	}
	c := server.Config{
		Env: map[string]string{
			"POSTERN_ADMIN_TOKEN": adminToken, "POSTERN_CATALOG": overlay,
			"OPENAI_API_KEY": providerKey, "OPENAI_BASE_URL": g.upstream.URL + "/v1",
			"ANTHROPIC_API_KEY": providerKey, "ANTHROPIC_BASE_URL": g.upstream.URL + "/v1",
		},
		OpsListen: "off", Log: slog.New(slog.DiscardHandler), Observer: observer, Test: server.Test{Store: s, Log: io.Discard},
	}
	for _, more := range variables {
		maps.Copy(c.Env, more)
	}
	var err error
	if g.server, err = server.New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(g.server.Handler())
	t.Cleanup(listening.Close)
	g.url = listening.URL
	g.project = g.admin("POST", "/api/admin/projects", `{"name":"p","plan":"unlimited"}`).Get("id").String()
	g.key = g.admin("POST", "/api/admin/projects/"+g.project+"/keys", `{"name":"k"}`).Get("value").String()
	if g.key == "" {
		t.Fatal("no key")
	}
	g.secrets = []string{adminToken, providerKey, g.key, secretPrompt, secretAnswer, "invented-name"}
	return g
}

// admin sends a request to the admin API.
func (g *gateway) admin(method, path, body string) gjson.Result {
	g.Helper()
	status, answer := g.send(method, path, body, "Authorization", "Bearer "+adminToken)
	if status >= 300 {
		g.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return gjson.Parse(answer)
}

// send sends a request with the given headers. When the exchange has settled, it returns the response.
func (g *gateway) send(method, path, body string, headers ...string) (status int, answer string) {
	g.Helper()
	r, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		g.Fatal(err)
	}
	defer response.Body.Close()
	data, _ := io.ReadAll(response.Body)
	g.server.Host().Wait()
	return response.StatusCode, string(data)
}

// chat sends a completion request and returns the status. Unless the headers say otherwise, the response is not
// cached.
func (g *gateway) chat(model string, stream bool, headers ...string) int {
	g.Helper()
	body, _ := json.Marshal(map[string]any{
		"model": model, "stream": stream, "max_tokens": 50, "user": "invented-name",
		"messages": []any{map[string]any{"role": "user", "content": secretPrompt}},
	})
	status, _ := g.send("POST", "/v1/chat/completions", string(body), append([]string{"Authorization", "Bearer " + g.key, "Cache-Control", "no-store"}, headers...)...)
	return status
}

// ask sends a question to gamma, which has a prompt cache; see fakeprovider.CachedTokens.
func (g *gateway) ask(question string) {
	g.Helper()
	body := `{"model":"gamma","max_tokens":50,"messages":[{"role":"user","content":"` + question + `"}]}`
	if status, answer := g.send("POST", "/v1/messages", body, "X-API-Key", g.key, "Cache-Control", "no-store"); status != 200 {
		g.Fatalf("%d %s", status, answer)
	}
}

// next queues an upstream behavior whose text is secret.
func (g *gateway) next(b fakeprovider.Behavior) {
	if b.Text == "" {
		b.Text = secretAnswer
	}
	g.upstream.Next(b)
}

// ops sends a request to the operations handler.
func (g *gateway) ops(path string, ready error) (status int, body string) {
	g.Helper()
	w := httptest.NewRecorder()
	handler := g.telemetry.Ops(func(context.Context) error { return ready })
	handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// series returns the samples of a scrape. They are keyed by name and labels.
func (g *gateway) series() map[string]string {
	g.Helper()
	_, body := g.ops("/metrics", nil)
	all := map[string]string{}
	for line := range strings.Lines(body) {
		if at := strings.LastIndexByte(line, ' '); at > 0 && !strings.HasPrefix(line, "#") {
			all[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	for _, secret := range g.secrets {
		if strings.Contains(body, secret) {
			g.Errorf("a metric contains %q", secret)
		}
	}
	return all
}

// expect compares samples with lines of the form "name{labels} value". If the value is "-", there must be no such
// sample.
func (g *gateway) expect(lines string) {
	g.Helper()
	all := g.series()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		got, ok := all[line[:at]]
		if !ok {
			got = "-"
		}
		if got != line[at+1:] {
			g.Errorf("got %s, want %s", got, line)
			for name, value := range all {
				if name[:strings.IndexAny(name+"{", "{")] == line[:strings.IndexAny(line+"{", "{ ")] {
					g.Log(name, value)
				}
			}
		}
	}
}
