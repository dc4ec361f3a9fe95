package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/telemetry"
	"github.com/postern-ai/postern/test/fakeprovider"
)

func TestRequests(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.next(fakeprovider.Behavior{Kind: "answer"})
	g.chat("alpha", false)
	g.next(fakeprovider.Behavior{Kind: "answer"})
	g.chat("beta", true)
	g.chat("invented-name", false)
	g.send("POST", "/v1/embeddings", `{"model":"vectors","input":"`+secretPrompt+`"}`, "X-API-Key", g.key, "Cache-Control", "no-store")
	g.send("GET", "/invented-name", "")
	g.send("INVENTED", "/v1/models", "")
	g.send("GET", "/v1/models", "", "X-API-Key", "pk_invented-name")
	g.expect(`
		postern_requests_total{cache="bypass",code="",model="alpha",provider="openai",route="/v1/chat/completions",status="200"} 1
		postern_requests_total{cache="bypass",code="",model="beta",provider="anthropic",route="/v1/chat/completions",status="200"} 1
		postern_requests_total{cache="bypass",code="",model="vectors",provider="openai",route="/v1/embeddings",status="200"} 1
		postern_requests_total{cache="",code="model_not_found",model="",provider="",route="/v1/chat/completions",status="404"} 1
		postern_requests_total{cache="",code="not_found",model="",provider="",route="",status="404"} 1
		postern_requests_total{cache="",code="method_not_allowed",model="",provider="",route="",status="405"} 1
		postern_requests_total{cache="",code="invalid_api_key",model="",provider="",route="/v1/models",status="401"} 1
		postern_requests_total{cache="",code="",model="",provider="",route="",status="201"} 2
		postern_request_duration_seconds_count{route="/v1/chat/completions",stream="false"} 2
		postern_request_duration_seconds_count{route="/v1/chat/completions",stream="true"} 1
		postern_time_to_first_token_seconds_count{model="beta",provider="anthropic"} 1
		postern_time_to_first_token_seconds_count{model="alpha",provider="openai"} 0
		postern_tokens_total{model="alpha",provider="openai",type="input"} 100
		postern_tokens_total{model="alpha",provider="openai",type="output"} 50
		postern_cost_dollars_total{model="alpha",provider="openai"} 0.0002
		postern_estimated_requests_total{model="alpha",provider="openai"} 0
		postern_attempts_total{model="alpha",outcome="200",provider="openai"} 1
		postern_attempts_total{model="beta",outcome="200",provider="anthropic"} 1
		postern_attempts_total{model="vectors",outcome="200",provider="openai"} 1
		postern_attempt_duration_seconds_count{provider="openai"} 2
		postern_open_requests 0
		postern_open_streams 0
		postern_object_commands_total{class="directory"} 4
		postern_circuit_open{model="alpha",provider="openai"} 0`)
}

