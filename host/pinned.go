package host

import (
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/store"
)

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
	encoded   []byte
	decoded   *lease.Entry // in place of encoded, if the engine keeps entries decoded
	version   uint64       // number of the entry's last change; unique among all changes
	expiresMs uint64
}

// write replaces an entry. An entry without content is removed. If there is no room, a new entry is dropped.
func (p *pinned) write(key string, e pinnedEntry, keepMs uint64) {
	_, known := p.entries[key]
	switch {
	case len(e.encoded) == 0 && e.decoded == nil:
		delete(p.entries, key)
	case known || p.hasRoom():
		p.changes++
		e.version, e.expiresMs = p.changes, p.clock.Now()+keepMs
		p.entries[key] = e
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
