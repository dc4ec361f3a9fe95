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

// shared are the settings that both clients and calls have; nil is absent.
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

// Governor tightens the project's policy for requests of this client or call. It can loosen nothing: the policy applies
// in any case. Zero fields keep the value of the client, of the variable or the default.
type Governor struct {
	// Enabled sends the other fields, and makes a request that the policy blocks a *BlockedByPolicyError. If false, such a
	// request is a plain *UnprocessableEntityError. Variable POSTERN_GOVERNOR_ENABLED; default true.
	Enabled *bool
	// StrictMode blocks where the policy would ask for a review. Variable POSTERN_GOVERNOR_STRICT_MODE; default false.
	StrictMode *bool
	// AutoApproveThreshold is the highest risk score that is approved, 0 to 100, if the project's is not lower. Variable
	// POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD; by default, the project's.
	AutoApproveThreshold *int
}

// over returns the settings in g, completed by those in base.
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
	// Pretty writes lines for people instead of JSON. Variable POSTERN_LOG_PRETTY; default false. Ignored with a Handler.
	Pretty *bool
	// Content adds the bodies of requests and responses, at LogDebug. They contain prompts and completions.
	Content bool
	// Handler receives the records. By default they are written to standard error.
	Handler slog.Handler
}

// WithAPIKey sets the API key: a gateway key (sk_…) for completions, a project key (pk_…) for violations, models and
// compliance. Variable POSTERN_API_KEY; required.
func WithAPIKey(key string) Option {
	return clientOption(func(s *settings) { s.key, s.keyFunc = &key, nil })
}

// WithAPIKeyFunc makes the client ask key for the API key before each attempt, as for a key that a vault rotates. key is
// called by several goroutines at a time, should keep what it returns for a while, and should end with its context, which
// is that of the attempt. If it fails, or returns no valid key, the call fails with a *ConfigurationError without the text
// of key's error, and nothing is sent. Without WithEnvironment, the environment is Production, so that WithBaseURL is
// required; with it, a key of the other environment is refused. It replaces WithAPIKey and its variable.
func WithAPIKeyFunc(key func(ctx context.Context) (string, error)) Option {
	return clientOption(func(s *settings) { s.key, s.keyFunc = nil, key })
}

// WithBaseURL sets the gateway's URL, http or https, without /v1; another path in it is kept. Variable POSTERN_BASE_URL; default
// http://127.0.0.1:8787 for development, otherwise required.
func WithBaseURL(url string) Option {
	return clientOption(func(s *settings) { s.base = &url })
}

// WithEnvironment sets the environment that the key must belong to. Variable POSTERN_ENVIRONMENT; by default, the one
// that the key's prefix shows, or Production for keys without such a prefix.
func WithEnvironment(e Environment) Option {
	return clientOption(func(s *settings) { s.environment = &e })
}

// WithTimeout sets the time for one attempt, 1 ms to 2147483647 ms: until the whole response is read, and for streams until
// the response headers arrive and then between two reads. It ends with an *APITimeoutError, after the retries. The time for
// all attempts is the context's deadline. Variable POSTERN_TIMEOUT in milliseconds; default 10 minutes.
func WithTimeout(d time.Duration) SharedOption {
	return func(s *shared) { s.timeout = &d }
}

// WithRetries sets the number of attempts after the first, 0 to 10. Variable POSTERN_RETRIES; default 2.
func WithRetries(n int) SharedOption {
	return func(s *shared) { s.retries = &n }
}

// WithIdempotency sends an idempotency key with completions, made once per call, so that no retry is paid twice. Without
// it, a retry after a broken connection may be. Variable POSTERN_IDEMPOTENCY; default false.
func WithIdempotency(on bool) SharedOption {
	return func(s *shared) { s.idempotency = &on }
}

// WithGovernor tightens the project's policy.
func WithGovernor(g Governor) SharedOption {
	return func(s *shared) { s.governor = g.over(s.governor) }
}

// WithHeader sets a header of all requests of the client or the call; those of a call replace the client's. The headers
// authorization and x-api-key and those of the connection, such as content-length, are a *ConfigurationError.
func WithHeader(name, value string) SharedOption {
	return func(s *shared) {
		if s.header == nil {
			s.header = http.Header{}
		}
		s.header.Set(name, value)
	}
}

// WithQuery sets a parameter in the query of all requests of the client or the call, as for the routes of a proxy. Those of
// a call replace the call's own parameters, which replace those of the client. Queries appear in logs of servers: they are
// no place for secrets.
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
// Redirects are never followed, because a redirect would take the API key to another address. By default, the client has
// a transport of its own with the settings of http.DefaultTransport.
func WithHTTPClient(c *http.Client) Option {
	return clientOption(func(s *settings) { s.http = c })
}

// WithIdempotencyKey sends key, 1 to 255 printable ASCII characters, as the call's idempotency key. For 24 hours, the
// gateway answers a call with the same key and the same parameters with the stored response. Only for AI.Complete and
// AI.Chat.
func WithIdempotencyKey(key string) CallOption {
	return callOption(func(s *callSettings) { s.idempotencyKey = &key })
}

// WithResponse stores the status, headers, metadata and body of the call's last response in into. For methods that read
// several pages, it is the response of the latest page.
func WithResponse(into *Response) CallOption {
	return callOption(func(s *callSettings) { s.response = into })
}
