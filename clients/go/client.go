package postern

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Client calls a Postern gateway with one API key. Its methods are grouped by subject. It is safe for concurrent use
// by multiple goroutines and reuses connections, so create one with New and keep it. The calls of a zero Client fail
// with a *ConfigurationError.
type Client struct {
	AI         AIService         // completions, streamed or not
	Usage      UsageService      // usage and budget of the key's project
	Health     HealthService     // a check of the key
	Governor   GovernorService   // checks of texts against the project's policy
	Violations ViolationService  // findings of the Governor, and their triage
	Models     ModelService      // the project's model registry
	Compliance ComplianceService // exports for audits

	*internals
}

// internals is the state that the calls of a client share.
type internals struct {
	key      hidden[keySource]
	base     *url.URL
	http     *http.Client
	log      logger
	defaults hidden[shared] // every field is set
	hooks    hooks
	pausing  atomic.Int64 // number of calls in a pause that the gateway asked for

	mu      sync.Mutex
	project string // the key's project, known once a report has needed it

	// Tests replace these.
	sleep  func(context.Context, time.Duration)
	random func() float64
	now    func() time.Time
	drain  time.Duration
}

// New returns a client with the settings in opts. A setting without an option comes from its environment variable
// (POSTERN_API_KEY, POSTERN_BASE_URL, POSTERN_ENVIRONMENT and so on; see each option) or has its default. Only the
// key is required, plus the base URL for production keys. The error is a *ConfigurationError. New sends no request.
func New(opts ...Option) (*Client, error) {
	s := settings{variable: environmentVariable}
	for _, o := range opts {
		if o != nil {
			o.applyToClient(&s)
		}
	}
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	c.AI, c.Usage, c.Health, c.Governor = AIService{c}, UsageService{c}, HealthService{c}, GovernorService{c}
	c.Violations, c.Models, c.Compliance = ViolationService{c}, ModelService{c}, ComplianceService{c}
	c.sleep, c.random, c.now, c.drain = sleep, rand.Float64, time.Now, drainTimeout
	return c, nil
}

// String describes the client without its key.
func (c *Client) String() string {
	if c == nil || c.internals == nil {
		return "postern.Client()"
	}
	return "postern.Client(" + c.base.String() + ")"
}

// Format writes String, for any verb.
func (c Client) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
}
