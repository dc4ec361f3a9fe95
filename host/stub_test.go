package host

import "github.com/postern-ai/postern/core/abi"

// stub is an engine that does what a test says: for what the core does not ask its hosts for yet, or only
// rarely.
type stub struct {
	step  func(*abi.StepInput) abi.StepOutput
	apply func(*abi.ObjectInput) (abi.ObjectOutput, error)
}

func (s *stub) Configured() abi.Configured { return abi.Configured{Version: abi.Version} }

func (s *stub) Step(message []byte) ([]byte, error) {
	in, err := abi.DecodeStepInput(message)
	if err != nil {
		return nil, err
	}
	out := s.step(&in)
	var w abi.Writer
	out.Encode(&w)
	return w.Buf, nil
}

// Reads asks for the row "row".
func (s *stub) Reads([]byte) ([]byte, error) {
	out := abi.ObjectOutput{Ranges: []abi.Range{{Start: "row"}}}
	var w abi.Writer
	out.Encode(&w)
	return w.Buf, nil
}

func (s *stub) Apply(message []byte) ([]byte, error) {
	in, err := abi.DecodeObjectInput(message)
	if err != nil {
		return nil, err
	}
	out, err := s.apply(&in)
	var w abi.Writer
	out.Encode(&w)
	return w.Buf, err
}
