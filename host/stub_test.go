package host

import (
	"regexp"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// stub is an engine that does what a test says: for what the core does not ask its hosts for yet, or only
// rarely.
type stub struct {
	step  func(*abi.StepInput) abi.StepOutput
	apply func(*abi.ObjectInput) (abi.ObjectOutput, error)
}

func (s *stub) Configured() abi.Configured { return stubConfigured }

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

// newStubHost is a host around an engine, without a control plane unless change gives it one.
func newStubHost(t testing.TB, engine Engine, change func(*Options)) *Host {
	t.Helper()
	clock := fixedClock(1)
	o := Options{Engine: engine, Clock: &clock, KV: NewMemoryKV(&clock)}
	if change != nil {
		change(&o)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stubConfigured is what stubs say of themselves.
var stubConfigured = abi.Configured{
	Version: abi.Version, LastResortStatus: 500, LastResortHeaders: []abi.Header{{Name: "content-type", Value: "application/json"}},
	LastResortBody: [2][]byte{[]byte(`{"requestId":"`), []byte(`"}`)}, MemoryBytes: 3000, MemoryEntryBytes: 1000, MemoryOverheadBytes: 100,
}

// lastResortBody is the body of a last resort of a stub's.
var lastResortBody = regexp.MustCompile(`^\{"requestId":"req_[0-9a-f]{32}"\}$`)

// respond is an answer with a text as its body.
func respond(status uint64, body string) abi.Action {
	return abi.Action{Kind: abi.ActionRespond, Code: status, Body: []abi.Part{{Data: []byte(body)}}}
}
