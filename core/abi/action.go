package abi

// ActionKind is an operation for the host. Actions of one step do not depend on each other's results and run
// concurrently, but buffers are written in order. The exchange is over when it has responded and no action that
// produces an event is outstanding. Until then the host keeps it alive, even after the response.
type ActionKind uint8

const (
	// ActionReadBody reads the request's body into Buffer, at most Limit bytes, and produces EventBody.
	ActionReadBody ActionKind = 1
	// ActionSupply produces EventSupplied with the content of Buffer.
	ActionSupply ActionKind = 2
	// ActionKeep stores Data as Buffer.
	ActionKeep ActionKind = 3
	// ActionRead looks Key up in the stores of Where in the order memory, colo, KV, and produces EventStored. A value
	// found in colo or KV is stored in memory for KeepMs, unless that is 0. Keys are printable ASCII. Stores that the
	// host does not have are skipped; if Where has no other, the outcome is OutcomeUnsupported. With a Limit, KV has so
	// many milliseconds: after that its answer is dropped, and the outcome is OutcomeAbsent. A failure of colo counts as
	// a miss.
	ActionRead ActionKind = 4
	// ActionWrite stores Body under Key in the stores of Where: in memory for KeepMs, in colo and KV for TTL.
	// An empty Body removes the key. It produces no event; the host logs a failure, except of colo.
	ActionWrite ActionKind = 5
	// ActionCall sends Data to the object (Class, Name), which is created near Region, and produces EventReply.
	// The host repeats a call once, on a new stub, if the platform marks the failure as retryable. With ID 0 it
	// produces no event; the host still completes the call and logs a failure.
	ActionCall ActionKind = 6
	// ActionFetch sends an HTTP request with Body and produces EventResponse or EventFault. Redirects are not
	// followed. The response's body is also stored as Buffer. A response with the status Stream is streamed: it
	// produces EventHead, any number of EventChunk, then EventEnd or EventFault. The host reads the next chunk
	// only after the step for the last one is done and the bytes that it sent to the caller have drained. Bytes
	// that are available together form one chunk, up to Limit bytes.
	ActionFetch ActionKind = 7
	// ActionRespond sends a complete response to the caller. Exactly one ActionRespond, ActionOpen or successful
	// ActionForward occurs per exchange.
	ActionRespond ActionKind = 8
	// ActionWait produces EventTimer after KeepMs.
	ActionWait ActionKind = 9
	// ActionCancel drops the outstanding action with this ID, which then produces no event. If it is a read of the
	// request's body, the host discards the rest of the body or closes the connection after the response.
	ActionCancel ActionKind = 10
	// ActionLog writes Data, one line of JSON, to the log. Code is 0 for information, 1 for an error.
	ActionLog ActionKind = 11
	// ActionForward passes the caller's request, with an unread body and with Headers and AddressHeader set, to
	// the control plane and returns its response to the caller. It replaces ActionRespond. It produces
	// EventResponse with the status only, or EventFault if the control plane is unreachable; then ActionRespond
	// is still required.
	ActionForward ActionKind = 12
	// ActionOpen sends a response head to the caller. ActionSend then sends the body in pieces, and ActionClose
	// ends it. If the instance traps, so that no step can end the body, the host sends Data and closes the
	// body.
	ActionOpen ActionKind = 13
	// ActionSend sends the next piece of the body.
	ActionSend ActionKind = 14
	// ActionClose ends the body.
	ActionClose ActionKind = 15
	// ActionAppend adds Data to Buffer.
	ActionAppend ActionKind = 16
	// ActionUnseal decrypts the content of Buffer with AES-256-GCM and produces EventSupplied with the
	// plaintext, which the host does not keep. Key is the AES key, 32 bytes in standard base64; Name the
	// additional authenticated data; the buffer a nonce of UnsealNonceBytes, the ciphertext and a tag of
	// UnsealTagBytes. Any error gives OutcomeFailed without data.
	ActionUnseal ActionKind = 17
	// ActionPin names the exchange's pinned entry: the one under Key in the isolate's pinned memory, which all its
	// exchanges share. From the next step on, its content is StepInput.Pinned, and StepOutput.Pinned replaces it. An
	// exchange pins one entry at most.
	ActionPin ActionKind = 18
	// ActionJoin looks Key up in memory, and if it is absent joins the flight Name. It produces EventStored with the
	// outcome OutcomeOK and the value; OutcomeAbsent, and the exchange leads the flight from now on; or OutcomeJoined, and
	// it follows. The three are one atomic operation: a value written before a flight landed is found by everyone who
	// joins after it. An exchange is in at most one flight at a time.
	ActionJoin ActionKind = 19
	// ActionFollow produces EventFlight as soon as the flight that the exchange follows has bytes that it has not read,
	// or has landed. The bytes come first. With the landing the exchange is in no flight any more.
	ActionFollow ActionKind = 20
	// ActionPublish makes Body and then the content of Buffer, as ActionAppend extends it, the bytes of the flight that
	// the exchange leads. It occurs once per flight. An exchange that joins late reads everything. When Buffer is larger
	// than Limit, nobody can join any more: the next one leads a flight of its own under the name.
	ActionPublish ActionKind = 21
	// ActionLand ends the exchange's part in its flight, if it is in one. A leader's followers then get EventFlight with
	// Code and Data, after the bytes published; a follower leaves, and its ActionFollow is canceled.
	ActionLand ActionKind = 22
	// ActionPause stops a streamed fetch, whose ID it has: until ActionResume the host produces neither EventChunk nor EventEnd,
	// and leaves what it has no room for with the provider. The idle timeout does not run meanwhile; the total timeout does. It
	// occurs in the step of an EventChunk, at most once until ActionResume.
	ActionPause ActionKind = 23
	// ActionResume continues a paused fetch.
	ActionResume ActionKind = 24
)

