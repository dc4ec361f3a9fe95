package postern

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Response describes the last HTTP response of a call; see WithResponse.
type Response struct {
	StatusCode int
	Header     http.Header
	Meta       Meta
	Body       []byte // the body as it arrived, at most 64 MiB; nil for streams
}

// Meta has the metadata in a response's headers. If a header is missing, its field is zero.
type Meta struct {
	RequestID       string        // as in the gateway's log
	Provider        string        // that served the request
	Model           string        // that served the request
	Cache           string        // hit, miss or bypass
	CostCents       *float64      // US cents; nil for a stream, unless it comes from the cache, because the cost is not known yet
	PriceVersion    string        // of the price list
	Attempts        *Attempts     // requests to providers
	DroppedParams   []string      // parameters that the model does not support; see CompletionParams.Strict
	MaxTokens       int           // output limit that the gateway set, in tokens; 0 if it set none
	Deprecation     *Deprecation  // from the model's entry in the project's registry
	RegistryWarning string        // the model's state if the registry would refuse it when enforced: unregistered, pending, …
	Governor        *GovernorMeta // nil if the project does not use the Governor
	Replayed        bool          // true if this is the stored response of an earlier call with the same idempotency key
	RateLimit       *RateLimit
}

// Attempts are the requests that the gateway sent to providers for one call.
type Attempts struct {
	Count   int
	Targets []Target // in order; may be shorter than Count
}

// Target is a model of a provider that was called, and the outcome of the call.
type Target struct {
	Target string // provider/model
	Result string // the status, or a word such as timeout
}

// Deprecation says that the project's registry has deprecated the model.
type Deprecation struct {
	At        time.Time // zero if unknown
	Sunset    time.Time // when the model will be retired; zero if unknown
	Successor string    // the model to use instead; empty if none
}

// GovernorMeta is the Governor's decision about a request.
type GovernorMeta struct {
	Decision      string // approve, review or block
	RiskScore     int    // 0 to 100
	PolicyVersion int
	Unchecked     []string // kinds of content that could not be checked
}

// RateLimit has the key's limits after a request. For requests, it describes the window with the fewest requests
// left. For tokens, it describes the limit per minute. If the key has no such limit, the fields are nil.
type RateLimit struct {
	LimitRequests     *int
	RemainingRequests *int
	ResetRequests     *time.Duration // time until more requests are allowed
	LimitTokens       *int
	RemainingTokens   *int
	ResetTokens       *time.Duration // time until more tokens are allowed
}

func newResponse(r *http.Response) *Response {
	return &Response{StatusCode: r.StatusCode, Header: r.Header, Meta: newMeta(r.Header)}
}

func newMeta(h http.Header) Meta {
	return Meta{
		RequestID:       h.Get("x-request-id"),
		Provider:        h.Get("x-postern-provider"),
		Model:           h.Get("x-postern-model"),
		Cache:           h.Get("x-postern-cache"),
		CostCents:       decimal(h.Get("x-postern-cost-cents")),
		PriceVersion:    h.Get("x-postern-price-version"),
		Attempts:        newAttempts(h.Get("x-postern-attempts")),
		DroppedParams:   list(h.Get("x-postern-dropped-params"), ","),
		MaxTokens:       valueOf(integer(h.Get("x-postern-max-tokens"))),
		Deprecation:     newDeprecation(h),
		RegistryWarning: h.Get("x-postern-registry"),
		Governor:        newGovernorMeta(h.Get("x-postern-governor")),
		Replayed:        h.Get("idempotent-replayed") == "true",
		RateLimit:       newRateLimit(h),
	}
}

// newAttempts parses "2; openai/gpt-4.1=503, gemini/gemini-2.5-flash=200".
func newAttempts(text string) *Attempts {
	count, targets, _ := strings.Cut(text, ";")
	n := integer(strings.TrimSpace(count))
	if n == nil {
		return nil
	}
	a := &Attempts{Count: *n}
	for _, item := range list(targets, ",") {
		target, result, _ := cutLast(item, "=")
		a.Targets = append(a.Targets, Target{target, result})
	}
	return a
}

// newDeprecation parses `deprecation: @seconds` (RFC 9745), and `sunset` (RFC 8594), an HTTP date.
func newDeprecation(h http.Header) *Deprecation {
	if h.Get("deprecation") == "" && h.Get("sunset") == "" {
		return nil
	}
	d := &Deprecation{Successor: h.Get("x-postern-successor")}
	if seconds, found := strings.CutPrefix(h.Get("deprecation"), "@"); found && isDigits(seconds) {
		n, _ := strconv.ParseInt(seconds, 10, 64)
		d.At = time.Unix(n, 0).UTC()
	}
	d.Sunset, _ = http.ParseTime(h.Get("sunset")) // zero if missing
	return d
}

// newGovernorMeta parses "approve; risk=5; policy=7; unchecked=image+audio".
func newGovernorMeta(text string) *GovernorMeta {
	parts := list(text, ";")
	if len(parts) == 0 {
		return nil
	}
	g := &GovernorMeta{Decision: parts[0]}
	for _, part := range parts[1:] {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "risk":
			g.RiskScore = valueOf(integer(value))
		case "policy":
			g.PolicyVersion = valueOf(integer(value))
		case "unchecked":
			g.Unchecked = list(value, "+")
		}
	}
	return g
}

func newRateLimit(h http.Header) *RateLimit {
	const prefix = "x-ratelimit-"
	l := RateLimit{
		LimitRequests:     integer(h.Get(prefix + "limit-requests")),
		RemainingRequests: integer(h.Get(prefix + "remaining-requests")),
		ResetRequests:     seconds(h.Get(prefix + "reset-requests")),
		LimitTokens:       integer(h.Get(prefix + "limit-tokens")),
		RemainingTokens:   integer(h.Get(prefix + "remaining-tokens")),
		ResetTokens:       seconds(h.Get(prefix + "reset-tokens")),
	}
	if l == (RateLimit{}) {
		return nil
	}
	return &l
}
