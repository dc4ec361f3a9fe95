package host

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// do carries out one action. Slow work becomes a task.
func (x *exchange) do(a *abi.Action) {
	switch a.Kind {
	case abi.ActionReadBody:
		x.bodyRequested = true
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
	case abi.ActionJoin:
		x.join(a)
	case abi.ActionFollow:
		x.follow(a)
	case abi.ActionPublish:
		x.seat.publish(a, x.body(a.Body), x.buffer(a.Buffer))
	case abi.ActionLand:
		x.land(a.Code, a.Data)
	case abi.ActionCall:
		x.start(a, x.call)
	case abi.ActionFetch:
		x.startFetch(a)
	case abi.ActionRespond:
		if !x.done {
			x.respond(a.Code, a.Headers, x.body(a.Body))
		}
	case abi.ActionOpen:
		x.opened, x.lastWord = true, a.Data
		x.head(a.Code, a.Headers)
		x.send(nil)
	case abi.ActionSend:
		x.send(x.body(a.Body))
	case abi.ActionClose:
		x.finish()
	case abi.ActionAppend:
		x.buffers[a.Buffer] = append(x.buffers[a.Buffer], a.Data...)
		x.seat.grow(a.Buffer, x.buffers[a.Buffer])
	case abi.ActionWait:
		x.startTimer(a)
	case abi.ActionCancel:
		if t := x.find(a.ID); t != nil {
			x.close(t)
		}
	case abi.ActionPause, abi.ActionResume:
		x.pause(a)
	case abi.ActionLog:
		x.host.log(a.Data)
		if x.observed != nil {
			x.observed.Log(a.Data)
		}
	case abi.ActionForward:
		x.forward(a)
	case abi.ActionPin:
		x.pinned = a.Key
	}
}

// answer queues an event that is available immediately.
func (x *exchange) answer(event abi.Event) { x.ready = append(x.ready, event) }

// buffer returns a buffer's content; an unwritten buffer is empty.
func (x *exchange) buffer(number uint64) []byte { return x.buffers[number] }

// body returns a body's bytes. It may share memory with a buffer.
func (x *exchange) body(parts []abi.Part) []byte {
	if len(parts) == 1 {
		if parts[0].Buffer != 0 {
			return x.buffer(parts[0].Buffer)
		}
		return parts[0].Data
	}
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

func (x *exchange) readKV(t *task) abi.Event {
	h := x.host
	h.Stats.KVReads.Add(1)
	event := abi.Event{Kind: abi.EventStored, ID: t.ID}
	ctx, cancel := limited(t)
	defer cancel()
	value, ok, err := h.KV.Read(ctx, t.Key)
	switch {
	case err != nil && ctx.Err() != nil && t.ctx.Err() == nil:
		event.Code = abi.OutcomeAbsent
	case err != nil:
		h.logFailure("kv_read_failed", x.id)
		event.Code = abi.OutcomeFailed
	case !ok:
		event.Code = abi.OutcomeAbsent
	default:
		event.Data = value
		if t.KeepMs > 0 {
			h.hot.write(t.Key, value, t.KeepMs)
		}
	}
	return event
}

// limited is the context of a read, which ends after the action's limit.
func limited(t *task) (context.Context, context.CancelFunc) {
	if t.Limit == 0 {
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.ctx, time.Duration(t.Limit)*time.Millisecond)
}

func (x *exchange) write(a *abi.Action) {
	h := x.host
	body := x.body(a.Body)
	if a.Where&abi.WhereMemory != 0 {
		h.hot.write(a.Key, bytes.Clone(body), a.KeepMs) // a copy holds no larger memory than the cache counts
	}
	if a.Where&abi.WhereKV != 0 {
		h.Stats.KVWrites.Add(1)
		x.start(a, func(t *task) abi.Event { // the exchange does not wait until the value is durable
			if err := h.KV.Write(t.ctx, t.Key, body, t.TTL); err != nil {
				h.logFailure("kv_write_failed", x.id)
			}
			return abi.Event{}
		})
	}
}

func (x *exchange) call(t *task) abi.Event {
	event := abi.Event{Kind: abi.EventReply, ID: t.ID}
	reply, err := x.callObject(t.ctx, t.Action)
	switch {
	case errors.Is(err, ErrOverloaded):
		event.Code = abi.OutcomeOverloaded
	case err != nil:
		event.Code = abi.OutcomeFailed
	}
	event.Data = reply
	return event
}

// callObject retries once if the object was unavailable, and persistently if no event answers the call.
func (x *exchange) callObject(ctx context.Context, a *abi.Action) ([]byte, error) {
	reply, err := x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	if errors.Is(err, ErrUnavailable) {
		reply, err = x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	}
	if a.ID == 0 && isTemporary(err) {
		reply, err = x.persist(a, err)
	}
	if err != nil && ctx.Err() == nil {
		x.host.logFailure("call_failed", x.id)
	}
	return reply, err
}

// Pauses between the repetitions of a call that no event answers.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
)

func isTemporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOverloaded)
}

// persist repeats a call until its object can take it again, Persistence has passed or the host is cut.
func (x *exchange) persist(a *abi.Action, err error) (reply []byte, _ error) {
	end := time.Now().Add(x.host.Persistence)
	for pause := firstPause; isTemporary(err) && time.Now().Before(end); pause = min(2*pause, maxPause) {
		select {
		case <-time.After(pause):
		case <-x.host.cut.Done():
			return nil, err
		}
		reply, err = x.host.Objects.Call(context.Background(), a.Class, a.Name, a.Region, a.Data)
	}
	return reply, err
}

func (x *exchange) startFetch(a *abi.Action) {
	if x.host.cut.Err() != nil {
		x.answer(fault(a, abi.FaultClosing))
		return
	}
	x.host.Stats.Fetches.Add(1)
	body, w := x.body(a.Body), x.watch(a)
	x.start(a, func(t *task) abi.Event {
		event := x.fetch(t, body, w)
		w.end(!x.isOpen(t), event)
		return event
	})
}