// Lengths around the ciphertext of ActionUnseal: the defaults of AES-GCM (NIST SP 800-38D).
const (
	UnsealNonceBytes = 12
	UnsealTagBytes   = 16
)

// AddressHeader carries the client address (":address" of EventRequest) to the control plane. The host sets it
// on every forwarded request, or removes it if the address is unknown, so that callers cannot forge it.
const AddressHeader = "x-postern-address"

// Stores of ActionRead and ActionWrite.
const (
	WhereMemory = 1
	WhereKV     = 2
	WhereColo   = 4 // a cache that the isolates of one data center share
)

// Class is a kind of object. An object has a name and rows of its own, and applies one command at a time: a Durable
// Object.
type Class uint8

const (
	ClassKV        Class = 0 // only in outbox rows: the KV namespace, not an object
	ClassKeyMeter  Class = 1
	ClassLedger    Class = 2
	ClassDirectory Class = 3
)

// Part is a piece of a body: the content of Buffer, or Data if Buffer is 0.
type Part struct {
	Buffer uint64
	Data   []byte
}

// Timeouts are the timeouts of a fetch in milliseconds; 0 means none.
type Timeouts struct {
	HeadMs      uint64 // until the response head, connecting included
	FirstByteMs uint64 // from the head to the first byte of the body
	IdleMs      uint64 // between two reads of the body
	TotalMs     uint64 // for the whole fetch
}

// Action is one operation for the host. Its Kind determines which fields it uses.
type Action struct {
	Kind    ActionKind
	ID      uint64
	Buffer  uint64
	Limit   uint64
	Data    []byte
	Key     string
	Where   uint64
	KeepMs  uint64
	TTL     uint64 // seconds
	Class   Class
	Name    string
	Region  string
	Method  string
	URL     string
	Code    uint64 // respond: the HTTP status
	Headers []Header
	Body    []Part
	Timeouts
	Stream uint64 // fetch: the status whose body is streamed; 0: none
}

