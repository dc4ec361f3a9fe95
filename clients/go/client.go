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

// Client calls a Postern gateway with one API key. Its methods are grouped by subject. Several goroutines may use it
// at the same time. It reuses connections, so create one with New and keep it. The calls of a Client that New did not
// create fail with a *ConfigurationError.
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

type internals struct {
	key      hidden[keySource]
	base     *url.URL
	http     *http.Client
	log      logger
	defaults hidden[shared] // every field is set
	hooks    hooks
	pausing  atomic.Int64 // number of calls that are in a pause because the gateway asked for it

	mu      sync.Mutex
	project string // the key's project, after a usage report has asked for it

	// Tests replace these functions.
	sleep  func(context.Context, time.Duration)
	random func() float64
	now    func() time.Time
	drain  time.Duration
}

// New returns a client with the settings in opts. If there is no option for a setting, its environment variable
// applies, such as POSTERN_API_KEY or POSTERN_BASE_URL (see each option). If there is no variable either, the setting
// has its default. The key is required. For production keys, the base URL is required too. The error is a
// *ConfigurationError. New sends no request.
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
