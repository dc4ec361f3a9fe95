package sim_test

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/test/interpreter"
)

// exchange is one request as a host runs it, and the world's record of that request.
type exchange struct {
	interpreter.Exchange
	w            *world
	isolate      *isolate
	item         *item
	number       int
	id           string
	key          *key
	project      *project // the key's
	random       *rng
	pinned       string
	seat         *seat // nil: in no flight
	open         map[uint64]*open
	ready        []abi.Event // replies that are available at once
	done         bool        // the response is complete, or the client is disconnected
	over         bool
	dead         bool // killed with its isolate
	disconnected bool
	request      request
	history      history
}

// open is an action that awaits its reply.
type open struct {
	id       uint64
	canceled bool
	fetch    *fetch
}

// start delivers the request event.
func (x *exchange) start(headers []abi.Header) {
	seed := make([]byte, 16)
	for i := range seed {
		seed[i] = byte(x.random.next())
	}
	x.open = map[uint64]*open{}
	x.isolate.running = append(x.isolate.running, x)
	x.deliver(abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed})
}

// deliver runs the core on an event and then on the replies that become available at once.
func (x *exchange) deliver(e abi.Event) {
	for {
		x.step(&e)
		if x.over {
			return
		}
		if len(x.ready) == 0 {
			break
		}
		e, x.ready = x.ready[0], x.ready[1:]
		delete(x.open, e.ID)
	}
	switch {
	case len(x.open) > 0:
	case x.done:
		x.end()
	default:
		x.w.fail("I13", "%s: the exchange ends without a response", x.id)
	}
}

func (x *exchange) step(e *abi.Event) {
	i := x.isolate
	x.w.stats.Steps++
	in := abi.StepInput{NowMs: x.w.clockOf(i), Shared: i.shared, Pinned: i.unpin(x.pinned), Waiting: x.followers(), Event: *e}
	x.Step((*host)(x), &in)
	if x.history.leaving {
		x.history.leaving = false
		x.checkFetches()
	}
}

func (x *exchange) end() {
	x.over = true
	x.land(abi.FlightFailed, nil)
	x.isolate.running = slices.DeleteFunc(x.isolate.running, func(o *exchange) bool { return o == x })
	x.checkSettled()
}

// waitUntilMs is how long a platform lets an exchange run after the response.
const waitUntilMs = 30 * secondMs

// cutWork ends an exchange that only keeps a lease, in the way that a platform cuts off work after the response.
func (x *exchange) cutWork() {
	if x.over || len(x.history.fetches) > 0 && !x.history.fetches[len(x.history.fetches)-1].over {
		return
	}
	for id := range x.open {
		if id < keeperSleep {
			return
		}
	}
	x.w.logf("%s: its work after the response is cut", x.id)
	for _, o := range x.open {
		o.canceled = true
	}
	x.end()
}

func (x *exchange) die() {
	x.dead = true
	for _, o := range x.open {
		o.canceled = true
		if o.fetch != nil {
			o.fetch.cut()
		}
	}
	if !x.done {
		x.w.logf("%s: the client's connection breaks", x.id)
		x.finished(0)
	}
	x.end()
}

// reply delivers an action's reply. If the action was canceled or its exchange has ended, it delivers nothing.
func (x *exchange) reply(o *open, e abi.Event, last bool) {
	if o.canceled || x.over {
		return
	}
	if last {
		delete(x.open, o.id)
	}
	x.deliver(e)
}

func (x *exchange) outstanding(id uint64) *open {
	o := &open{id: id}
	x.open[id] = o
	return o
}

func (x *exchange) streamed() bool {
	return x.Response == interpreter.Opened || x.Response == interpreter.Closed
}

func (x *exchange) join(parts []abi.Part) []byte { return x.Join((*host)(x), parts) }

// host is an exchange in the form that the interpreter uses.
type host exchange

func (h *host) Run(in *abi.StepInput) (abi.StepOutput, bool) { return h.Core(h, worldConfig, in), true }

func (h *host) Stepped(in *abi.StepInput, out *abi.StepOutput) {
	x := (*exchange)(h)
	i := x.isolate
	if out.SharedChanged {
		i.shared = out.Shared
	}
	if out.PinnedChanged {
		i.lookBack(x.pinned, in.Pinned)
		i.pin(x.pinned, out.Pinned, out.PinnedKeepMs)
		x.pinChanged(i.pinned[x.pinned].value)
		i.wake(x.pinned, out.Wake)
	}
}

// Sees lets a defect replace an action.
func (h *host) Sees(a *abi.Action) bool {
	x := (*exchange)(h)
	if h.w.defect.action != nil && h.w.defect.action(x, a) {
		return false
	}
	x.noteWithheld(a)
	return true
}