// StepOutput is the output of step.
type StepOutput struct {
	SharedChanged bool
	Shared        []byte
	// PinnedChanged means that Pinned replaces the content of the pinned entry for PinnedKeepMs; empty removes it. A
	// step is a compare-and-swap: a host that runs steps in parallel runs this one again on the new content if
	// another exchange has changed the entry meanwhile. The entry is not part of the least-recently-used cache. A
	// host drops the first content of an entry if it holds Configured.PinnedEntries others, and may drop an entry
	// after its time.
	PinnedChanged bool
	Pinned        []byte
	PinnedKeepMs  uint64
	State         []byte
	Actions       []Action
}

func (w *Writer) parts(parts []Part) {
	w.Uint(uint64(len(parts)))
	for _, p := range parts {
		w.Uint(p.Buffer)
		if p.Buffer == 0 {
			w.Bytes(p.Data)
		}
	}
}

func (r *Reader) parts() []Part {
	n := r.Count()
	if n == 0 {
		return nil
	}
	parts := make([]Part, n)
	for i := range parts {
		parts[i].Buffer = r.Uint()
		if parts[i].Buffer == 0 {
			parts[i].Data = r.Bytes()
		}
	}
	return parts
}

func (a *Action) encode(w *Writer) {
	w.Uint(uint64(a.Kind))
	w.Uint(a.ID)
	switch a.Kind {
	case ActionReadBody:
		w.Uint(a.Buffer)
		w.Uint(a.Limit)
	case ActionSupply:
		w.Uint(a.Buffer)
	case ActionKeep:
		w.Uint(a.Buffer)
		w.Bytes(a.Data)
	case ActionRead:
		w.String(a.Key)
		w.Uint(a.Where)
		w.Uint(a.KeepMs)
		w.Uint(a.Limit)
	case ActionWrite:
		w.String(a.Key)
		w.Uint(a.Where)
		w.Uint(a.KeepMs)
		w.Uint(a.TTL)
		w.parts(a.Body)
	case ActionCall:
		w.Uint(uint64(a.Class))
		w.String(a.Name)
		w.String(a.Region)
		w.Bytes(a.Data)
	case ActionFetch:
		w.Uint(a.Buffer)
		w.Uint(a.Limit)
		w.String(a.Method)
		w.String(a.URL)
		w.headers(a.Headers)
		w.Uint(a.HeadMs)
		w.Uint(a.FirstByteMs)
		w.Uint(a.IdleMs)
		w.Uint(a.TotalMs)
		w.Uint(a.Stream)
		w.parts(a.Body)
	case ActionOpen:
		w.Uint(a.Code)
		w.headers(a.Headers)
		w.Bytes(a.Data)
	case ActionSend:
		w.parts(a.Body)
	case ActionAppend:
		w.Uint(a.Buffer)
		w.Bytes(a.Data)
	case ActionRespond:
		w.Uint(a.Code)
		w.headers(a.Headers)
		w.parts(a.Body)
	case ActionForward:
		w.headers(a.Headers)
	case ActionPin:
		w.String(a.Key)
	case ActionWait:
		w.Uint(a.KeepMs)
	default:
		a.encodeRest(w)
	}
}

// encodeRest encodes the fields of the kinds that encode does not.
func (a *Action) encodeRest(w *Writer) {
	switch a.Kind {
	case ActionUnseal:
		w.Uint(a.Buffer)
		w.String(a.Key)
		w.String(a.Name)
	case ActionLog, ActionLand:
		w.Uint(a.Code)
		w.Bytes(a.Data)
	case ActionJoin:
		w.String(a.Key)
		w.String(a.Name)
	case ActionPublish:
		w.Uint(a.Buffer)
		w.Uint(a.Limit)
		w.parts(a.Body)
	}
}

