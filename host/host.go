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
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// Options configure a Host.
type Options struct {
	Engine  Engine
	Clock   store.Clock
	KV      store.KV
	Objects Objects
	Control http.Handler // the control plane; optional
	Log     io.Writer    // receives log lines, one JSON object each; optional
	Stats   *Stats       // optional
	// Transport sends requests to providers. Optional; default: NewTransport().
	Transport http.RoundTripper
	// Panicked is called after a panic was survived, with a code and the stack. Optional.
	Panicked func(code string, stack []byte)
	// Observer is notified of exchanges. Optional.
	Observer Observer
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
}

// Host serves the gateway over HTTP.
type Host struct {
	Options
	configured abi.Configured
	client     *http.Client
	hot        *hot
	logMu      sync.Mutex
	shared     shared
	working    sync.WaitGroup
	cut        context.Context // ended by Cut
	endCut     context.CancelFunc
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
	h := &Host{Options: o, configured: configured, client: client, hot: newHot(o.Clock, &configured)}
	h.cut, h.endCut = context.WithCancel(context.Background())
	return h, nil
}

// Wait blocks until all exchanges have ended, including their work after the response.
func (h *Host) Wait() { h.working.Wait() }

// Cut makes exchanges end soon, before the process does: requests to providers fail as if the network were down, and waits
// end at once. The core then ends its responses and settles.
func (h *Host) Cut() { h.endCut() }

// Evict clears the memory shared between exchanges, so that the next one starts as in a new isolate.
func (h *Host) Evict() {
	h.hot.clear()
	h.shared.clear()
}

// ServeHTTP serves one request. It returns when the response is written and the request body is consumed; the exchange
// continues until it is settled.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		host: h, request: r, writer: w, id: requestID(), address: h.address(r),
		events: make(chan delivery), answered: make(chan struct{}),
	}
	if h.Observer != nil {
		x.observed = h.Observer.Begin(x.id, r)
	}
	h.working.Go(x.run)
	<-x.answered
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

// exchange is one request in progress.
type exchange struct {
	host     *Host
	request  *http.Request
	writer   http.ResponseWriter
	id       string
	address  string
	state    []byte
	buffers  map[uint64][]byte
	events   chan delivery
	ready    []abi.Event // events available immediately
	open     map[uint64]context.CancelFunc
	answered chan struct{}
	done     bool           // answered is closed
	started  bool           // the response's head was sent
	opened   bool           // the response is streamed
	broken   bool           // the response was cut off
	reading  sync.WaitGroup // reads of the request body
	handled  chan struct{}  // of the current event; see delivery
	lastWord []byte
	observed ObservedExchange // nil: none
}

// delivery is an event on its way to the loop. If handled is set, the sender waits until the loop closes it.
type delivery struct {
	abi.Event
	buffer  uint64 // the buffer that the loop stores the event's body in
	handled chan struct{}
	action  context.Context // of the action; the event is dropped if this is canceled
}

func (x *exchange) run() {
	x.open, x.buffers = map[uint64]context.CancelFunc{}, map[uint64][]byte{}
	if x.observed != nil {
		defer x.observed.End()
	}
	defer func() {
		for _, cancel := range x.open {
			cancel()
		}
	}()
	defer x.release()
	defer x.survive()
	seed := make([]byte, 16)
	_, _ = rand.Read(seed)
	headers := []abi.Header{
		{Name: ":id", Value: x.id}, {Name: ":method", Value: x.request.Method}, {Name: ":path", Value: text(sentPath(x.request))},
		{Name: ":query", Value: text(x.request.URL.RawQuery)}, {Name: ":address", Value: x.address},
	}
	headers = append(headers, pick(x.request.Header, x.host.configured.RequestHeaders)...)
	event := abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed}
	disconnected := x.request.Context().Done()
	for {
		more := x.step(event)
		x.release()
		if !more {
			return
		}
		switch {
		case len(x.ready) > 0:
			event, x.ready = x.ready[0], x.ready[1:]
			delete(x.open, event.ID)
			continue
		case x.done && len(x.open) == 0:
			return
		case len(x.open) == 0:
			x.lastResort() // no further event can arrive
			return
		}
		if x.done {
			disconnected = nil
		}
		event, x.handled = x.next(&disconnected)
	}
}

