package host

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// exchange is one request in progress. It has no goroutine of its own: a goroutine that has an event runs the core's step on
// it, under mu, and continues with an action that the step started. So most exchanges hand nothing over between goroutines.
type exchange struct {
	host     *Host
	request  *http.Request
	writer   http.ResponseWriter
	id       string
	address  string
	startMs  uint64         // by Options.Clock
	began    time.Time      // the same instant, for the time that has passed since
	reading  sync.WaitGroup // reads of the request body
	answered chan struct{}  // closed when nothing more is written to the client
	broken   bool           // the response was cut off; readable when answered is closed
	// bodyRequested means that the request body has been read, at least in part; readable when answered is closed.
	bodyRequested bool

	mu       sync.Mutex // held during steps; guards everything below, and the writer
	state    []byte
	pinned   string // key of the pinned entry; empty: none
	buffers  map[uint64][]byte
	ready    []abi.Event // events that actions of this step produced immediately
	pending  []*task     // started by this step, not running yet
	open     []*task     // tasks that have yet to produce their last event
	done     bool        // answered is closed
	started  bool        // the response's head was sent
	opened   bool        // the response is streamed
	ended    bool        // no further event is handled; calls that nobody waits for may still run
	released bool        // Host.Wait does not wait for this exchange any more
	lastWord []byte
	seat     *seat            // the part in a flight; nil: none
	observed ObservedExchange // nil: none
}

// serve runs the exchange until the client has its response. The goroutine of the client's connection runs the steps before
// the first fetch itself. Fetches have their own goroutines, because this one must return when the client disconnects.
func (x *exchange) serve() {
	x.host.working.Add(1)
	for t := x.begin(); t != nil; {
		t = x.advance(t, x.run(t), false)
	}
	select {
	case <-x.answered:
	case <-x.request.Context().Done():
		x.disconnect()
	}
}

// begin handles the first event.
func (x *exchange) begin() *task {
	seed := make([]byte, 16)
	_, _ = rand.Read(seed)
	headers := append(make([]abi.Header, 0, 16),
		abi.Header{Name: ":id", Value: x.id}, abi.Header{Name: ":method", Value: x.request.Method},
		abi.Header{Name: ":path", Value: text(sentPath(x.request))}, abi.Header{Name: ":query", Value: text(x.request.URL.RawQuery)},
		abi.Header{Name: ":address", Value: x.address})
	headers = pick(headers, x.request.Header, x.host.requestFields)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.handle(abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed})
	return x.launch(false)
}

func (x *exchange) disconnect() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done {
		return
	}
	x.finish()
	x.handle(abi.Event{Kind: abi.EventDisconnect})
	x.launch(false)
}

// work carries out a task, then the tasks that its events start, one after the other.
func (x *exchange) work(t *task) {
	for t != nil {
		t = x.advance(t, x.run(t), true)
	}
}

// advance handles the last event of a task and returns the next task for this goroutine; see launch.
func (x *exchange) advance(t *task, event abi.Event, worker bool) *task {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.close(t) {
		return nil
	}
	x.keep(t, event)
	x.handle(event)
	return x.launch(worker)
}

// deliver handles an event of a task that continues. It returns false if the task was canceled.
func (x *exchange) deliver(t *task, event abi.Event) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.find(t.ID) != t {
		return false
	}
	x.handle(event)
	if next := x.launch(false); next != nil {
		x.spawn(next)
	}
	return true
}

// handle runs the steps of an event and of the events that its actions produce immediately.
func (x *exchange) handle(event abi.Event) {
	defer x.survive()
	ok := x.step(event)
	for ok && len(x.ready) > 0 {
		event, x.ready = x.ready[0], x.ready[1:]
		ok = x.step(event)
	}
	if ok && len(x.open) > 0 {
		return
	}
	if !ok || !x.done { // the core failed, or no further event can arrive
		x.lastResort()
	}
	x.end()
}

// end cancels everything in progress. No further event is handled.
func (x *exchange) end() {
	if x.ended {
		return
	}
	x.ended = true
	x.land(abi.FlightFailed, nil)
	for _, t := range x.open {
		t.cancel()
	}
	x.open, x.ready = nil, nil
	for _, t := range x.pending { // canceled, but must release what it holds; Wait must not return before
		x.spawn(t)
	}
	x.pending = nil
	if x.observed != nil {
		x.observed.End()
	}
}

// now is the time for the core.
func (x *exchange) now() uint64 {
	if x.host.MachineClock {
		return x.startMs + uint64(time.Since(x.began).Milliseconds())
	}
	return x.host.Clock.Now()
}

// step runs the core on one event and carries out its actions. It returns false if the core failed.
func (x *exchange) step(event abi.Event) bool {
	h := x.host
	h.Stats.Steps.Add(1)
	in := abi.StepInput{NowMs: x.now(), State: x.state, Attached: x.buffer(abi.AttachedBuffer), Waiting: x.seat.waiting(), Event: event}
	out, err := h.shared.step(&in, x.pinned, h.run)
	if err != nil {
		return false
	}
	x.state = out.State
	for i := range out.Actions {
		x.do(&out.Actions[i])
	}
	return true
}
