package host

import (
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// TestSharedLosesNothing: exchanges that all read the blob before any of them changes it, each adding one failure to
// it. Whoever overwrote what another had put there would lose that one's.
func TestSharedLosesNothing(t *testing.T) {
	const exchanges = 50
	var together sync.WaitGroup
	together.Add(exchanges)
	var once sync.Map // of the exchanges that were at the barrier
	engine := &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if _, again := once.LoadOrStore(string(in.Event.Data), true); !again {
			together.Done()
			together.Wait()
		}
		return abi.StepOutput{
			SharedChanged: true, Shared: append([]byte{1}, in.Shared...),
			Actions: []abi.Action{{Kind: abi.ActionRespond, Code: 200}},
		}
	}}
	h := newStubHost(t, engine, nil)
	var all sync.WaitGroup
	for range exchanges {
		all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	}
	all.Wait()
	h.Wait()
	if got := len(h.shared.blob); got != exchanges {
		t.Errorf("%d failures are noted, %d happened", got, exchanges)
	}
	if got := h.Stats.Steps.Load(); got != exchanges {
		t.Errorf("%d steps were counted", got)
	}
}

// TestSharedKeepsFailedStepsOut: a step that trapped changes nothing.
func TestSharedKeepsFailedStepsOut(t *testing.T) {
	s := shared{blob: []byte("before")}
	failing := func(*abi.StepInput) (abi.StepOutput, error) {
		return abi.StepOutput{SharedChanged: true, Shared: []byte("after")}, errMemory
	}
	if _, err := s.step(&abi.StepInput{}, failing); err == nil || string(s.blob) != "before" {
		t.Errorf("%q, %v", s.blob, err)
	}
}
