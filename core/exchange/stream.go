package exchange

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/eventstream"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

// stream is the state of a provider's stream and of its forwarding to the caller.
type stream struct {
	headReceived   bool // the provider's response head has arrived
	opened         bool // the caller has a response head
	hasContent     bool // a content delta has arrived
	committed      bool // something other than a comment was sent: too late for a fallback
	sentSinceTick  bool // something was sent since the last tick
	endMarkSeen    bool // the provider's end mark has arrived
	passThrough    bool // the caller uses the provider's dialect: events are forwarded unchanged
	parser         sse.Parser
	wire           wire.State
	api            api.State
	finish         chat.Finish
	usage          chat.Usage
	units          uint64 // estimated size of the response so far, in token units (chat.TokenUnits)
	least          uint64 // deltas with text: a provider sends at least a token at a time, also of what counts little in a longer text
	held           []byte // output to send with the first content
	deltaBytes     uint64 // bytes in bufferDeltas
	extension      extension
	withheld       withheld
	forOthers      bool // the caller has disconnected: the stream continues for the followers of its flight
	firstContentMs uint64
}

// tokens is the estimated number of output tokens so far.
func (s *stream) tokens() uint64 {
	return max(s.least, (s.units+chat.TokenUnits-1)/chat.TokenUnits)
}

// onStreamHead takes the head of a stream. The caller's own head is sent with the first output.
func (x *exchange) onStreamHead() {
	s := &x.s
	f, _ := provider.For(x.model().Provider.Wire)
	s.stream.headReceived = true
	s.stream.passThrough = f.Dialect == s.dialect
	x.watchFromHalf()
	x.enter(phaseStream)
	media, _, _ := strings.Cut(x.header("content-type"), ";")
	wantType := "text/event-stream"
	if f.Framing == wire.EventStream {
		wantType = "application/vnd.amazon.eventstream"
	}
	if !strings.EqualFold(strings.TrimSpace(media), wantType) {
		x.breakStream(fault.ProviderAnswer)
		return
	}
	if !x.pending(idTick) {
		x.startTicking()
	}
	x.watchBudget() // earlier attempts may have used the reservation up
}

// tickMs is the interval of the ticks. A tick sends a comment if nothing was sent since the last one, so a silence
// lasts less than two ticks. A host notices a disconnect only when it writes, and an abandoned upstream request must
// be cut within a second.
const tickMs = 400

var keepAlive = []byte(": keep-alive\n\n")

func (x *exchange) startTicking() {
	wait := uint64(tickMs)
	if st := &x.s.stream; !st.hasContent && !st.withheld.waiting {
		wait = max(1, min(wait, x.remainingMs()))
	}
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTick, KeepMs: wait})
}

// onTick sends a keep-alive comment after a silence. It breaks the stream if the shared time limit ends before the
// first content.
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
		x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: keepAlive}}})
	}
	st.sentSinceTick = false
	x.startTicking()
	x.awaitBudget()
}

// openStream sends the head of a streamed response.
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

// trapError is the error that the host sends if the instance traps and no step can end the stream.
func (x *exchange) trapError() *api.Error { return x.apiError(fault.Internal, refusal{}) }

// onChunk takes the next bytes of the stream. They are charged even if nobody is left to read them.
func (x *exchange) onChunk() {
	if x.streamChunk(x.event.Data, false); x.s.phase == phaseStream {
		x.deserted()
	}
}

// onStreamEnd handles the end of the provider's response body.
func (x *exchange) onStreamEnd() { x.streamChunk(nil, true) }

// streamChunk processes the next bytes of a stream. final marks the end of the body.
func (x *exchange) streamChunk(data []byte, final bool) {
	events, ok := x.splitEvents(data, final)
	x.streamEvents(events, ok, final)
}

