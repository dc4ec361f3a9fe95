// Package fault is the table of all errors that callers see: status, code and text. Codes are stable. Programs
// should compare codes, not texts.
package fault

import "github.com/postern-ai/postern/core/jsontext"

// Fault is one row of the error table.
type Fault struct {
	Status uint64
	Code   string
	Text   string
}

var (
	InvalidRequest     = Fault{400, "invalid_request", "Invalid request"}
	MissingKey         = Fault{401, "missing_api_key", "Missing API key"}
	InvalidKey         = Fault{401, "invalid_api_key", "Invalid or inactive API key"}
	MissingAdmin       = Fault{401, "missing_api_key", "Missing admin token"}
	InvalidAdmin       = Fault{401, "invalid_api_key", "Invalid admin token or expired session"}
	WrongToken         = Fault{401, "wrong_token", "Invalid token"}
	BudgetExceeded     = Fault{402, "budget_exceeded", "Budget exceeded"}
	Forbidden          = Fault{403, "insufficient_permissions", "API key lacks required permissions"}
	ModelForbidden     = Fault{403, "model_not_allowed", "API key lacks required permissions"}
	ViewerForbidden    = Fault{403, "insufficient_permissions", "Viewers cannot make changes"}
	NoGovernor         = Fault{403, "forbidden", "The Governor is not available on this plan"}
	CrossOrigin        = Fault{403, "cross_origin", "Request origin missing or not allowed"}
	NotFound           = Fault{404, "not_found", "Not found"}
	UnknownModel       = Fault{404, "model_not_found", "Unknown model"}
	MethodNotAllowed   = Fault{405, "method_not_allowed", "Method not allowed"}
	Conflict           = Fault{409, "conflict", "Conflict with the current state"}
	NoMasterKey        = Fault{409, "no_master_key", "No master key is configured; set POSTERN_MASTER_KEYS"}
	IdempotencyRunning = Fault{409, "idempotency_in_progress", "A request with this Idempotency-Key is in progress"}
	IdempotencyUnknown = Fault{409, "idempotency_outcome_unknown", "Outcome of an earlier request with this Idempotency-Key unknown"}
	Unreplayable       = Fault{409, "idempotency_not_replayable", "Response too large to replay; use a new Idempotency-Key"}
	BodyTooLarge       = Fault{413, "request_too_large", "Request too large"}
	UnsupportedType    = Fault{415, "unsupported_media_type", "Unsupported media type"}
	Blocked            = Fault{422, "blocked_by_policy", "Blocked by policy"}
	IdempotencyReused  = Fault{422, "idempotency_key_reused", "Idempotency key reused"}
	RejectedRequest    = Fault{400, "provider_rejected", "The provider rejected the request"}
	TooLong            = Fault{400, "context_length_exceeded", "The request exceeds the model's context length"}
	Filtered           = Fault{400, "content_filter", "The provider's content filter rejected the request"}
	RateLimited        = Fault{429, "rate_limit_exceeded", "Rate limit exceeded"}
	Internal           = Fault{500, "internal_error", "Internal error"}
	Misconfigured      = Fault{500, "misconfigured", "Gateway misconfigured"}
	ProviderError      = Fault{502, "provider_error", "Provider error"}
	ProviderRejected   = Fault{502, "provider_rejected", "Provider error"}
	ProviderBusy       = Fault{502, "provider_rate_limited", "Provider error"}
	ProviderAnswer     = Fault{502, "provider_invalid_response", "Provider error"}
	Unavailable        = Fault{503, "service_unavailable", "Service unavailable"}
	ShuttingDown       = Fault{503, "shutting_down", "Server shutting down"}
	NoProvider         = Fault{503, "no_provider_available", "No provider available for this model"}
	AdminOff           = Fault{503, "admin_not_configured", "Admin API is disabled; set POSTERN_ADMIN_TOKEN to at least 16 characters"}
	ProviderTimeout    = Fault{504, "provider_timeout", "Provider timeout"}
)

// Detail is a problem with one field of a request. Message continues a sentence that starts with Field:
// "temperature" and "must be a number between 0 and 2, got 3".
type Detail struct{ Field, Message string }

// Append appends the error body: {"error","code","requestId"}, and "details" unless there are none.
func (f Fault) Append(dst []byte, requestID string, details []Detail) []byte {
	before, after := f.Halves()
	dst = append(dst, before...)
	dst = append(dst, requestID...)
	if len(details) == 0 {
		return append(dst, after...)
	}
	dst = append(dst, `","details":[`...)
	for i, d := range details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"field":`...)
		dst = jsontext.AppendString(dst, d.Field)
		dst = append(dst, `,"message":`...)
		dst = jsontext.AppendString(dst, d.Message)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// Halves returns the body without details, split at the request ID.
func (f Fault) Halves() (before, after string) {
	return `{"error":"` + f.Text + `","code":"` + f.Code + `","requestId":"`, `"}`
}
