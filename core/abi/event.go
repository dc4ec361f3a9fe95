package abi

// EventKind says what happened in an exchange. The host delivers one event at a time.
type EventKind uint8

const (
	// EventRequest opens the exchange. Headers are those Configured.RequestHeaders names plus the pseudo
	// headers ":id" (the request id), ":method", ":path" (as sent, undecoded), ":query" and ":address" (the
	// caller's IP address as the host knows it, empty if it does not). Data is a 16-byte random seed: all
	// jitter and weighting of the exchange comes from it.
	EventRequest EventKind = 1
	// EventBody answers ActionReadBody. Code is an Outcome; Data the body if it is OutcomeOK.
	EventBody EventKind = 2
	// EventSupplied answers ActionSupply, with the buffer as Data, and ActionUnseal, with the plaintext; the
	// Code of the latter is an Outcome.
	EventSupplied EventKind = 3
	// EventStored answers ActionRead. Code is an Outcome; Data the value.
	EventStored EventKind = 4
	// EventReply answers ActionCall. Code is an Outcome; Data the object's reply.
	EventReply EventKind = 5
	// EventResponse answers ActionFetch. Code is the HTTP status; Headers those Configured.ResponseHeaders
	// names; Data the whole body. The body also stands in the buffer that the fetch named.
	EventResponse EventKind = 6
	// EventFault answers ActionFetch when no whole response came, or ends a streamed one. Code is a Fault.
	EventFault EventKind = 7
	// EventTimer answers ActionWait.
	EventTimer EventKind = 8
	// EventLeft says that the caller closed the connection before it had the whole answer. Hosts need not
	// notice it unless an ActionFetch is or was under way.
	EventLeft EventKind = 9
	// EventHead is the head of a streamed response: Code and Headers as in EventResponse. The action goes on.
	EventHead EventKind = 10
	// EventChunk is the next piece of it: Data. The action goes on.
	EventChunk EventKind = 11
	// EventEnd says that it is whole.
	EventEnd EventKind = 12
)

// Outcome is the Code of a body, supplied, stored or reply event.
const (
	OutcomeOK          = 0
	OutcomeAbsent      = 1 // stored: no such key
	OutcomeFailed      = 2 // the host could not: storage down, object unreachable, body broken off, not to be unsealed
	OutcomeTooLarge    = 3 // body: longer than the limit
	OutcomeOverloaded  = 4 // reply: the object said so; not to be repeated
	OutcomeUnsupported = 5 // stored: this host has none of the tiers that were asked for
)

// Fault is the Code of a fault event.
const (
	FaultConnect     = 1 // no connection, or it broke before a response head
	FaultHead        = 2 // no response head in time (connecting included)
	FaultFirstByte   = 3 // a head, but no body byte in time
	FaultIdle        = 4 // the body stalled
	FaultTotal       = 5 // all in all too long
	FaultBroken      = 6 // the body broke off
	FaultTooLarge    = 7 // the body is longer than the fetch's limit
	FaultUndelivered = 8 // the request was refused by the host itself; nothing was sent
)

// Header is one HTTP header field; names are lower case.
type Header struct{ Name, Value string }

// Event is one thing that happened. ID is the action's that it answers, 0 for none.
type Event struct {
	Kind    EventKind
	ID      uint64
	Code    uint64
	Headers []Header
	Data    []byte
}

// StepInput is what a host gives to step.
type StepInput struct {
	NowMs  uint64 // Unix time
	Shared []byte // the isolate's blob, from the last StepOutput of any exchange; empty at first
	State  []byte // the exchange's, from its last StepOutput; empty at first
	Event  Event
}

func (f *Fields) header(h *Header) {
	f.String(&h.Name)
	f.String(&h.Value)
}

func (w *Writer) headers(headers []Header) {
	w.Uint(uint64(len(headers)))
	for _, h := range headers {
		w.String(h.Name)
		w.String(h.Value)
	}
}

func (r *Reader) headers() []Header {
	n := r.Count()
	if n == 0 {
		return nil
	}
	headers := make([]Header, n)
	for i := range headers {
		headers[i] = Header{r.String(), r.String()}
	}
	return headers
}

// Encode is the message that step takes.
func (in *StepInput) Encode(w *Writer) {
	w.Uint(in.NowMs)
	w.Bytes(in.Shared)
	w.Bytes(in.State)
	w.Uint(uint64(in.Event.Kind))
	w.Uint(in.Event.ID)
	w.Uint(in.Event.Code)
	w.headers(in.Event.Headers)
	w.Bytes(in.Event.Data)
}

// DecodeStepInput reads what Encode wrote. The result shares memory with data.
func DecodeStepInput(data []byte) (StepInput, error) {
	r := Reader{Buf: data}
	in := StepInput{NowMs: r.Uint(), Shared: r.Bytes(), State: r.Bytes()}
	in.Event = Event{Kind: EventKind(r.Byte()), ID: r.Uint(), Code: r.Uint(), Headers: r.headers(), Data: r.Bytes()}
	return in, r.End()
}
