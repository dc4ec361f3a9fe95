package telemetry

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"

	"github.com/postern-ai/postern/core/exchange"
)

// All names of OpenTelemetry attributes and metrics are in this file. The conventions for generative AI are in
// development and still change. The names are as of November 2026 at opentelemetry.io/docs/specs/semconv/gen-ai
// (gen-ai-spans and gen-ai-metrics). The conventions have moved to the repository
// open-telemetry/semantic-conventions-genai, which proposes gen_ai.client.inference.duration instead of
// gen_ai.client.operation.duration (pull request 521, not released). gen_ai.usage.cache_read.input_tokens and
// gen_ai.usage.cache_creation.input_tokens are as
// @opentelemetry/semantic-conventions documents them (ATTR_GEN_AI_USAGE_CACHE_…, experimental, read in November
// 2026). The new repository calls the latter cache_write in its metrics, which are not released. The metric
// gen_ai.client.token.usage has no type for them. The other names are stable:
// opentelemetry.io/docs/specs/semconv/http/http-spans and /general/attributes.
const (
	attrOperation     = attribute.Key("gen_ai.operation.name")
	attrProvider      = attribute.Key("gen_ai.provider.name")
	attrRequestModel  = attribute.Key("gen_ai.request.model")
	attrResponseModel = attribute.Key("gen_ai.response.model")
	attrRequestStream = attribute.Key("gen_ai.request.stream")
	attrFirstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk") // seconds
	attrInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	attrOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	attrCacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")     // part of the input tokens
	attrCacheWrite    = attribute.Key("gen_ai.usage.cache_creation.input_tokens") // part of the input tokens
	attrTokenType     = attribute.Key("gen_ai.token.type")                        // input or output

	attrErrorType = attribute.Key("error.type")
	attrMethod    = attribute.Key("http.request.method")
	attrRoute     = attribute.Key("http.route")
	attrStatus    = attribute.Key("http.response.status_code")
	attrAddress   = attribute.Key("server.address")
	attrPort      = attribute.Key("server.port")

	attrServiceName     = attribute.Key("service.name")
	attrServiceVersion  = attribute.Key("service.version")
	attrServiceInstance = attribute.Key("service.instance.id")

	// Postern's own names.
	attrRequestID = attribute.Key("postern.request.id")
	attrProject   = attribute.Key("postern.project.id")
	attrCache     = attribute.Key("postern.cache") // hit, miss or bypass
	attrCost      = attribute.Key("postern.cost_dollars")
	attrSaved     = attribute.Key("postern.prompt_cache_saved_dollars") // what the provider's prompt cache saved; may be negative
	attrEstimated = attribute.Key("postern.usage_estimated")
	attrPurpose   = attribute.Key("postern.purpose") // purpose of an attempt that does not answer the request itself, such as classifier

	metricOperationDuration = "gen_ai.client.operation.duration"
	metricFirstChunk        = "gen_ai.client.operation.time_to_first_chunk"
	metricTokenUsage        = "gen_ai.client.token.usage"
	metricServerDuration    = "http.server.request.duration"
)

// Bucket boundaries that the conventions recommend.
var (
	operationBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds     = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	serverBounds    = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
)

// Values of gen_ai.operation.name. The first two are from the conventions. The others are custom values.
const (
	operationChat       = "chat"
	operationEmbeddings = "embeddings"
	operationCount      = "count_tokens"
	operationModerate   = "moderate"
	operationCompact    = "compact"
)

// operations are the routes that call models.
var operations = operationsOf(exchange.Endpoints())

func operationsOf(endpoints []exchange.Endpoint) map[string]string {
	all := map[string]string{}
	for _, e := range endpoints {
		if e.Calls {
			all[e.Name] = operationOf(&exchange.Fetch{Purpose: e.Purpose, Model: "any"})
		}
	}
	return all
}

func operationOf(f *exchange.Fetch) string {
	if f.Purpose == exchange.ForClassifier && f.Model == "" {
		return operationModerate
	}
	return purposes[f.Purpose]
}

// purposes are the operations of the core's own fetches.
var purposes = [exchange.Purposes]string{
	exchange.ForChat: operationChat, exchange.ForEmbeddings: operationEmbeddings, exchange.ForCount: operationCount, exchange.ForClassifier: operationChat,
	exchange.ForModerations: operationModerate, exchange.ForCompaction: operationCompact,
}

// providers contains the names of providers whose name in the conventions differs from the name in the catalog.
var providers = map[string]string{
	"openai-responses": "openai", "gemini": "gcp.gemini", "azure": "azure.ai.openai", "bedrock": "aws.bedrock",
	"mistral": "mistral_ai", "xai": "x_ai",
}

func providerName(name string) string {
	if known, ok := providers[name]; ok {
		return known
	}
	return name
}

// methodName returns the method as an attribute. Callers may invent methods, so it allows only known values.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		http.MethodConnect, http.MethodTrace:
		return method
	}
	return "_OTHER"
}
