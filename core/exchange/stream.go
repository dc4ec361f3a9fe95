package exchange

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/eventstream"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

func (x *exchange) onStreamHead() {
	s := &x.s
	f := x.wire()
	s.stream.headReceived = true
	s.stream.passThrough = f.Dialect == s.dialect
	x.watchFromHalf()
	media, _, _ := strings.Cut(x.header("content-type"), ";")
	wantType := "text/event-stream"
	if f.Framing == wire.EventStream {
		wantType = "application/vnd.amazon.eventstream"
	}
	if !strings.EqualFold(strings.TrimSpace(media), wantType) {
		x.breakStream(fault.ProviderAnswer)
		return
	}
	x.enter(phaseStream)
	if !x.pending(idTick) {
		x.startTicking()
	}
	x.watchBudget() // earlier attempts may have used up the reservation
}

// onTick sends a keep-alive comment if nothing was sent since the last tick. If the shared time limit has passed
// before the first content, onTick breaks the stream.
func (x *exchange) onTick() {
	st := &x.s.stream
	if x.deserted() {
		return
	}
	if !st.hasContent && !st.withheld.waiting && x.remainingMs() == 0 {
		x.breakStream(fault.ProviderTimeout)
		return
	}
	if !st.sentSinceTick && !st.forOthers {
		x.openStream()
		x.sendPart(abi.Part{Data: keepAlive})
	}
	st.sentSinceTick = false
	x.startTicking()
	x.awaitBudget()
}

// onChunk handles the next bytes of the stream. They are charged even if no caller is left.
func (x *exchange) onChunk() {
	if x.streamChunk(x.event.Data, false); x.s.phase == phaseStream {
		x.deserted()
	}
}

func (x *exchange) onStreamEnd() { x.streamChunk(nil, true) }

// streamChunk processes the next bytes of a stream. If final is set, the body has ended.
func (x *exchange) streamChunk(data []byte, final bool) {
	events, ok := x.splitEvents(data, final)
	x.streamEvents(events, ok, final)
}

// streamEvents processes the next events of a stream, one by one. If the data after these events is malformed, ok is
// false. If final is set, the body has ended.
func (x *exchange) streamEvents(events []sse.Event, ok, final bool) {
	st := &x.s.stream
	out := st.held
	st.held = nil
	if st.passThrough {
		out = slices.Grow(out, sizeOf(events))
	}
	var deltas abi.Writer
	for i := range events {
		result := eventMalformed
		if ok {
			out, result = x.streamEvent(out, &events[i], &deltas)
		}
		switch result {
		case eventMalformed, eventError:
			x.breakChunk(out, deltas.Buf, result)
			return
		case eventUncovered:
			if x.deliver(out, deltas.Buf, false) {
				x.withhold(events[i:], final)
			}
			return
		}
		if st.endMarkSeen {
			break
		}
	}
	complete := ok && (st.endMarkSeen || final && st.finish != chat.FinishNone)
	if complete {
		out = x.governEnd(out, &deltas)
	}
	if x.deliver(out, deltas.Buf, complete) {
		x.afterEvents(ok, final)
	}
}

// deliver sends the output of events and stores their deltas. If complete is set, the last event is the stream's
// last. If the stream is blocked, deliver returns false.
func (x *exchange) deliver(out, deltas []byte, complete bool) bool {
	if x.s.govern.live.Blocked() {
		x.blockStream(out)
		return false
	}
	x.sendOrHold(x.holdEnd(out, complete))
	x.appendDeltas(deltas)
	x.publish()
	return true
}

// afterEvents ends the stream if its last event has been processed or if it is malformed.
func (x *exchange) afterEvents(ok, final bool) {
	st := &x.s.stream
	switch {
	case !ok, st.endMarkSeen && !st.hasContent && st.finish == chat.FinishNone: // an end mark alone is not a response
		x.breakStream(fault.ProviderAnswer)
	case st.endMarkSeen, final && st.finish != chat.FinishNone:
		x.endStream()
	case final:
		x.breakStream(fault.ProviderAnswer)
	default:
		x.watchBudget()
	}
}

