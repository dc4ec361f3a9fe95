package host

import (
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/store"
)

// swapTries is the number of optimistic attempts before a step takes the lock.
const swapTries = 4

// isolate is the state that a host keeps between requests, like an isolate of the Worker. It may be lost at any time.
// It contains the core's shared blob and the pinned entries. A step replaces them by compare-and-swap. If another
// step has changed them in the meantime, the step runs again on the new content. This is safe because steps are pure.
type isolate struct {
	memory  *memoryCache
	flights *flights

	mu      sync.Mutex // guards everything below
	shared  []byte     // the core's shared blob
	version uint64     // counts the changes of the blob
	pinned  pinned
	queues  queues
}

// newIsolate returns an isolate that keeps as much as the configured core allows, but at most limit pinned entries.
func newIsolate(clock store.Clock, bounds *abi.Configured, limit uint64) *isolate {
	return &isolate{
		memory: newMemoryCache(clock, bounds), flights: &flights{named: map[string]*flight{}},
		pinned: pinned{clock: clock, limit: limit, entries: map[string]pinnedEntry{}}, queues: queues{},
	}
}

// runner runs a step, which may be repeated; see Stepper.
type runner interface {
	Step(*abi.StepInput, *lease.Entry) (abi.StepOutput, *lease.Entry, error)
}

// step runs one step of the core on the blob and on the entry that is pinned under a key. An empty key means no
// entry. The step's time is read after its content. Otherwise a step that waited for the processor or ran again would
// be older than the content, and the core would conclude that the clock has gone back. x is the exchange that waits if
// the step says so.
func (i *isolate) step(in *abi.StepInput, key string, now func() uint64, run runner, x *exchange) (abi.StepOutput, error) {
	for range swapTries {
		i.mu.Lock()
		seen, entry := i.read(in, key)
		i.mu.Unlock()
		in.NowMs = now()
		out, next, err := run.Step(in, entry.decoded)
		queued := queueing(&out)
		if err != nil || !out.SharedChanged && !out.PinnedChanged && queued == abi.WaitTimer {
			return out, err
		}
		i.mu.Lock()
		same := (!out.SharedChanged || i.version == seen) && (!out.PinnedChanged && queued == abi.WaitTimer || i.pinned.entries[key].version == entry.version)
		var woken []*exchange
		if same {
			woken = i.write(&out, key, next, x)
		}
		i.mu.Unlock()
		if same {
			wake(woken)
			return out, nil
		}
	}
	out, woken, err := i.lockedStep(in, key, now, run, x)
	wake(woken)
	return out, err
}

func (i *isolate) lockedStep(in *abi.StepInput, key string, now func() uint64, run runner, x *exchange) (out abi.StepOutput, woken []*exchange, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, entry := i.read(in, key)
	in.NowMs = now()
	out, next, err := run.Step(in, entry.decoded)
	if err == nil {
		woken = i.write(&out, key, next, x)
	}
	return out, woken, err
}

// read sets a step's input. It returns the blob's version and the pinned entry. The caller holds mu.
func (i *isolate) read(in *abi.StepInput, key string) (version uint64, entry pinnedEntry) {
	entry = i.pinned.entries[key]
	in.Shared, in.Pinned = i.shared, entry.encoded
	return i.version, entry
}

// write stores a step's changes. next is the pinned entry if the engine keeps it decoded. It returns the exchanges to
// wake. The caller holds mu.
func (i *isolate) write(out *abi.StepOutput, key string, next *lease.Entry, x *exchange) []*exchange {
	if out.SharedChanged {
		i.shared, i.version = out.Shared, i.version+1
	}
	if out.PinnedChanged && key != "" {
		i.pinned.write(key, pinnedEntry{encoded: out.Pinned, decoded: next}, out.PinnedKeepMs)
	}
	return i.queues.change(key, out, x)
}

func (i *isolate) content() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.shared
}

// clear resets everything to the state of a new isolate.
func (i *isolate) clear() {
	i.memory.clear()
	i.flights.clear()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shared, i.version = nil, i.version+1
	clear(i.pinned.entries)
}
