package fault

// row is one error. Rows are written without the names of their columns, so that a row with a missing one does not
// compile. Each column has a type of its own, so that two cannot be confused.
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

// Place is where an error is returned.
type Place uint8

// Places.
const (
	Everywhere Place = iota + 1 // gateway and admin API
	OnGateway                   // the endpoints that take an API key
	OnAdmin                     // the admin API, with its sessions
	InLog                       // in logs, metrics and traces only: nobody is left to send it to
)

// Retry is what a client does that retries by itself.
type Retry uint8

// What clients do.
const (
	NotRetried Retry = iota + 1 // the status says that something else has to change first
	Retried                     // unless the response has x-should-retry: false
	Permanent                   // the gateway's response has it: the same request gets the same error again
)

// Replay is what a repeat with the same Idempotency-Key gets.
type Replay uint8

// What a repeat gets.
const (
	Stored Replay = iota + 1 // the same response, from the record of the key; only rejections are stored
	Rerun                    // a run of its own: what led to the error may have changed
)

// Flight is what the followers of a flight get that ends with an error.
type Flight uint8

// What followers get.
const (
	Shared     Flight = iota + 1 // the leader's error: it concerns the request
	LeaderOnly                   // another error, or a run of their own: it concerns the leader's key or caller
)

// Stage is when an error in a request is returned.
type Stage uint8

// When an error is returned.
const (
	AtOnce           Stage = iota + 1
	Deferred               // recorded, and returned after admission: callers without a valid key learn nothing about their request
	DeferredByRecord       // the same, and dropped if the key has a newer record, which may allow the request
)

// Circuit is what an error says about the target that was called.
type Circuit uint8

// What an error says about a target.
const (
	Breaks Circuit = iota + 1 // it counts against the target's circuit
	Spares                    // it does not: the target is healthy, or was not called
)

// Origin is whose failure an error is.
type Origin uint8

// Whose failure an error is.
const (
	ByCaller   Origin = iota + 1 // 4xx: the request, the key or its limits
	ByProvider                   // 502, 504: what the provider did
	ByGateway                    // 500, 503: this gateway, its state or its configuration
)