// next waits for the next event. It drops events of canceled actions, whose IDs may have been reused.
func (x *exchange) next(disconnected *<-chan struct{}) (event abi.Event, handled chan struct{}) {
	for {
		select {
		case d := <-x.events:
			if d.action.Err() == nil {
				if d.handled == nil {
					x.open[d.ID]()
					delete(x.open, d.ID)
				}
				x.keep(d)
				return d.Event, d.handled
			}
			if d.handled != nil {
				close(d.handled)
			}
		case <-*disconnected:
			*disconnected = nil
			x.finish()
			return abi.Event{Kind: abi.EventDisconnect}, nil
		}
	}
}

// keep stores an event's body in its buffer. Only the loop writes buffers.
func (x *exchange) keep(d delivery) {
	if d.Kind == abi.EventResponse || d.Kind == abi.EventBody && d.Code == abi.OutcomeOK {
		x.buffers[d.buffer] = d.Data
	}
}

// sentPath returns the path as sent. URL.Path is decoded, and encoding it again may change it.
func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // absolute form, or a request made without a server
		return r.URL.EscapedPath()
	}
	return path
}

// pick returns the named header fields. Repeated fields are joined with commas (RFC 9110, section 5.3).
func pick(header http.Header, names []string) []abi.Header {
	var picked []abi.Header
	for _, name := range names {
		if values := header.Values(name); len(values) > 0 {
			picked = append(picked, abi.Header{Name: name, Value: text(strings.Join(values, ", "))})
		}
	}
	return picked
}

// text replaces bytes that are not UTF-8 with U+FFFD, as the Workers platform does.
func text(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string([]rune(raw))
}

// step runs the core on one event and carries out its actions. It returns false when the exchange is over.
func (x *exchange) step(event abi.Event) bool {
	h := x.host
	h.Stats.Steps.Add(1)
	out, err := h.shared.step(&abi.StepInput{NowMs: h.Clock.Now(), State: x.state, Attached: x.buffer(abi.AttachedBuffer), Event: event}, h.runStep)
	if err != nil {
		x.lastResort()
		return false
	}
	x.state = out.State
	for i := range out.Actions {
		x.do(&out.Actions[i])
	}
	return !x.done || len(x.open) > 0 || len(x.ready) > 0
}

func (h *Host) runStep(in *abi.StepInput) (abi.StepOutput, error) {
	var w abi.Writer
	in.Encode(&w)
	message, err := h.Engine.Step(w.Buf)
	if err != nil {
		return abi.StepOutput{}, err
	}
	return abi.DecodeStepOutput(message)
}

// lastResort responds when the core failed. The cause is not logged, because it might contain request data.
func (x *exchange) lastResort() {
	x.host.logFailure("step_failed", x.id)
	switch {
	case x.done:
		return
	case x.opened:
		x.send(x.lastWord)
		x.finish()
		return
	}
	x.respond(x.host.lastAnswer(x.id))
}

// lastAnswer is the error response, prepared by the core at configuration, for a failed step.
func (h *Host) lastAnswer(id string) (status uint64, headers []abi.Header, body []byte) {
	c := &h.configured
	body = append(append(append(body, c.LastResortBody[0]...), id...), c.LastResortBody[1]...)
	headers = append(append(headers, abi.Header{Name: "x-request-id", Value: id}), c.LastResortHeaders...)
	return c.LastResortStatus, headers, body
}

// respond sends a complete response. The response to HEAD has the Content-Length but no body.
func (x *exchange) respond(status uint64, headers []abi.Header, body []byte) {
	if status != http.StatusNoContent && status != http.StatusNotModified {
		x.writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.head(status, headers)
	if x.request.Method != http.MethodHead {
		_, _ = x.writer.Write(body)
	}
	_ = http.NewResponseController(x.writer).Flush() // the client may still be sending the request body
	x.finish()
}

func (x *exchange) head(status uint64, headers []abi.Header) {
	x.allowEarlyResponse()
	if x.observed != nil {
		x.observed.Head(status, headers, x.opened)
	}
	for _, header := range headers {
		x.writer.Header().Set(header.Name, header.Value)
	}
	x.writer.WriteHeader(int(status))
	x.started = true
}

// send writes and flushes a chunk of the response, blocking until the connection accepts it.
func (x *exchange) send(piece []byte) {
	if x.done {
		return
	}
	if _, err := x.writer.Write(piece); err == nil {
		err = http.NewResponseController(x.writer).Flush()
		if err == nil {
			if x.observed != nil && len(piece) > 0 {
				x.observed.Sent(piece)
			}
			return
		}
	}
	x.answer(abi.Event{Kind: abi.EventDisconnect})
	x.finish()
}

// finish ends the response; nothing more is written.
func (x *exchange) finish() {
	if !x.done {
		x.done = true
		close(x.answered)
	}
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
