package host

import (
	"sync"

	"github.com/postern-ai/postern/core/abi"
)

// swapTries is how often a step runs beside others before it makes them wait.
const swapTries = 4

// shared is the core's blob that all exchanges read and change. A step puts its blob in the place of the one that
// it read and of no other: if that is gone by then, the step, which is pure, runs again on what is there.
type shared struct {
	mu      sync.Mutex
	blob    []byte
	version uint64 // counts the changes
}

// step runs a step of the core on the blob.
func (s *shared) step(in *abi.StepInput, run func(*abi.StepInput) (abi.StepOutput, error)) (abi.StepOutput, error) {
	for range swapTries {
		s.mu.Lock()
		seen := s.version
		in.Shared = s.blob
		s.mu.Unlock()
		out, err := run(in)
		if err != nil || !out.SharedChanged || s.swap(seen, out.Shared) {
			return out, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Shared = s.blob
	out, err := run(in)
	if err == nil && out.SharedChanged {
		s.blob, s.version = out.Shared, s.version+1
	}
	return out, err
}

// swap is false if the blob has changed since.
func (s *shared) swap(seen uint64, blob []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != seen {
		return false
	}
	s.blob, s.version = blob, s.version+1
	return true
}

func (s *shared) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blob, s.version = nil, s.version+1
}
