package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

var keepAlive = []byte(": keep-alive\n\n")

// tickMs is the interval between ticks, in milliseconds. If nothing was sent since the last tick, a tick sends a
// comment. A silence therefore lasts less than two ticks. A host notices a disconnect only when it writes, and an
// abandoned upstream request must be cut within a second.
const tickMs = 400

func (x *exchange) startTicking() {
	wait := uint64(tickMs)
	if st := &x.s.stream; !st.hasContent && !st.withheld.waiting {
		wait = max(1, min(wait, x.remainingMs()))
	}
	x.wait(idTick, wait)
}

func (x *exchange) openStream() {
	s := &x.s
	if s.stream.opened || s.stream.forOthers {
		return
	}
	s.stream.opened = true
	x.noteAttempt("200")
	model := x.model()
	a := answer{provider: model.Provider.Name, model: model.Name}
	m := x.meta(&a)
	trapEvent := x.family().StreamError(nil, &s.stream.api, x.trapError(), &m)
	s.responded = true
	x.do(abi.Action{Kind: abi.ActionOpen, Code: 200, Headers: x.allHeaders(x.answerHeaders(&a)), Data: trapEvent})
}

func (x *exchange) encodeDeltas(out []byte, deltas []chat.Delta) []byte {
	family, m := x.family(), x.streamMeta()
	for i := range deltas {
		out = family.Stream(out, &x.s.stream.api, &deltas[i], &m)
	}
	return out
}

// collect stores deltas for the cache, for a replay or for the end of the stream.
func (x *exchange) collect(collected *abi.Writer, deltas []chat.Delta) {
	if !x.collectsDeltas() {
		return
	}
	for i := range deltas {
		chat.AppendDelta(collected, &deltas[i])
	}
}

func (x *exchange) noteDelta(d *chat.Delta) {
	st := &x.s.stream
	switch {
	case d.Kind == chat.DeltaUsage:
		st.usage = d.Usage
	case d.Kind == chat.DeltaFinish:
		st.finish, x.s.notes.finish = d.Finish, d.Finish
	case d.Kind == chat.DeltaEnd:
		st.endMarkSeen = true
	case d.Content() && d.JSON != chat.Counted:
		text := d.Text
		if d.Kind == chat.DeltaOther {
			text = jsontext.Escaped(d.JSON)
		}
		st.units += chat.EstimateUnits(text) + chat.EstimateUnits(d.Name)
		if len(text)+len(d.Name) > 0 {
			st.least++
		}
		if !st.hasContent {
			st.hasContent, st.firstContentMs = true, x.now
			x.s.times.upstream += x.since(x.s.times.upstreamStart)
		}
	}
}

// collectsDeltas reports whether the deltas are collected. The cache, replays and JSON Schemas need them. So does a
// family whose streams end with the complete response.
func (x *exchange) collectsDeltas() bool {
	s := &x.s
	return (x.cacheable() || s.idempotency != "" || s.govern.schema || s.request.schema != "" || x.family().NeedsWhole && !s.stream.passThrough) &&
		(s.stream.deltaBytes <= maxEntryBytes || x.collectsForFlight())
}

func (x *exchange) appendDeltas(deltas []byte) {
	if len(deltas) > 0 {
		x.s.stream.deltaBytes += uint64(len(deltas))
		x.do(abi.Action{Kind: abi.ActionAppend, Buffer: bufferDeltas, Data: deltas})
	}
}

// sizeOf returns about the number of bytes of events as appendEvent writes them.
func sizeOf(events []sse.Event) (n int) {
	for i := range events {
		n += len(events[i].Name) + len(events[i].Data) + len("event: \ndata: \n\n")
	}
	return n
}

func appendEvent(out []byte, e *sse.Event) []byte {
	if e.Name != "" {
		out = append(append(append(out, "event: "...), e.Name...), '\n')
	}
	rest := e.Data
	for i := 0; i < len(rest); i++ {
		if rest[i] == '\n' || rest[i] == '\r' {
			out = append(append(append(out, "data: "...), rest[:i]...), '\n')
			rest, i = rest[i+1:], -1
		}
	}
	return append(append(append(out, "data: "...), rest...), "\n\n"...)
}

// sendOrHold sends the output. Before the first content, it keeps the output, because a fallback to another target is
// still possible.
func (x *exchange) sendOrHold(out []byte) {
	st := &x.s.stream
	if len(out) == 0 {
		return
	}
	if !st.hasContent && st.finish == chat.FinishNone && !st.endMarkSeen && len(out) <= maxHeldBytes {
		st.held = out
		return
	}
	x.openStream()
	st.sentSinceTick, st.committed = true, true
	if st.forOthers {
		return
	}
	x.sendPart(abi.Part{Data: out})
}

// maxHeldBytes is the maximum size in bytes of output that is kept until the first content.
const maxHeldBytes = 2048

type eventResult uint8

const (
	eventOK        eventResult = iota
	eventMalformed             // the event is not part of a valid stream, or the Governor blocks it
	eventError                 // the event is the provider's error event
	eventUncovered             // the reservation does not cover the event's content, and no part of it was processed
)
