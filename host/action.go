package host

import (
	"context"
	"errors"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// do carries out one action. Slow work runs in its own goroutine and returns to the loop as an event.
func (x *exchange) do(a *abi.Action) {
	switch a.Kind {
	case abi.ActionReadBody:
		x.reading.Add(1)
		x.start(a, x.readBody)
	case abi.ActionSupply:
		x.answer(abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: x.buffer(a.Buffer)})
	case abi.ActionUnseal:
		x.answer(unsealed(a, x.buffer(a.Buffer)))
	case abi.ActionKeep:
		x.buffers[a.Buffer] = a.Data
	case abi.ActionRead:
		x.read(a)
	case abi.ActionWrite:
		x.write(a)
	case abi.ActionCall:
		if a.ID == 0 {
			x.host.background(func() { x.callUnawaited(a) })
		} else {
			x.start(a, x.call)
		}
	case abi.ActionFetch:
		x.startFetch(a)
	case abi.ActionRespond:
		if !x.done {
			x.respond(a.Code, a.Headers, x.join(a.Body))
		}
	case abi.ActionOpen:
		x.opened, x.lastWord = true, a.Data
		x.head(a.Code, a.Headers)
		x.send(nil)
	case abi.ActionSend:
		x.send(x.join(a.Body))
	case abi.ActionClose:
		x.finish()
	case abi.ActionAppend:
		x.buffers[a.Buffer] = append(x.buffers[a.Buffer], a.Data...)
	case abi.ActionWait:
		x.start(a, x.wait)
	case abi.ActionCancel:
		if cancel := x.open[a.ID]; cancel != nil {
			cancel()
			delete(x.open, a.ID)
		}
	case abi.ActionLog:
		x.host.log(a.Data)
		if x.observed != nil {
			x.observed.Log(a.Data)
		}
	case abi.ActionForward:
		x.forward(a)
	}
}

// answer queues an event that is available immediately.
func (x *exchange) answer(event abi.Event) { x.ready = append(x.ready, event) }

// start runs f in a goroutine. No event is delivered if the action is canceled or the exchange has ended.
func (x *exchange) start(a *abi.Action, f func(context.Context, *abi.Action) abi.Event) {
	ctx, cancel := context.WithCancel(context.Background())
	x.open[a.ID] = cancel
	go func() {
		event := x.guardAction(a, func() abi.Event { return f(ctx, a) })
		x.deliver(ctx, delivery{Event: event, buffer: a.Buffer})
	}()
}

// deliver passes an event to the loop and, if d.handled is set, waits until the loop has handled it. It returns false
// if the action was canceled first.
func (x *exchange) deliver(ctx context.Context, d delivery) bool {
	d.action = ctx
	select {
	case x.events <- d:
	case <-ctx.Done():
		return false
	}
	if d.handled != nil {
		<-d.handled
	}
	return true
}

// buffer returns a buffer's content; an unwritten buffer is empty.
func (x *exchange) buffer(number uint64) []byte { return x.buffers[number] }

func (x *exchange) join(parts []abi.Part) []byte {
	var body []byte
	for _, p := range parts {
		if p.Buffer != 0 {
			body = append(body, x.buffer(p.Buffer)...)
		} else {
			body = append(body, p.Data...)
		}
	}
	return body
}

// read tries memory first, then KV.
func (x *exchange) read(a *abi.Action) {
	if a.Where&abi.WhereMemory != 0 {
		if value, ok := x.host.hot.read(a.Key); ok {
			x.answer(abi.Event{Kind: abi.EventStored, ID: a.ID, Data: value})
			return
		}
	}
	switch {
	case a.Where&abi.WhereKV != 0:
		x.start(a, x.readKV)
	case a.Where&abi.WhereMemory != 0:
		x.answer(abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent})
	default:
		x.answer(abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeUnsupported})
	}
}

func (x *exchange) readKV(ctx context.Context, a *abi.Action) abi.Event {
	h := x.host
	h.Stats.KVReads.Add(1)
	event := abi.Event{Kind: abi.EventStored, ID: a.ID}
	value, ok, err := h.KV.Read(ctx, a.Key)
	switch {
	case err != nil:
		h.logFailure("kv_read_failed", x.id)
		event.Code = abi.OutcomeFailed
	case !ok:
		event.Code = abi.OutcomeAbsent
	default:
		event.Data = value
		if a.KeepMs > 0 {
			h.hot.write(a.Key, value, a.KeepMs)
		}
	}
	return event
}

func (x *exchange) write(a *abi.Action) {
	h := x.host
	body := x.join(a.Body)
	if a.Where&abi.WhereMemory != 0 {
		h.hot.write(a.Key, body, a.KeepMs)
	}
	if a.Where&abi.WhereKV != 0 {
		h.Stats.KVWrites.Add(1)
		h.background(func() { // the exchange does not wait until the value is durable
			if err := h.KV.Write(context.Background(), a.Key, body, a.TTL); err != nil {
				h.logFailure("kv_write_failed", x.id)
			}
		})
	}
}

func (x *exchange) call(ctx context.Context, a *abi.Action) abi.Event {
	event := abi.Event{Kind: abi.EventReply, ID: a.ID}
	reply, err := x.callObject(ctx, a)
	switch {
	case errors.Is(err, ErrOverloaded):
		event.Code = abi.OutcomeOverloaded
	case err != nil:
		event.Code = abi.OutcomeFailed
	}
	event.Data = reply
	return event
}

// callUnawaited makes a call whose reply is ignored. It is not canceled when the exchange ends.
func (x *exchange) callUnawaited(a *abi.Action) { _, _ = x.callObject(context.Background(), a) }

// callObject retries once if the object was unavailable.
func (x *exchange) callObject(ctx context.Context, a *abi.Action) ([]byte, error) {
	reply, err := x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	if errors.Is(err, ErrUnavailable) {
		reply, err = x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	}
	if err != nil && ctx.Err() == nil {
		x.host.logFailure("call_failed", x.id)
	}
	return reply, err
}

func (x *exchange) startFetch(a *abi.Action) {
	if x.host.cut.Err() != nil {
		x.answer(fault(a, abi.FaultUndelivered))
		return
	}
	x.host.Stats.Fetches.Add(1)
	body, w := x.join(a.Body), x.watch(a)
	x.start(a, func(ctx context.Context, a *abi.Action) abi.Event { return w.end(ctx, x.fetch(ctx, a, body, w)) })
}

func (x *exchange) wait(ctx context.Context, a *abi.Action) abi.Event {
	timer := time.NewTimer(time.Duration(a.KeepMs) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.host.cut.Done():
	case <-ctx.Done():
	}
	return abi.Event{Kind: abi.EventTimer, ID: a.ID}
}