// streamEvents processes the next events of a stream, one by one. ok is false if the stream is malformed behind them; final
// marks the end of the body.
func (x *exchange) streamEvents(events []sse.Event, ok, final bool) {
	st := &x.s.stream
	out := st.held
	st.held = nil
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

// deliver sends the output of events, and stores their deltas. complete means that the stream's last event is among them. It returns
// false if the stream is blocked.
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

// afterEvents ends the stream if its last event was processed.
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

// breakChunk ends a stream at an event that cannot be sent. out and deltas are from the events before it.
func (x *exchange) breakChunk(out, deltas []byte, result eventResult) {
	switch {
	case !x.deliver(out, deltas, false):
	case result == eventError:
		x.breakStream(fault.ProviderError)
	default:
		x.breakStream(fault.ProviderAnswer)
	}
}

// splitEvents splits the bytes into complete events and keeps the rest for the next chunk.
func (x *exchange) splitEvents(data []byte, final bool) (events []sse.Event, ok bool) {
	st := &x.s.stream
	if f, _ := provider.For(x.model().Provider.Wire); f.Framing != wire.EventStream {
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

// eventResult is the result of processing one event of a stream.
type eventResult uint8

const (
	eventOK        eventResult = iota
	eventMalformed             // the event is not part of a valid stream, or the governor blocks it
	eventError                 // it is the provider's error event
	eventUncovered             // the reservation does not cover its content; nothing of it was processed
)

// streamEvent processes one event and appends the output for the caller to out.
func (x *exchange) streamEvent(out []byte, e *sse.Event, collected *abi.Writer) ([]byte, eventResult) {
	st := &x.s.stream
	if string(e.Data) == endMark {
		st.endMarkSeen = true
		return out, eventOK
	}
	if jsontext.Check(e.Data) != jsontext.OK {
		return out, eventMalformed
	}
	f, _ := provider.For(x.model().Provider.Wire)
	before := st.wire
	deltas, ok := f.Stream(&st.wire, e.Name, gjson.ParseBytes(e.Data), nil)
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
		x.noteDelta(d)
	}
	deltas = slices.DeleteFunc(deltas, func(d chat.Delta) bool { return d.Kind == chat.DeltaOther })
	return x.eventOutput(out, e, deltas, usageOnly, collected)
}

// eventOutput appends an event's output. usageOnly means that the event only reports usage.
func (x *exchange) eventOutput(out []byte, e *sse.Event, deltas []chat.Delta, usageOnly bool, collected *abi.Writer) ([]byte, eventResult) {
	st := &x.s.stream
	hidden := usageOnly && x.s.dialect == chat.OpenAI && !x.s.request.includeUsage
	if x.s.govern.on {
		return x.governEvent(out, e, deltas, hidden, collected)
	}
	x.collect(collected, deltas)
	if st.passThrough && !hidden {
		out = appendEvent(out, e)
		st.api.Started = true // the provider has started the stream, so an error event only has to end it
	} else if !st.passThrough {
		out = x.encodeDeltas(out, deltas)
	}
	return out, eventOK
}

// encodeDeltas appends deltas in the caller's dialect.
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

// noteDelta updates the stream's state from one delta.
func (x *exchange) noteDelta(d *chat.Delta) {
	st := &x.s.stream
	switch {
	case d.Kind == chat.DeltaUsage:
		st.usage = d.Usage
	case d.Kind == chat.DeltaFinish:
		st.finish = d.Finish
	case d.Kind == chat.DeltaEnd:
		st.endMarkSeen = true
	case d.Content():
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

// collectsDeltas reports whether the deltas are collected: for the cache, for a replay, for a JSON Schema, or because the caller's
// family ends a stream with the whole response.
func (x *exchange) collectsDeltas() bool {
	s := &x.s
	return (x.cacheable() || s.idempotency != "" || s.govern.schema || x.family().NeedsWhole && !s.stream.passThrough) &&
		(s.stream.deltaBytes <= maxEntryBytes || x.collectsForFlight())
}

func (x *exchange) appendDeltas(deltas []byte) {
	if len(deltas) > 0 {
		x.s.stream.deltaBytes += uint64(len(deltas))
		x.do(abi.Action{Kind: abi.ActionAppend, Buffer: bufferDeltas, Data: deltas})
	}
}

// appendEvent appends an event in its original form.
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

// sendOrHold sends the output. Before the first content it holds the output back, because a fallback to another
// target is still possible.
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
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: out}}})
}

// maxHeldBytes is the limit for output held back before the first content.
const maxHeldBytes = 2048

func (x *exchange) streamMeta() api.Meta {
	model := x.model()
	a := answer{provider: model.Provider.Name, model: model.Name, usage: x.s.stream.usage}
	if hit := &x.s.hit; hit.found {
		a.provider, a.model, a.cached = hit.provider, hit.model, true
	}
	if !a.usage.Reported && a.usage.Input == 0 {
		a.usage.Input = x.s.request.promptTokens
	}
	return x.meta(&a)
}
