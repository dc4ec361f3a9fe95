package telemetry_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/postern-ai/postern/telemetry"
)

// receiver is an OTLP collector over HTTP.
type receiver struct {
	*testing.T
	*httptest.Server
	status int // of its responses; 0: 200

	mu       sync.Mutex
	raw      bytes.Buffer // everything received
	spans    []*trace.Span
	metrics  map[string]*metrics.Metric
	resource map[string]string
	header   http.Header // of the last request
}

// receive starts a receiver and points the process's variables at it.
func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{T: t, metrics: map[string]*metrics.Metric{}, resource: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	data, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.raw.Write(data)
	r.header = q.Header
	if r.status != 0 {
		w.WriteHeader(r.status)
		return
	}
	switch q.URL.Path {
	case "/v1/traces":
		var in tracecollector.ExportTraceServiceRequest
		r.decode(data, &in)
		for _, group := range in.ResourceSpans {
			r.keepResource(group.Resource.Attributes)
			for _, scope := range group.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var in metricscollector.ExportMetricsServiceRequest
		r.decode(data, &in)
		for _, group := range in.ResourceMetrics {
			r.keepResource(group.Resource.Attributes)
			for _, scope := range group.ScopeMetrics {
				for _, m := range scope.Metrics {
					r.metrics[m.Name] = m
				}
			}
		}
	default:
		r.Errorf("export to %s", q.URL.Path)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) decode(data []byte, in proto.Message) {
	if err := proto.Unmarshal(data, in); err != nil {
		r.Error(err)
	}
}

func (r *receiver) keepResource(attributes []*common.KeyValue) {
	for _, a := range attributes {
		r.resource[a.Key] = text(a.Value)
	}
}

// finish exports all pending data and checks that it contains no secret of the gateway.
func (r *receiver) finish(g *gateway) {
	r.Helper()
	g.server.Host().Wait()
	if err := g.telemetry.Close(r.Context()); err != nil {
		r.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range g.secrets {
		if bytes.Contains(r.raw.Bytes(), []byte(secret)) {
			r.Errorf("%q was exported", secret)
		}
	}
}

func text(v *common.AnyValue) string {
	switch v.Value.(type) {
	case *common.AnyValue_StringValue:
		return v.GetStringValue()
	default:
		_, after, _ := strings.Cut(strings.ReplaceAll(v.String(), " ", ""), ":")
		return after
	}
}

// outline returns a span on one line: its kind, name, status and attributes. It leaves out durations, IDs and ports.
func outline(s *trace.Span) string {
	var b strings.Builder
	b.WriteString(map[trace.Span_SpanKind]string{trace.Span_SPAN_KIND_SERVER: "server ", trace.Span_SPAN_KIND_CLIENT: "client "}[s.Kind] + s.Name)
	if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
		b.WriteString(" ERROR")
	}
	for _, a := range s.Attributes {
		switch a.Key {
		case "server.port", "postern.request.id", "postern.project.id", "gen_ai.response.time_to_first_chunk":
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(a.Key, "gen_ai."), "http.")
		b.WriteString(" " + name + "=" + text(a.Value))
	}
	return b.String()
}

// attributes returns a span's attributes as text.
func attributes(s *trace.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[a.Key] = text(a.Value)
	}
	return all
}

// requests returns the spans of data plane requests with a method and route. It also returns the spans below each of
// them.
func (r *receiver) requests() (servers []*trace.Span, attempts map[string][]*trace.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	attempts = map[string][]*trace.Span{}
	for _, s := range r.spans {
		switch {
		case s.Kind == trace.Span_SPAN_KIND_CLIENT:
			attempts[string(s.ParentSpanId)] = append(attempts[string(s.ParentSpanId)], s)
		case attributes(s)["http.route"] != "":
			servers = append(servers, s)
		}
	}
	return servers, attempts
}

// traced starts a gateway whose telemetry is exported to a receiver.
func traced(t *testing.T) (*gateway, *receiver) {
	t.Helper()
	r := receive(t)
	return open(t, telemetry.Config{Version: "1.2.3"}, nil), r
}
