package host

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// exchange is one request in progress. It has no goroutine of its own. A goroutine that has an event locks mu and
// runs the core's step on the event. Then it carries out an action that the step started. Most exchanges therefore
// never pass anything from one goroutine to another.
type exchange struct {
	host    *Host
	request *http.Request
	id      string
	address string
	startMs uint64    // by Options.Clock
	began   time.Time // the same instant, to measure elapsed time from
	body    requestBody

	mu       sync.Mutex    // held during steps; guards everything below
	stepper  Stepper       // nil: the exchange has ended
	input    abi.StepInput // of the current step; a field only because a variable would be allocated for each step
	pinned   string        // key of the pinned entry; empty: none
	queued   bool          // it is in the queue of that entry; guarded by isolate.mu
	buffers  buffers
	tasks    tasks
	ready    []abi.Event // events that this step's actions produced and that it still has to handle
	response callerResponse
	seat     *seat            // role in a flight; nil: none
	ended    bool             // no more events are handled; calls without an ID may still run
	released bool             // Host.Wait no longer waits for this exchange
	observed ObservedExchange // nil: none
}

func newExchange(h *Host, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{
		host: h, request: r, id: requestID(), address: h.address(r), startMs: h.Clock.Now(), began: time.Now(), stepper: newStepper(h.Engine),
		buffers: buffers{},
	}
	x.body.request, x.body.writer = r, w
	if h.Observer != nil {
		x.observed = h.Observer.Begin(x.id, r)
	}
	x.response = callerResponse{body: &x.body, writer: w, observed: x.observed, answered: make(chan struct{})}
	return x
}

// serve runs the exchange until the client has its response. The goroutine of the client's connection runs the steps
// up to the first fetch itself. Fetches run in their own goroutines, because the connection's goroutine must return
// when the client disconnects.
func (x *exchange) serve() {
	x.host.working.Add(1)
	for t := x.begin(); t != nil; {
		t = x.advance(t, x.run(t), false)
	}
	select {
	case <-x.response.answered:
	case <-x.request.Context().Done():
		x.disconnect()
	}
}

func (x *exchange) begin() *task {
	seed := make([]byte, abi.SeedBytes)
	_, _ = rand.Read(seed)
	headers := requestFields(x.request, x.host.requestFields, x.id, x.address)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.handle(abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed})
	return x.launch(false)
}

func (x *exchange) disconnect() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.response.done {
		return
	}
	x.response.finish()
	x.handle(abi.Event{Kind: abi.EventDisconnect})
	x.launch(false)
}

// work carries out a task. Then it carries out, one by one, the tasks that it takes over; see launch.
func (x *exchange) work(t *task) {
	for t != nil {
		t = x.advance(t, x.run(t), true)
	}
}

// advance handles the last event of a task. It returns the next task for this goroutine, or nil if there is none. See
// launch.
func (x *exchange) advance(t *task, event abi.Event, worker bool) *task {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.tasks.close(t) {
		return nil
	}
	x.buffers.keep(t, event)
	x.handle(event)
	return x.launch(worker)
}

// deliver handles an event that is not the last one of its task. It returns false if the task was canceled.
func (x *exchange) deliver(t *task, event abi.Event) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tasks.find(t.ID) != t {
		return false
	}
	x.handle(event)
	if next := x.launch(false); next != nil {
		x.spawn(next)
	}
	return true
}

// handle runs the step for an event, and then the steps for the events that the actions produce immediately.
func (x *exchange) handle(event abi.Event) {
	defer x.survive()
	ok := x.step(event)
	for ok && len(x.ready) > 0 {
		event, x.ready = x.ready[0], x.ready[1:]
		ok = x.step(event)
	}
	if ok && len(x.tasks.open) > 0 {
		return
	}
	if !ok || !x.response.done { // the core failed, or no further event can arrive
		x.lastResort()
	}
	x.end()
}

// end cancels everything in progress. No more events are handled.
func (x *exchange) end() {
	if x.ended {
		return
	}
	x.ended = true
	x.land(abi.FlightFailed, nil)
	x.tasks.cancelAll()
	x.ready = nil
	for _, t := range x.tasks.take() { // canceled, but must release its resources before Wait returns
		x.spawn(t)
	}
	if x.observed != nil {
		x.observed.End()
	}
	x.stepper.Release()
	x.stepper = nil
}

// step runs the core on one event and carries out its actions. It returns false if the core failed.
func (x *exchange) step(event abi.Event) bool {
	h := x.host
	h.Stats.Steps.Add(1)
	x.input = abi.StepInput{Attached: x.buffers[abi.AttachedBuffer], Waiting: x.seat.waiting(), Event: event}
	out, err := h.isolate.step(&x.input, x.pinned, x.now, x.stepper, x)
	x.input = abi.StepInput{}
	if err != nil {
		return false
	}
	x.stepper.Keep()
	for i := range out.Actions {
		x.do(&out.Actions[i])
	}
	x.stepper.Done()
	return true
}

// launch runs the tasks that the step has started, each in a new goroutine. It may return one of them instead, which
// the calling goroutine then runs. The goroutine of a connection runs only tasks that the response waits for.
func (x *exchange) launch(worker bool) (mine *task) {
	free := worker || !x.response.done && !x.tasks.any(abi.ActionFetch, abi.ActionFollow)
	for _, t := range x.tasks.take() {
		switch {
		case !free || !worker && t.ID == 0:
			x.spawn(t)
		case mine != nil:
			x.spawn(mine)
			fallthrough
		default:
			mine = t
		}
	}
	if x.ended && !x.released { // only now: Host.Wait must also wait for the new tasks
		x.released = true
		x.host.working.Done()
	}
	return mine
}

// spawn runs a task in another goroutine. A fetch mostly waits, so it gets a goroutine with a small stack. What follows
// it runs on a worker.
func (x *exchange) spawn(t *task) {
	h := x.host
	if t.Kind != abi.ActionFetch {
		background(&h.working, h.Panicked, func() { x.work(t) })
		return
	}
	h.working.Add(1)
	go func() {
		defer h.working.Done()
		event := x.run(t)
		background(&h.working, h.Panicked, func() { x.work(x.advance(t, event, true)) })
	}()
}

func (x *exchange) isOpen(t *task) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tasks.find(t.ID) == t
}

// run runs a task and returns its last event. If it panics, the action fails and the exchange continues.
func (x *exchange) run(t *task) (event abi.Event) {
	defer func() {
		if recover() != nil {
			panicked(x.host.Panicked, "action_panicked")
			event = failed(&t.Action)
		}
	}()
	return t.run(t)
}

// survive ends an exchange whose step panicked. It sends the last-resort error, or the last chunk of a stream. If
// neither is possible, it cuts the connection so that the response does not look complete.
func (x *exchange) survive() {
	if recover() == nil {
		return
	}
	panicked(x.host.Panicked, "exchange_panicked")
	defer x.end()
	defer func() {
		if recover() != nil || !x.response.done {
			x.response.broken = true
			x.response.finish()
		}
	}()
	if x.response.opened || !x.response.started {
		clear(x.response.writer.Header())
		x.lastResort()
	}
}
