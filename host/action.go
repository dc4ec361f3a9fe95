package host

import (
	"context"
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// handlers contains a function for each kind of action. The caller of such a function holds the exchange's mu. Slow
// work becomes a task.
var handlers [abi.ActionResume + 1]func(*exchange, *abi.Action)

// The table is built by a function, because handlers call functions that refer to it.
func init() {
	handlers = [...]func(*exchange, *abi.Action){
		abi.ActionReadBody: (*exchange).readBody,
		abi.ActionSupply:   (*exchange).supply,
		abi.ActionUnseal:   (*exchange).unseal,
		abi.ActionKeep:     (*exchange).keep,
		abi.ActionAppend:   (*exchange).append,
		abi.ActionRead:     (*exchange).read,
		abi.ActionWrite:    (*exchange).write,
		abi.ActionJoin:     (*exchange).join,
		abi.ActionFollow:   (*exchange).follow,
		abi.ActionPublish:  (*exchange).publish,
		abi.ActionLand:     func(x *exchange, a *abi.Action) { x.land(a.Code, a.Data) },
		abi.ActionCall:     func(x *exchange, a *abi.Action) { x.start(a, x.call) },
		abi.ActionFetch:    (*exchange).fetch,
		abi.ActionRespond:  func(x *exchange, a *abi.Action) { x.response.respond(a.Code, a.Headers, x.buffers.body(a.Body)) },
		abi.ActionOpen:     func(x *exchange, a *abi.Action) { x.sent(x.response.open(a)) },
		abi.ActionSend:     func(x *exchange, a *abi.Action) { x.sent(x.response.send(x.buffers.body(a.Body))) },
		abi.ActionClose:    func(x *exchange, _ *abi.Action) { x.response.finish() },
		abi.ActionWait:     (*exchange).wait,
		abi.ActionCancel:   func(x *exchange, a *abi.Action) { x.tasks.cancel(a.ID) },
		abi.ActionPause:    func(x *exchange, a *abi.Action) { x.tasks.pause(a.ID) },
		abi.ActionResume:   func(x *exchange, a *abi.Action) { x.tasks.resume(a.ID) },
		abi.ActionLog:      (*exchange).log,
		abi.ActionPin:      func(x *exchange, a *abi.Action) { x.pinned = a.Key },
		abi.ActionForward:  (*exchange).forward,
	}
}

func (x *exchange) do(a *abi.Action) {
	if int(a.Kind) < len(handlers) && handlers[a.Kind] != nil {
		handlers[a.Kind](x, a)
	}
}

// answer queues an event that this step handles next.
func (x *exchange) answer(event abi.Event) { x.ready = append(x.ready, event) }

// start turns an action into a task. When the host is cut, only fetches are canceled.
func (x *exchange) start(a *abi.Action, run func(*task) abi.Event) {
	ctx := context.Background()
	if a.Kind == abi.ActionFetch {
		ctx = x.host.cut
	}
	x.tasks.start(ctx, a, run)
}

func (x *exchange) wait(a *abi.Action) {
	t := x.tasks.wait(x.host.cut, a, func(t *task) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.tasks.find(t.ID) == t && !t.fired {
			t.fired = true
			x.spawn(t)
		}
	})
	if stop := t.cancel; a.Code != abi.WaitTimer {
		t.cancel = func() {
			stop()
			x.host.isolate.leave(x.pinned, x)
		}
	}
}

func (x *exchange) readBody(a *abi.Action) {
	x.body.begin()
	x.start(a, x.body.read)
}

func (x *exchange) supply(a *abi.Action) {
	x.answer(abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: x.buffers[a.Buffer]})
}

func (x *exchange) unseal(a *abi.Action) { x.answer(unsealed(a, x.buffers[a.Buffer])) }

// keep stores data in a buffer. The data may share memory with the exchange's state, so an append must not write behind
// it.
func (x *exchange) keep(a *abi.Action) { x.buffers[a.Buffer] = slices.Clip(a.Data) }

func (x *exchange) append(a *abi.Action) {
	x.buffers[a.Buffer] = append(x.buffers[a.Buffer], a.Data...)
	x.seat.grow(a.Buffer, x.buffers[a.Buffer])
}

func (x *exchange) publish(a *abi.Action) {
	x.seat.publish(a, x.buffers.body(a.Body), x.buffers[a.Buffer])
}

// sent reports a disconnect to the core if the response could not be sent.
func (x *exchange) sent(ok bool) {
	if !ok {
		x.answer(abi.Event{Kind: abi.EventDisconnect})
	}
}

func (x *exchange) log(a *abi.Action) {
	if a.Code != abi.LogNone {
		x.host.log(a.Data)
	}
	if x.observed != nil {
		x.observed.Log(a.Data)
	}
}

func (x *exchange) join(a *abi.Action) {
	event := abi.Event{Kind: abi.EventStored, ID: a.ID}
	x.land(abi.FlightFailed, nil) // leave the landed flight that the exchange has followed
	event.Data, x.seat = x.host.isolate.flights.join(x.host.isolate.memory, a.Key, a.Name)
	switch {
	case x.seat == nil:
	case x.seat.leads && a.Where&abi.WhereKV == 0:
		event.Code = abi.OutcomeUnsupported
	case x.seat.leads:
		event.Code = abi.OutcomeAbsent
	default:
		event.Code = abi.OutcomeJoined
	}
	x.answer(event)
}

func (x *exchange) follow(a *abi.Action) {
	s := x.seat
	x.start(a, func(t *task) abi.Event {
		code, data := s.next(t.ctx)
		return abi.Event{Kind: abi.EventFlight, ID: t.ID, Code: code, Data: data}
	})
}

// land ends the exchange's participation in its flight.
func (x *exchange) land(code uint64, data []byte) {
	x.seat.leave(code, data)
	x.seat = nil
}
