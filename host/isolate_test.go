package host

import (
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/lease"
)

// TestIsolateKeepsConcurrentUpdates: each exchange adds one byte to the blob. All exchanges read the blob before any
// of them changes it. No update is lost.
func TestIsolateKeepsConcurrentUpdates(t *testing.T) {
	const exchanges = 50
	var barrier sync.WaitGroup
	barrier.Add(exchanges)
	var reached sync.Map // seeds of the exchanges that have reached the barrier
	engine := &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if _, again := reached.LoadOrStore(string(in.Event.Data), true); !again {
			barrier.Done()
			barrier.Wait()
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
	if got := len(h.isolate.shared); got != exchanges {
		t.Errorf("the blob has %d bytes, want %d", got, exchanges)
	}
	if got := h.Stats.Steps.Load(); got != exchanges {
		t.Errorf("%d steps counted, want %d", got, exchanges)
	}
}

// TestIsolateIgnoresFailedStep: a failed step does not change the blob.
func TestIsolateIgnoresFailedStep(t *testing.T) {
	i := newIsolate(nil, &stubConfigured, 0)
	i.shared = []byte("before")
	failing := stepFunc(func(*abi.StepInput) (abi.StepOutput, error) {
		return abi.StepOutput{SharedChanged: true, Shared: []byte("after")}, errMemory
	})
	if _, err := i.step(&abi.StepInput{}, "", func() uint64 { return 1 }, failing, nil); err == nil || string(i.shared) != "before" {
		t.Errorf("blob %q, error %v", i.shared, err)
	}
}

// TestStepsAreNotOlderThanTheirContent: a step that another one has overtaken runs again at a later time than that
// one, however often that happens.
func TestStepsAreNotOlderThanTheirContent(t *testing.T) {
	i, clock := newIsolate(nil, &stubConfigured, 0), uint64(0)
	now := func() uint64 { clock++; return clock }
	var latest, runs uint64
	write := stepFunc(func(in *abi.StepInput) (abi.StepOutput, error) {
		if in.NowMs < latest {
			t.Errorf("a step at %d changes the content of a step at %d", in.NowMs, latest)
		}
		latest = in.NowMs
		return abi.StepOutput{SharedChanged: true}, nil
	})
	overtaken := stepFunc(func(in *abi.StepInput) (abi.StepOutput, error) {
		if runs++; runs <= swapTries {
			_, err := i.step(&abi.StepInput{}, "", now, write, nil)
			return abi.StepOutput{SharedChanged: true}, err
		}
		return write(in)
	})
	if _, err := i.step(&abi.StepInput{}, "", now, overtaken, nil); err != nil || runs != swapTries+1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

// stepFunc is a step that a function runs.
type stepFunc func(*abi.StepInput) (abi.StepOutput, error)

func (f stepFunc) Step(in *abi.StepInput, _ *lease.Entry) (abi.StepOutput, *lease.Entry, error) {
	out, err := f(in)
	return out, nil, err
}
