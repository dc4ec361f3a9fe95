package host

import (
	"sync"

	"github.com/postern-ai/postern/core/abi"
)

// swapTries is the number of optimistic attempts before a step takes the lock.
const swapTries = 4

// shared is the core's blob, read and written by all exchanges. A step replaces it by compare-and-swap: if another step
// has changed it meanwhile, the step, which is pure, runs again on the new blob.
type shared struct {
	mu      sync.Mutex
	blob    []byte
	version uint64 // counts the changes
}

// step runs one step of the core on the blob.
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

// swap replaces the blob if its version is still the one seen, and reports whether it did.
func (s *shared) swap(seen uint64, blob []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != seen {
		return false
	}
	s.blob, s.version = blob, s.version+1
	return true
}

func (s *shared) read() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blob
}

func (s *shared) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blob, s.version = nil, s.version+1
}
