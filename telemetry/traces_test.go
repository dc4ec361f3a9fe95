package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/postern-ai/postern/telemetry"
	"github.com/postern-ai/postern/test/fakeprovider"
)

// expectSpans compares outlines with the spans of the only traced request and of its attempts, in order.
func (r *receiver) expectSpans(want string) (server *trace.Span, attempts []*trace.Span) {
	r.Helper()
	servers, all := r.requests()
	if len(servers) != 1 {
		r.Fatalf("%d requests were traced, want 1", len(servers))
	}
	server, attempts = servers[0], all[string(servers[0].SpanId)]
	lines := []string{outline(server)}
	for _, a := range attempts {
		lines = append(lines, outline(a))
		if !bytes.Equal(a.TraceId, server.TraceId) || a.StartTimeUnixNano < server.StartTimeUnixNano || a.EndTimeUnixNano < a.StartTimeUnixNano {
			r.Errorf("%s: not within its request", a.Name)
		}
	}
	var wanted []string
	for line := range strings.Lines(strings.TrimSpace(want)) {
		wanted = append(wanted, strings.TrimSpace(line))
	}
	if got, want := strings.Join(lines, "\n"), strings.Join(wanted, "\n"); got != want {
		r.Errorf("got\n%s\nwant\n%s", got, want)
	}
	return server, attempts
}

func TestTraceOfAStreamWithAFallback(t *testing.T) {
	g, r := traced(t)
	g.next(fakeprovider.Behavior{Kind: "status", Status: 503})
	g.next(fakeprovider.Behavior{Kind: "answer"})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	g.chat("pair", true, "traceparent", parent, "tracestate", "inner=secret-of-the-caller", "baggage", "user=secret-of-the-caller")
	r.finish(g)
	server, attempts := r.expectSpans(`
		server chat beta request.method=POST response.status_code=200 route=/v1/chat/completions operation.name=chat provider.name=anthropic request.model=beta request.stream=true usage.input_tokens=100 usage.output_tokens=50 postern.cost_dollars=0.002 response.model=beta postern.cache=bypass
		client chat alpha ERROR operation.name=chat provider.name=openai request.model=alpha server.address=127.0.0.1 request.stream=true request.method=POST error.type=503 response.status_code=503
		client chat beta operation.name=chat provider.name=anthropic request.model=beta server.address=127.0.0.1 request.stream=true request.method=POST response.status_code=200`)
	if got := hex.EncodeToString(server.TraceId) + "-" + hex.EncodeToString(server.ParentSpanId); got != parent[3:len(parent)-3] {
		t.Errorf("the caller's trace is not continued: %s", got)
	}
	if server.TraceState != "inner=secret-of-the-caller" {
		t.Errorf("tracestate %q", server.TraceState)
	}
	about := attributes(server)
	if about["postern.project.id"] != g.project || !strings.HasPrefix(about["postern.request.id"], "req_") || about["gen_ai.response.time_to_first_chunk"] == "" {
		t.Errorf("got %v", about)
	}
	for i, seen := range g.upstream.Seen() {
		want := "00-" + hex.EncodeToString(server.TraceId) + "-" + hex.EncodeToString(attempts[i].SpanId) + "-01"
		if got := seen.Header.Values("traceparent"); len(got) != 1 || got[0] != want {
			t.Errorf("attempt %d: traceparent %q, want %q", i, got, want)
		}
		if seen.Header.Get("tracestate") != "" || seen.Header.Get("baggage") != "" {
			t.Errorf("attempt %d: the provider got the caller's tracestate or baggage", i)
		}
	}
}

// The request's span has the prompt cache's tokens only if there are any.
func TestTraceOfAPromptCache(t *testing.T) {
	g, r := traced(t)
	g.ask("kept for an hour")
	r.finish(g)
	r.expectSpans(`
		server chat gamma request.method=POST response.status_code=200 route=/v1/messages operation.name=chat provider.name=anthropic request.model=gamma request.stream=false usage.input_tokens=100 usage.output_tokens=50 postern.cost_dollars=0.000206 response.model=gamma postern.cache=bypass usage.cache_read.input_tokens=0 usage.cache_creation.input_tokens=6 postern.prompt_cache_saved_dollars=-6e-06
		client chat gamma operation.name=chat provider.name=anthropic request.model=gamma server.address=127.0.0.1 request.stream=false request.method=POST response.status_code=200`)
}

func TestTracesOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		upstream []string
		model    string
		stream   bool
		want     string
	}{
		"provider's error": {[]string{"status"}, "alpha", false, `
			server chat alpha ERROR request.method=POST response.status_code=502 route=/v1/chat/completions error.type=provider_error operation.name=chat provider.name=openai request.model=alpha request.stream=false usage.input_tokens=0 usage.output_tokens=0 postern.cost_dollars=0
			client chat alpha ERROR operation.name=chat provider.name=openai request.model=alpha server.address=127.0.0.1 request.stream=false request.method=POST error.type=502 response.status_code=502`},
		"no connection": {[]string{"drop"}, "alpha", false, `
			server chat alpha ERROR request.method=POST response.status_code=502 route=/v1/chat/completions error.type=provider_error operation.name=chat provider.name=openai request.model=alpha request.stream=false usage.input_tokens=0 usage.output_tokens=0 postern.cost_dollars=0
			client chat alpha ERROR operation.name=chat provider.name=openai request.model=alpha server.address=127.0.0.1 request.stream=false request.method=POST error.type=unreachable`},
		"unknown model": {nil, "invented-name", false, `
			server POST /v1/chat/completions request.method=POST response.status_code=404 route=/v1/chat/completions error.type=model_not_found operation.name=chat`},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := traced(t)
			for _, kind := range c.upstream {
				g.next(fakeprovider.Behavior{Kind: kind, Status: 502})
			}
			g.chat(c.model, c.stream)
			r.finish(g)
			r.expectSpans(c.want)
		})
	}
}

func TestTraceOfADisconnect(t *testing.T) {
	g, r := traced(t)
	g.next(fakeprovider.Behavior{Kind: "endless"})
	ctx, cancel := context.WithCancel(t.Context())
	body := `{"model":"alpha","stream":true,"messages":[{"role":"user","content":"` + secretPrompt + `"}]}`
	q, _ := http.NewRequestWithContext(ctx, "POST", g.url+"/v1/chat/completions", strings.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("X-API-Key", g.key)
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 20)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = response.Body.Close()
	r.finish(g)
	servers, attempts := r.requests()
	if len(servers) != 1 || attributes(servers[0])["error.type"] != "client_closed_request" || servers[0].Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
		t.Fatalf("got %v", servers)
	}
	if a := attempts[string(servers[0].SpanId)]; len(a) != 1 || attributes(a[0])["error.type"] != "canceled" {
		t.Errorf("got %v", a)
	}
}

// TestCallersTraceContext checks that a caller's trace context decides to which trace a request belongs. It must have
// no other effect.
func TestCallersTraceContext(t *testing.T) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		parents   []string
		continued bool
	}{
		"none":           {nil, false},
		"valid":          {[]string{valid}, true},
		"twice":          {[]string{valid, valid}, false},
		"upper case":     {[]string{strings.ToUpper(valid)}, false},
		"zero trace":     {[]string{"00-00000000000000000000000000000000-b7ad6b7169203331-01"}, false},
		"zero span":      {[]string{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}, false},
		"version ff":     {[]string{"ff" + valid[2:]}, false},
		"trailing":       {[]string{valid + "-x"}, false},
		"a line break":   {[]string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\t"}, true}, // trimmed by HTTP
		"not hex":        {[]string{"00-0af7651916cd43dd8448eb211c80319z-b7ad6b7169203331-01"}, false},
		"long nonsense":  {[]string{strings.Repeat("0", 5000)}, false},
		"future version": {[]string{"cc" + valid[2:] + "-later"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := traced(t)
			q, _ := http.NewRequest("GET", g.url+"/v1/models", nil)
			q.Header["Traceparent"] = c.parents
			response, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			r.finish(g)
			servers, _ := r.requests()
			if len(servers) != 1 || (hex.EncodeToString(servers[0].TraceId) == valid[3:35]) != c.continued {
				t.Errorf("continued is not %v: %v", c.continued, servers)
			}
		})
	}
}

func TestUnsampledTraces(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	g, r := traced(t)
	g.chat("alpha", false)
	r.finish(g)
	if len(r.spans) > 0 {
		t.Errorf("%d spans", len(r.spans))
	}
	if got := g.upstream.Seen()[0].Header.Get("traceparent"); !strings.HasSuffix(got, "-00") {
		t.Errorf("traceparent %q does not tell that the trace is not sampled", got)
	}
}

// TestWithoutTraces checks that headers are passed on as if telemetry did not exist.
func TestWithoutTraces(t *testing.T) {
	for _, endpoint := range []string{"", "METRICS_"} {
		if endpoint != "" {
			t.Setenv("OTEL_EXPORTER_OTLP_"+endpoint+"ENDPOINT", "http://127.0.0.1:1/v1/metrics")
		}
		g := open(t, telemetry.Config{}, nil)
		g.chat("alpha", false, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		seen := g.upstream.Seen()[0]
		if got := seen.Header.Get("traceparent"); got != "" {
			t.Errorf("traceparent %q", got)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		_ = g.telemetry.Close(done)
	}
}
