package fakeprovider

// event is one event of a stream, before framing.
type event struct {
	name string // the SSE field "event", or :event-type in an event stream
	data []byte // JSON, or an end marker
	kind eventKind
	fail bool // in an event stream, the event is an exception
}

type eventKind uint8

const (
	middle  eventKind = iota
	opening           // precedes any content
	text              // the event has nothing but a piece of the response's text
	usage             // only the usage
	endMark           // only the end marker
)

// stream sends the events as the behavior's kind requires.
func (x *exchange) stream(events []event) {
	half := max(len(events)/2, 1)
	begin := func() bool { return x.events(events[:half]) && x.pause() }
	switch x.b.Kind {
	case "silent":
		_ = x.flush.Flush()
		x.waitForDisconnect()
	case "stall":
		if begin() {
			x.waitForDisconnect()
		}
	case "broken":
		if begin() {
			x.reset()
		}
	case "cut", "truncated":
		x.finished = begin()
	case "malformed", "corrupt":
		x.finished = begin() && x.invalidEvent(events[half]) && x.events(events[half+1:])
	case "error-event":
		x.finished = begin() && x.events(x.request.wire.streamError())
	case "error-first":
		x.finished = x.events(x.request.wire.streamError())
	case "error-head":
		x.finished = x.events(ofKind(events, opening)) && x.events(x.request.wire.streamError())
	case "endless":
		x.endless(events)
	case "chatter":
		for x.event([]byte(": still here\n\n")) {
		}
	case "burst":
		x.finished = x.burst(events)
	case "no-done":
		x.finished = x.events(without(events, endMark))
	default:
		x.finished = begin() && x.events(events[half:])
	}
}

// pause waits for Release if the behavior requires it. It returns false if the client disconnected.
func (x *exchange) pause() bool {
	if x.b.Pause {
		x.server.hold(x.r)
	}
	return x.r.Context().Err() == nil
}

func (x *exchange) events(events []event) bool {
	for _, e := range events {
		if !x.event(x.frame(e)) {
			return false
		}
	}
	return true
}

func (x *exchange) frame(e event) []byte {
	f := x.request.wire.framing
	if x.b.Kind == "comment" {
		return f.unusual(e, x.seen.EventsSent == 0)
	}
	return f.plain(e)
}

func (x *exchange) event(framed []byte) bool {
	if !x.sleep(x.b.delayMs(x.seen.EventsSent)) {
		return false
	}
	sent := false
	if x.b.Kind == "bytewise" {
		sent = x.bytewise(framed)
	} else {
		sent = x.write(framed)
	}
	if sent {
		x.server.mu.Lock()
		x.seen.EventsSent++
		x.server.mu.Unlock()
	}
	return sent
}

// burst sends all events at once, as a buffering proxy does.
func (x *exchange) burst(events []event) bool {
	var all []byte
	for _, e := range events {
		all = append(all, x.frame(e)...)
	}
	return x.event(all)
}

// invalidEvent sends an event with invalid JSON or, for corrupt, a wrong checksum.
func (x *exchange) invalidEvent(e event) bool {
	f := x.request.wire.framing
	if x.b.Kind == "corrupt" && f == eventStream {
		framed := f.plain(e)
		framed[len(framed)-1] ^= 0xFF
		return x.event(framed)
	}
	e.data = e.data[:len(e.data)/2]
	return x.event(f.plain(e))
}

// endless sends all events up to the last piece of text, then repeats that piece until the client disconnects.
func (x *exchange) endless(events []event) {
	last := len(events) - 1
	for i, e := range events {
		if e.kind == text {
			last = i
		}
	}
	if !x.events(events[:last]) {
		return
	}
	for x.events(events[last : last+1]) {
	}
}

func ofKind(events []event, kind eventKind) (some []event) {
	for _, e := range events {
		if e.kind == kind {
			some = append(some, e)
		}
	}
	return some
}

func without(events []event, kind eventKind) (some []event) {
	for _, e := range events {
		if e.kind != kind {
			some = append(some, e)
		}
	}
	return some
}
