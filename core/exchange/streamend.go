package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// endStream ends a complete stream. Any further output of the provider is discarded.
func (x *exchange) endStream() {
	st := &x.s.stream
	x.cancelBackground()
	x.chargeStream(st.finish.Complete() || st.finish == chat.FinishLength)
	x.circuits.Succeeded(x.model().Name, x.usesOwnProviderKey(), x.latencyMs(), x.now)
	if st.deltaBytes > 0 && st.deltaBytes <= maxEntryBytes {
		x.enter(phaseClosing)
		x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferDeltas})
		return
	}
	x.completeStream(nil)
}

// drain discards what the provider sends after its end mark.
func (x *exchange) drain() {}

// stopDrain cancels the fetch when the client disconnects after the response: the rest of the body is not read
// then.
func (x *exchange) stopDrain() { x.cancel(idFetch) }

// stopStream cancels everything that a stream has in flight.
func (x *exchange) stopStream() {
	x.cancel(idFetch)
	x.cancelBackground()
}

// cancelBackground cancels the tick, a pending extension of the reservation and the return of withheld events.
func (x *exchange) cancelBackground() {
	x.cancel(idTick)
	x.cancel(idBuffer)
	x.cancel(idExtend)
	x.cancel(idExtendGrant)
	x.cancelWithin(idExtendFlush, idListEnd)
}

// latencyMs is the time from the start of the last attempt to the first content of its response.
func (x *exchange) latencyMs() uint64 {
	start := x.s.times.upstreamStart
	if first := x.s.stream.firstContentMs; first >= start {
		return first - start
	}
	return x.since(start)
}

// chargeStream charges a stream by the provider's usage, or by the estimated size of the output seen.
func (x *exchange) chargeStream(complete bool) {
	st := &x.s.stream
	u := x.billableUsage(st.usage, st.tokens(), complete)
	x.spend(&u)
}

// finishStream ends a stream whose deltas were collected.
func (x *exchange) finishStream() { x.completeStream(x.event.Data) }

// collected is the whole response of a stream, or nil if its deltas were not collected.
func (x *exchange) collected(encoded []byte) *chat.Response {
	deltas, err := chat.ReadDeltas(encoded)
	if len(encoded) == 0 || err != nil {
		return nil
	}
	r := chat.Fold(deltas)
	x.checkStreamSchema(&r)
	x.restoreResponse(&r) // the collected deltas have placeholders: the cache needs them
	return &r
}

// completeStream sends the end of the stream with the usage, and settles. With an Idempotency-Key the response is stored
// first. encoded is the collected deltas, or nil.
func (x *exchange) completeStream(encoded []byte) {
	s := &x.s
	st := &s.stream
	response := x.collected(encoded)
	a := x.answer(st.finish.Complete())
	m := x.meta(a)
	x.openStream()
	end := abi.Part{Data: x.streamEnd(response, &m)}
	if s.idempotency == "" {
		x.sendStreamEnd(end)
	}
	settle := x.settlement(keymeter.Served, a.model, x.streamStatus())
	if response != nil {
		x.store(a, false, encoded)
	}
	if response != nil || s.flight.began { // followers have a response that is too long to store
		x.landAnswer(a, false, encoded)
	}
	s.hit.provider, s.hit.model = a.provider, a.model
	if s.idempotency != "" {
		x.keepStream(a, &settle, response, end.Data)
		return
	}
	x.settle(&settle)
	x.logStream()
	x.end()
}

// keepStream stores the whole response of a stream before the end of the stream is sent.
func (x *exchange) keepStream(a *answer, settle *keymeter.Settle, response *chat.Response, end []byte) {
	if settle.Oversized = response == nil; response != nil {
		m := x.meta(a)
		x.keepReplay(settle, 200, x.answerHeaders(a), x.encodeAnswer(response, &m))
	}
	x.do(abi.Action{Kind: abi.ActionAppend, Buffer: bufferAnswer, Data: end}) // after what holdEnd has kept
	x.keepAnswer(settle, bufferAnswer)
}

// streamEnd is the end of a complete stream in the caller's dialect.
func (x *exchange) streamEnd(response *chat.Response, m *api.Meta) []byte {
	st := &x.s.stream
	switch {
	case st.forOthers && !st.opened:
		return nil
	case st.passThrough:
		return x.passThroughEnd()
	}
	return x.family().End(nil, &st.api, response, m)
}

// sendStreamEnd sends the end of a complete stream. If the caller disconnected before the stream's head, that is an error
// response, as every exchange responds once.
func (x *exchange) sendStreamEnd(end abi.Part) {
	st := &x.s.stream
	if st.forOthers && !st.opened {
		x.noteAttempt("200")
		x.refuseWith(clientClosed, refusal{}, []abi.Part{{Data: x.errorBody(clientClosed, refusal{})}})
		return
	}
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{end}})
	x.do(abi.Action{Kind: abi.ActionClose})
}

// streamStatus is the status of a complete stream for the log.
func (x *exchange) streamStatus() uint64 {
	if x.s.stream.forOthers {
		return clientClosed.Status
	}
	return 200
}

func (x *exchange) logStream() {
	if status := x.streamStatus(); status != 200 {
		x.log(status, clientClosed.Code)
		return
	}
	x.log(200, "")
}

// passThroughEnd is the end of a stream whose events were forwarded unchanged. OpenAI's end mark is never
// forwarded, and Anthropic's may be missing.
func (x *exchange) passThroughEnd() []byte {
	switch {
	case x.s.dialect == chat.OpenAI:
		return []byte("data: [DONE]\n\n")
	case x.s.dialect == chat.Anthropic && !x.s.stream.endMarkSeen:
		return []byte("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}
	return nil
}

// onStreamFault handles a stream that broke off, stalled or exceeded its time limit.
func (x *exchange) onStreamFault() {
	switch x.event.Code {
	case abi.FaultFirstByte, abi.FaultIdle, abi.FaultTotal:
		x.breakStream(fault.ProviderTimeout)
	case abi.FaultCut, abi.FaultClosing:
		x.breakStream(fault.ShuttingDown)
	default:
		x.breakStream(fault.ProviderAnswer)
	}
}

// breakStream ends the attempt after a stream failure. If the caller has seen nothing but comments, it falls back
// to the next target. Otherwise the caller gets an error event, and the output sent so far is charged.
func (x *exchange) breakStream(f fault.Fault) {
	s := &x.s
	x.stopStream()
	x.noteAttempt(f.Code)
	if f != fault.ShuttingDown {
		x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	}
	if f != fault.ProviderError || s.stream.hasContent {
		x.chargeStream(false) // a provider's error before any content is free, like an error response
	}
	if f == fault.ShuttingDown {
		x.refuseShuttingDown()
		return
	}
	if s.stream.committed {
		x.refuse(f, refusal{})
		return
	}
	if s.stream.deltaBytes > 0 {
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferDeltas}) // the next attempt starts with an empty buffer
	}
	s.stream = stream{opened: s.stream.opened}
	x.next(f, refusal{})
}

// abandonStream cuts a stream because the client has disconnected, and settles the output seen so far.
func (x *exchange) abandonStream() {
	x.s.disconnected = true
	x.stopStream()
	x.chargeStream(false)
	if !x.s.stream.opened {
		x.refuse(clientClosed, refusal{})
		return
	}
	x.settlePartial(clientClosed)
}
