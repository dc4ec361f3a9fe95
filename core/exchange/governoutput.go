package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/sse"
)

// checkAnswer checks a non-streaming response. If the response is in the caller's dialect, it is raw. Otherwise, it
// is r. The cache gets the returned body, or r. restoreRaw and restoreResponse turn it into the caller's version. If
// the response is blocked, checkAnswer ends the exchange and returns false.
func (x *exchange) checkAnswer(r *chat.Response, raw []byte) ([]byte, bool) {
	g := &x.s.govern
	if !g.on || !x.endpoint.texts.checked {
		return raw, true
	}
	var result inspect.Result
	if raw != nil {
		result = x.guard().check.Answer(x.endpoint.texts.response, raw)
	} else {
		result = x.guard().check.Response(r)
	}
	g.output = verdict{result.Decision, uint64(result.Tally.Risk)}
	g.violations = x.violations(g.violations, &result, governor.Output)
	if result.Decision == governor.Rejected {
		x.refuse(fault.Blocked, x.blocked(&result))
		return nil, false
	}
	if result.Body != nil {
		return result.Body, true
	}
	return raw, true
}

// governEvent checks one event of a stream and appends the output for the caller to out. If the event must not be
// sent, governEvent returns eventMalformed. Blocked or Failed of live.Stream then returns true.
func (x *exchange) governEvent(out []byte, e *sse.Event, deltas []chat.Delta, hidden bool, collected *abi.Writer) ([]byte, eventResult) {
	st, checks := &x.s.stream, &x.s.govern.live
	var send, store []chat.Delta
	if st.passThrough {
		var events []sse.Event
		events, store = checks.Event(x.liveGuard(), x.s.dialect, e, deltas)
		out = x.appendEvents(out, events, hidden)
	} else {
		send, store = checks.Deltas(x.liveGuard(), deltas)
		out = x.encodeDeltas(out, send)
	}
	x.collect(collected, store)
	x.noteOutput()
	if checks.Blocked() || checks.Failed() {
		return out, eventMalformed
	}
	return out, eventOK
}

func (x *exchange) appendEvents(out []byte, events []sse.Event, hidden bool) []byte {
	if hidden {
		return out
	}
	for i := range events {
		out = appendEvent(out, &events[i])
		x.s.stream.api.Started = true
	}
	return out
}

// governEnd appends the text that the checks held back until the end of the stream.
func (x *exchange) governEnd(out []byte, collected *abi.Writer) []byte {
	if !x.s.govern.on {
		return out
	}
	dialect := chat.Dialect(0)
	if x.s.stream.passThrough {
		dialect = x.s.dialect
	}
	events, send, store := x.s.govern.live.End(x.liveGuard(), dialect)
	if x.s.stream.passThrough {
		out = x.appendEvents(out, events, false)
	} else {
		out = x.encodeDeltas(out, send)
	}
	x.collect(collected, store)
	x.noteOutput()
	return out
}

// blockStream ends a stream because of its content. out is the output before the finding. If the caller has received
// nothing, it gets a plain error, and out is not sent. The received part is charged. No other target is called,
// because it could send the same content.
func (x *exchange) blockStream(out []byte) {
	switch st := &x.s.stream; {
	case st.committed:
		x.sendOrHold(out)
	case !st.opened:
		x.noteAttempt("200")
	}
	x.stopStream()
	x.chargeStream(false)
	x.circuits.Succeeded(x.model().Name, x.usesOwnProviderKey(), x.latencyMs(), x.now)
	x.refuse(fault.Blocked, x.blocked(x.streamResult()))
}
