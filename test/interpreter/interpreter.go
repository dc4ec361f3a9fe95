// Package interpreter carries out an exchange's actions in tests. It contains what all hosts share: state, buffers,
// bodies and the progress of the response. The Host of a test suite supplies stores, a clock, providers and the order
// of events.
package interpreter

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
)

// Host is the part that each test suite has for itself.
type Host interface {
	// Run runs the core. If the core trapped, ok is false, and the exchange gets no actions.
	Run(in *abi.StepInput) (out abi.StepOutput, ok bool)
	// Stepped receives the changes that a step has made outside the exchange: to shared memory and to the pinned
	// entry. It is called before the step's actions are carried out.
	Stepped(in *abi.StepInput, out *abi.StepOutput)
	// Sees receives every action before it is carried out. If the result is false, the action is skipped.
	Sees(a *abi.Action) bool

	// Start begins an action that has a reply. The host delivers events with its ID. A call with ID 0 has no reply.
	Start(a *abi.Action)
	// Outstanding reports whether an action may still receive events.
	Outstanding(id uint64) bool
	Cancel(id uint64)
	// Pause stops the events of a fetch, or lets them continue.
	Pause(a *abi.Action)
	// Write stores a value as specified by the action.
	Write(a *abi.Action, value []byte)
	// Answer handles a Respond, Open, Send or Close action, with its body.
	Answer(a *abi.Action, body []byte)
	// Note receives actions that need no further work: Publish, Land, Pin and Log, and Append after it was carried
	// out.
	Note(a *abi.Action)
	// Violate reports a breach of the contract between core and host.
	Violate(format string, args ...any)
}

// Progress is the state of the caller's response.
type Progress uint8

const (
	None Progress = iota
	Complete
	Opened // a stream
	Closed
)

// Exchange is a host's state of one exchange. A copy is independent of the original, unless the host uses Core.
type Exchange struct {
	State    []byte
	Buffers  Buffers
	Response Progress
	decoded  *exchange.State // see Core
}

// Step runs the core on an event and carries out its actions. The caller fills in everything except the exchange's
// own state. If the core trapped, the result is false.
func (x *Exchange) Step(h Host, in *abi.StepInput) bool {
	in.State, in.Attached = x.State, x.Buffers.Content(abi.AttachedBuffer)
	out, ok := h.Run(in)
	if !ok {
		return false
	}
	x.State = out.State
	h.Stepped(in, &out)
	for i := range out.Actions {
		if a := &out.Actions[i]; h.Sees(a) {
			x.perform(h, a)
		}
	}
	return true
}

func (x *Exchange) perform(h Host, a *abi.Action) {
	switch a.Kind {
	case abi.ActionKeep:
		x.Buffers.Keep(a.Buffer, a.Data)
	case abi.ActionAppend:
		x.Buffers.Append(a.Buffer, a.Data)
		h.Note(a)
	case abi.ActionPublish, abi.ActionLand, abi.ActionPin, abi.ActionLog:
		h.Note(a)
	case abi.ActionCancel:
		h.Cancel(a.ID)
	case abi.ActionPause, abi.ActionResume:
		h.Pause(a)
	case abi.ActionWrite:
		h.Write(a, x.Join(h, a.Body))
	case abi.ActionRespond, abi.ActionOpen, abi.ActionSend, abi.ActionClose:
		x.answer(h, a)
	case abi.ActionReadBody, abi.ActionSupply, abi.ActionRead, abi.ActionCall, abi.ActionFetch, abi.ActionWait, abi.ActionForward,
		abi.ActionUnseal, abi.ActionJoin, abi.ActionFollow:
		x.start(h, a)
	default:
		h.Violate("unknown action %d", a.Kind)
	}
}

func (x *Exchange) start(h Host, a *abi.Action) {
	switch {
	case a.ID == 0 && a.Kind != abi.ActionCall:
		h.Violate("an action that gets a reply has no ID")
	case a.ID != 0 && h.Outstanding(a.ID):
		h.Violate("ID %d is used again while its action is outstanding", a.ID)
	}
	h.Start(a)
}

// answer advances the response, which consists of one Respond, or of Open, Sends and Close.
func (x *Exchange) answer(h Host, a *abi.Action) {
	switch a.Kind {
	case abi.ActionRespond:
		x.begin(h, Complete)
	case abi.ActionOpen:
		x.begin(h, Opened)
	default:
		if x.Response != Opened {
			h.Violate("a Send or Close without an open response")
		}
		if a.Kind == abi.ActionClose {
			x.Response = Closed
		}
	}
	h.Answer(a, x.Join(h, a.Body))
}

func (x *Exchange) begin(h Host, how Progress) {
	if x.Response != None {
		h.Violate("the caller already has a response")
	}
	x.Response = how
}

// Forwarded records that the caller received the control plane's response.
func (x *Exchange) Forwarded(h Host) { x.begin(h, Complete) }

// Content returns the content of the buffer that an action uses.
func (x *Exchange) Content(h Host, number uint64) []byte {
	if !x.Buffers.Has(number) {
		h.Violate("buffer %d is used but was never written", number)
	}
	return x.Buffers.Content(number)
}

// Join returns the bytes of a body.
func (x *Exchange) Join(h Host, parts []abi.Part) (body []byte) {
	for _, p := range parts {
		if p.Buffer != 0 {
			body = append(body, x.Content(h, p.Buffer)...)
		} else {
			body = append(body, p.Data...)
		}
	}
	return body
}

// Buffers are an exchange's buffers by number. If a copy changes, the original does not.
type Buffers []Buffer

// Buffer is the content of one buffer.
type Buffer struct {
	Number uint64
	Data   []byte
}

func (b Buffers) find(number uint64) (at int, found bool) {
	return slices.BinarySearchFunc(b, number, func(one Buffer, n uint64) int { return int(one.Number) - int(n) })
}

// Has reports whether a buffer was written.
func (b Buffers) Has(number uint64) bool {
	_, found := b.find(number)
	return found
}

// Content returns the content of a buffer, or nil if it was not written.
func (b Buffers) Content(number uint64) []byte {
	if at, found := b.find(number); found {
		return b[at].Data
	}
	return nil
}

// Keep replaces the content of a buffer.
func (b *Buffers) Keep(number uint64, data []byte) {
	at, found := b.find(number)
	changed := slices.Clone(*b)
	if found {
		changed[at].Data = data
	} else {
		changed = slices.Insert(changed, at, Buffer{number, data})
	}
	*b = changed
}

// Append adds data to a buffer.
func (b *Buffers) Append(number uint64, data []byte) {
	b.Keep(number, append(slices.Clip(b.Content(number)), data...))
}
