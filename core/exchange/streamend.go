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
	x.stopWatching()
	x.bookStream(st.finish.Complete() || st.finish == chat.FinishLength)
	x.circuits.Succeeded(x.model().Name, x.owned(), x.latencyMs(), x.now)
	if st.deltas > 0 && st.deltas <= maxEntryBytes {
		x.enter(phaseClosing)
		x.ask(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferDeltas})
		return
	}
	x.closeStream(nil)
}

// drain takes what the provider sends after its end mark.
func (x *exchange) drain() {}

// cutDrained: an answered caller has left. A connection that is still open then is not read to its end.
func (x *exchange) cutDrained() { x.cancel(idFetch) }

// stopStream gives up all that a stream has under way.
func (x *exchange) stopStream() {
	x.cancel(idFetch)
	x.stopWatching()
}

// stopWatching gives up the ticks, and what was asked for the stream's budget.
func (x *exchange) stopWatching() {
	x.cancel(idTick)
	x.cancel(idExtend)
	x.cancel(idExtendGrant)
	x.cancelWithin(idExtendFlush, idListEnd)
}

// latencyMs is from the last attempt to the first piece of its answer.
func (x *exchange) latencyMs() uint64 {
	start := x.s.times.upstreamStart
	if first := x.s.stream.firstMs; first >= start {
		return first - start
	}
	return x.since(start)
}

// bookStream books a stream by the provider's figures, or by what was seen of it.
func (x *exchange) bookStream(whole bool) {
	st := &x.s.stream
	u := x.figures(st.usage, st.tokens(), whole)
	x.spend(&u)
}

// finishStream ends a stream of which the whole answer was kept.
func (x *exchange) finishStream() { x.closeStream(x.event.Data) }

// closeStream sends the end, with the figures, and settles. kept are the answer's deltas, if they were.
func (x *exchange) closeStream(kept []byte) {
	s := &x.s
	st := &s.stream
	a := x.answer(st.finish.Complete())
	m := x.meta(a)
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
			x.keepReplay(&settle, 200, x.answerHeaders(a), x.written(whole, &m))
		}
		x.store(a, false, kept)
	} else if s.idempotency != "" {
		settle.Oversized = true
	}
	x.settle(&settle)
	s.hit.provider, s.hit.model = a.provider, a.model
	x.log(200, "")
	x.end()
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

// takeStreamFault takes a stream that broke off, stalled or took too long.
func (x *exchange) takeStreamFault() {
	switch x.event.Code {
	case abi.FaultFirstByte, abi.FaultIdle, abi.FaultTotal:
		x.breakStream(fault.ProviderTimeout)
	default:
		x.breakStream(fault.ProviderAnswer)
	}
}

// breakStream gives a stream up. Before anything has gone out but comments, another target may take over;
// afterwards the caller gets an error event, and pays for what it has seen.
func (x *exchange) breakStream(f fault.Fault) {
	s := &x.s
	x.stopStream()
	x.tell(f.Code)
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	if f != fault.ProviderError || s.stream.content {
		x.bookStream(false) // an error before anything else is billed as little as one in place of a stream
	}
	if s.stream.spoken {
		x.refuse(f, refusal{})
		return
	}
	if s.stream.deltas > 0 {
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferDeltas}) // the next attempt's answer begins anew
	}
	s.stream = stream{opened: s.stream.opened}
	x.next(f, refusal{})
}

// abandonStream cuts a stream that nobody reads any more, and settles what was seen of it.
func (x *exchange) abandonStream() {
	x.s.left = true
	x.stopStream()
	x.bookStream(false)
	if !x.s.stream.opened {
		x.refuse(clientClosed, refusal{})
		return
	}
	x.settleBroken(clientClosed)
}
