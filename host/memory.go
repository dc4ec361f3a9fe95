package host

import (
	"container/list"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// hot is the memory cache that the core reads and writes through actions: an LRU bounded in bytes, with expiry.
type hot struct {
	mu      sync.Mutex
	clock   store.Clock
	bounds  *abi.Configured
	bytes   uint64
	order   *list.List // of *hotEntry, most recently used first
	entries map[string]*list.Element
}

type hotEntry struct {
	key       string
	value     []byte
	storedMs  uint64
	expiresMs uint64
}

func newHot(clock store.Clock, bounds *abi.Configured) *hot {
	return &hot{clock: clock, bounds: bounds, order: list.New(), entries: map[string]*list.Element{}}
}

func (h *hot) read(key string) ([]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	element, ok := h.entries[key]
	if !ok {
		return nil, false
	}
	entry := element.Value.(*hotEntry)
	// A clock that jumped back must not extend an entry's life.
	if now := h.clock.Now(); now >= entry.expiresMs || now < entry.storedMs {
		h.remove(element)
		return nil, false
	}
	h.order.MoveToFront(element)
	return entry.value, true
}

func (h *hot) write(key string, value []byte, keepMs uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if element, ok := h.entries[key]; ok {
		h.remove(element)
	}
	now, size := h.clock.Now(), h.size(key, value)
	if len(value) == 0 || keepMs == 0 || size > h.bounds.MemoryEntryBytes {
		return
	}
	h.entries[key] = h.order.PushFront(&hotEntry{key, value, now, now + keepMs})
	h.bytes += size
	for h.bytes > h.bounds.MemoryBytes {
		h.remove(h.order.Back())
	}
}

func (h *hot) remove(element *list.Element) {
	entry := h.order.Remove(element).(*hotEntry)
	delete(h.entries, entry.key)
	h.bytes -= h.size(entry.key, entry.value)
}

func (h *hot) size(key string, value []byte) uint64 {
	return uint64(len(key)+len(value)) + h.bounds.MemoryOverheadBytes
}

func (h *hot) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes, h.order = 0, list.New()
	clear(h.entries)
}
