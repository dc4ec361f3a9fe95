package host

import (
	"container/list"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// memoryCache is the memory cache that the core reads and writes through actions. It is an LRU cache with a maximum
// size in bytes, and its entries expire.
type memoryCache struct {
	mu      sync.Mutex
	clock   store.Clock
	bounds  *abi.Configured
	bytes   uint64
	order   *list.List // of *memoryEntry, most recently used first
	entries map[string]*list.Element
}

type memoryEntry struct {
	key       string
	value     []byte
	storedMs  uint64
	expiresMs uint64
}

func newMemoryCache(clock store.Clock, bounds *abi.Configured) *memoryCache {
	return &memoryCache{clock: clock, bounds: bounds, order: list.New(), entries: map[string]*list.Element{}}
}

func (m *memoryCache) read(key string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.entries[key]
	if !ok {
		return nil, false
	}
	entry := element.Value.(*memoryEntry)
	// If the clock has jumped back, that must not extend the life of an entry.
	if now := m.clock.Now(); now >= entry.expiresMs || now < entry.storedMs {
		m.remove(element)
		return nil, false
	}
	m.order.MoveToFront(element)
	return entry.value, true
}

func (m *memoryCache) write(key string, value []byte, keepMs uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.entries[key]; ok {
		m.remove(element)
	}
	now, size := m.clock.Now(), m.size(key, value)
	if len(value) == 0 || keepMs == 0 || size > m.bounds.MemoryEntryBytes {
		return
	}
	m.entries[key] = m.order.PushFront(&memoryEntry{key, value, now, now + keepMs})
	m.bytes += size
	for m.bytes > m.bounds.MemoryBytes {
		m.remove(m.order.Back())
	}
}

func (m *memoryCache) remove(element *list.Element) {
	entry := m.order.Remove(element).(*memoryEntry)
	delete(m.entries, entry.key)
	m.bytes -= m.size(entry.key, entry.value)
}

func (m *memoryCache) size(key string, value []byte) uint64 {
	return uint64(len(key)+len(value)) + m.bounds.MemoryOverheadBytes
}

func (m *memoryCache) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes, m.order = 0, list.New()
	clear(m.entries)
}
