package abi

// EventKind is the type of an event in an exchange. The host delivers one event at a time.
type EventKind uint8

const (
	// EventRequest starts the exchange. Headers are those listed in Configured.RequestHeaders and the
	// pseudo-headers ":id" (request ID), ":method", ":path" (as sent, not decoded), ":query" and ":address"
	// (the client's IP address, empty if unknown). Data is a 16-byte random seed, the source of all jitter and
	// weighted choices of the exchange.
	EventRequest EventKind = 1
	// EventBody completes ActionReadBody. Code is an Outcome; Data is the body if Code is OutcomeOK.
	EventBody EventKind = 2
	// EventSupplied completes ActionSupply, with the buffer as Data, and ActionUnseal, with the plaintext as
	// Data and an Outcome as Code.
	EventSupplied EventKind = 3
	// EventStored completes ActionRead and ActionJoin. Code is an Outcome; Data is the value.
	EventStored EventKind = 4
	// EventReply completes ActionCall. Code is an Outcome; Data is the object's reply.
	EventReply EventKind = 5
	// EventResponse completes ActionFetch. Code is the HTTP status; Headers are those listed in
	// Configured.ResponseHeaders; Data is the whole body, which the host also stores in the fetch's Buffer.
	EventResponse EventKind = 6
	// EventFault completes an ActionFetch without a complete response, including during streaming. Code is a Fault.
	EventFault EventKind = 7
	// EventTimer completes ActionWait.
	EventTimer EventKind = 8
	// EventDisconnect reports that the client disconnected before the end of the response. Hosts may omit it before the
	// first streamed ActionFetch, and deliver it late, but before the result of a failed fetch: EventFault, or
	// EventResponse with a status of FailedStatus or more.
	EventDisconnect EventKind = 9
	// EventHead is the head of a streamed response: Code and Headers as in EventResponse. The action stays
	// outstanding.
	EventHead EventKind = 10
	// EventChunk is the next piece of a streamed body, in Data. The action stays outstanding.
	EventChunk EventKind = 11
	// EventEnd completes a streamed response.
	EventEnd EventKind = 12
	// EventFlight completes ActionFollow. Code is FlightMore, or tells how the flight ended.
	EventFlight EventKind = 13
)

// Outcome is the Code of a body, supplied, stored or reply event.
const (
	OutcomeOK          = 0
	OutcomeAbsent      = 1 // stored: no such key
	OutcomeFailed      = 2 // failure of the host: storage down, object unreachable, body interrupted, unsealing failed
	OutcomeTooLarge    = 3 // body: longer than the limit
	OutcomeOverloaded  = 4 // reply: the object is overloaded; the call must not be repeated
	OutcomeUnsupported = 5 // stored: this host has none of the requested stores
	OutcomeJoined      = 6 // stored, for ActionJoin: absent, and the exchange follows a flight
)

// FailedStatus is the lowest HTTP status of a failed fetch, after which the exchange may send another one.
const FailedStatus = 400

// Fault is the Code of a fault event.
const (
	FaultConnect     = 1  // no connection, or it broke before the response head
	FaultHead        = 2  // timeout before the response head (connecting included)
	FaultFirstByte   = 3  // timeout between the head and the first byte of the body
	FaultIdle        = 4  // timeout between two reads of the body
	FaultTotal       = 5  // timeout of the whole fetch
	FaultBroken      = 6  // the connection broke during the body
	FaultTooLarge    = 7  // the body is longer than the fetch's limit
	FaultUndelivered = 8  // the host itself rejected the request; nothing was sent
	FaultCut         = 9  // the host shuts down and has ended the fetch
	FaultClosing     = 10 // the host shuts down; nothing was sent
)

// Header is one HTTP header field; names are lower case.
type Header struct{ Name, Value string }

// Event is one event of an exchange. ID is that of the action that produced it, 0 for none.
type Event struct {
	Kind    EventKind
	ID      uint64
	Code    uint64
	Headers []Header
	Data    []byte
}

// AttachedBuffer is the number of the buffer that the host passes to every step as StepInput.Attached.
const AttachedBuffer = 8

// StepInput is the input of step.
type StepInput struct {
	NowMs  uint64 // Unix time
	Shared []byte // shared state of the isolate, from the last StepOutput of any exchange; initially empty
	State  []byte // state of the exchange, from its last StepOutput; initially empty
	// Attached is the content of the buffer AttachedBuffer: data that most steps need but few change, and that is
	// too large for the state.
	Attached []byte
	// Pinned is the content of the entry that the exchange has pinned (ActionPin); empty without one. The entry
	// does not change between a step's input and its output.
	Pinned  []byte
	Waiting uint64 // followers of the flight that the exchange leads
	Event   Event
}

// Header is a name and a value.
func (f *Fields) Header(h *Header) {
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

// Encode appends the message that step takes.
func (in *StepInput) Encode(w *Writer) {
	w.Uint(in.NowMs)
	w.Bytes(in.Shared)
	w.Bytes(in.State)
	w.Bytes(in.Attached)
	w.Bytes(in.Pinned)
	w.Uint(in.Waiting)
	w.Uint(uint64(in.Event.Kind))
	w.Uint(in.Event.ID)
	w.Uint(in.Event.Code)
	w.headers(in.Event.Headers)
	w.Bytes(in.Event.Data)
}

// DecodeStepInput is the inverse of Encode. The result shares memory with data.
func DecodeStepInput(data []byte) (StepInput, error) {
	r := Reader{Buf: data}
	in := StepInput{NowMs: r.Uint(), Shared: r.Bytes(), State: r.Bytes(), Attached: r.Bytes(), Pinned: r.Bytes(), Waiting: r.Uint()}
	in.Event = Event{Kind: EventKind(r.Byte()), ID: r.Uint(), Code: r.Uint(), Headers: r.headers(), Data: r.Bytes()}
	return in, r.End()
}