// breakChunk ends a stream at an event that cannot be sent. out and deltas are those of the events before it.
func (x *exchange) breakChunk(out, deltas []byte, result eventResult) {
	switch {
	case !x.deliver(out, deltas, false):
	case result == eventError:
		x.breakStream(fault.ProviderError)
	default:
		x.breakStream(fault.ProviderAnswer)
	}
}

// splitEvents splits bytes into complete events and keeps the rest for the next chunk.
func (x *exchange) splitEvents(data []byte, final bool) (events []sse.Event, ok bool) {
	st := &x.s.stream
	if f := x.wire(); f.Framing != wire.EventStream {
		return st.parser.Feed(data, final)
	}
	buf := append(st.parser.Rest[:len(st.parser.Rest):len(st.parser.Rest)], data...)
	for {
		m, rest, status := eventstream.Next(buf)
		switch status {
		case eventstream.Bad:
			return events, false
		case eventstream.NeedMore:
			st.parser.Rest = buf
			return events, true
		}
		events = append(events, sse.Event{Name: m.Event, Data: m.Payload})
		buf = rest
	}
}

var endMark = "[DONE]"

func (x *exchange) streamEvent(out []byte, e *sse.Event, collected *abi.Writer) ([]byte, eventResult) {
	st := &x.s.stream
	if string(e.Data) == endMark {
		st.endMarkSeen = true
		return out, eventOK
	}
	if jsontext.Check(e.Data) != jsontext.OK {
		return out, eventMalformed
	}
	f := x.wire()
	before := st.wire
	deltas, ok := f.Stream(&st.wire, e.Name, gjson.ParseBytes(e.Data))
	if !ok {
		return out, eventMalformed
	}
	if slices.ContainsFunc(deltas, func(d chat.Delta) bool { return d.Content() }) && x.uncovered() {
		st.wire = before
		return out, eventUncovered
	}
	usageOnly := len(deltas) > 0
	for i := range deltas {
		d := &deltas[i]
		if d.Kind == chat.DeltaError {
			return out, eventError
		}
		usageOnly = usageOnly && d.Kind == chat.DeltaUsage
		if x.noteDelta(d); st.passThrough && d.Kind == chat.DeltaTool {
			d.Name, d.Model = x.s.request.aliases.Function(d.Model, d.Name), ""
		}
	}
	deltas = slices.DeleteFunc(deltas, func(d chat.Delta) bool { return d.Kind == chat.DeltaOther })
	return x.eventOutput(out, e, deltas, usageOnly, collected)
}

// eventOutput appends an event's output. If usageOnly is set, the event only reports usage.
func (x *exchange) eventOutput(out []byte, e *sse.Event, deltas []chat.Delta, usageOnly bool, collected *abi.Writer) ([]byte, eventResult) {
	st := &x.s.stream
	hidden := usageOnly && x.s.dialect == chat.OpenAI && !x.s.request.includeUsage
	if x.s.govern.on {
		return x.governEvent(out, e, deltas, hidden, collected)
	}
	x.collect(collected, deltas)
	if st.passThrough && !hidden {
		out = appendEvent(out, e)
		st.api.Started = true // the provider has started the stream, so an error event is enough to end it
	} else if !st.passThrough {
		out = x.encodeDeltas(out, deltas)
	}
	return out, eventOK
}

// onOpeningTick handles a tick for a stream that has no head yet. If the last follower has gone, it cuts the stream.
func (x *exchange) onOpeningTick() {
	if !x.deserted() {
		x.startTicking()
	}
}

// onWithheld processes the withheld events. Then the fetch continues, if only to discard the data after the end mark.
func (x *exchange) onWithheld() {
	st := &x.s.stream
	var events []sse.Event
	r := abi.Reader{Buf: x.event.Data}
	for len(r.Buf) > 0 && r.Err() == nil {
		events = append(events, sse.Event{Name: r.String(), Data: r.Bytes()})
	}
	x.streamEvents(events, r.Err() == nil, st.withheld.ended)
	if w := &st.withheld; w.paused && !w.waiting && x.pending(idFetch) {
		w.paused = false
		x.do(abi.Action{Kind: abi.ActionResume, ID: idFetch})
	}
	if x.s.phase == phaseStream {
		x.deserted()
	}
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
