package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// endStream ends a stream that is complete. What the provider sends after that is not read.
func (x *exchange) endStream() {
	st := &x.s.stream
	st.over = true
	x.dropTicks()
	x.bookStream(st.finish.Complete() || st.finish == chat.FinishLength)
	x.circuits.Worked(x.model().Name, x.owned(), x.latencyMs(), x.now)
	if st.deltas > 0 && st.deltas <= maxEntryBytes {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferDeltas})
		return
	}
	x.finishStream(nil)
}

// latencyMs is from the last attempt to the first piece of its answer.
func (x *exchange) latencyMs() uint64 {
	start := x.s.times.upstreamStart
	if first := x.s.stream.firstMs; first >= start && first > 0 {
		return first - start
	}
	return x.since(start)
}

func (x *exchange) dropTicks() {
	if x.s.stream.ticking {
		x.s.stream.ticking = false
		x.do(abi.Action{Kind: abi.ActionCancel, ID: idTick})
	}
}

// bookStream books a stream by the provider's figures, or by what was seen of it.
func (x *exchange) bookStream(whole bool) {
	st := &x.s.stream
	u := st.usage
	if !u.Reported || !whole {
		seen := x.estimate(st.tokens())
		u.Input, u.Output = max(u.Input, seen.Input), max(u.Output, seen.Output)
		if st.usage.Input > 0 {
			u.Input = st.usage.Input
		}
		u.Reported = false
	}
	x.spend(&u, !u.Reported)
}

// finishStream sends the end, with the figures, and settles. deltas are the whole answer, if it was kept.
func (x *exchange) finishStream(kept []byte) {
	s := &x.s
	st := &s.stream
	model := x.model()
	a := answer{
		provider: model.Provider.Name, model: model.Name, usage: s.spent.usage, costPico: s.spent.costPico,
		clean: st.finish.Complete() && !s.spent.estimated, estimated: s.spent.estimated,
	}
	m := x.meta(&a)
	var whole *chat.Response
	if len(kept) > 0 {
		if deltas, err := chat.ReadDeltas(kept); err == nil {
			r := chat.Fold(deltas)
			whole = &r
		}
	}
	x.open()
	var end []byte
	if st.direct {
		end = x.directEnd()
	} else {
		end = x.family().End(nil, &st.api, whole, &m)
	}
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: end}}})
	x.do(abi.Action{Kind: abi.ActionClose})
	settle := x.settlement(keymeter.Served, a.model, 200)
	if whole != nil {
		if s.idempotency != "" {
			x.keepReplay(&settle, 200, x.answerHeaders(&a), x.written(whole, &m))
		}
		x.store(&a, false, kept)
	} else if s.idempotency != "" {
		settle.Oversized = true
	}
	x.settle(&settle)
	s.hit = hit{a.provider, a.model}
	x.log(200, "")
}

// directEnd is what a stream still lacks whose events were passed on as they came. OpenAI's mark never is, and
// Anthropic's may not have come.
func (x *exchange) directEnd() []byte {
	switch {
	case x.s.dialect == chat.OpenAI:
		return []byte("data: [DONE]\n\n")
	case x.s.dialect == chat.Anthropic && !x.s.stream.ended:
		return []byte("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}
	return nil
}

// streamFault takes a stream that broke off, stalled or took too long.
func (x *exchange) streamFault() {
	switch x.event.Code {
	case abi.FaultFirstByte, abi.FaultIdle, abi.FaultTotal:
		x.streamBroken(fault.ProviderTimeout)
	default:
		x.streamBroken(fault.ProviderAnswer)
	}
}

// streamBroken gives a stream up. Before anything of the answer has gone out, another target may take over;
// afterwards the caller gets an error event, and pays for what it has seen.
func (x *exchange) streamBroken(f fault.Fault) {
	s := &x.s
	if x.event.Kind != abi.EventFault && x.event.Kind != abi.EventEnd {
		x.do(abi.Action{Kind: abi.ActionCancel, ID: idFetch})
	}
	x.tell(f.Code)
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	if f != fault.ProviderError || s.stream.content {
		x.bookStream(false) // an error before anything else is billed as little as one in place of a stream
	}
	if s.stream.content {
		x.refuse(f, refusal{})
		return
	}
	x.dropTicks()
	s.stream = stream{opened: s.stream.opened}
	x.next(f, refusal{})
}

// breakOff ends a stream that the caller has begun to read with an error, and settles what was seen.
func (x *exchange) breakOff(f fault.Fault, r refusal) {
	s := &x.s
	s.stream.over = true
	x.dropTicks()
	m := x.streamMeta()
	last := x.family().StreamError(nil, &s.stream.api, x.apiError(f, r), &m)
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: last}}})
	x.do(abi.Action{Kind: abi.ActionClose})
	x.settleBroken(f.Status)
	x.log(f.Status, f.Code)
}

// settleBroken settles a stream that has no end: as served if the caller got something of it.
func (x *exchange) settleBroken(status uint64) {
	outcome := keymeter.Released
	if x.s.stream.content {
		outcome = keymeter.Served
	}
	settle := x.settlement(outcome, x.model().Name, status)
	x.settle(&settle)
}

// callerLeft notes that nobody waits any more. A stream is cut at once; a whole answer comes to its end, for
// the provider bills it anyway and it can be cached.
func (x *exchange) callerLeft() {
	s := &x.s
	s.left = true
	if !s.stream.asked || s.stream.over {
		return
	}
	x.do(abi.Action{Kind: abi.ActionCancel, ID: idFetch})
	s.stream.over = true
	x.dropTicks()
	x.bookStream(false)
	if !s.stream.opened {
		x.refuse(clientClosed, refusal{})
		return
	}
	x.settleBroken(clientClosed.Status)
	x.log(clientClosed.Status, clientClosed.Code)
}
