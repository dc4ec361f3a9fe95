package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// exchange is one request as a host runs it, and what the world knows of it.
type exchange struct {
	w       *world
	isolate *isolate
	item    *item
	number  int
	id      string
	key     *key
	project *project // as of its key
	random  *rng
	state   []byte
	buffers map[uint64][]byte
	open    map[uint64]*open
	ready   []abi.Event // answers that are at hand
	done    bool        // the caller has its answer, or has left
	opened  bool
	over    bool
	dead    bool // with its isolate
	left    bool
	asks    request // what the caller wants
	story   story
}

// open is an action that is to be answered.
type open struct {
	id        uint64
	cancelled bool
	fetch     *fetch
}

// start begins an exchange with its request.
func (x *exchange) start(headers []abi.Header) {
	seed := make([]byte, 16)
	for i := range seed {
		seed[i] = byte(x.random.next())
	}
	x.buffers, x.open = map[uint64][]byte{}, map[uint64]*open{}
	x.isolate.running = append(x.isolate.running, x)
	x.deliver(abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed})
}

// deliver runs the core on an event, and on the answers that are at hand after that.
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
		x.w.fail("I13", "%s: the core left the caller without an answer", x.id)
	}
}

func (x *exchange) step(e *abi.Event) {
	i := x.isolate
	x.w.stats.Steps++
	in := abi.StepInput{NowMs: i.told(), Shared: i.shared, State: x.state, Event: *e}
	out := step(&in)
	if out.SharedChanged {
		i.shared = out.Shared
	}
	x.state = out.State
	for n := range out.Actions {
		x.do(&out.Actions[n])
	}
}

func (x *exchange) end() {
	x.over = true
	x.isolate.running = slices.DeleteFunc(x.isolate.running, func(o *exchange) bool { return o == x })
	x.ended()
}

func (x *exchange) die() {
	x.dead = true
	for _, o := range x.open {
		o.cancelled = true
		if o.fetch != nil {
			o.fetch.cut()
		}
	}
	if !x.done {
		x.w.say("%s: the caller's connection breaks", x.id)
		x.finished(0)
	}
	x.end()
}

// answered gives an action its answer, unless it was cancelled or its exchange is gone.
func (x *exchange) answered(o *open, e abi.Event, last bool) {
	if o.cancelled || x.over {
		return
	}
	if last {
		delete(x.open, o.id)
	}
	x.deliver(e)
}

func (x *exchange) outstanding(id uint64) *open {
	if x.open[id] != nil {
		x.w.fail("contract", "%s: action %d is outstanding, and its id is used again", x.id, id)
	}
	o := &open{id: id}
	x.open[id] = o
	return o
}

func (x *exchange) join(parts []abi.Part) []byte {
	var body []byte
	for _, p := range parts {
		if p.Buffer != 0 {
			body = append(body, x.buffers[p.Buffer]...)
		} else {
			body = append(body, p.Data...)
		}
	}
	return body
}

// do carries out one action.
func (x *exchange) do(a *abi.Action) {
	w := x.w
	if w.breaks.action != nil && w.breaks.action(x, a) {
		return
	}
	switch a.Kind {
	case abi.ActionReadBody:
		o := x.outstanding(a.ID)
		w.after(w.delay(x.random), func() {
			x.buffers[a.Buffer] = x.asks.body
			x.answered(o, abi.Event{Kind: abi.EventBody, ID: a.ID, Data: x.asks.body}, true)
		})
	case abi.ActionSupply:
		x.ready = append(x.ready, abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: x.buffers[a.Buffer]})
	case abi.ActionKeep:
		x.buffers[a.Buffer] = a.Data
	case abi.ActionAppend:
		x.buffers[a.Buffer] = append(slices.Clip(x.buffers[a.Buffer]), a.Data...)
	case abi.ActionRead:
		x.read(a)
	case abi.ActionWrite:
		x.write(a)
	case abi.ActionCall:
		x.call(a)
	case abi.ActionFetch:
		x.fetch(a)
	case abi.ActionRespond:
		if !x.done {
			x.responded(a.Code, a.Headers, x.join(a.Body))
		}
	case abi.ActionOpen:
		x.opened = true
		if !x.done {
			x.headed(a.Code, a.Headers)
		}
	case abi.ActionSend:
		x.send(x.join(a.Body))
	case abi.ActionClose:
		if !x.done {
			x.closed()
		}
	case abi.ActionWait:
		o := x.outstanding(a.ID)
		w.after(a.KeepMs, func() { x.answered(o, abi.Event{Kind: abi.EventTimer, ID: a.ID}, true) })
	case abi.ActionCancel:
		x.cancel(a.ID)
	case abi.ActionLog:
		w.audit(a.Data, "a log line")
	default:
		w.fail("host", "%s: action %d was not expected", x.id, a.Kind)
	}
}

func (x *exchange) cancel(id uint64) {
	if o := x.open[id]; o != nil {
		o.cancelled = true
		if o.fetch != nil {
			o.fetch.cut()
		}
		delete(x.open, id)
	}
}

// read looks in memory first, then in KV.
func (x *exchange) read(a *abi.Action) {
	i := x.isolate
	if a.Where&abi.WhereMemory != 0 {
		if value, ok := i.recall(x.w.place(x, a.Key)); ok {
			x.ready = append(x.ready, abi.Event{Kind: abi.EventStored, ID: a.ID, Data: value})
			return
		}
	}
	if a.Where&abi.WhereKV == 0 {
		x.ready = append(x.ready, abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent})
		return
	}
	o := x.outstanding(a.ID)
	x.w.after(x.w.delay(x.random), func() {
		e := abi.Event{Kind: abi.EventStored, ID: a.ID}
		value, ok, down := i.readKV(x.w.place(x, a.Key))
		switch {
		case down:
			e.Code = abi.OutcomeFailed
			x.story.failed = true
		case !ok:
			e.Code = abi.OutcomeAbsent
		default:
			e.Data = value
			if a.KeepMs > 0 && !x.dead {
				i.remember(x.w.place(x, a.Key), value, a.KeepMs)
			}
		}
		x.answered(o, e, true)
	})
}

func (x *exchange) write(a *abi.Action) {
	body := x.join(a.Body)
	x.w.audit(body, "memory")
	if a.Where&abi.WhereMemory != 0 {
		x.isolate.remember(x.w.place(x, a.Key), body, a.KeepMs)
	}
	if a.Where&abi.WhereKV != 0 {
		x.w.kv.write(x.w, x.w.place(x, a.Key), body, a.TTL, x.random)
	}
}

// send writes a piece of the answer. To a caller that has left, it cannot: then the host knows.
func (x *exchange) send(piece []byte) {
	if x.done {
		return
	}
	if x.left {
		x.ready = append(x.ready, abi.Event{Kind: abi.EventLeft})
		x.finished(0)
		return
	}
	x.sent(piece)
}

// leave is the caller's going away. A quiet host notices it only when it writes.
func (x *exchange) leave() {
	if x.done || x.over {
		return
	}
	x.left = true
	if x.item.Quiet {
		return
	}
	x.w.say("%s: the caller leaves", x.id)
	x.w.stats.Left++
	x.finished(0)
	x.deliver(abi.Event{Kind: abi.EventLeft})
}