// TestWithoutLog: metrics do not depend on the log.
func TestWithoutLog(t *testing.T) {
	observer, err := telemetry.New(t.Context(), telemetry.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	g := openWith(t, observer, nil, map[string]string{"POSTERN_LOG": "off"})
	g.telemetry = observer
	g.next(fakeprovider.Behavior{Kind: "answer"})
	g.chat("alpha", false)
	g.send("GET", "/invented-name", "")
	g.expect(`
		postern_requests_total{cache="bypass",code="",model="alpha",provider="openai",route="/v1/chat/completions",status="200"} 1
		postern_requests_total{cache="",code="not_found",model="",provider="",route="",status="404"} 1
		postern_tokens_total{model="alpha",provider="openai",type="output"} 50
		postern_cost_dollars_total{model="alpha",provider="openai"} 0.0002`)
}

// TestPromptCache: 80 tokens save 0.9 millionths of a dollar each. A token that is written for an hour costs one
// millionth extra. A token that is written for five minutes costs a quarter of that.
func TestPromptCache(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.chat("gamma", false)
	g.ask("cached")
	g.ask("cached, kept for five minutes")
	g.ask("kept for an hour")
	g.expect(`
		postern_tokens_total{model="gamma",provider="anthropic",type="input"} 400
		postern_prompt_cache_tokens_total{model="gamma",provider="anthropic",type="read"} 160
		postern_prompt_cache_tokens_total{model="gamma",provider="anthropic",type="write"} 16
		postern_prompt_cache_saved_dollars_total{model="gamma",provider="anthropic"} 0.0001415
		postern_prompt_cache_surcharge_dollars_total{model="gamma",provider="anthropic"} 6e-06`)
}

func TestFailedAttempts(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	for _, b := range []fakeprovider.Behavior{
		{Kind: "status", Status: 503}, {Kind: "answer"}, // falls back
		{Kind: "status", Status: 500}, {Kind: "answer"}, // alpha's circuit opens
	} {
		g.next(b)
	}
	g.chat("pair", false)
	g.chat("pair", true)
	g.next(fakeprovider.Behavior{Kind: "cut"})
	g.chat("beta", true)
	g.next(fakeprovider.Behavior{Kind: "broken"})
	g.chat("beta", false)
	g.next(fakeprovider.Behavior{Kind: "malformed"})
	g.chat("beta", true)
	g.expect(`
		postern_attempts_total{model="alpha",outcome="503",provider="openai"} 1
		postern_attempts_total{model="alpha",outcome="500",provider="openai"} 1
		postern_attempts_total{model="beta",outcome="200",provider="anthropic"} 3
		postern_attempts_total{model="beta",outcome="broken",provider="anthropic"} 1
		postern_attempts_total{model="beta",outcome="provider_invalid_response",provider="anthropic"} 1
		postern_requests_total{cache="bypass",code="",model="beta",provider="anthropic",route="/v1/chat/completions",status="200"} 2
		postern_requests_total{cache="",code="provider_invalid_response",model="",provider="",route="/v1/chat/completions",status="502"} 3
		postern_circuit_open{model="alpha",provider="openai"} 1
		postern_circuit_open{model="beta",provider="anthropic"} 1`)
}

func TestCacheAndGovernor(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.admin("PATCH", "/api/admin/projects/"+g.project, `{"cacheTtlSeconds":300}`)
	for range 3 {
		g.chat("alpha", false, "Cache-Control", "max-age=300")
	}
	g.admin("PUT", "/api/admin/projects/"+g.project+"/governor", `{"enabled":true,"strictMode":true,"rules":{"personal.payment-card":{"output":"block"}}}`)
	g.chat("alpha", false, "Cache-Control", "max-age=300")
	g.next(fakeprovider.Behavior{Kind: "answer", Text: "4111 1111 1111 1111"})
	g.chat("beta", false)
	g.send("POST", "/v1/chat/completions", `{"model":"alpha","messages":[{"role":"user","content":"4111 1111 1111 1111"}]}`, "X-API-Key", g.key)
	g.expect(`
		postern_requests_total{cache="miss",code="",model="alpha",provider="openai",route="/v1/chat/completions",status="200"} 2
		postern_requests_total{cache="hit",code="",model="alpha",provider="openai",route="/v1/chat/completions",status="200"} 2
		postern_requests_total{cache="",code="blocked_by_policy",model="",provider="",route="/v1/chat/completions",status="422"} 2
		postern_governor_decisions_total{decision="approve",direction="input"} 2
		postern_governor_decisions_total{decision="block",direction="input"} 1
		postern_governor_decisions_total{decision="block",direction="output"} 1`)
}

// TestUnknownUsage: an unknown field in a provider's usage is counted by its name. If a name is not suitable as a
// label, it is counted under one common word.
func TestUnknownUsage(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.next(fakeprovider.Behavior{Body: `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"flux_units":7,"a\"b":1}}`})
	g.chat("alpha", false)
	g.server.Host().Wait()
	g.expect(`
		postern_unknown_usage_members_total{member="flux_units",provider="openai"} 1
		postern_unknown_usage_members_total{member="invalid",provider="openai"} 1`)
}

// TestOverrun checks that a provider's charges beyond the reservation are counted.
func TestOverrun(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.next(fakeprovider.Behavior{Body: `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":100,"completion_tokens":1000000,"total_tokens":1000100}}`})
	g.chat("alpha", false)
	g.server.Host().Wait()
	g.expect(`
		postern_cost_dollars_total{model="alpha",provider="openai"} 2.0001
		postern_overrun_dollars_total{model="alpha",provider="openai"} 1.999978`) // the reservation is for 22 input tokens and 50 output tokens
}

func TestDisconnect(t *testing.T) {
	g := open(t, telemetry.Config{}, nil)
	g.next(fakeprovider.Behavior{Kind: "endless", Chunks: 5})
	ctx, cancel := context.WithCancel(t.Context())
	body := `{"model":"alpha","stream":true,"messages":[{"role":"user","content":"` + secretPrompt + `"}]}`
	r, _ := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-API-Key", g.key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 20)); err != nil {
		t.Fatal(err)
	}
	g.expect("postern_open_requests 1\n postern_open_streams 1")
	cancel()
	_ = response.Body.Close()
	g.server.Host().Wait()
	g.expect(`
		postern_open_requests 0
		postern_open_streams 0
		postern_requests_total{cache="",code="client_closed_request",model="",provider="",route="/v1/chat/completions",status="499"} 1
		postern_attempts_total{model="alpha",outcome="canceled",provider="openai"} 1
		postern_estimated_requests_total{model="alpha",provider="openai"} 1`)
}

