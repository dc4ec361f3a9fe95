package exchange

import (
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

// stream is a provider's stream on its way to the caller.
type stream struct {
	headReceived     bool // its head came
	opened           bool // the caller has a head
	hasContent       bool // something of the answer itself has gone out
	committed        bool // something but comments has gone out: no falling back any more
	sentSinceTick    bool // something went out since the last tick
	endMarkSeen      bool // the provider's end mark came
	passThrough      bool // the caller speaks the provider's dialect: events are passed on as they came
	parser           sse.Parser
	wire             wire.State
	api              api.State
	finish           chat.Finish
	usage            chat.Usage
	units            uint64 // of tokens of the answer so far, estimated (chat.TokenUnits)
	held             []byte // what goes out with the first content
	deltaBytes       uint64 // bytes in bufferDeltas
	extension        extension
	budgetExhausted  bool // the budget has no more
	fixedReservation bool // its reservation cannot be made larger
	firstContentMs   uint64
}

// tokens is how many tokens of the answer were seen, estimated.
func (s *stream) tokens() uint64 { return (s.units + chat.TokenUnits - 1) / chat.TokenUnits }

// takeStreamHead takes the head of a stream. The caller gets one when there is something to send.
func (x *exchange) onStreamHead() {
	s := &x.s
	f, _ := provider.For(x.model().Provider.Wire)
	s.stream.headReceived = true
	s.stream.passThrough = f.Dialect == s.dialect
	x.enter(phaseStream)
	media, _, _ := strings.Cut(x.header("content-type"), ";")
	want := "text/event-stream"
	if f.Framing == wire.EventStream {
		want = "application/vnd.amazon.eventstream"
	}
	if !strings.EqualFold(strings.TrimSpace(media), want) {
		x.breakStream(fault.ProviderAnswer)
		return
	}
	x.startTicking()
}

// tickMs is how long a stream may be silent before the caller gets a comment: only by writing does a host
// learn that a caller has left, and an upstream that nobody reads any more must be cut within a second.
const tickMs = 400

var keepAlive = []byte(": keep-alive\n\n")

func (x *exchange) startTicking() {
	wait := uint64(tickMs)
	if !x.s.stream.hasContent {
		wait = max(1, min(wait, x.remainingMs()))
	}
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTick, KeepMs: wait})
}

// takeTick keeps a silent stream's caller informed, unless all attempts have taken too long to bring anything.
func (x *exchange) onTick() {
	st := &x.s.stream
	if !st.hasContent && x.remainingMs() == 0 {
		x.breakStream(fault.ProviderTimeout)
		return
	}
	if !st.sentSinceTick {
		x.openStream()
		x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: keepAlive}}})
	}
	st.sentSinceTick = false
	x.startTicking()
}

// open answers the caller with the head of a stream.
func (x *exchange) openStream() {
	s := &x.s
	if s.stream.opened {
		return
	}
	s.stream.opened = true
	x.noteAttempt("200")
	model := x.model()
	a := answer{provider: model.Provider.Name, model: model.Name}
	m := x.meta(&a)
	last := x.family().StreamError(nil, &s.stream.api, x.trapError(), &m)
	s.responded = true
	x.do(abi.Action{Kind: abi.ActionOpen, Code: 200, Headers: x.allHeaders(x.answerHeaders(&a)), Data: last})
}

// lastWord is the error that a host ends a stream with when no step can.
func (x *exchange) trapError() *api.Error { return x.apiError(fault.Internal, refusal{}) }

// takeChunk takes a piece of the stream.
func (x *exchange) onChunk() { x.streamChunk(x.event.Data, false) }

// takeStreamEnd: the provider has closed the stream.
func (x *exchange) onStreamEnd() { x.streamChunk(nil, true) }

