package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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
	// NoPinned means that the host has no pinned memory, so that no meter lends to it.
	NoPinned bool
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
	hot     *hot
	flights *flights
	logMu   sync.Mutex
	shared  *shared
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
	pinned := configured.PinnedEntries
	if o.NoPinned {
		pinned = 0
	}
	h := &Host{
		Options: o, configured: configured, run: run, client: client, hot: newHot(o.Clock, &configured), flights: &flights{named: map[string]*flight{}}, shared: newShared(o.Clock, pinned),
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
	h.hot.clear()
	h.flights.clear()
	h.shared.clear()
}

// ServeHTTP serves one request. It returns when the response is written and the request body is consumed; the exchange
// continues until it is settled.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		startMs: h.Clock.Now(), began: time.Now(),
		host: h, request: r, writer: w, id: requestID(), address: h.address(r), buffers: map[uint64][]byte{}, answered: make(chan struct{}),
	}
	if h.Observer != nil {
		x.observed = h.Observer.Begin(x.id, r)
	}
	x.serve()
	if x.broken {
		panic(http.ErrAbortHandler) // makes net/http abort the connection without logging
	}
	x.drain()
}

func requestID() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return "req_" + hex.EncodeToString(random[:])
}

// lastAnswer is the error response, prepared by the core at configuration, for a failed step.
func (h *Host) lastAnswer(id string) (status uint64, headers []abi.Header, body []byte) {
	c := &h.configured
	body = append(append(append(body, c.LastResortBody[0]...), id...), c.LastResortBody[1]...)
	headers = append(append(headers, abi.Header{Name: "x-request-id", Value: id}), c.LastResortHeaders...)
	return c.LastResortStatus, headers, body
}

func (h *Host) log(line []byte) {
	if h.Log == nil {
		return
	}
	h.logMu.Lock()
	defer h.logMu.Unlock()
	_, _ = h.Log.Write(append(line, '\n'))
}

// logFailure logs a failure of this host as a code. Error texts are omitted, because they can contain URLs or secrets.
func (h *Host) logFailure(code, requestID string) {
	if h.Observer != nil {
		h.Observer.Failed(code)
	}
	h.log(fmt.Appendf(nil, `{"level":"error","requestId":%q,"code":%q}`, requestID, code))
}
