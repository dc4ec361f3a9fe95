package abi

// ActionKind says what the host is to do. Actions of one step do not depend on each other's results and
// run concurrently, but buffers are written in order. The exchange is over when it has responded and no
// action with an answer is outstanding; until then the host keeps it alive, also after the response.
type ActionKind uint8

const (
	// ActionReadBody reads the request's body into Buffer, at most Limit bytes, and answers EventBody.
	ActionReadBody ActionKind = 1
	// ActionSupply answers EventSupplied with the content of Buffer.
	ActionSupply ActionKind = 2
	// ActionKeep stores Data as Buffer.
	ActionKeep ActionKind = 3
	// ActionRead looks Key up in the tiers of Where, memory first, and answers EventStored. What is found
	// in KV and not in memory is put into memory for KeepMs, if that is not 0. Keys are printable ASCII. Tiers
	// that the host does not have are passed over; with no other in Where the answer is OutcomeUnsupported.
	ActionRead ActionKind = 4
	// ActionWrite stores Body under Key in the tiers of Where: in memory for KeepMs, in KV for TTLSeconds.
	// An empty Body removes. It has no answer; the host logs a failure.
	ActionWrite ActionKind = 5
	// ActionCall sends Data to the object (Class, Name), created near Region, and answers EventReply. The
	// host repeats a call that the platform marks retryable once, on a new stub. With ID 0 nobody waits for
	// the answer: the host carries the call out all the same, and logs a failure.
	ActionCall ActionKind = 6
	// ActionFetch sends an HTTP request with Body and answers EventResponse or EventFault. Redirects are
	// not followed. The response's body is also kept as Buffer. One with the status Stream is answered piece by piece:
	// EventHead, any number of EventChunk, then EventEnd or EventFault. The next piece is read only when the
	// last one was stepped and what that sent to the caller has drained; pieces that are there together come as
	// one, up to Limit bytes.
	ActionFetch ActionKind = 7
	// ActionRespond answers the caller. Once per exchange, unless ActionOpen does.
	ActionRespond ActionKind = 8
	// ActionWait answers EventTimer after KeepMs.
	ActionWait ActionKind = 9
	// ActionCancel drops the outstanding action ID: it will not be answered. The host reads the rest of a body
	// that nobody waits for, or closes the connection after the answer.
	ActionCancel ActionKind = 10
	// ActionLog writes Data, one line of JSON, to the log. Code is 0 for information, 1 for an error.
	ActionLog ActionKind = 11
	// ActionForward hands the caller's request, with its body unread and Headers and AddressHeader set on it, to
	// the control plane, and answers the caller with what that says. It stands for ActionRespond. Its answer is an
	// EventResponse with the status only, or EventFault if the control plane could not be reached, and then
	// ActionRespond is still due.
	ActionForward ActionKind = 12
	// ActionOpen answers the caller with a head, and a body that ActionSend sends piece by piece and
	// ActionClose ends. Data is what the host sends before it closes the body itself, should no step be able
	// to: the instance has trapped.
	ActionOpen ActionKind = 13
	// ActionSend sends the next piece of the body.
	ActionSend ActionKind = 14
	// ActionClose ends the body.
	ActionClose ActionKind = 15
	// ActionAppend adds Data to Buffer.
	ActionAppend ActionKind = 16
	// ActionUnseal decrypts the content of Buffer by AES-256-GCM and answers EventSupplied with the plaintext,
	// of which the host keeps nothing. Key is the AES key, 32 bytes in standard base64; Name the additional
	// authenticated data; the buffer a nonce of UnsealNonceBytes, the ciphertext and a tag of UnsealTagBytes.
	// Whatever is wrong with any of them, the answer is OutcomeFailed and no data.
	ActionUnseal ActionKind = 17
)

// Lengths around the ciphertext of ActionUnseal: those that AES-GCM has by default (NIST SP 800-38D).
const (
	UnsealNonceBytes = 12
	UnsealTagBytes   = 16
)

// AddressHeader tells the control plane the address that EventRequest has as ":address". The host sets it on a
// forwarded request, or removes it if it knows none, whatever the caller sent under that name.
const AddressHeader = "x-postern-address"

// Tiers of ActionRead and ActionWrite.
const (
	WhereMemory = 1
	WhereKV     = 2
)

// Class names a kind of object.
type Class uint8

const (
	ClassKV        Class = 0 // in an outbox row: not an object, the KV namespace
	ClassKeyMeter  Class = 1
	ClassLedger    Class = 2
	ClassDirectory Class = 3
)

// Part is a piece of a body: the bytes of Data, or the content of Buffer if that is not 0.
type Part struct {
	Buffer uint64
	Data   []byte
}

// Timeouts of a fetch, in milliseconds; 0 is none.
type Timeouts struct {
	HeadMs      uint64 // until the response head, connecting included
	FirstByteMs uint64 // from the head to the first byte of the body
	IdleMs      uint64 // between two reads of the body
	TotalMs     uint64 // all of it
}

// Action is one thing for the host to do; which fields count is said at its Kind.
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
	Stream uint64 // fetch: the status whose body is delivered in pieces; 0: none
}

// StepOutput is what step gives back.
type StepOutput struct {
	SharedChanged bool
	Shared        []byte
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
	case ActionWait:
		w.Uint(a.KeepMs)
	case ActionUnseal:
		w.Uint(a.Buffer)
		w.String(a.Key)
		w.String(a.Name)
	case ActionLog:
		w.Uint(a.Code)
		w.Bytes(a.Data)
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
		a.Key, a.Where, a.KeepMs = r.String(), r.Uint(), r.Uint()
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
	case ActionWait:
		a.KeepMs = r.Uint()
	case ActionUnseal:
		a.Buffer, a.Key, a.Name = r.Uint(), r.String(), r.String()
	case ActionCancel, ActionClose:
	case ActionLog:
		a.Code, a.Data = r.Uint(), r.Bytes()
	default:
		r.fail()
	}
	return a
}

// Encode is the message that step returns.
func (out *StepOutput) Encode(w *Writer) {
	w.Bool(out.SharedChanged)
	if out.SharedChanged {
		w.Bytes(out.Shared)
	}
	w.Bytes(out.State)
	w.Uint(uint64(len(out.Actions)))
	for i := range out.Actions {
		out.Actions[i].encode(w)
	}
}

// DecodeStepOutput reads what Encode wrote. The result shares memory with data.
func DecodeStepOutput(data []byte) (StepOutput, error) {
	r := Reader{Buf: data}
	out := StepOutput{SharedChanged: r.Bool()}
	if out.SharedChanged {
		out.Shared = r.Bytes()
	}
	out.State = r.Bytes()
	for n := r.Count(); n > 0; n-- {
		out.Actions = append(out.Actions, r.action())
	}
	return out, r.End()
}

// Size is about how long the encoding is, so that it is written into memory once.
func (out *StepOutput) Size() int {
	n := 64 + len(out.Shared) + len(out.State)
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
