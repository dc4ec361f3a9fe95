package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// Options configure a Host.
type Options struct {
	Engine Engine
	Clock  store.Clock
	// MachineClock says that Clock is the machine's, which somebody may set while exchanges are in progress. Their time then
	// runs on from their start, or a clock set forward would end requests that wait for a provider.
	MachineClock bool
	KV           store.KV
	Objects      Objects
	Control      http.Handler // the control plane; optional
	Log          io.Writer    // receives log lines, one JSON object each; optional
	Stats        *Stats       // optional
	// Transport sends requests to providers. Optional; default: NewTransport().
	Transport http.RoundTripper
	// Panicked is called after a panic was survived, with a code and the stack. Optional.
	Panicked func(code string, stack []byte)
	// Observer is notified of exchanges. Optional.
	Observer Observer
	// Persistence is the time for which a call that no event answers, such as a settlement, is repeated while its object is
	// unavailable or overloaded: nobody else repeats it. 0: not beyond the retry that every call has.
	Persistence time.Duration
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
}

// Host serves the gateway over HTTP.
type Host struct {
	Options
	configured abi.Configured
	// The header fields that the core wants.
	requestFields, responseFields []fieldName

	run     func(*abi.StepInput) (abi.StepOutput, error) // one step of the engine
	client  *http.Client
	logMu   sync.Mutex
	isolate *isolate
	working working
	cut     context.Context // ended by Cut
	endCut  context.CancelFunc
}

// New returns a host. It fails if the core rejected its configuration.
func New(o Options) (*Host, error) {
	configured := o.Engine.Configured()
	if configured.Error != "" {
		return nil, errors.New("host: " + configured.Error)
	}
	if o.Stats == nil {
		o.Stats = &Stats{}
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	client := &http.Client{Transport: o.Transport, CheckRedirect: noRedirect}
	run := func(in *abi.StepInput) (abi.StepOutput, error) { return advance(o.Engine, in) }
	h := &Host{
		Options: o, configured: configured, run: run, client: client,
		isolate: newIsolate(o.Clock, &configured, configured.PinnedEntries),
	}
	h.requestFields, h.responseFields = fieldNames(configured.RequestHeaders), fieldNames(configured.ResponseHeaders)
	h.cut, h.endCut = context.WithCancel(context.Background())
	return h, nil
}

// Wait blocks until all exchanges have ended, including their work after the response.
func (h *Host) Wait() { h.working.Wait() }

// Cut makes exchanges end soon, before the process does: requests to providers end with abi.FaultCut, new ones with
// abi.FaultClosing, and waits end at once. The core then ends its responses and settles.
func (h *Host) Cut() { h.endCut() }

// Evict clears the memory shared between exchanges, so that the next one starts as in a new isolate.
func (h *Host) Evict() {
	h.isolate.clear()
}

// ServeHTTP serves one request. It returns when the response is written and the request body is consumed; the exchange
// continues until it is settled.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(h, w, r)
	x.serve()
	if x.response.broken {
		panic(http.ErrAbortHandler) // makes net/http abort the connection without logging
	}
	x.body.drain()
}

// Shared returns the blob that all exchanges share. It must not be changed. Packages of the core decode it.
func (h *Host) Shared() []byte { return h.isolate.content() }

// Followers returns the number of exchanges that wait for the response of another.
func (h *Host) Followers() int {
	h.isolate.flights.mu.Lock()
	defer h.isolate.flights.mu.Unlock()
	n := uint64(0)
	for _, f := range h.isolate.flights.named {
		n += f.followers
	}
	return int(n)
}