// metered is a store that has figures.
type metered struct {
	*memory.Store
	commits store.Durations
	err     error
}

func (m *metered) Measure(context.Context) store.Measurements {
	return store.Measurements{Commands: 9, Failed: 2, Retries: 3, Commits: m.commits.Snapshot(), Grouped: 8, Waiting: 4, Bytes: 4096}
}

func (m *metered) NextAlarm(context.Context) (now, at uint64, err error) { return 10_500, 8_000, m.err }

func TestStore(t *testing.T) {
	s := &metered{Store: memory.New(machineClock{})}
	s.commits.Add(3 * time.Millisecond)
	s.commits.Add(time.Minute)
	g := open(t, telemetry.Config{}, s)
	g.expect(`
		postern_store_commands_total 9
		postern_store_failed_commands_total 2
		postern_store_retries_total 3
		postern_store_commit_duration_seconds_bucket{le="0.0025"} 0
		postern_store_commit_duration_seconds_bucket{le="0.005"} 1
		postern_store_commit_duration_seconds_bucket{le="+Inf"} 2
		postern_store_commit_duration_seconds_sum 60.003
		postern_store_grouped_commands_total 8
		postern_store_waiting_commands 4
		postern_store_size_bytes 4096
		postern_alarm_overdue_seconds 2.5`)
	s.err = store.ErrUnavailable
	g.expect("postern_alarm_overdue_seconds -")
}

func TestBudgets(t *testing.T) {
	g := open(t, telemetry.Config{Projects: 2}, nil)
	g.admin("PATCH", "/api/admin/projects/"+g.project, `{"budget":5}`)
	g.admin("POST", "/api/admin/projects", `{"name":"second","budget":7}`)
	g.admin("POST", "/api/admin/projects", `{"name":"third","budget":8}`)
	g.chat("beta", false) // 100 × $10 and 50 × $20 per million
	if status, answer := g.send("GET", "/api/usage?projectId="+g.project, "", "X-API-Key", g.key); status != 200 {
		t.Fatal(answer) // for the report, the meter sends its usage to the ledger
	}
	g.expect(`
		postern_budget_limit_dollars{project="` + g.project + `"} 5
		postern_budget_remaining_dollars{project="` + g.project + `"} 4.998`)
	n := 0
	for name := range g.series() {
		if strings.HasPrefix(name, "postern_budget_limit_dollars") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d projects, want the 2 that are allowed", n)
	}
	if g := open(t, telemetry.Config{}, nil); len(g.series()) > 0 {
		for name := range g.series() {
			if strings.Contains(name, "budget") {
				t.Errorf("%s without Projects", name)
			}
		}
	}
}

func TestHealth(t *testing.T) {
	g := open(t, telemetry.Config{Version: "9.8.7"}, nil)
	for _, c := range []struct {
		path   string
		ready  error
		status int
		body   string
	}{
		{"/livez", errors.New("ignored"), 200, `{"status":"live"}`},
		{"/readyz", nil, 200, `{"status":"ready"}`},
		{"/readyz", server.ErrStarting, 503, `{"status":"not ready","reason":"starting"}`},
		{"/readyz", server.ErrDraining, 503, `{"status":"not ready","reason":"draining"}`},
		{"/readyz", errors.Join(store.ErrUnavailable, errors.New("postgres://user:password@db")), 503, `{"status":"not ready","reason":"store_unavailable"}`},
		{"/debug/pprof/", nil, 404, "404 page not found"},
		{"/", nil, 404, "404 page not found"},
	} {
		if status, body := g.ops(c.path, c.ready); status != c.status || strings.TrimSpace(body) != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.path, status, body, c.status, c.body)
		}
	}
	found := false
	for name := range g.series() {
		found = found || strings.HasPrefix(name, `postern_build_info{`) && strings.Contains(name, `version="9.8.7"`)
	}
	if !found {
		t.Error("no build info")
	}
}

func TestLint(t *testing.T) {
	g := open(t, telemetry.Config{Projects: 1}, &metered{Store: memory.New(machineClock{})})
	g.chat("beta", true)
	_, body := g.ops("/metrics", nil)
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "postern_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
