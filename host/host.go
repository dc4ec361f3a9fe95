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
)

// Options are what a Host is made of.
type Options struct {
	Engine  Engine
	Clock   Clock
	KV      KV
	Objects Objects
	Control http.Handler // the control plane; nil: none
	Log     io.Writer    // one line of JSON each
	Stats   *Stats       // nil: nobody looks at them
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
}

// Host answers callers over HTTP.
type Host struct {
	Options
	configured abi.Configured
	client     *http.Client
	hot        *hot
	logMu      sync.Mutex
	shared     shared
	working    sync.WaitGroup
}

// New makes a host. A core that refused its configuration is refused here.
func New(o Options) (*Host, error) {
	configured := o.Engine.Configured()
	if configured.Error != "" {
		return nil, errors.New("host: " + configured.Error)
	}
	if o.Stats == nil {
		o.Stats = &Stats{}
	}
	client := &http.Client{
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: stay,
	}
	return &Host{Options: o, configured: configured, client: client, hot: newHot(o.Clock, &configured)}, nil
}

// Wait returns when all exchanges are over, what follows their answers included.
func (h *Host) Wait() { h.working.Wait() }

// Evict empties what the host remembers between exchanges, as a new isolate would.
func (h *Host) Evict() {
	h.hot.clear()
	h.shared.clear()
}

// ServeHTTP answers one request. It returns when the answer is written and the request's body read; the exchange
// goes on until it is settled.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		host: h, request: r, writer: w, id: requestID(), address: h.address(r),
		events: make(chan delivery), answered: make(chan struct{}),
	}
	h.working.Go(x.run)
	<-x.answered
	if x.broken {
		panic(http.ErrAbortHandler) // net/http's way to break the connection; it logs nothing
	}
	x.drain()
}

func requestID() string {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return "req_" + hex.EncodeToString(random[:])
}

// exchange is one request under way.
type exchange struct {
	host     *Host
	request  *http.Request
	writer   http.ResponseWriter
	id       string
	address  string
	state    []byte
	buffers  map[uint64][]byte
	events   chan delivery
	ready    []abi.Event // answers that were there at once
	open     map[uint64]context.CancelFunc
	answered chan struct{}
	done     bool           // answered is closed
	opened   bool           // the answer is sent piece by piece
	broken   bool           // the answer ends in its middle
	reading  sync.WaitGroup // of the request's body
	lastWord []byte
}

// delivery is an event on its way to the loop. What made it waits until handled is closed, if there is one.
type delivery struct {
	abi.Event
	buffer  uint64 // where the loop keeps the body that the event brings
	handled chan struct{}
	action  context.Context // of what it answers; once that is cancelled, nobody wants the event
}

func (x *exchange) run() {
	x.open, x.buffers = map[uint64]context.CancelFunc{}, map[uint64][]byte{}
	defer func() {
		for _, cancel := range x.open {
			cancel()
		}
	}()
	seed := make([]byte, 16)
	_, _ = rand.Read(seed)
	headers := []abi.Header{
		{Name: ":id", Value: x.id}, {Name: ":method", Value: x.request.Method}, {Name: ":path", Value: text(sentPath(x.request))},
		{Name: ":query", Value: text(x.request.URL.RawQuery)}, {Name: ":address", Value: x.address},
	}
	headers = append(headers, pick(x.request.Header, x.host.configured.RequestHeaders)...)
	event := abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed}
	left := x.request.Context().Done()
	var handled chan struct{}
	for {
		goesOn := x.step(event)
		if handled != nil {
			close(handled)
			handled = nil
		}
		if !goesOn {
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
			x.lastResort() // nothing would ever happen again
			return
		}
		if x.done {
			left = nil
		}
		event, handled = x.next(&left)
	}
}

// next waits for the next event. What was cancelled while its event waited has none: its id may be that of
// another action by now.
func (x *exchange) next(left *<-chan struct{}) (event abi.Event, handled chan struct{}) {
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
		case <-*left:
			*left = nil
			x.finish()
			return abi.Event{Kind: abi.EventLeft}, nil
		}
	}
}

// keep stores the body that an event brings. Buffers are the loop's: nothing beside it writes them.
func (x *exchange) keep(d delivery) {
	if d.Kind == abi.EventResponse || d.Kind == abi.EventBody && d.Code == abi.OutcomeOK {
		x.buffers[d.buffer] = d.Data
	}
}

// sentPath is the path as it was sent. That of the URL has been decoded, and is encoded again by other rules.
func sentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") { // a whole URL, or a request of no server
		return r.URL.EscapedPath()
	}
	return path
}

// pick takes the named header fields, several of one name joined as HTTP says.
func pick(header http.Header, names []string) []abi.Header {
	var picked []abi.Header
	for _, name := range names {
		if values := header.Values(name); len(values) > 0 {
			picked = append(picked, abi.Header{Name: name, Value: text(strings.Join(values, ", "))})
		}
	}
	return picked
}

// text is what a text of the wire may hold: a byte that is not UTF-8 is told as U+FFFD, as the Worker's platform does.
func text(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string([]rune(raw))
}

// step runs the core on one event and does what it says; false ends the exchange.
func (x *exchange) step(event abi.Event) bool {
	h := x.host
	h.Stats.Steps.Add(1)
	out, err := h.shared.step(&abi.StepInput{NowMs: h.Clock.Now(), State: x.state, Event: event}, h.runStep)
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

// lastResort answers in place of a core that could not. Why is not logged: it may hold what the core choked on.
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

// lastAnswer is what the core said to answer when no step can.
func (h *Host) lastAnswer(id string) (status uint64, headers []abi.Header, body []byte) {
	c := &h.configured
	body = append(append(append(body, c.LastResortBody[0]...), id...), c.LastResortBody[1]...)
	headers = append(append(headers, abi.Header{Name: "x-request-id", Value: id}), c.LastResortHeaders...)
	return c.LastResortStatus, headers, body
}

// respond sends a whole answer. A HEAD gets its head only, which tells the length all the same.
func (x *exchange) respond(status uint64, headers []abi.Header, body []byte) {
	if status != http.StatusNoContent && status != http.StatusNotModified {
		x.writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.head(status, headers)
	if x.request.Method != http.MethodHead {
		_, _ = x.writer.Write(body)
	}
	_ = http.NewResponseController(x.writer).Flush() // the caller need not have sent all of the body
	x.finish()
}

func (x *exchange) head(status uint64, headers []abi.Header) {
	x.answerBeside()
	for _, header := range headers {
		x.writer.Header().Set(header.Name, header.Value)
	}
	x.writer.WriteHeader(int(status))
}

// send writes a piece of the answer through to the caller, and waits until it is taken.
func (x *exchange) send(piece []byte) {
	if x.done {
		return
	}
	if _, err := x.writer.Write(piece); err == nil {
		err = http.NewResponseController(x.writer).Flush()
		if err == nil {
			return
		}
	}
	x.answer(abi.Event{Kind: abi.EventLeft})
	x.finish()
}

// finish lets the caller go; nothing more is written.
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

// logFailure logs what this host could not do: a code, and no error's text, which may hold a URL or worse.
func (h *Host) logFailure(code, requestID string) {
	h.log(fmt.Appendf(nil, `{"level":"error","requestId":%q,"code":%q}`, requestID, code))
}
