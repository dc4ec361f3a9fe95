package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// endStream ends a complete stream. Later output of the provider is discarded.
func (x *exchange) endStream() {
	st := &x.s.stream
	x.cancelBackground()
	x.chargeStream(st.finish.Complete() || st.finish == chat.FinishLength)
	x.circuits.Succeeded(x.model().Name, x.usesOwnProviderKey(), x.latencyMs(), x.now)
	if st.deltaBytes > 0 && st.deltaBytes <= maxEntryBytes {
		x.enter(phaseClosing)
		x.supply(idBuffer, bufferDeltas)
		return
	}
	x.completeStream(nil)
}

func (x *exchange) stopStream() {
	x.cancel(idFetch)
	x.cancelBackground()
}

// cancelBackground cancels the tick, a pending extension of the reservation, and a pending request for withheld
// events.
func (x *exchange) cancelBackground() {
	x.cancel(idTick)
	x.cancel(idBuffer)
	x.cancel(idExtend)
	x.cancel(idExtendGrant)
	x.cancelWithin(idExtendFlush, idLevelGrant)
}

// chargeStream charges a stream. The charge is based on the provider's usage or on the estimated size of the output
// so far.
func (x *exchange) chargeStream(complete bool) {
	st := &x.s.stream
	u := x.billableUsage(st.usage, st.tokens(), complete)
	x.spend(&u)
}

// finishStream ends a stream whose deltas were collected.
func (x *exchange) finishStream() { x.completeStream(x.event.Data) }

// collected returns the complete response of a stream. If the stream's deltas were not collected, it returns nil.
func (x *exchange) collected(encoded []byte) *chat.Response {
	deltas, err := chat.ReadDeltas(encoded)
	if len(encoded) == 0 || err != nil {
		return nil
	}
	r := chat.Fold(deltas)
	x.checkStreamSchema(&r)
	x.restoreResponse(&r) // only in the caller's copy: the cache needs the placeholders in the collected deltas
	return &r
}

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

// passThroughEnd returns the end of a stream whose events were forwarded unchanged. OpenAI's end mark is never
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

// breakStream ends the attempt after a stream failure. If the caller has received nothing except comments, it falls
// back to the next target. Otherwise, the caller gets an error event. The output so far is charged.
func (x *exchange) breakStream(f fault.Fault) {
	s := &x.s
	x.stopStream()
	x.noteAttempt(f.Code())
	x.noteBroken(f)
	if f.Breaks() {
		x.failCircuit()
	}
	if f != fault.ProviderError || s.stream.hasContent {
		x.chargeStream(false) // a provider's error event before any content is free
	}
	if f == fault.ShuttingDown {
		x.refuseShuttingDown()
		return
	}
	r := x.streamFailure(f)
	if s.stream.committed {
		x.refuse(f, r)
		return
	}
	if s.stream.deltaBytes > 0 {
		x.keep(bufferDeltas, nil) // the next attempt needs an empty buffer
	}
	s.stream = stream{opened: s.stream.opened}
	x.next(f, r)
}

// streamFailure describes the failure of a provider's stream that ended with f. If the text of f already does so, the
// result is empty.
func (x *exchange) streamFailure(f fault.Fault) refusal {
	switch f {
	case fault.ProviderError:
		return x.providerDid("reported an error in its stream")
	case fault.ProviderAnswer:
		return x.providerDid("sent a stream that ended early or cannot be read")
	}
	return refusal{}
}

// abandonStream cuts a stream because the client has disconnected. The output so far is settled.
func (x *exchange) abandonStream() {
	x.s.disconnected = true
	x.stopStream()
	x.chargeStream(false)
	x.refuseClosed()
}

// cutStream ends a stream to limit its cost. The delivered part is charged, and no other target is called.
func (x *exchange) cutStream(f fault.Fault, r refusal) {
	if !x.s.stream.opened {
		x.noteAttempt("200")
	}
	x.stopStream()
	x.chargeStream(false)
	x.refuse(f, r)
}

// leaveStream handles the disconnect of a stream's caller. If no other exchange follows the stream, leaveStream cuts
// it. If any do, every tick checks whether followers are left.
func (x *exchange) leaveStream() {
	if !x.heldUp() {
		x.abandonStream()
		return
	}
	x.s.disconnected, x.s.stream.forOthers = true, true
	if !x.pending(idTick) {
		x.startTicking()
	}
}

// deserted cuts a stream that continued only for its followers, if the last follower has gone. For any other stream,
// it returns false.
func (x *exchange) deserted() bool {
	if !x.s.stream.forOthers || x.heldUp() {
		return false
	}
	x.abandonStream()
	return true
}

// completeStream sends the end of a complete stream, including the usage. encoded contains the collected deltas. If
// there are none, encoded is nil.
func (x *exchange) completeStream(encoded []byte) {
	whole := x.collected(encoded)
	if bad := x.streamMisfit(whole); bad != "" {
		x.noteBroken(fault.ProviderAnswer)
		x.refuse(fault.ProviderAnswer, x.providerDid("sent text that "+bad))
		return
	}
	a := x.answer(x.s.stream.finish.Complete())
	m := x.meta(a)
	x.openStream()
	r := response{answer: a, outcome: keymeter.Served, body: abi.Part{Data: x.streamEnd(whole, &m)}}
	if whole != nil {
		r.entry = encoded
		if x.s.idempotency != "" {
			r.repeat = x.encodeAnswer(whole, &m)
		}
	}
	x.served(&r)
}
