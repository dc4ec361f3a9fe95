package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/postern-ai/postern/telemetry"
)

// points returns the sums of a histogram's points. They are keyed by the values of some attributes.
func points(m *metrics.Metric, names ...string) map[string]float64 {
	sums := map[string]float64{}
	for _, p := range m.GetHistogram().GetDataPoints() {
		key := make([]string, len(names))
		for _, a := range p.Attributes {
			for i, name := range names {
				if a.Key == name {
					key[i] = text(a.Value)
				}
			}
		}
		sums[strings.Join(key, " ")] += p.GetSum()
	}
	return sums
}

func TestExportedMetrics(t *testing.T) {
	g, r := traced(t)
	g.chat("alpha", false)
	g.chat("beta", true)
	g.chat("beta", true)
	g.chat("invented-name", false)
	r.finish(g)
	tokens := points(r.metrics["gen_ai.client.token.usage"], "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type")
	for key, want := range map[string]float64{
		"chat openai alpha input": 100, "chat openai alpha output": 50, "chat anthropic beta input": 200, "chat anthropic beta output": 100,
	} {
		if tokens[key] != want {
			t.Errorf("tokens of %s: %v, want %v", key, tokens[key], want)
		}
	}
	durations := points(r.metrics["gen_ai.client.operation.duration"], "gen_ai.provider.name", "gen_ai.request.model")
	if durations["openai alpha"] <= 0 || durations["anthropic beta"] <= 0 || len(durations) != 2 {
		t.Errorf("durations: %v", durations)
	}
	if first := points(r.metrics["gen_ai.client.operation.time_to_first_chunk"], "gen_ai.request.model"); first["beta"] <= 0 || len(first) != 1 {
		t.Errorf("first chunks: %v", first)
	}
	server := points(r.metrics["http.server.request.duration"], "http.request.method", "http.route", "http.response.status_code", "error.type")
	if server["POST /v1/chat/completions 200 "] <= 0 || server["POST /v1/chat/completions 404 model_not_found"] <= 0 {
		t.Errorf("requests: %v", server)
	}
	if unit := r.metrics["gen_ai.client.token.usage"].Unit; unit != "{token}" {
		t.Errorf("unit %q", unit)
	}
}

func TestResourceAndHeaders(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=of%20the%20collector")
	g, r := traced(t)
	g.chat("alpha", false)
	r.finish(g)
	if r.resource["service.name"] != "postern" || r.resource["service.version"] != "1.2.3" || r.resource["service.instance.id"] == "" {
		t.Errorf("resource %v", r.resource)
	}
	if got := r.header.Get("X-Collector-Key"); got != "of the collector" {
		t.Errorf("header %q", got)
	}
	t.Setenv("OTEL_SERVICE_NAME", "gate")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=other")
	g, r = traced(t)
	g.chat("alpha", false)
	r.finish(g)
	if r.resource["service.name"] != "gate" || r.resource["deployment.environment.name"] != "test" || r.resource["service.version"] != "other" {
		t.Errorf("resource %v", r.resource)
	}
}

// TestSwitchedOff checks that no request reaches the collector.
func TestSwitchedOff(t *testing.T) {
	for _, variables := range [][]string{
		{"OTEL_SDK_DISABLED", "true"}, {"OTEL_SDK_DISABLED", "TRUE"},
		{"OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", ""},
	} {
		t.Run(strings.Join(variables, " "), func(t *testing.T) {
			r := receive(t)
			for i := 0; i < len(variables); i += 2 {
				t.Setenv(variables[i], variables[i+1])
			}
			g := open(t, telemetry.Config{}, nil)
			g.chat("alpha", false)
			r.finish(g)
			if r.raw.Len() > 0 || r.header != nil {
				t.Error("something was exported")
			}
		})
	}
}

func TestOneSignal(t *testing.T) {
	r := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", r.URL+"/v1/traces")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	g := open(t, telemetry.Config{}, nil)
	g.chat("alpha", false)
	r.finish(g)
	if servers, _ := r.requests(); len(servers) != 1 || len(r.metrics) > 0 {
		t.Errorf("%d requests traced, %d metrics", len(servers), len(r.metrics))
	}
}

func TestInvalidVariables(t *testing.T) {
	for _, c := range [][3]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "user:secret-value@collector", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://secret-value", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", `http/protobuf, the only protocol supported, got "grpc"`},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "authorization secret-value", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,authorization=%zz secret-value", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_TRACES_EXPORTER", "zipkin", `otlp or none, got "zipkin"`},
		{"OTEL_TRACES_SAMPLER", "sometimes", `got "sometimes"`},
		{"OTEL_RESOURCE_ATTRIBUTES", "secret-value", "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		t.Run(c[0]+"="+c[1], func(t *testing.T) {
			receive(t)
			t.Setenv(c[0], c[1])
			_, err := telemetry.New(t.Context(), telemetry.Config{})
			if err == nil || !strings.Contains(err.Error(), c[2]) || strings.Contains(err.Error(), "secret-value") {
				t.Errorf("got %v, want an error with %s", err, c[2])
			}
		})
	}
	t.Run("ratio", func(t *testing.T) {
		receive(t)
		t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
		for _, c := range []struct {
			ratio string
			ok    bool
		}{{"0.25", true}, {"", true}, {"0", true}, {"1.5", false}, {"NaN", false}, {"half", false}} {
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.ratio)
			if _, err := telemetry.New(t.Context(), telemetry.Config{}); (err == nil) != c.ok {
				t.Errorf("%q: %v", c.ratio, err)
			}
		}
	})
}

// TestCollectorDown checks that requests work while the collector is down, that failures are counted and reported
// once, and that Close takes limited time.
func TestCollectorDown(t *testing.T) {
	for name, collector := range map[string]func(*testing.T) string{
		"rejects": func(t *testing.T) string {
			r := receive(t)
			r.status = 400
			return r.URL
		},
		"refuses connections": func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return "http://user:secret-value@" + l.Addr().String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector(t))
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
			var log bytes.Buffer
			g := open(t, telemetry.Config{Log: slog.New(slog.NewJSONHandler(&log, nil))}, nil)
			for range 3 {
				if status := g.chat("alpha", false); status != 200 {
					t.Errorf("status %d", status)
				}
			}
			if err := g.telemetry.Close(t.Context()); err != nil {
				t.Error(err)
			}
			g.expect("postern_otlp_export_failures_total{signal=\"traces\"} 1\n postern_otlp_export_failures_total{signal=\"metrics\"} 1")
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "otlp_export_failed") || strings.Contains(got, "secret-value") || strings.Contains(got, "127.0.0.1") {
				t.Errorf("log %q", got)
			}
			expired, cancel := context.WithCancel(t.Context())
			cancel()
			_ = g.telemetry.Close(expired) // must not hang
		})
	}
}

// TestCollectorHangs checks that requests do not wait for the collector. When its context ends, Close must give up.
func TestCollectorHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but never responds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	g := open(t, telemetry.Config{}, nil)
	for range 3000 { // more spans than the exporter's queue can hold
		if status, _ := g.send("GET", "/", ""); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := g.telemetry.Close(ctx); err == nil {
		t.Error("Close succeeded although the collector never answered")
	}
}
