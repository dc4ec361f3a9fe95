package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/postern-ai/postern/core/exchange"
)

// instruments are the metrics that are exported over OTLP. Their names are from the conventions. Prometheus has more
// metrics.
type instruments struct {
	operation, firstChunk, server metric.Float64Histogram
	tokens                        metric.Int64Histogram
}

func newInstruments(m metric.Meter) (*instruments, error) {
	i := &instruments{}
	var err error
	histogram := func(name, help string, bounds []float64) metric.Float64Histogram {
		h, failed := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...))
		if failed != nil {
			err = failed
		}
		return h
	}
	i.operation = histogram(metricOperationDuration, "Duration of requests to providers.", operationBounds)
	i.firstChunk = histogram(metricFirstChunk, "Time to the first chunk of streams.", operationBounds)
	i.server = histogram(metricServerDuration, "Duration of HTTP server requests.", serverBounds)
	if err != nil {
		return nil, err
	}
	i.tokens, err = m.Int64Histogram(metricTokenUsage, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBounds...))
	return i, err
}

// attempt records one request to a provider.
func (i *instruments) attempt(a *attempt, attributes []attribute.KeyValue) {
	if a.fetch.Purpose != exchange.ForCount {
		i.operation.Record(context.Background(), a.took.Seconds(), metric.WithAttributes(attributes...))
	}
}

// request records one exchange.
func (i *instruments) request(x *observed) {
	o, ctx := &x.done, context.Background()
	about := []attribute.KeyValue{attrMethod.String(methodName(x.method)), attrStatus.Int(o.status)}
	if o.route != "" {
		about = append(about, attrRoute.String(o.route))
	}
	if o.code != "" {
		about = append(about, attrErrorType.String(o.code))
	}
	i.server.Record(ctx, o.took.Seconds(), metric.WithAttributes(about...))
	provider, model := x.billed()
	if model == "" || operations[o.route] == "" {
		return
	}
	about = []attribute.KeyValue{
		attrOperation.String(operations[o.route]), attrProvider.String(providerName(provider)), attrRequestModel.String(model),
	}
	if x.first > 0 && len(x.attempts) > 0 {
		last := x.attempts[len(x.attempts)-1]
		i.firstChunk.Record(ctx, x.started.Add(x.first).Sub(last.started).Seconds(), metric.WithAttributes(about...))
	}
	if o.input+o.output > 0 {
		i.tokens.Record(ctx, int64(o.input), metric.WithAttributes(about...), metric.WithAttributes(attrTokenType.String("input")))
		i.tokens.Record(ctx, int64(o.output), metric.WithAttributes(about...), metric.WithAttributes(attrTokenType.String("output")))
	}
}
