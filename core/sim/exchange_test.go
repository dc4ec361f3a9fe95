package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// exchange is one request as a host runs it, with the world's record of it.
type exchange struct {
	w            *world
	isolate      *isolate
	item         *item
	number       int
	id           string
	key          *key
	project      *project // the key's
	random       *rng
	state        []byte
	pinned       string
	buffers      map[uint64][]byte
	seat         *seat // nil: in no flight
	open         map[uint64]*open
	ready        []abi.Event // replies that are available immediately
	done         bool        // the response is complete, or the client has disconnected
	opened       bool
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
	x.buffers, x.open = map[uint64][]byte{}, map[uint64]*open{}
	x.isolate.running = append(x.isolate.running, x)
	x.deliver(abi.Event{Kind: abi.EventRequest, Headers: headers, Data: seed})
}

// deliver runs the core on an event, then on the replies that become available immediately.
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
	in := abi.StepInput{NowMs: x.w.clockOf(i), Shared: i.shared, State: x.state, Attached: x.buffers[abi.AttachedBuffer], Pinned: i.unpin(x.pinned), Waiting: x.followers(), Event: *e}
	out := step(&in)
	if out.SharedChanged {
		i.shared = out.Shared
	}
	if out.PinnedChanged {
		i.lookBack(x.pinned, in.Pinned)
		i.pin(x.pinned, out.Pinned, out.PinnedKeepMs)
		x.pinChanged(i.pinned[x.pinned].value)
	}
	x.state = out.State
	for n := range out.Actions {
		x.do(&out.Actions[n])
	}
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

// waitUntilMs is the time after the response for which a platform lets an exchange run.
const waitUntilMs = 30 * secondMs

// cutWork ends an exchange that only keeps a lease, on a platform that cuts work after the response.
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

// reply delivers an action's reply, unless the action was canceled or its exchange has ended.
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
	if x.open[id] != nil {
		x.w.fail("contract", "%s: the ID of outstanding action %d is reused", x.id, id)
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
	if w.defect.action != nil && w.defect.action(x, a) {
		return
	}
	x.noteWithheld(a)
	switch a.Kind {
	case abi.ActionPause, abi.ActionResume:
	case abi.ActionReadBody:
		o := x.outstanding(a.ID)
		w.after(w.delay(x.random), func() {
			x.buffers[a.Buffer] = x.request.body
			x.reply(o, abi.Event{Kind: abi.EventBody, ID: a.ID, Data: x.request.body}, true)
		})
	case abi.ActionSupply:
		x.ready = append(x.ready, abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: x.buffers[a.Buffer]})
	case abi.ActionKeep:
		x.buffers[a.Buffer] = a.Data
	case abi.ActionAppend:
		x.buffers[a.Buffer] = append(slices.Clip(x.buffers[a.Buffer]), a.Data...)
		x.grow(a.Buffer)
	case abi.ActionJoin:
		x.joinFlight(a)
	case abi.ActionFollow:
		x.follow(a)
	case abi.ActionPublish:
		x.publish(a)
	case abi.ActionLand:
		x.land(a.Code, a.Data)
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
			x.responseOpened(a.Code, a.Headers)
		}
	case abi.ActionSend:
		x.send(x.join(a.Body))
	case abi.ActionClose:
		if !x.done {
			x.responseClosed()
		}
	case abi.ActionWait:
		o := x.outstanding(a.ID)
		w.after(x.isolate.real(a.KeepMs), func() { x.reply(o, abi.Event{Kind: abi.EventTimer, ID: a.ID}, true) })
	case abi.ActionCancel:
		x.cancel(a.ID)
	case abi.ActionLog:
		w.audit(a.Data, "a log line")
	case abi.ActionPin:
		x.pinned = a.Key
	default:
		w.fail("host", "%s: unexpected action %d", x.id, a.Kind)
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

func (x *exchange) write(a *abi.Action) {
	body := x.join(a.Body)
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

// send writes a chunk of the response. A quiet disconnect is noticed here.
func (x *exchange) send(piece []byte) {
	if x.done {
		return
	}
	if x.disconnected {
		x.ready = append(x.ready, abi.Event{Kind: abi.EventDisconnect})
		x.finished(0)
		return
	}
	x.sent(piece)
}

// disconnect disconnects the client. A quiet disconnect is noticed only on the next write.
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
