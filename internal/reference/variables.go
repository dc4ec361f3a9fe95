package reference

import (
	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/server/settings"
)

// workerVariable is a variable of a Worker. If the server has a variable with this name, the fields are copied from
// it. If Help is set here, it replaces the server's.
type workerVariable struct {
	settings.Variable
	worker string // gateway, control or both
}

// named returns a variable that the server also has.
func named(name, worker, help string) workerVariable {
	return workerVariable{settings.Variable{Name: name, Help: help}, worker}
}

var workerVariables = []workerVariable{
	named(control.EnvAdminToken, "control", "Owner token for the dashboard and the admin API. Without it, every call to the admin API is refused."),
	named(control.EnvViewerToken, "control", ""),
	named(control.EnvAccessTeam, "control", ""),
	named(control.EnvAccessAudience, "control", ""),
	named(control.EnvAccessOwners, "control", ""),
	named(config.EnvMasterKeys, "both", "Keys that encrypt the projects' own provider keys: the first encrypts, all decrypt."),
	named(compliance.EnvSigningKey, "control", "Ed25519 key that signs checkpoints of the compliance data."),
	named(control.EnvWebhooks, "control", ""),
	named(config.EnvCatalog, "both", ""),
	named(config.EnvMaxBodyBytes, "gateway", ""),
	named(config.EnvLog, "gateway", ""),
	named(config.EnvDocs, "gateway", "off serves no documentation at /docs, and errors have no link to it."),
	named(config.EnvControl, "gateway", "off makes the dashboard, the admin API, /docs and /openapi.yaml unreachable through the gateway, for a control Worker with a domain of its own. The gateway's errors then have no link to the documentation."),
	{settings.Variable{
		Name: config.EnvLeases, Default: "on", Form: "on or off",
		Help: "off: no plan has leases, and each request calls the Durable Object of its key.",
	}, "gateway"},
}

var bindings = []struct{ name, worker, kind, meaning string }{
	{"KEY_METER", "both", "Durable Object", "One object for each API key: its limits, its part of the budget and its requests in progress."},
	{"LEDGER", "both", "Durable Object", "One object for each project: its budget, its usage and its webhooks."},
	{"DIRECTORY", "both", "Durable Object", "The object with the projects, the keys and the audit log."},
	{"KV", "gateway", "KV namespace", "Key records, policies and the global cache of responses."},
	{"CONTROL", "gateway", "service", "The control Worker, which serves the admin API and the dashboard."},
	{"ASSETS", "control", "static assets", "The files of the dashboard and the API description."},
	{"EXPORTS", "control", "R2 bucket, optional", "The bucket for the files of daily usage."},
}

// runtimeVariables are variables that libraries read. Source: opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables
// and pkg.go.dev/runtime.
var runtimeVariables = [][]string{
	{"`OTEL_EXPORTER_OTLP_ENDPOINT`", "A URL such as `http://127.0.0.1:4318`.", "Turns the export of traces and metrics on, and names the collector."},
	{"`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`", "A URL.", "The same for traces or metrics only."},
	{"`OTEL_EXPORTER_OTLP_PROTOCOL`, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL`", "`http/protobuf` (default).", "The protocol. Others are errors at the start."},
	{"`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS`, `OTEL_EXPORTER_OTLP_METRICS_HEADERS`", "`name=value` pairs with commas between them, values percent-encoded. Secret.", "Headers for the collector, such as its key."},
	{"`OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER`", "`otlp` (default) or `none`.", "`none` turns the export of traces or metrics off."},
	{"`OTEL_TRACES_SAMPLER`", "`always_on`, `always_off`, `traceidratio`, or one of these after `parentbased_`; default `parentbased_always_on`.", "Which requests have a trace."},
	{"`OTEL_TRACES_SAMPLER_ARG`", "A number between 0 and 1.", "The part of the requests that `traceidratio` samples."},
	{"`OTEL_SERVICE_NAME`", "A name; default `postern`.", "The name of the service in traces and metrics."},
	{"`OTEL_RESOURCE_ATTRIBUTES`", "`name=value` pairs with commas between them.", "Attributes of the server."},
	{"`OTEL_SDK_DISABLED`", "`true`.", "Turns all exports off."},
	{"`GOGC`, `GOMEMLIMIT`", "As the Go runtime defines them.", "When memory is collected. If one is set, the server does not choose for itself."},
}
