package host

import (
	"regexp"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	core "github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/store/memory"
)

// stub is an engine whose functions step and apply come from a test. It produces actions that the core rarely or
// never returns.
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

// Reads requests the row "row".
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

// newStubHost returns a host with an engine. change, which is optional, edits the host's options. By default, the
// host has no control plane.
func newStubHost(t testing.TB, engine Engine, change func(*Options)) *Host {
	t.Helper()
	clock := fixedClock(1)
	o := Options{Engine: engine, Clock: &clock, KV: memory.New(&clock)}
	if change != nil {
		change(&o)
	}
	o.Engine = restless{o.Engine}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// restless shortens the five seconds that keepers sleep between reports. Otherwise, Wait would wait that long for
// them.
type restless struct{ Engine }

func (e restless) Step(message []byte) ([]byte, error) {
	encoded, err := e.Engine.Step(message)
	out, decodeErr := abi.DecodeStepOutput(encoded)
	if err != nil || decodeErr != nil { // of a stub that misbehaves
		return encoded, err
	}
	for i := range out.Actions {
		if a := &out.Actions[i]; a.Kind == abi.ActionWait && a.ID >= core.FirstKeeping {
			a.KeepMs = min(a.KeepMs, 20)
		}
	}
	var w abi.Writer
	out.Encode(&w)
	return w.Buf, nil
}

var stubConfigured = abi.Configured{
	Version: abi.Version, LastResortStatus: 500, LastResortHeaders: []abi.Header{{Name: "content-type", Value: "application/json"}},
	LastResortBody: [2][]byte{[]byte(`{"requestId":"`), []byte(`"}`)}, MemoryBytes: 3000, MemoryEntryBytes: 1000, MemoryOverheadBytes: 100,
}

// lastResortBody matches the body of a stub's last-resort response.
var lastResortBody = regexp.MustCompile(`^\{"requestId":"req_[0-9a-f]{32}"\}$`)

func respond(status uint64, body string) abi.Action {
	return abi.Action{Kind: abi.ActionRespond, Code: status, Body: []abi.Part{{Data: []byte(body)}}}
}
