package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reporter counts failed exports and logs at most one per minute. It does not log the errors themselves. They may
// contain the collector's address with credentials, and the collector's response.
type reporter struct {
	log     *slog.Logger
	metrics *metrics

	mu   sync.Mutex
	last time.Time
}

const reportInterval = time.Minute

func newReporter(log *slog.Logger, m *metrics) *reporter { return &reporter{log: log, metrics: m} }

func (r *reporter) failed(signal string, err error) {
	r.metrics.exports.WithLabelValues(signal).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < reportInterval {
		return
	}
	r.last = time.Now()
	r.log.Warn("an export over OTLP failed; the data is lost", "code", "otlp_export_failed", "signal", signal, "reason", reason(err))
}

func reason(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case network != nil:
		return "unreachable"
	}
	return "rejected"
}

// spanExporter is a span exporter whose failures are reported.
type spanExporter struct {
	sdktrace.SpanExporter
	*reporter
}

// ExportSpans implements sdktrace.SpanExporter.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.failed("traces", err)
	}
	return nil
}

// metricExporter is a metric exporter whose failures are reported.
type metricExporter struct {
	sdkmetric.Exporter
	*reporter
}

// Export implements sdkmetric.Exporter.
func (e metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, data); err != nil {
		e.failed("metrics", err)
	}
	return nil
}
