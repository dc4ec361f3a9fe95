package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/route"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
)

// scrapeTimeout limits the store calls of a scrape.
const scrapeTimeout = 2 * time.Second

// scrape collects the metrics that are read when Prometheus scrapes.
type scrape struct {
	config  Config
	parts   atomic.Pointer[server.Parts] // nil before Watch
	budgets budgets
}

// Describe implements prometheus.Collector. It sends no descriptions, because the metrics depend on the server's
// parts. This makes the collector unchecked.
func (s *scrape) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *scrape) Collect(to chan<- prometheus.Metric) {
	out := output{to}
	out.gauge(&defBuild, 1, s.config.Version, goVersion())
	if s.config.Dropped != nil {
		out.counter(&defLogDropped, s.config.Dropped())
	}
	p := s.parts.Load()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	out.circuits(p)
	out.operations(p)
	out.alarms(ctx, p.Store)
	out.store(ctx, p.Store)
	if s.config.Projects > 0 {
		out.budgets(s.budgets.read(ctx, p, s.config.Projects))
	}
}

type output struct{ to chan<- prometheus.Metric }

func (o output) gauge(d *definition, value float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d.desc(), prometheus.GaugeValue, value, labels...)
}

func (o output) counter(d *definition, value uint64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d.desc(), prometheus.CounterValue, float64(value), labels...)
}

// circuits collects the circuit breakers of models that have been called.
func (o output) circuits(p *server.Parts) {
	c := route.DecodeCircuits(p.Host.Shared())
	for _, t := range c.Targets(&p.Config.Routing, p.Host.Clock.Now()) {
		m := p.Config.Model(t.Model)
		if m == nil {
			continue // the model was in the catalog before the last reload
		}
		open := 0.0
		if t.State == "open" {
			open = 1
		}
		o.gauge(&defCircuit, open, m.Provider.Name, m.Name)
	}
}

// classes are the labels of the objects' classes.
var classes = map[abi.Class]string{abi.ClassKeyMeter: "key_meter", abi.ClassLedger: "ledger", abi.ClassDirectory: "directory"}

func (o output) operations(p *server.Parts) {
	for class, name := range classes {
		o.counter(&defObjectCommands, uint64(p.Stats.ObjectCalls[class].Load()), name)
	}
	o.counter(&defKVReads, uint64(p.Stats.KVReads.Load()))
	o.counter(&defKVWrites, uint64(p.Stats.KVWrites.Load()))
	o.counter(&defDeliveryFailure, uint64(p.Stats.DeliveryFailures.Load()))
	o.counter(&defPostFailures, uint64(p.Stats.PostFailures.Load()))
}

// alarms collects the lateness of the earliest alarm. If the store does not respond, the metric is missing.
func (o output) alarms(ctx context.Context, s store.Store) {
	now, at, err := s.NextAlarm(ctx)
	if err != nil {
		return
	}
	late := 0.0
	if at != 0 && at < now {
		late = float64(now-at) / 1000
	}
	o.gauge(&defAlarmOverdue, late)
}

// store collects the figures of a store that measures itself.
func (o output) store(ctx context.Context, s store.Store) {
	meter, ok := s.(store.Meter)
	if !ok {
		return
	}
	m := meter.Measure(ctx)
	o.counter(&defStoreCommands, m.Commands)
	o.counter(&defStoreFailed, m.Failed)
	o.counter(&defStoreRetries, m.Retries)
	o.counter(&defStoreGrouped, m.Grouped)
	o.gauge(&defStoreWaiting, float64(m.Waiting))
	if m.Bytes > 0 {
		o.gauge(&defStoreSize, float64(m.Bytes))
	}
	o.to <- defStoreCommit.histogram(&m.Commits)
}

func (o output) budgets(all []budget) {
	for i := range all {
		o.gauge(&defBudgetLimit, all[i].limit, all[i].project)
		o.gauge(&defBudgetRemaining, all[i].remaining, all[i].project)
	}
}
