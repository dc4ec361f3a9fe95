package doc

import "github.com/postern-ai/postern/core/abi"

// CacheScope says where a project's responses are cached, in addition to the memory of the isolate that received
// them. In every scope, a cached response lives for the project's CacheTTLSeconds.
type CacheScope uint8

const (
	CacheColo   CacheScope = iota // in the data center, in the platform's Cache API
	CacheOff                      // nowhere, not even in memory
	CacheGlobal                   // in the data center and, for all locations, in KV
)

// MinGlobalCacheSeconds is the shortest lifetime of a response in KV
// (developers.cloudflare.com/kv/api/write-key-value-pairs: expirationTtl).
const MinGlobalCacheSeconds = 60

// cacheField encodes or decodes the scope in a project or a record. Documents in older formats have no scope. In
// those, a TTL of 0 means that nothing is cached.
func cacheField(f *abi.Fields, c *CacheScope, stored bool, ttlSeconds uint64) {
	switch {
	case stored:
		if abi.Enum(f, c); f.Reading() && *c > CacheGlobal {
			f.Fail()
		}
	case ttlSeconds == 0:
		*c = CacheOff
	}
}
