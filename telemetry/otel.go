package telemetry

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/go-logr/logr"
	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const scopeName = "github.com/postern-ai/postern/telemetry"

// otel exports traces and metrics over OTLP.
type otel struct {
	tracer      trace.Tracer // nil: no traces
	instruments *instruments // nil: no metrics
	closers     []func(context.Context) error
}

// newOTel returns nil if the environment variables request no export.
func newOTel(ctx context.Context, c Config, m *metrics) (*otel, error) {
	on, err := readEnvironment()
	if err != nil || !on.traces && !on.metrics {
		return nil, err
	}
	about, err := newResource(ctx, c.Version)
	if err != nil {
		return nil, err
	}
	o, report := &otel{}, newReporter(c.Log, m)
	// The SDK's own messages may contain headers and addresses, so they are not logged. The wrappers of the exporters
	// report failures.
	otelapi.SetLogger(logr.Discard())
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) { report.failed("sdk", err) }))
	if on.traces {
		if err := o.startTraces(ctx, c, about, report); err != nil {
			return nil, err
		}
	}
	if on.metrics {
		return o, o.startMetrics(ctx, c, about, report)
	}
	return o, nil
}

// newResource describes this server. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
func newResource(ctx context.Context, version string) (*resource.Resource, error) {
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attrServiceName.String("postern"), attrServiceVersion.String(version), attrServiceInstance.String(rand.Text()),
	), resource.WithFromEnv())
	if err != nil {
		return nil, errResource
	}
	return r, nil
}

var errExporter = errors.New("telemetry: the OTLP exporter cannot start; check the OTEL_EXPORTER_OTLP_* variables")

func (o *otel) startTraces(ctx context.Context, c Config, about *resource.Resource, report *reporter) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return errExporter
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spanExporter{exporter, report}))
	o.tracer = provider.Tracer(scopeName, trace.WithInstrumentationVersion(c.Version))
	o.closers = append(o.closers, provider.Shutdown)
	return nil
}

func (o *otel) startMetrics(ctx context.Context, c Config, about *resource.Resource, report *reporter) error {
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return errExporter
	}
	reader := sdkmetric.NewPeriodicReader(metricExporter{exporter, report})
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(reader))
	o.instruments, err = newInstruments(provider.Meter(scopeName, metric.WithInstrumentationVersion(c.Version)))
	o.closers = append(o.closers, provider.Shutdown)
	return err
}

// close exports all pending data. It does so for all signals at the same time.
func (o *otel) close(ctx context.Context) error {
	results := make(chan error, len(o.closers))
	for _, closer := range o.closers {
		go func() { results <- closer(ctx) }()
	}
	var all error
	for range o.closers {
		select {
		case err := <-results:
			all = errors.Join(all, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return all
}
