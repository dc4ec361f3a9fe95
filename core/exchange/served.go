package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

type response struct {
	*answer
	outcome keymeter.Outcome // the outcome to settle; Finish: already settled with the admission
	body    abi.Part         // the complete body, or the end of a stream
	repeat  []byte           // the complete body, for replays under the Idempotency-Key; nil: too large to keep
	entry   []byte           // for the cache and the flight's followers; nil: none
	raw     bool             // entry is the provider's body in the caller's dialect; otherwise, it contains deltas
}

// served ends an exchange with a response. The response is sent, settled, cached and logged. If the request has an
// Idempotency-Key, the response is stored first, and sendKept sends it.
func (x *exchange) served(r *response) {
	s := &x.s
	settle := x.settlement(r.outcome, r.model, x.servedStatus())
	s.hit.provider, s.hit.model = r.provider, r.model
	if s.idempotency != "" {
		x.keepReplay(&settle, x.answerHeaders(r.answer), r.repeat)
		x.keepAnswer(&settle, x.keepBody(r.body))
		x.file(r)
		return
	}
	x.send(r.answer, r.body)
	if r.outcome != keymeter.Finish {
		x.settle(&settle)
	}
	x.file(r)
	x.conclude()
}

// reply ends an exchange whose endpoint calls no provider. It also ends an exchange whose response is a replay.
func (x *exchange) reply(status uint64, headers []abi.Header, body abi.Part) {
	x.respond(status, headers, []abi.Part{body})
	x.log(status, "")
	x.end()
}

func (x *exchange) respondJSON(body []byte) { x.reply(200, jsonHeaders(), abi.Part{Data: body}) }

// file stores a provider's response in the cache and ends the flight with it. If the response came from the cache,
// file at most adds it to KV.
func (x *exchange) file(r *response) {
	if r.cached {
		x.promote()
		return
	}
	if r.entry != nil {
		x.store(r.answer, r.raw, r.entry)
	}
	if r.entry != nil || x.s.flight.began { // followers also get a response that is too large to store
		x.landAnswer(r.answer, r.raw, r.entry)
	}
}

// streamed reports whether the response is a stream from a provider or a flight.
func (x *exchange) streamed() bool { return x.s.stream.opened || x.s.stream.forOthers }

// send sends a non-streaming response, the end of a stream, or the head of the mock's stream.
func (x *exchange) send(a *answer, body abi.Part) {
	switch {
	case x.s.pieces.count > 0:
		x.openMockStream(a)
	case x.streamed():
		x.sendStreamEnd(body)
	default:
		x.respond(200, x.answerHeaders(a), []abi.Part{body})
	}
}

// keepBody stores a body in a buffer so that it can be sent later, and returns the buffer's number.
func (x *exchange) keepBody(body abi.Part) uint64 {
	switch {
	case x.s.pieces.count > 0:
		return 0 // the pieces have their own buffers
	case x.streamed():
		x.do(abi.Action{Kind: abi.ActionAppend, Buffer: bufferAnswer, Data: body.Data}) // after the part that holdEnd kept
	case body.Buffer != 0:
		return body.Buffer
	default:
		x.keep(bufferAnswer, body.Data)
	}
	return bufferAnswer
}

// conclude logs a response and ends the exchange. If the mock streams, the exchange ends after the last piece.
func (x *exchange) conclude() {
	code := ""
	status := x.servedStatus()
	if status != 200 {
		code = fault.ClientClosed.Code()
		x.countEnd(fault.ClientClosed, ledger.BookedServed)
	}
	x.log(status, code)
	if x.s.pieces.count > 0 {
		x.sendMockPiece()
		return
	}
	x.end()
}

// servedStatus returns the status of a complete response for the log. If the caller disconnected and the stream
// continued for its followers, the status is not 200.
func (x *exchange) servedStatus() uint64 {
	if x.s.stream.forOthers {
		return fault.ClientClosed.Status()
	}
	return 200
}

// sendStreamEnd sends the end of a complete stream. If the caller disconnected before the head of the stream was
// sent, sendStreamEnd sends an error response: every exchange must respond once.
func (x *exchange) sendStreamEnd(end abi.Part) {
	st := &x.s.stream
	if st.forOthers && !st.opened {
		x.noteAttempt("200")
		x.refuseWith(fault.ClientClosed, refusal{}, []abi.Part{{Data: x.errorBody(fault.ClientClosed, refusal{})}})
		return
	}
	x.sendPart(end)
	x.do(abi.Action{Kind: abi.ActionClose})
}

// openMockStream sends the head of the mock's stream. If an earlier target was silent, a keep-alive comment may have
// opened the stream. openMockStream then does nothing.
func (x *exchange) openMockStream(a *answer) {
	s := &x.s
	if s.stream.opened {
		return
	}
	s.responded, s.stream.opened = true, true
	m := x.meta(a)
	trapEvent := x.family().StreamError(nil, &api.State{Started: true}, x.trapError(), &m)
	x.do(abi.Action{Kind: abi.ActionOpen, Code: 200, Headers: x.allHeaders(x.answerHeaders(a)), Data: trapEvent})
}

func (x *exchange) sendMockPiece() {
	p := &x.s.pieces
	for pause := x.config.Routing.MockPauseMs; p.next < p.count; {
		x.sendPart(abi.Part{Buffer: bufferPieces + p.next})
		if p.next++; p.next < p.count && pause > 0 {
			x.enter(phasePacing)
			x.wait(idTimer, pause)
			return
		}
	}
	x.do(abi.Action{Kind: abi.ActionClose})
	x.end()
}
