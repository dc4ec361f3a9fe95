package host

import (
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// swapTries is the number of optimistic attempts before a step takes the lock.
const swapTries = 4

// shared is the memory that all exchanges read and write in their steps: the core's blob and the pinned entries. A step
// replaces them by compare-and-swap: if another step has changed what it read, the step, which is pure, runs again on the
// new content.
type shared struct {
	clock   store.Clock
	limit   uint64 // of pinned entries; 0: no pinned memory
	mu      sync.Mutex
	blob    []byte
	version uint64 // counts the changes of the blob
	pinned  map[string]pinnedEntry
	changes uint64 // counts the changes of all pinned entries
}

// pinnedEntry is an entry of the pinned memory; see abi.ActionPin.
type pinnedEntry struct {
	value     []byte
	version   uint64 // number of its last change, which no other content has
	expiresMs uint64
}

func newShared(clock store.Clock, limit uint64) *shared {
	return &shared{clock: clock, limit: limit, pinned: map[string]pinnedEntry{}}
}

// step runs one step of the core on the blob and on the pinned entry of a key. An empty key is none.
func (s *shared) step(in *abi.StepInput, key string, run func(*abi.StepInput) (abi.StepOutput, error)) (abi.StepOutput, error) {
	for range swapTries {
		s.mu.Lock()
		seen, entry := s.read(in, key)
		s.mu.Unlock()
		out, err := run(in)
		if err != nil || !out.SharedChanged && !out.PinnedChanged {
			return out, err
		}
		s.mu.Lock()
		same := (!out.SharedChanged || s.version == seen) && (!out.PinnedChanged || s.pinned[key].version == entry)
		if same {
			s.write(&out, key)
		}
		s.mu.Unlock()
		if same {
			return out, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read(in, key)
	out, err := run(in)
	if err == nil {
		s.write(&out, key)
	}
	return out, err
}

// read sets a step's input, and returns the versions of the blob and the entry. The caller holds mu.
func (s *shared) read(in *abi.StepInput, key string) (version, entry uint64) {
	e := s.pinned[key]
	in.Shared, in.Pinned = s.blob, e.value
	return s.version, e.version
}

// write takes over a step's changes. The caller holds mu.
func (s *shared) write(out *abi.StepOutput, key string) {
	if out.SharedChanged {
		s.blob, s.version = out.Shared, s.version+1
	}
	if !out.PinnedChanged || key == "" {
		return
	}
	_, known := s.pinned[key]
	switch {
	case len(out.Pinned) == 0:
		delete(s.pinned, key)
	case known || s.hasRoom():
		s.changes++
		s.pinned[key] = pinnedEntry{out.Pinned, s.changes, s.clock.Now() + out.PinnedKeepMs}
	}
}

// hasRoom reports whether one more entry may be pinned. It first removes expired ones if there are too many.
func (s *shared) hasRoom() bool {
	if uint64(len(s.pinned)) >= s.limit {
		now := s.clock.Now()
		for key, e := range s.pinned {
			if e.expiresMs <= now {
				delete(s.pinned, key)
			}
		}
	}
	return uint64(len(s.pinned)) < s.limit
}

func (s *shared) content() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blob
}

// clear forgets everything, as a new isolate does.
func (s *shared) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blob, s.version = nil, s.version+1
	clear(s.pinned)
}
