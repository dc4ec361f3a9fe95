// Package telemetry observes a server: metrics for Prometheus, traces and metrics over OTLP, and the handler of the
// operations listener. No prompt, response, key or caller-chosen name reaches a metric or a trace.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server"
)

// Config configures telemetry. The standard OTEL_* environment variables configure OpenTelemetry.
type Config struct {
	// Version is the version of the server.
	Version string
	// Projects is the maximum number of projects with budget metrics. If it is 0, there are none.
	Projects int
	// Log receives messages about exporter failures. The default is slog.Default().
	Log *slog.Logger
	// Dropped returns the number of lost log lines; see logging.Log.Dropped. Optional.
	Dropped func() uint64
}

// Telemetry implements host.Observer and server.Watcher.
type Telemetry struct {
	registry     *prometheus.Registry
	metrics      *metrics
	scrape       *scrape
	otel         *otel // nil: off
	words        words
	usageMembers words // names of usage fields, which providers choose
	catalog      atomic.Pointer[catalog]
}

// New returns telemetry. If an OTEL_* variable has an unsupported value, it fails. It does not connect to a
// collector. If a collector is down, only the collector's data is lost.
func New(ctx context.Context, c Config) (*Telemetry, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	t := &Telemetry{registry: prometheus.NewRegistry()}
	t.catalog.Store(newCatalog(&config.Config{}))
	t.metrics = newMetrics(t.registry)
	t.scrape = &scrape{config: c}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), t.scrape)
	var err error
	t.otel, err = newOTel(ctx, c, t.metrics)
	return t, err
}

// Watch implements server.Watcher.
func (t *Telemetry) Watch(p server.Parts) {
	t.catalog.Store(newCatalog(p.Config))
	t.scrape.parts.Store(&p)
}

// Begin implements host.Observer.
func (t *Telemetry) Begin(_ string, r *http.Request) host.ObservedExchange { return t.begin(r) }

// Failed implements host.Observer.
func (t *Telemetry) Failed(code string) { t.metrics.failures.of(t.words.of([]byte(code))).Inc() }

// Close exports all pending data and shuts down the exporters. It gives up when ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.otel == nil {
		return nil
	}
	return t.otel.close(ctx)
}

// goVersion returns the Go version that built this program.
func goVersion() string { return runtime.Version() }