func (r *Reader) action() Action {
	a := Action{Kind: ActionKind(r.Byte()), ID: r.Uint()}
	switch a.Kind {
	case ActionReadBody:
		a.Buffer, a.Limit = r.Uint(), r.Uint()
	case ActionSupply:
		a.Buffer = r.Uint()
	case ActionKeep:
		a.Buffer, a.Data = r.Uint(), r.Bytes()
	case ActionRead:
		a.Key, a.Where, a.KeepMs, a.Limit = r.String(), r.Uint(), r.Uint(), r.Uint()
	case ActionWrite:
		a.Key, a.Where, a.KeepMs, a.TTL, a.Body = r.String(), r.Uint(), r.Uint(), r.Uint(), r.parts()
	case ActionCall:
		a.Class, a.Name, a.Region, a.Data = Class(r.Byte()), r.String(), r.String(), r.Bytes()
	case ActionFetch:
		a.Buffer, a.Limit, a.Method, a.URL, a.Headers = r.Uint(), r.Uint(), r.String(), r.String(), r.headers()
		a.Timeouts = Timeouts{r.Uint(), r.Uint(), r.Uint(), r.Uint()}
		a.Stream, a.Body = r.Uint(), r.parts()
	case ActionOpen:
		a.Code, a.Headers, a.Data = r.Uint(), r.headers(), r.Bytes()
	case ActionSend:
		a.Body = r.parts()
	case ActionAppend:
		a.Buffer, a.Data = r.Uint(), r.Bytes()
	case ActionRespond:
		a.Code, a.Headers, a.Body = r.Uint(), r.headers(), r.parts()
	case ActionForward:
		a.Headers = r.headers()
	case ActionPin:
		a.Key = r.String()
	case ActionWait:
		a.KeepMs = r.Uint()
	case ActionUnseal:
		a.Buffer, a.Key, a.Name = r.Uint(), r.String(), r.String()
	case ActionCancel, ActionClose, ActionFollow, ActionPause, ActionResume:
	case ActionLog, ActionLand:
		a.Code, a.Data = r.Uint(), r.Bytes()
	case ActionJoin:
		a.Key, a.Name = r.String(), r.String()
	case ActionPublish:
		a.Buffer, a.Limit, a.Body = r.Uint(), r.Uint(), r.parts()
	default:
		r.fail()
	}
	return a
}

// Encode appends the message that step returns.
func (out *StepOutput) Encode(w *Writer) {
	w.Bool(out.SharedChanged)
	if out.SharedChanged {
		w.Bytes(out.Shared)
	}
	w.Bool(out.PinnedChanged)
	if out.PinnedChanged {
		w.Bytes(out.Pinned)
		w.Uint(out.PinnedKeepMs)
	}
	w.Bytes(out.State)
	w.Uint(uint64(len(out.Actions)))
	for i := range out.Actions {
		out.Actions[i].encode(w)
	}
}

// DecodeStepOutput is the inverse of Encode. The result shares memory with data.
func DecodeStepOutput(data []byte) (StepOutput, error) {
	r := Reader{Buf: data}
	out := StepOutput{SharedChanged: r.Bool()}
	if out.SharedChanged {
		out.Shared = r.Bytes()
	}
	if out.PinnedChanged = r.Bool(); out.PinnedChanged {
		out.Pinned, out.PinnedKeepMs = r.Bytes(), r.Uint()
	}
	out.State = r.Bytes()
	for n := r.Count(); n > 0; n-- {
		out.Actions = append(out.Actions, r.action())
	}
	return out, r.End()
}

// Size estimates the length of the encoding, so that its buffer is allocated once.
func (out *StepOutput) Size() int {
	n := 80 + len(out.Shared) + len(out.Pinned) + len(out.State)
	for i := range out.Actions {
		a := &out.Actions[i]
		n += 128 + len(a.Data) + len(a.Key) + len(a.URL)
		for _, p := range a.Body {
			n += 10 + len(p.Data)
		}
		for _, h := range a.Headers {
			n += 8 + len(h.Name) + len(h.Value)
		}
	}
	return n
}
