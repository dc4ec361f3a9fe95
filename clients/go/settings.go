package postern

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	defaultBaseURL = "http://127.0.0.1:8787" // of `make dev`
	defaultTimeout = 10 * time.Minute
	defaultRetries = 2
	maxRetries     = 10
	maxTimeoutMs   = 2147483647 // the limit of timers in JavaScript, which all clients share
	maxThreshold   = 100
)

// settings are the options that the caller set. nil means absent.
type settings struct {
	shared
	key         *string
	keyFunc     func(context.Context) (string, error)
	base        *string
	environment *Environment
	logging     Logging
	http        *http.Client
	hooks       hooks
	variable    func(name string) string
}

func environmentVariable(name string) string { return os.Getenv(name) }

// client returns a client. If a setting is absent, it comes from the variables or the defaults.
func (s settings) client() (*Client, error) {
	v := variables{read: s.variable}
	key, environment := s.credentials(&v)
	base := s.baseURL(&v, environment)
	defaults := s.defaults(&v)
	log := s.logger(&v)
	if v.err != nil {
		return nil, v.err
	}
	if base.Scheme == "http" && environment == Production && !isLoopback(base.Hostname()) {
		log.insecureBaseURL(base.Host)
	}
	return &Client{internals: &internals{
		key: hide(key), base: base, http: s.transport(), log: log, defaults: hide(defaults), hooks: s.hooks,
	}}, nil
}

func (s settings) credentials(v *variables) (keySource, Environment) {
	wanted := Environment(v.choice((*string)(s.environment), "WithEnvironment", "POSTERN_ENVIRONMENT", string(Production), string(Development)))
	if s.keyFunc != nil {
		return keySource{function: s.keyFunc, environment: wanted}, cmp.Or(wanted, Production)
	}
	key := strings.TrimSpace(v.text(s.key, "POSTERN_API_KEY"))
	if key == "" {
		v.fail("API key", "is required: use WithAPIKey or set POSTERN_API_KEY")
	}
	if !isPrintable(key) {
		v.fail(named(s.key, "WithAPIKey", "POSTERN_API_KEY"), "must consist of printable ASCII characters")
	}
	environment := environmentOf(key)
	if wanted != "" && environment != "" && environment != wanted {
		v.fail(named((*string)(s.environment), "WithEnvironment", "POSTERN_ENVIRONMENT"), "is "+string(wanted)+", but the API key is for "+string(environment))
	}
	return keySource{text: key}, cmp.Or(wanted, environment, Production)
}

// environmentOf returns the environment in a key's prefix. If there is none, it returns "".
func environmentOf(key string) Environment {
	switch {
	case strings.HasPrefix(key, "sk_live_"), strings.HasPrefix(key, "pk_live_"):
		return Production
	case strings.HasPrefix(key, "sk_test_"), strings.HasPrefix(key, "pk_test_"):
		return Development
	}
	return ""
}

// baseURL returns the gateway's URL without a trailing slash.
func (s settings) baseURL(v *variables, environment Environment) *url.URL {
	text := strings.TrimSpace(v.text(s.base, "POSTERN_BASE_URL"))
	if text == "" && environment == Development {
		text = defaultBaseURL
	}
	if text == "" {
		v.fail("base URL", "is required for production keys: use WithBaseURL or set POSTERN_BASE_URL")
		return nil
	}
	name := named(s.base, "WithBaseURL", "POSTERN_BASE_URL")
	base, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" ||
		base.User != nil || base.RawQuery != "" || base.ForceQuery || strings.Contains(text, "#") {
		v.fail(name, "must be an http or https URL without credentials, query and fragment")
		return nil
	}
	if strings.HasSuffix(base.Path, "/v1") {
		v.fail(name, "must be the gateway's address without /v1 (that is for OpenAI's SDKs)")
		return nil
	}
	return base
}

func (s settings) defaults(v *variables) shared {
	const prefix = "POSTERN_GOVERNOR_"
	d := shared{
		retries:     v.integer(s.retries, "POSTERN_RETRIES", 0, maxRetries),
		idempotency: v.boolean(s.idempotency, "POSTERN_IDEMPOTENCY"),
		governor: Governor{
			Enabled:              v.boolean(s.governor.Enabled, prefix+"ENABLED"),
			StrictMode:           v.boolean(s.governor.StrictMode, prefix+"STRICT_MODE"),
			AutoApproveThreshold: v.integer(s.governor.AutoApproveThreshold, prefix+"AUTO_APPROVE_THRESHOLD", 0, maxThreshold),
		},
		header: s.header,
		query:  s.query,
	}
	d.timeout = s.timeout
	if d.timeout == nil {
		if ms := v.integer(nil, "POSTERN_TIMEOUT", 1, maxTimeoutMs); ms != nil {
			d.timeout = Ptr(time.Duration(*ms) * time.Millisecond)
		}
	}
	d = d.over(shared{
		timeout: Ptr(defaultTimeout), retries: Ptr(defaultRetries), idempotency: Ptr(false),
		governor: Governor{Enabled: Ptr(true), StrictMode: Ptr(false)},
	})
	v.check(d.check())
	return d
}

// over returns the settings in s. It takes absent settings from base. It does not take the headers and the query,
// because the method's own headers and query come between base and s.
func (s shared) over(base shared) shared {
	return shared{
		timeout:     first(s.timeout, base.timeout),
		retries:     first(s.retries, base.retries),
		idempotency: first(s.idempotency, base.idempotency),
		governor:    s.governor.over(base.governor),
		header:      s.header,
		query:       s.query,
	}
}

// merged returns the entries of all maps. If several maps have a name, the last one counts.
func merged[M ~map[string][]string](all ...M) M {
	sum := M{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	return sum
}

// check returns an error for a setting outside its range.
func (s shared) check() error {
	if t := *s.timeout; t < time.Millisecond || t > maxTimeoutMs*time.Millisecond {
		return misconfigured("WithTimeout", "must be between 1 ms and 2147483647 ms")
	}
	if r := *s.retries; r < 0 || r > maxRetries {
		return misconfigured("WithRetries", "must be an integer between 0 and 10")
	}
	if t := s.governor.AutoApproveThreshold; t != nil && (*t < 0 || *t > maxThreshold) {
		return misconfigured("WithGovernor: AutoApproveThreshold", "must be an integer between 0 and 100")
	}
	if _, unnamed := s.query[""]; unnamed {
		return misconfigured("WithQuery", "must have a name")
	}
	return checkHeader("WithHeader", s.header)
}

// transport returns a copy of the given HTTP client, or a new one. It does not follow redirects.
func (s settings) transport() *http.Client {
	var client http.Client
	if s.http != nil {
		client = *s.http
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		client.Transport = t.Clone()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// isPrintable reports whether text consists of printable ASCII characters.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// isLoopback reports whether a host name or address refers to this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
