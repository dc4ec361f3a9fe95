package doc

import "github.com/postern-ai/postern/core/abi"

// CacheScope is where a project's responses are cached, besides the memory of the isolate that got them. The
// lifetime of a cached response is the project's CacheTTLSeconds in every scope.
type CacheScope uint8

const (
	CacheColo   CacheScope = iota // in the data center, in the platform's Cache API
	CacheOff                      // nowhere, not even in memory
	CacheGlobal                   // in the data center and, for every location, in KV
)

// MinGlobalCacheSeconds is the shortest lifetime of a response in KV
// (developers.cloudflare.com/kv/api/write-key-value-pairs: expirationTtl).
const MinGlobalCacheSeconds = 60

// cacheField is the scope in a project or a record. A document of an older format has none: it said with a TTL of
// 0 that nothing is cached.
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
