package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postern-ai/postern/store"
)

// definition is the name, the help text and the labels of a metric. docs/reference/metrics.md lists them as well.
type definition struct {
	name, help string
	labels     []string
}

// Request metrics.
var (
	defRequests = definition{"postern_requests_total", "Requests by route, status, error code, and the provider, model and cache state of successful ones.",
		[]string{"route", "status", "code", "provider", "model", "cache"}}
	defDuration = definition{"postern_request_duration_seconds", "Time from the arrival of a request to the end of its response.",
		[]string{"route", "stream"}}
	defFirstToken = definition{"postern_time_to_first_token_seconds", "Time from the arrival of a request to the first content of its stream.",
		[]string{"provider", "model"}}
	defTokens          = definition{"postern_tokens_total", "Tokens billed, by type: input or output.", []string{"provider", "model", "type"}}
	defCost            = definition{"postern_cost_dollars_total", "Cost of requests in US dollars.", []string{"provider", "model"}}
	defCacheTokens     = definition{"postern_prompt_cache_tokens_total", "Input tokens that providers read from or wrote to their prompt caches, by type: read or write.", []string{"provider", "model", "type"}}
	defCacheSaved      = definition{"postern_prompt_cache_saved_dollars_total", "What prompt caches of providers saved, in US dollars.", []string{"provider", "model"}}
	defCacheSurcharge  = definition{"postern_prompt_cache_surcharge_dollars_total", "What requests cost more than without a prompt cache, in US dollars.", []string{"provider", "model"}}
	defOverrun         = definition{"postern_overrun_dollars_total", "Cost of requests beyond their reservations, in US dollars.", []string{"provider", "model"}}
	defEstimated       = definition{"postern_estimated_requests_total", "Requests whose usage is estimated.", []string{"provider", "model"}}
	defUnknownUsage    = definition{"postern_unknown_usage_members_total", "Responses whose usage has a member that Postern does not know; its cost is not charged.", []string{"provider", "member"}}
	defAttempts        = definition{"postern_attempts_total", "Requests to providers, by outcome: the status, or a fault.", []string{"provider", "model", "outcome"}}
	defAttemptDuration = definition{"postern_attempt_duration_seconds", "Time from the start of a request to a provider to the end of its response.",
		[]string{"provider"}}
	defGovernor = definition{"postern_governor_decisions_total", "Decisions of the Governor about requests, and responses that it blocked.",
		[]string{"direction", "decision"}}
	defOpenRequests = definition{"postern_open_requests", "Requests in progress, until they have settled.", nil}
	defOpenStreams  = definition{"postern_open_streams", "Streamed responses in progress.", nil}
	defFailures     = definition{"postern_host_failures_total", "Failures of the host, by the code in the log.", []string{"code"}}
)

// Metrics that are read during a scrape.
var (
	defBuild           = definition{"postern_build_info", "The version of the server; always 1.", []string{"version", "goversion"}}
	defCircuit         = definition{"postern_circuit_open", "1 if requests avoid a model because it failed repeatedly, else 0.", []string{"provider", "model"}}
	defObjectCommands  = definition{"postern_object_commands_total", "Commands on objects, by class.", []string{"class"}}
	defKVReads         = definition{"postern_kv_reads_total", "Reads of the key-value store.", nil}
	defKVWrites        = definition{"postern_kv_writes_total", "Writes to the key-value store.", nil}
	defDeliveryFailure = definition{"postern_delivery_failures_total", "Outbox deliveries that failed and are repeated.", nil}
	defPostFailures    = definition{"postern_post_failures_total", "Webhooks without a response.", nil}
	defAlarmOverdue    = definition{"postern_alarm_overdue_seconds", "Age of the oldest alarm that is due, 0 if none is.", nil}
	defStoreCommands   = definition{"postern_store_commands_total", "Commands that the store ran.", nil}
	defStoreFailed     = definition{"postern_store_failed_commands_total", "Commands that failed because the store was unavailable or overloaded.", nil}
	defStoreRetries    = definition{"postern_store_retries_total", "Transactions repeated after a conflict with another replica.", nil}
	defStoreCommit     = definition{"postern_store_commit_duration_seconds", "Time until a transaction was durable.", nil}
	defStoreGrouped    = definition{"postern_store_grouped_commands_total", "Commands in durable transactions; per commit, the size of a group.", nil}
	defStoreWaiting    = definition{"postern_store_waiting_commands", "Commands that wait for their turn or for their commit.", nil}
	defStoreSize       = definition{"postern_store_size_bytes", "Size of the database.", nil}
	defBudgetLimit     = definition{"postern_budget_limit_dollars", "Budget of a project for the current period in US dollars.", []string{"project"}}
	defBudgetRemaining = definition{"postern_budget_remaining_dollars", "What remains of a project's budget in US dollars.", []string{"project"}}
	defLogDropped      = definition{"postern_log_lines_dropped_total", "Log lines lost because their destination was too slow or failed.", nil}
	defExportFailures  = definition{"postern_otlp_export_failures_total", "Failed exports over OTLP, by signal.", []string{"signal"}}
)

// Buckets in seconds. Durations range from a cached response to a stream that takes minutes.
var (
	durationBuckets   = []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	firstTokenBuckets = []float64{.025, .05, .1, .2, .35, .5, .75, 1, 1.5, 2.5, 5, 10, 30}
)

var definitions = []*definition{
	&defRequests, &defDuration, &defFirstToken, &defTokens, &defCost, &defCacheTokens, &defCacheSaved, &defCacheSurcharge, &defOverrun, &defEstimated, &defUnknownUsage, &defAttempts, &defAttemptDuration, &defGovernor,
	&defOpenRequests, &defOpenStreams, &defFailures, &defBuild, &defCircuit, &defObjectCommands, &defKVReads, &defKVWrites,
	&defDeliveryFailure, &defPostFailures, &defAlarmOverdue, &defStoreCommands, &defStoreFailed, &defStoreRetries, &defStoreCommit,
	&defStoreGrouped, &defStoreWaiting, &defStoreSize, &defBudgetLimit, &defBudgetRemaining, &defLogDropped, &defExportFailures,
}

func (d *definition) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}

func (d *definition) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.name, Help: d.help}, d.labels)
}

func (d *definition) gauge() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: d.name, Help: d.help})
}

func (d *definition) histograms(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.name, Help: d.help, Buckets: buckets}, d.labels)
}

func (d *definition) histogram(s *store.Snapshot) prometheus.Metric {
	cumulative, buckets := uint64(0), make(map[float64]uint64, len(store.DurationBounds))
	for i, bound := range store.DurationBounds {
		cumulative += s.Counts[i]
		buckets[bound.Seconds()] = cumulative
	}
	return prometheus.MustNewConstHistogram(d.desc(), s.Count(), s.Total.Seconds(), buckets)
}
