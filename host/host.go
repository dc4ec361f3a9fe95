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
	// MachineClock says that Clock is the machine's clock, which somebody may set at any time. The host then reads it
	// only at the start of an exchange and adds the elapsed time. Otherwise, a clock that is set forward would end
	// requests that wait for a provider.
	MachineClock bool
	KV           store.KV
	Objects      Objects
	Control      http.Handler // the control plane; optional
	Log          io.Writer    // receives log lines, one JSON object each; optional
	Stats        *Stats       // optional
	// Transport sends requests to providers. Optional; the default is NewTransport().
	Transport http.RoundTripper
	// Panicked is called with a code and the stack after the host has recovered from a panic. Optional.
	Panicked func(code string, stack []byte)
	// Observer is notified of exchanges. Optional.
	Observer Observer
	// Persistence is how long the host retries a call for which the core gets no event, such as a settlement, while
	// its object is unavailable or overloaded. Nothing else retries such a call. If Persistence is 0, there is only
	// the one retry that every call gets.
	Persistence time.Duration
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
}

// Host serves the gateway over HTTP.
type Host struct {
	Options
	configured abi.Configured
	// The header fields that the core needs.
	requestFields, responseFields []fieldName

	client  *http.Client
	logMu   sync.Mutex
	isolate *isolate
	working working
	cut     context.Context // ended by Cut
	endCut  context.CancelFunc
}

// New returns a host. It fails if the core rejects its configuration.
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
	h := &Host{
		Options: o, configured: configured, client: client,
		isolate: newIsolate(o.Clock, &configured, configured.PinnedEntries),
	}
	h.requestFields, h.responseFields = fieldNames(configured.RequestHeaders), fieldNames(configured.ResponseHeaders)
	h.cut, h.endCut = context.WithCancel(context.Background())
	return h, nil
}

// Wait blocks until all exchanges have ended, including their work after the response.
func (h *Host) Wait() { h.working.Wait() }

// Cut makes exchanges end soon, before the process ends. Requests to providers that are in progress end with
// abi.FaultCut. New ones end with abi.FaultClosing. Waits end at once. The core then ends its responses and settles.
func (h *Host) Cut() { h.endCut() }

// Evict clears the memory that exchanges share. The next exchange then starts as in a new isolate.
func (h *Host) Evict() {
	h.isolate.clear()
}

// ServeHTTP serves one request. It returns when the response has been written and the request body has been consumed.
// The exchange continues until it is settled.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(h, w, r)
	x.serve()
	if x.response.broken {
		panic(http.ErrAbortHandler) // makes net/http abort the connection without logging
	}
	x.body.drain()
}

// Shared returns the blob that all exchanges share. It must not be changed. Packages of the core can decode it.
func (h *Host) Shared() []byte { return h.isolate.content() }

// Followers returns the number of exchanges that wait for another exchange's response.
func (h *Host) Followers() int {
	h.isolate.flights.mu.Lock()
	defer h.isolate.flights.mu.Unlock()
	n := uint64(0)
	for _, f := range h.isolate.flights.named {
		n += f.followers
	}
	return int(n)
}
