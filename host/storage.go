package host

import (
	"bytes"
	"context"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// read tries memory first, then KV.
func (x *exchange) read(a *abi.Action) {
	if a.Where&abi.WhereMemory != 0 {
		if value, ok := x.host.isolate.memory.read(a.Key); ok {
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
		h.logFailure(abi.KVReadFailed, x.id)
		event.Code = abi.OutcomeFailed
	case !ok:
		event.Code = abi.OutcomeAbsent
	default:
		event.Data = value
		if t.KeepMs > 0 {
			h.isolate.memory.write(t.Key, value, t.KeepMs)
		}
	}
	return event
}

// limited returns the context for a read. The context ends after the action's time limit.
func limited(t *task) (context.Context, context.CancelFunc) {
	if t.Limit == 0 {
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.ctx, time.Duration(t.Limit)*time.Millisecond)
}

func (x *exchange) write(a *abi.Action) {
	h := x.host
	body := x.buffers.body(a.Body)
	if a.Where&abi.WhereMemory != 0 {
		h.isolate.memory.write(a.Key, bytes.Clone(body), a.KeepMs) // a copy uses no more memory than the cache counts for it
	}
	if a.Where&abi.WhereKV != 0 {
		h.Stats.KVWrites.Add(1)
		x.start(a, func(t *task) abi.Event { // the exchange does not wait until the value is durable
			if err := h.KV.Write(t.ctx, t.Key, body, t.TTL); err != nil {
				h.logFailure(abi.KVWriteFailed, x.id)
			}
			return abi.Event{}
		})
	}
}
