package interpreter

import (
	"bytes"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/lease"
)

// Core runs a step of the core, once with an encoded state and pinned entry, and twice with decoded ones. All results must
// be the same, and the state before the step must not change. A host calls it from Run.
func (x *Exchange) Core(h Host, cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	event := in.Event
	event.Data = slices.Clone(in.Event.Data)
	out := exchange.Step(cfg, in)
	if x.decoded == nil {
		x.decoded = &exchange.State{}
	}
	compare(h, x.decoded, cfg, in, &out)
	if !bytes.Equal(in.Event.Data, event.Data) {
		h.Violate("the step changes the data of its event")
	}
	return out
}

// compareEvery is how few of its steps Core compares. The explorer runs millions of them.
const compareEvery = 4

// Core is like Exchange.Core, for hosts that copy exchanges. It decodes the state before a step, and compares only some
// steps, which it chooses by the length of the state.
func Core(h Host, cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	out := exchange.Step(cfg, in)
	if len(in.State)%compareEvery != 0 {
		return out
	}
	s := &exchange.State{}
	if len(in.State) > 0 {
		s = exchange.DecodeState(cfg, in.State)
	}
	compare(h, s, cfg, in, &out)
	return out
}

// compare runs a step twice on a decoded state, and keeps the result.
func compare(h Host, s *exchange.State, cfg *config.Config, in *abi.StepInput, want *abi.StepOutput) {
	var room exchange.Room
	for range 2 {
		got := s.Step(&room, cfg, in, lease.Decode(in.Pinned))
		if got.State = want.State; room.Entry() != nil {
			got.Pinned, _ = room.Entry().Encode()
		}
		if !bytes.Equal(encoded(&got), encoded(want)) {
			h.Violate("with a decoded state, the step returns %+v, want %+v", got, *want)
		}
		if len(in.State) > 0 && !bytes.Equal(s.Encode(cfg), in.State) {
			h.Violate("the step changes the state before it: %x, want %x", s.Encode(cfg), in.State)
		}
	}
	if s.Keep(&room); !bytes.Equal(s.Encode(cfg), want.State) {
		h.Violate("the decoded state after the step is %x, want %x", s.Encode(cfg), want.State)
	}
}

func encoded(out *abi.StepOutput) []byte {
	var w abi.Writer
	out.Encode(&w)
	return w.Buf
}
