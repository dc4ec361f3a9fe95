package telemetry

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/money"
)

// span is the span of an exchange. The zero value means that there is no span.
type span struct {
	*otel
	trace.Span // nil: no traces
	ctx        context.Context
}

// attemptSpan is the span of an attempt. The zero value means that there is no span.
type attemptSpan struct {
	trace.Span
	attributes []attribute.KeyValue // also those of its metrics
}

const (
	headerParent = "traceparent"
	headerState  = "tracestate"
)

// begin starts the span of an exchange. It continues the caller's trace.
func (o *otel) begin(r *http.Request, at time.Time) span {
	s := span{otel: o}
	if o.tracer == nil {
		return s
	}
	s.ctx, s.Span = o.tracer.Start(callersContext(r.Header), methodName(r.Method), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(at), trace.WithAttributes(attrMethod.String(methodName(r.Method))))
	return s
}

// callersContext returns the caller's trace context (w3.org/TR/trace-context). If traceparent is malformed or
// repeated, it is ignored.
func callersContext(h http.Header) context.Context {
	if len(h.Values(headerParent)) != 1 {
		return context.Background()
	}
	carrier := propagation.MapCarrier{headerParent: h.Get(headerParent), headerState: strings.Join(h.Values(headerState), ",")}
	return propagation.TraceContext{}.Extract(context.Background(), carrier)
}

// log sets the attributes that come from the log line.
func (s span) log(x *observed, l *line) {
	if s.Span == nil || !s.IsRecording() {
		return
	}
	s.SetAttributes(attrRequestID.String(string(l.requestID)))
	if len(l.project) > 0 {
		s.SetAttributes(attrProject.String(string(l.project)))
	}
}

// end ends the span and records the metrics of the exchange.
func (s span) end(x *observed) {
	if s.otel == nil {
		return
	}
	if s.instruments != nil {
		s.instruments.request(x)
	}
	if s.Span == nil {
		return
	}
	if s.IsRecording() {
		s.describe(x)
	}
	s.Span.End(trace.WithTimestamp(x.started.Add(x.done.took)))
}

func (s span) describe(x *observed) {
	o := &x.done
	s.SetName(spanName(x))
	s.SetAttributes(attrStatus.Int(o.status))
	if o.route != "" {
		s.SetAttributes(attrRoute.String(o.route))
	}
	if o.code != "" {
		s.SetAttributes(attrErrorType.String(o.code))
	}
	if o.status >= http.StatusInternalServerError || !o.logged {
		s.SetStatus(codes.Error, o.code)
	}
	if operation := operations[o.route]; operation != "" {
		s.SetAttributes(attrOperation.String(operation))
		s.describeModel(x)
	}
}

// describeModel sets the attributes of a request that calls a model.
func (s span) describeModel(x *observed) {
	o := &x.done
	provider, model := x.billed()
	if model == "" {
		return
	}
	s.SetAttributes(attrProvider.String(providerName(provider)), attrRequestModel.String(model), attrRequestStream.Bool(o.stream),
		attrInputTokens.Int64(int64(o.input)), attrOutputTokens.Int64(int64(o.output)),
		attrCost.Float64(float64(o.costPico)/float64(money.Dollar)))
	if o.model != "" {
		s.SetAttributes(attrResponseModel.String(o.model), attrCache.String(o.cache))
	}
	if o.cacheRead+o.cacheWrite > 0 {
		s.SetAttributes(attrCacheRead.Int64(int64(o.cacheRead)), attrCacheWrite.Int64(int64(o.cacheWrite)),
			attrSaved.Float64(float64(o.cacheSavedPico)/float64(money.Dollar)))
	}
	if o.estimated {
		s.SetAttributes(attrEstimated.Bool(true))
	}
	if x.first > 0 {
		s.SetAttributes(attrFirstChunk.Float64(x.first.Seconds()))
	}
}

// spanName returns "{operation} {model}" for a request that calls a model. For any other request, it returns the
// method and the route.
func spanName(x *observed) string {
	name := methodName(x.method)
	if _, model := x.billed(); model != "" && operations[x.done.route] != "" {
		return operations[x.done.route] + " " + model
	}
	if x.done.route != "" {
		name += " " + x.done.route
	}
	return name
}

func (s span) attempt(a *attempt, fetch *abi.Action) (child attemptSpan) {
	if s.otel == nil {
		return child
	}
	child.attributes = attemptAttributes(a, fetch.URL)
	if s.Span == nil {
		return child
	}
	name := operationOf(&a.fetch)
	if a.fetch.Model != "" {
		name += " " + a.fetch.Model
	}
	_, child.Span = s.tracer.Start(s.ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.started),
		trace.WithAttributes(child.attributes...), trace.WithAttributes(attrRequestStream.Bool(a.fetch.Stream), attrMethod.String(fetch.Method)))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(s.ctx, child.Span), carrier)
	// The caller's tracestate may describe the caller's own systems. Providers are other companies, so it is not
	// passed on.
	fetch.Headers = append(fetch.Headers, abi.Header{Name: headerParent, Value: carrier[headerParent]})
	return child
}

// attemptAttributes returns the attributes that an attempt's span and metrics share.
func attemptAttributes(a *attempt, address string) []attribute.KeyValue {
	all := []attribute.KeyValue{attrOperation.String(operationOf(&a.fetch))}
	if a.fetch.Provider != "" {
		all = append(all, attrProvider.String(providerName(a.fetch.Provider)))
	}
	if a.fetch.Model != "" {
		all = append(all, attrRequestModel.String(a.fetch.Model))
	}
	if a.fetch.Purpose == exchange.ForClassifier {
		all = append(all, attrPurpose.String("classifier"))
	}
	u, err := url.Parse(address)
	if err != nil {
		return all
	}
	port, _ := strconv.Atoi(u.Port())
	switch {
	case port != 0:
	case u.Scheme == "http":
		port = 80
	default:
		port = 443
	}
	return append(all, attrAddress.String(u.Hostname()), attrPort.Int(port))
}

func (s attemptSpan) end(a *attempt, outcome string) {
	failed := a.status != http.StatusOK || outcome != statusWord(a.status)
	if failed {
		s.attributes = append(s.attributes, attrErrorType.String(outcome))
	}
	if o := a.x.t.otel; o != nil && o.instruments != nil {
		o.instruments.attempt(a, s.attributes)
	}
	if s.Span == nil {
		return
	}
	if failed {
		s.SetAttributes(attrErrorType.String(outcome))
		s.SetStatus(codes.Error, outcome)
	}
	if a.status != 0 {
		s.SetAttributes(attrStatus.Int(a.status))
	}
	s.Span.End(trace.WithTimestamp(a.started.Add(a.took)))
}