func (h *host) Start(a *abi.Action) {
	x, w := (*exchange)(h), h.w
	switch a.Kind {
	case abi.ActionReadBody:
		o := x.outstanding(a.ID)
		w.after(w.delay(x.random), func() {
			x.Buffers.Keep(a.Buffer, x.request.body)
			x.reply(o, abi.Event{Kind: abi.EventBody, ID: a.ID, Data: x.request.body}, true)
		})
	case abi.ActionSupply:
		x.ready = append(x.ready, abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: x.Content(h, a.Buffer)})
	case abi.ActionJoin:
		x.joinFlight(a)
	case abi.ActionFollow:
		x.follow(a)
	case abi.ActionRead:
		x.read(a)
	case abi.ActionCall:
		x.call(a)
	case abi.ActionFetch:
		x.fetch(a)
	case abi.ActionWait:
		o := x.outstanding(a.ID)
		if a.Code != abi.WaitTimer {
			x.isolate.queue(x, o, a.Code == abi.WaitFirst)
		}
		w.after(x.isolate.real(a.KeepMs), func() {
			if x.open[o.id] == o {
				x.reply(o, abi.Event{Kind: abi.EventTimer, ID: a.ID}, true)
			}
		})
	default:
		h.Violate("unexpected action %d", a.Kind)
	}
}

func (h *host) Outstanding(id uint64) bool        { return h.open[id] != nil }
func (h *host) Cancel(id uint64)                  { (*exchange)(h).cancel(id) }
func (h *host) Pause(*abi.Action)                 {}
func (h *host) Write(a *abi.Action, value []byte) { (*exchange)(h).write(a, value) }

func (h *host) Violate(format string, args ...any) {
	h.w.fail("contract", "%s: %s", h.id, fmt.Sprintf(format, args...))
}

func (h *host) Answer(a *abi.Action, body []byte) {
	x := (*exchange)(h)
	switch {
	case x.done:
	case a.Kind == abi.ActionRespond:
		x.responded(a.Code, a.Headers, body)
	case a.Kind == abi.ActionOpen:
		x.responseOpened(a.Code, a.Headers)
	case a.Kind == abi.ActionSend:
		x.send(body)
	case a.Kind == abi.ActionClose:
		x.responseClosed()
	}
}

func (h *host) Note(a *abi.Action) {
	x := (*exchange)(h)
	switch a.Kind {
	case abi.ActionAppend:
		x.grow(a.Buffer)
	case abi.ActionPublish:
		x.publish(a)
	case abi.ActionLand:
		x.land(a.Code, a.Data)
	case abi.ActionPin:
		x.pinned = a.Key
	case abi.ActionLog:
		x.w.audit(a.Data, "a log line")
	}
}

func (x *exchange) cancel(id uint64) {
	if o := x.open[id]; o != nil {
		o.canceled = true
		if o.fetch != nil {
			o.fetch.cut()
		}
		delete(x.open, id)
	}
}

// read looks in memory first, then in the data center's cache, then in KV.
func (x *exchange) read(a *abi.Action) {
	i := x.isolate
	if a.Where&abi.WhereMemory != 0 {
		if value, ok := i.recall(x.w.place(x, a.Key)); ok {
			x.ready = append(x.ready, abi.Event{Kind: abi.EventStored, ID: a.ID, Data: value})
			return
		}
	}
	if a.Where&(abi.WhereKV|abi.WhereColo) == 0 {
		x.ready = append(x.ready, abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent})
		return
	}
	o := x.outstanding(a.ID)
	x.w.after(x.w.delay(x.random), func() {
		e := abi.Event{Kind: abi.EventStored, ID: a.ID}
		var value []byte
		ok, down := false, false
		if a.Where&abi.WhereColo != 0 {
			value, ok = x.w.colo.read(x.w, x.w.place(x, a.Key), x.random)
		}
		if !ok && a.Where&abi.WhereKV != 0 {
			value, ok, down = i.readKV(x.w.place(x, a.Key))
		}
		switch {
		case down:
			e.Code = abi.OutcomeFailed
			x.history.failed = true
		case !ok:
			e.Code = abi.OutcomeAbsent
		default:
			e.Data = value
			if a.KeepMs > 0 && !x.dead {
				i.remember(x.w.place(x, a.Key), value, a.KeepMs)
			}
		}
		x.reply(o, e, true)
	})
}

func (x *exchange) write(a *abi.Action, body []byte) {
	x.w.audit(body, "memory")
	if a.Where&abi.WhereMemory != 0 {
		x.isolate.remember(x.w.place(x, a.Key), body, a.KeepMs)
	}
	if a.Where&abi.WhereColo != 0 {
		x.w.colo[x.w.place(x, a.Key)] = hotRow{body, x.w.now + a.TTL*secondMs}
	}
	if a.Where&abi.WhereKV != 0 {
		x.w.kv.write(x.w, x.w.place(x, a.Key), body, a.TTL, x.random)
	}
}

// send writes a chunk of the response. If the client has disconnected quietly, this is noticed here.
func (x *exchange) send(piece []byte) {
	if x.disconnected {
		x.ready = append(x.ready, abi.Event{Kind: abi.EventDisconnect})
		x.finished(0)
		return
	}
	x.sent(piece)
}

// disconnect disconnects the client. If the disconnect is quiet, it is noticed only when something is written next.
func (x *exchange) disconnect() {
	if x.done || x.over {
		return
	}
	x.disconnected = true
	if x.item.Quiet {
		return
	}
	x.w.logf("%s: the client disconnects", x.id)
	x.w.stats.Left++
	x.finished(0)
	x.deliver(abi.Event{Kind: abi.EventDisconnect})
}
