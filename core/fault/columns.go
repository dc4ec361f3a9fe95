package fault

// row is one error. Rows are written without column names, so a row with a missing column does not compile. Each
// column has its own type, so no two can be confused.
type row struct {
	status  uint16
	code    string
	text    string
	place   Place
	retry   Retry
	replay  Replay
	flight  Flight
	stage   Stage
	circuit Circuit
	origin  Origin
}

// Place says where an error is returned.
type Place uint8

// The places.
const (
	Everywhere Place = iota + 1 // gateway and admin API
	OnGateway                   // the endpoints that require an API key
	OnAdmin                     // the admin API, with its sessions
	InLog                       // only in logs, metrics and traces, because no client is left to receive it
)

// Retry says how clients with automatic retries handle an error.
type Retry uint8

// These values say whether clients retry.
const (
	NotRetried Retry = iota + 1 // the status says that something else has to change first
	Retried                     // unless the response has x-should-retry: false
	Permanent                   // the response has x-should-retry: false, because the same request would get the same error again
)

// Replay says how a repeat with the same Idempotency-Key is answered.
type Replay uint8

// The response to a repeat.
const (
	Stored Replay = iota + 1 // the same response, which was stored under the key; only rejections are stored
	Rerun                    // the request runs again, because the cause of the error may have gone away
)

// Flight says what happens to the followers of a flight that ends with an error.
type Flight uint8

// The outcome for followers.
const (
	Shared     Flight = iota + 1 // they get the leader's error, because it concerns the request
	LeaderOnly                   // they get another error or run themselves, because the error concerns the leader's key or caller
)

// Stage says when an error in a request is returned.
type Stage uint8

// The stages.
const (
	AtOnce           Stage = iota + 1
	Deferred               // recorded and returned after admission, so callers without a valid key learn nothing about their request
	DeferredByRecord       // the same, but dropped if the key has a newer record, which may allow the request
)

// Circuit says whether an error counts against the circuit of the target that was called.
type Circuit uint8

// The effects on a target's circuit.
const (
	Breaks Circuit = iota + 1 // the error counts against the target's circuit
	Spares                    // it does not count, because the target is healthy or was not called
)

// Origin says who is responsible for an error.
type Origin uint8

// The origins.
const (
	ByCaller   Origin = iota + 1 // 4xx: the request, the key or its limits
	ByProvider                   // 502, 504: the provider
	ByGateway                    // 500, 503: this gateway, its state or its configuration
)
