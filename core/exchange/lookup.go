package exchange

import (
	"github.com/postern-ai/postern/core/abi"
)

func (x *exchange) readSharedCache() {
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idKV, Key: x.cacheEntryKey(), Where: x.sharedStores(), KeepMs: hotKeepMs,
		Limit: x.config.Routing.CacheReadMs,
	})
}

// hotKeepMs is how long a response from a shared store stays in the isolate's memory.
const hotKeepMs = 60_000

func (x *exchange) readMemoryCache() {
	x.enter(phaseLookup)
	if x.joins() {
		x.join(x.cacheEntryKey())
		return
	}
	x.await(abi.Action{Kind: abi.ActionRead, ID: idMemory, Key: x.cacheEntryKey(), Where: abi.WhereMemory})
}
