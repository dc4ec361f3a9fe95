package postern

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Option is a setting of a client. A nil Option sets nothing.
type Option interface{ applyToClient(*settings) }

// CallOption is a setting of one call. A nil CallOption sets nothing.
type CallOption interface{ applyToCall(*callSettings) }

// SharedOption is a setting of a client that a call can override.
type SharedOption func(*shared)

func (o SharedOption) applyToClient(s *settings)   { o.apply(&s.shared) }
func (o SharedOption) applyToCall(s *callSettings) { o.apply(&s.shared) }

func (o SharedOption) apply(s *shared) {
	if o != nil {
		o(s)
	}
}

// shared has the settings that both a client and a call can have. nil means absent.
type shared struct {
	timeout     *time.Duration
	retries     *int
	idempotency *bool
	governor    Governor
	header      http.Header
	query       url.Values
}

type clientOption func(*settings)

func (o clientOption) applyToClient(s *settings) { o(s) }

type callOption func(*callSettings)

func (o callOption) applyToCall(s *callSettings) { o(s) }

// Environment is the environment that a key belongs to.
type Environment string

// The environments. Development keys (sk_test_, pk_test_) have lower limits and are served by the built-in provider.
const (
	Production  Environment = "production"
	Development Environment = "development"
)

// Governor tightens the project's policy for requests of this client or call. The project's policy always applies, so
// these settings cannot loosen it. If a field is zero, the value of the client, the variable or the default applies.
type Governor struct {
	// If Enabled is true, the client sends the other fields, and the error for a blocked request is a
	// *BlockedByPolicyError. If Enabled is false, the client does not send them, and the error is an
	// *UnprocessableEntityError. Variable POSTERN_GOVERNOR_ENABLED; default true.
	Enabled *bool
	// StrictMode blocks requests that the policy would otherwise mark for review. Variable
	// POSTERN_GOVERNOR_STRICT_MODE; default false.
	StrictMode *bool
	// AutoApproveThreshold is the highest risk score that is approved, 0 to 100. If the project's threshold is lower,
	// the project's threshold applies. Variable POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD; default: the project's
	// threshold.
	AutoApproveThreshold *int
}

func (g Governor) over(base Governor) Governor {
	return Governor{
		Enabled:              first(g.Enabled, base.Enabled),
		StrictMode:           first(g.StrictMode, base.StrictMode),
		AutoApproveThreshold: first(g.AutoApproveThreshold, base.AutoApproveThreshold),
	}
}

// first returns the first pointer that is not nil.
func first[T any](pointers ...*T) *T {
	for _, p := range pointers {
		if p != nil {
			return p
		}
	}
	return nil
}

// LogLevel is the lowest level of log records.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug" // every request and response
	LogInfo  LogLevel = "info"  // retries
	LogWarn  LogLevel = "warn"  // deprecated models, dropped parameters
	LogError LogLevel = "error" // calls that failed
	LogOff   LogLevel = "off"
)

// Logging describes the client's log. Records never contain keys.
type Logging struct {
	// Level is the lowest level that is logged. Variable POSTERN_LOG_LEVEL; default LogWarn.
	Level LogLevel
	// Pretty writes human-readable lines instead of JSON. If there is a Handler, Pretty has no effect. Variable
	// POSTERN_LOG_PRETTY; default false.
	Pretty *bool
	// Content logs the bodies of requests and responses at LogDebug. They contain prompts and completions.
	Content bool
	// Handler receives the records. By default, they are written to standard error.
	Handler slog.Handler
}

// WithAPIKey sets the API key: a gateway key (sk_…) for completions, a project key (pk_…) for violations, models and
// compliance. Variable POSTERN_API_KEY; required.
func WithAPIKey(key string) Option {
	return clientOption(func(s *settings) { s.key, s.keyFunc = &key, nil })
}

