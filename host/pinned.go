package host

import "github.com/postern-ai/postern/store"

// pinned is the pinned memory. It contains entries that steps read and replace and that are not part of the cache.
// isolate.mu guards it.
type pinned struct {
	clock   store.Clock
	limit   uint64 // maximum number of entries; 0: no pinned memory
	entries map[string]pinnedEntry
	changes uint64 // counts the changes of all entries
}

// pinnedEntry is an entry of the pinned memory; see abi.ActionPin.
type pinnedEntry struct {
	value     []byte
	version   uint64 // number of the entry's last change; unique among all changes
	expiresMs uint64
}

// write replaces an entry. An empty value removes it. If there is no room, a new entry is dropped.
func (p *pinned) write(key string, value []byte, keepMs uint64) {
	_, known := p.entries[key]
	switch {
	case len(value) == 0:
		delete(p.entries, key)
	case known || p.hasRoom():
		p.changes++
		p.entries[key] = pinnedEntry{value, p.changes, p.clock.Now() + keepMs}
	}
}

// hasRoom reports whether one more entry may be pinned. If there is no room, it first removes expired entries.
func (p *pinned) hasRoom() bool {
	if uint64(len(p.entries)) >= p.limit {
		now := p.clock.Now()
		for key, e := range p.entries {
			if e.expiresMs <= now {
				delete(p.entries, key)
			}
		}
	}
	return uint64(len(p.entries)) < p.limit
}