// streamChunk takes the next piece of a stream; final says that nothing follows.
func (x *exchange) streamChunk(data []byte, final bool) {
	st := &x.s.stream
	out := st.held
	st.held = nil
	events, ok := x.splitEvents(data, final)
	var kept abi.Writer
	for i := range events {
		var broken *chat.Delta
		if out, broken, ok = x.streamEvent(out, &events[i], &kept, ok); broken != nil || !ok {
			x.sendOrHold(out)
			x.keepDeltas(kept.Buf)
			if broken == nil {
				x.breakStream(fault.ProviderAnswer)
			} else {
				x.breakStream(fault.ProviderError)
			}
			return
		}
		if st.endMarkSeen {
			break
		}
	}
	x.sendOrHold(out)
	x.keepDeltas(kept.Buf)
	switch {
	case !ok, st.endMarkSeen && !st.hasContent && st.finish == chat.FinishNone: // an end mark is no answer
		x.breakStream(fault.ProviderAnswer)
	case st.endMarkSeen, final && st.finish != chat.FinishNone:
		x.endStream()
	case final:
		x.breakStream(fault.ProviderAnswer)
	default:
		x.watchBudget()
	}
}

// events cuts a piece of the stream into its events.
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
		case eventstream.Need:
			st.parser.Rest = buf
			return events, true
		}
		events = append(events, sse.Event{Name: m.Event, Data: m.Payload})
		buf = rest
	}
}

var endMark = "[DONE]"

// streamEvent takes one event: what it means is noted, and what the caller is to get of it added to out.
func (x *exchange) streamEvent(out []byte, e *sse.Event, kept *abi.Writer, ok bool) (_ []byte, broken *chat.Delta, _ bool) {
	st := &x.s.stream
	if !ok {
		return out, nil, false
	}
	if string(e.Data) == endMark {
		st.endMarkSeen = true
		return out, nil, true
	}
	if jsontext.Check(e.Data) != jsontext.OK {
		return out, nil, false
	}
	f, _ := provider.For(x.model().Provider.Wire)
	deltas, ok := f.Stream(&st.wire, e.Name, gjson.ParseBytes(e.Data), nil)
	if !ok {
		return out, nil, false
	}
	usageOnly := len(deltas) > 0
	family := x.family()
	m := x.streamMeta()
	for i := range deltas {
		d := &deltas[i]
		if d.Kind == chat.DeltaError {
			return out, d, true
		}
		usageOnly = usageOnly && d.Kind == chat.DeltaUsage
		x.noteDelta(d)
		if x.keepsDeltas() {
			chat.AppendDelta(kept, d)
		}
		if !st.passThrough {
			out = family.Stream(out, &st.api, d, &m)
		}
	}
	if st.passThrough && !(usageOnly && x.s.dialect == chat.OpenAI && !x.s.request.includeUsage) {
		out = appendEvent(out, e)
		st.api.Started = true // by the provider itself: an error event of ours only ends it
	}
	return out, nil, true
}

// note keeps of a delta what the exchange has to know.
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
		st.units += chat.EstimateUnits(d.Text) + chat.EstimateUnits(d.Name)
		if !st.hasContent {
			st.hasContent, st.firstContentMs = true, x.now
			x.s.times.upstream += x.since(x.s.times.upstreamStart)
		}
	}
}

// keepsDeltas: the answer is wanted as a whole, when it is.
func (x *exchange) keepsDeltas() bool {
	s := &x.s
	return (x.cacheable() || s.idempotency != "" || x.family().NeedsWhole && !s.stream.passThrough) && s.stream.deltaBytes <= maxEntryBytes
}

func (x *exchange) keepDeltas(deltas []byte) {
	if len(deltas) > 0 {
		x.s.stream.deltaBytes += uint64(len(deltas))
		x.do(abi.Action{Kind: abi.ActionAppend, Buffer: bufferDeltas, Data: deltas})
	}
}

// appendEvent writes an event as it came.
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

// push sends what is ready. Until there is something of the answer itself, it waits: another target may still
// take over.
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
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: out}}})
}

// maxPending is how much is held back before the first content.
const maxHeldBytes = 2048

func (x *exchange) streamMeta() api.Meta {
	model := x.model()
	a := answer{provider: model.Provider.Name, model: model.Name, usage: x.s.stream.usage}
	if !a.usage.Reported && a.usage.Input == 0 {
		a.usage.Input = x.s.request.promptTokens
	}
	return x.meta(&a)
}
