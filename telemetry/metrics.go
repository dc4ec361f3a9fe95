package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Keys of series.
type (
	requestKey struct{ route, status, code, provider, model, cache string }
	routeKey   struct {
		route  string
		stream bool
	}
	modelKey   struct{ provider, model string }
	attemptKey struct{ provider, model, outcome string }
)

type modelSeries struct {
	input, output, cost, overrun, estimated prometheus.Counter
	cacheRead, cacheWrite                   prometheus.Counter // tokens
	cacheSaved, cacheSurcharge              prometheus.Counter // dollars
	firstToken                              prometheus.Observer
}

type metrics struct {
	requests     children[requestKey, prometheus.Counter]
	durations    children[routeKey, prometheus.Observer]
	models       children[modelKey, modelSeries]
	attempts     children[attemptKey, prometheus.Counter]
	attemptTimes children[string, prometheus.Observer]
	governor     children[[2]string, prometheus.Counter]
	unknownUsage children[[2]string, prometheus.Counter]
	failures     children[string, prometheus.Counter]
	exports      *prometheus.CounterVec
	openRequests prometheus.Gauge
	openStreams  prometheus.Gauge
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{openRequests: defOpenRequests.gauge(), openStreams: defOpenStreams.gauge(), exports: defExportFailures.counters()}
	requests, durations := defRequests.counters(), defDuration.histograms(durationBuckets)
	attempts, times := defAttempts.counters(), defAttemptDuration.histograms(durationBuckets)
	governor, failures := defGovernor.counters(), defFailures.counters()
	m.requests.make = func(k requestKey) prometheus.Counter {
		return requests.WithLabelValues(k.route, k.status, k.code, k.provider, k.model, k.cache)
	}
	m.durations.make = func(k routeKey) prometheus.Observer {
		return durations.WithLabelValues(k.route, strconv.FormatBool(k.stream))
	}
	m.attempts.make = func(k attemptKey) prometheus.Counter { return attempts.WithLabelValues(k.provider, k.model, k.outcome) }
	m.attemptTimes.make = func(provider string) prometheus.Observer { return times.WithLabelValues(provider) }
	m.governor.make = func(k [2]string) prometheus.Counter { return governor.WithLabelValues(k[0], k[1]) }
	m.failures.make = func(code string) prometheus.Counter { return failures.WithLabelValues(code) }
	r.MustRegister(requests, durations, attempts, times, governor, failures, m.exports, m.openRequests, m.openStreams)
	m.registerModels(r)
	unknown := defUnknownUsage.counters()
	m.unknownUsage.make = func(k [2]string) prometheus.Counter { return unknown.WithLabelValues(k[0], k[1]) }
	r.MustRegister(unknown)
	return m
}

func (m *metrics) registerModels(r *prometheus.Registry) {
	tokens, cost, overrun, estimated := defTokens.counters(), defCost.counters(), defOverrun.counters(), defEstimated.counters()
	first := defFirstToken.histograms(firstTokenBuckets)
	cached, saved, surcharge := defCacheTokens.counters(), defCacheSaved.counters(), defCacheSurcharge.counters()
	r.MustRegister(tokens, cost, overrun, estimated, first, cached, saved, surcharge)
	m.models.make = func(k modelKey) modelSeries {
		return modelSeries{
			tokens.WithLabelValues(k.provider, k.model, "input"), tokens.WithLabelValues(k.provider, k.model, "output"),
			cost.WithLabelValues(k.provider, k.model), overrun.WithLabelValues(k.provider, k.model), estimated.WithLabelValues(k.provider, k.model),
			cached.WithLabelValues(k.provider, k.model, "read"), cached.WithLabelValues(k.provider, k.model, "write"),
			saved.WithLabelValues(k.provider, k.model), surcharge.WithLabelValues(k.provider, k.model),
			first.WithLabelValues(k.provider, k.model),
		}
	}
}
