package host

import (
	"sync"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	machine "github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/lease"
)

// State is the state of an exchange, as its observers see it.
type State interface {
	// DescribeFetch describes the fetch that the last step has requested. id is the ID of the action. cfg is used if
	// the engine keeps the state encoded. If the state has no such fetch, ok is false.
	DescribeFetch(cfg *config.Config, id uint64) (f machine.Fetch, ok bool)
}

// Stepper runs the steps of one exchange, and keeps its state in between. It is not safe for concurrent use.
type Stepper interface {
	State
	// Step runs a step. The input's State is ignored. Until Keep is called, the step may be repeated, with other shared
	// memory or another pinned entry. The output may share memory with the input and with the core, and later steps may
	// share memory with the input. None of it may be changed afterward, except for the list of actions: its memory is
	// valid until Done is called.
	//
	// An engine that keeps pinned entries decoded takes and returns the entry in place of the input's and the output's
	// Pinned. It does not change the entry that it takes. Other engines return nil.
	Step(*abi.StepInput, *lease.Entry) (abi.StepOutput, *lease.Entry, error)
	// Keep makes the result of the last Step the state.
	Keep()
	// Done is called when the step's actions have been carried out.
	Done()
	// Release ends the use of the stepper.
	Release()
}

// newStepper returns the stepper of a new exchange.
func newStepper(e Engine) Stepper {
	if d, ok := e.(Decoded); ok {
		return d.Begin()
	}
	return &encodedStepper{engine: e}
}

// encodedStepper keeps the state as the engine has encoded it.
type encodedStepper struct {
	engine      Engine
	state, next []byte
}

func (s *encodedStepper) Step(in *abi.StepInput, _ *lease.Entry) (abi.StepOutput, *lease.Entry, error) {
	in.State = s.state
	w := abi.Writer{Buf: make([]byte, 0, 512+len(in.Shared)+len(in.State)+len(in.Attached)+len(in.Pinned)+len(in.Event.Data))}
	in.Encode(&w)
	message, err := s.engine.Step(w.Buf)
	if err != nil {
		return abi.StepOutput{}, nil, err
	}
	out, err := abi.DecodeStepOutput(message)
	s.next = out.State
	return out, nil, err
}

func (s *encodedStepper) Keep() { s.state = s.next }

func (s *encodedStepper) Done() {}

func (s *encodedStepper) Release() {}

func (s *encodedStepper) DescribeFetch(cfg *config.Config, id uint64) (machine.Fetch, bool) {
	return machine.DescribeFetch(cfg, id, s.state)
}

// nativeStepper keeps the state and the pinned entry decoded.
type nativeStepper struct {
	core  *core.Core
	state machine.State
	room  *machine.Room // of the current step; nil: none
}

// nativeSteppers and rooms hold the steppers that exchanges have released and the memory of steps.
var (
	nativeSteppers = sync.Pool{New: func() any { return new(nativeStepper) }}
	rooms          = sync.Pool{New: func() any { return new(machine.Room) }}
)

// Begin implements Decoded.
func (n *native) Begin() Stepper {
	s := nativeSteppers.Get().(*nativeStepper)
	s.core = n.core
	return s
}

func (s *nativeStepper) Step(in *abi.StepInput, entry *lease.Entry) (out abi.StepOutput, next *lease.Entry, err error) {
	defer guard(&err)
	room := s.room
	if s.room = nil; room == nil {
		room = rooms.Get().(*machine.Room)
	}
	out = s.core.Advance(&s.state, room, in, entry)
	s.room = room // not if the core has panicked
	return out, room.Entry(), nil
}

func (s *nativeStepper) Keep() { s.state.Keep(s.room) }

func (s *nativeStepper) Done() {
	if s.room != nil {
		s.room.Clear()
		rooms.Put(s.room)
		s.room = nil
	}
}

func (s *nativeStepper) Release() {
	*s = nativeStepper{}
	nativeSteppers.Put(s)
}

func (s *nativeStepper) DescribeFetch(_ *config.Config, id uint64) (machine.Fetch, bool) {
	return s.room.DescribeFetch(id)
}