// WithAPIKeyFunc makes the client call key for the API key before each attempt, for example because a vault rotates
// the key. Several goroutines may call key at the same time. key should cache its result for a while. Its context is
// the attempt's, and key should return when the context ends. If key fails or returns an invalid key, nothing is
// sent, and the call fails with a *ConfigurationError. That error does not contain the text of key's error. Without
// WithEnvironment, the environment is Production, so WithBaseURL is required. With WithEnvironment, a key for the
// other environment is refused. WithAPIKeyFunc replaces WithAPIKey and its variable.
func WithAPIKeyFunc(key func(ctx context.Context) (string, error)) Option {
	return clientOption(func(s *settings) { s.key, s.keyFunc = nil, key })
}

// WithBaseURL sets the gateway's http or https URL, without /v1. The URL may have any other path. Variable
// POSTERN_BASE_URL; default http://127.0.0.1:8787 for development, otherwise required.
func WithBaseURL(url string) Option {
	return clientOption(func(s *settings) { s.base = &url })
}

// WithEnvironment sets the environment that the key must belong to. Variable POSTERN_ENVIRONMENT. By default, the
// key's prefix determines the environment. If the key has no such prefix, the environment is Production.
func WithEnvironment(e Environment) Option {
	return clientOption(func(s *settings) { s.environment = &e })
}

// WithTimeout sets the time limit of one attempt, 1 ms to 2147483647 ms. It applies until the entire response has
// been read. For streams, it applies until the response headers arrive, and then to each read. If the last attempt
// exceeds the limit, the call fails with an *APITimeoutError. The context's deadline limits the time for all
// attempts. Variable POSTERN_TIMEOUT in milliseconds; default 10 minutes.
func WithTimeout(d time.Duration) SharedOption {
	return func(s *shared) { s.timeout = &d }
}

// WithRetries sets the number of attempts after the first, 0 to 10. Variable POSTERN_RETRIES; default 2.
func WithRetries(n int) SharedOption {
	return func(s *shared) { s.retries = &n }
}

// WithIdempotency sends an idempotency key with completions. All attempts of a call have the same key, so no retry is
// charged twice. Without an idempotency key, a retry after a broken connection may be charged again. Variable
// POSTERN_IDEMPOTENCY; default false.
func WithIdempotency(on bool) SharedOption {
	return func(s *shared) { s.idempotency = &on }
}

// WithGovernor tightens the project's policy.
func WithGovernor(g Governor) SharedOption {
	return func(s *shared) { s.governor = g.over(s.governor) }
}

// WithHeader sets a header for all requests of the client or the call. A call's header replaces the client's. If the
// header is authorization, x-api-key or a header of the connection itself, such as content-length, the error is a
// *ConfigurationError.
func WithHeader(name, value string) SharedOption {
	return func(s *shared) {
		if s.header == nil {
			s.header = http.Header{}
		}
		s.header.Set(name, value)
	}
}

// WithQuery sets a query parameter for all requests of the client or the call, for example one that a proxy uses for
// routing. If a name is set more than once, the call's parameter takes precedence over the method's own, and the
// method's own over the client's. Queries appear in server logs, so do not put secrets there.
func WithQuery(name, value string) SharedOption {
	return func(s *shared) {
		if s.query == nil {
			s.query = url.Values{}
		}
		s.query.Set(name, value)
	}
}

// WithLogging sets the log.
func WithLogging(l Logging) Option {
	return clientOption(func(s *settings) { s.logging = l })
}

// WithHTTPClient sends requests with the transport, cookie jar and timeout of c. Its timeout also limits streams.
// Redirects are never followed, because a redirect could take the API key to another address. By default, the client
// has its own transport with the settings of http.DefaultTransport.
func WithHTTPClient(c *http.Client) Option {
	return clientOption(func(s *settings) { s.http = c })
}

// WithIdempotencyKey sends key, 1 to 255 printable ASCII characters, as the call's idempotency key. For 24 hours, a
// call with the same key and the same parameters gets the stored response. It applies to AI.Complete and AI.Chat. It
// also applies to Post, if the endpoint supports idempotency keys.
func WithIdempotencyKey(key string) CallOption {
	return callOption(func(s *callSettings) { s.idempotencyKey = &key })
}

// WithResponse stores the status, headers, metadata and body of the call's last response in into. If a method reads
// several pages, into has the response of the latest page.
func WithResponse(into *Response) CallOption {
	return callOption(func(s *callSettings) { s.response = into })
}
