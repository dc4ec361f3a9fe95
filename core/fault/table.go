package fault

// Fault is the number of one row of the error table.
type Fault uint8

// The errors. Each has a row in table and its texts in allAdvice. `make generate` writes the files that show or test
// them elsewhere.
const (
	None Fault = iota // no error
	InvalidRequest
	MissingKey
	InvalidKey
	MissingAdmin
	InvalidAdmin
	WrongToken
	BudgetExceeded
	Forbidden
	ModelForbidden
	ViewerForbidden
	NoGovernor
	CrossOrigin
	NotFound
	UnknownModel
	MethodNotAllowed
	NoWebSocket
	Conflict
	NoMasterKey
	IdempotencyRunning
	IdempotencyUnknown
	Unreplayable
	BodyTooLarge
	UnsupportedType
	Blocked
	IdempotencyReused
	RejectedRequest
	TooLong
	Filtered
	RateLimited
	ClientClosed
	Internal
	Misconfigured
	ProviderError
	ProviderBusy
	ProviderAnswer
	Unavailable
	ShuttingDown
	NoProvider
	AdminOff
	ProviderTimeout
	count
)

// internal is the row for failures of the gateway itself.
var internal = row{500, "internal_error", "Internal error", Everywhere, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByGateway}

// table has a row for each error. None also has a row. If a request ends with an error but without a fault, the
// gateway itself has failed.
var table = [count]row{
	None: internal,
	InvalidRequest: {
		400, "invalid_request", "Invalid request",
		Everywhere, NotRetried, Stored, LeaderOnly, Deferred, Spares, ByCaller,
	},
	MissingKey: {
		401, "missing_api_key", "Missing API key",
		Everywhere, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	InvalidKey: {
		401, "invalid_api_key", "Invalid or inactive API key",
		Everywhere, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	MissingAdmin: {
		401, "missing_api_key", "Missing admin token",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	InvalidAdmin: {
		401, "invalid_api_key", "Invalid admin token or expired session",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	WrongToken: {
		401, "wrong_token", "Invalid token",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	BudgetExceeded: {
		402, "budget_exceeded", "Budget exceeded",
		OnGateway, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	Forbidden: {
		403, "insufficient_permissions", "API key lacks required permissions",
		Everywhere, Permanent, Stored, LeaderOnly, DeferredByRecord, Spares, ByCaller,
	},
	ModelForbidden: {
		403, "model_not_allowed", "API key lacks required permissions",
		OnGateway, Permanent, Rerun, LeaderOnly, DeferredByRecord, Spares, ByCaller,
	},
	ViewerForbidden: {
		403, "insufficient_permissions", "Viewers cannot make changes",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	NoGovernor: {
		403, "forbidden", "The Governor is not available on this plan",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	CrossOrigin: {
		403, "cross_origin", "Request origin missing or not allowed",
		OnAdmin, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	NotFound: {
		404, "not_found", "Not found",
		Everywhere, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	UnknownModel: {
		404, "model_not_found", "Unknown model",
		OnGateway, Permanent, Stored, LeaderOnly, Deferred, Spares, ByCaller,
	},
	MethodNotAllowed: {
		405, "method_not_allowed", "Method not allowed",
		Everywhere, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	NoWebSocket: {
		426, "websocket_not_supported", "WebSocket is not supported",
		OnGateway, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	Conflict: {
		409, "conflict", "Conflict with the current state",
		OnAdmin, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	NoMasterKey: {
		409, "no_master_key", "No master key is configured; set POSTERN_MASTER_KEYS",
		OnAdmin, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	IdempotencyRunning: {
		409, "idempotency_in_progress", "A request with this Idempotency-Key is in progress",
		OnGateway, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	IdempotencyUnknown: {
		409, "idempotency_outcome_unknown", "Outcome of an earlier request with this Idempotency-Key unknown",
		OnGateway, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	Unreplayable: {
		409, "idempotency_not_replayable", "Response too large to replay; use a new Idempotency-Key",
		OnGateway, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	BodyTooLarge: {
		413, "request_too_large", "Request too large",
		Everywhere, NotRetried, Rerun, LeaderOnly, Deferred, Spares, ByCaller,
	},
	UnsupportedType: {
		415, "unsupported_media_type", "Unsupported media type",
		Everywhere, NotRetried, Rerun, LeaderOnly, Deferred, Spares, ByCaller,
	},
	Blocked: {
		422, "blocked_by_policy", "Blocked by policy",
		OnGateway, Permanent, Rerun, Shared, DeferredByRecord, Spares, ByCaller,
	},
	IdempotencyReused: {
		422, "idempotency_key_reused", "Idempotency key reused",
		OnGateway, Permanent, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	RejectedRequest: {
		400, "provider_rejected", "The provider rejected the request",
		OnGateway, Permanent, Rerun, Shared, AtOnce, Spares, ByCaller,
	},
	TooLong: {
		400, "context_length_exceeded", "The request exceeds the model's context length",
		OnGateway, Permanent, Rerun, Shared, AtOnce, Spares, ByCaller,
	},
	Filtered: {
		400, "content_filter", "The provider's content filter rejected the request",
		OnGateway, Permanent, Rerun, Shared, AtOnce, Spares, ByCaller,
	},
	RateLimited: {
		429, "rate_limit_exceeded", "Rate limit exceeded",
		Everywhere, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	ClientClosed: {
		499, "client_closed_request", "Client closed request",
		InLog, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByCaller,
	},
	Internal: internal,
	Misconfigured: {
		500, "misconfigured", "Gateway misconfigured",
		OnGateway, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByGateway,
	},
	ProviderError: {
		502, "provider_error", "Provider error",
		OnGateway, Retried, Rerun, Shared, AtOnce, Breaks, ByProvider,
	},
	ProviderBusy: {
		502, "provider_rate_limited", "Provider error",
		OnGateway, Retried, Rerun, Shared, AtOnce, Breaks, ByProvider,
	},
	ProviderAnswer: {
		502, "provider_invalid_response", "Provider error",
		OnGateway, Retried, Rerun, Shared, AtOnce, Breaks, ByProvider,
	},
	Unavailable: {
		503, "service_unavailable", "Service unavailable",
		Everywhere, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByGateway,
	},
	ShuttingDown: {
		503, "shutting_down", "Server shutting down",
		OnGateway, Retried, Rerun, Shared, AtOnce, Spares, ByGateway,
	},
	NoProvider: {
		503, "no_provider_available", "No provider available for this model",
		OnGateway, Retried, Rerun, LeaderOnly, AtOnce, Spares, ByGateway,
	},
	AdminOff: {
		503, "admin_not_configured", "Admin API is disabled; set POSTERN_ADMIN_TOKEN to at least 16 characters",
		OnAdmin, NotRetried, Rerun, LeaderOnly, AtOnce, Spares, ByGateway,
	},
	ProviderTimeout: {
		504, "provider_timeout", "Provider timeout",
		OnGateway, Retried, Rerun, Shared, AtOnce, Breaks, ByProvider,
	},
}
