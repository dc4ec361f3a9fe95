package api

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
)

// State is a family's state between the deltas of a stream. Each family defines the meaning of the fields. They all
// start at zero.
type State struct {
	Started bool
	Block   uint64 // usually the kind of the open block
	Index   uint64 // usually its number
	Tools   uint64
	Flags   uint64
	Finish  chat.Finish
	Inputs  []chat.InputReader // for calls of custom tools; see Input
}

// maxInputs limits the number of custom tool calls whose arguments may be interleaved.
const maxInputs = 8

// Input returns the reader of a custom tool call's input text. If the tool is not a custom tool, it returns nil.
// begin starts a new reader.
func (s *State) Input(index uint64, begin bool) *chat.InputReader {
	if begin {
		if len(s.Inputs) == maxInputs {
			s.Inputs = s.Inputs[1:]
		}
		s.Inputs = append(s.Inputs, chat.InputReader{Index: index})
	}
	for i := range s.Inputs {
		if s.Inputs[i].Index == index {
			return &s.Inputs[i]
		}
	}
	return nil
}

// Fields encodes or decodes the state. It is part of the exchange's state.
func (s *State) Fields(f *abi.Fields) {
	f.Bool(&s.Started)
	f.Uint(&s.Block)
	f.Uint(&s.Index)
	f.Uint(&s.Tools)
	f.Uint(&s.Flags)
	abi.Enum(f, &s.Finish)
	abi.List(f, &s.Inputs, func(f *abi.Fields, r *chat.InputReader) { r.Fields(f) })
}
