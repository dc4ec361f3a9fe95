package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/cached"
)

// cacheEntryKey returns the key of a response in host memory and KV. Different projects, and different versions of a
// project's policy, have different keys. The mock's responses have their own keys.
func (x *exchange) cacheEntryKey() string {
	s := &x.s
	p := cached.Partition{
		ProjectID: s.record.ProjectID, Policy: s.record.Policy, Test: x.testMode(), Strict: s.govern.strict, Threshold: s.govern.threshold,
	}
	return p.Key(s.cacheKey)
}

// cacheable reports whether the project enables the cache, and the caller has not sent no-store.
func (x *exchange) cacheable() bool {
	return x.s.record.Caches() && !x.s.cacheControl.noStore
}

// sharedStores returns the stores in which the isolates share the project's responses.
func (x *exchange) sharedStores() uint64 {
	return cached.Shared(x.s.record.Cache, x.s.record.CacheTTLSeconds)
}

func (x *exchange) cacheReadable() bool {
	return x.cacheable() && !x.s.cacheControl.noCache && x.s.cacheControl.maxAge != 1
}

// maxEntryBytes is the maximum size of a cached response in bytes.
const maxEntryBytes = 1 << 20

// isStoredInPart reports whether the Governor's stream checks removed parts that non-streaming responses have, such
// as log probabilities or the inputs of custom tools in chat completions. A cached copy would lack these parts.
func (x *exchange) isStoredInPart(raw bool) bool {
	q := &x.s.request
	return !raw && x.s.govern.on && x.streams() && (q.params&chat.ParamLogProbs != 0 || x.s.dialect == chat.OpenAI && q.aliases != "")
}

// store caches a response: the provider's original body (raw), or encoded deltas.
func (x *exchange) store(a *answer, raw bool, body []byte) {
	if !x.cacheable() || !a.storable || len(body) > maxEntryBytes || x.isStoredInPart(raw) {
		return
	}
	e := x.newEntry(a, raw, body)
	ttl := x.s.record.CacheTTLSeconds
	write := abi.Action{
		Kind: abi.ActionWrite, Key: x.cacheEntryKey(), Where: abi.WhereMemory | abi.WhereColo, KeepMs: ttl * 1000, TTL: ttl,
		Body: []abi.Part{{Data: e.Encode()}},
	}
	if e.Global {
		write.Where |= abi.WhereKV
	}
	x.do(write)
}

// newEntry returns the cache entry for a response. If no other requests are waiting for it, it is not stored in KV at
// first.
func (x *exchange) newEntry(a *answer, raw bool, body []byte) cached.Entry {
	ttl := x.s.record.CacheTTLSeconds
	return cached.Entry{
		StoredMs: x.now, ExpiresMs: x.now + ttl*1000, Provider: a.provider, Model: a.model, Usage: a.usage, Dropped: x.s.dropped, Raw: raw,
		Global: x.waiting > 0 && cached.Shared(x.s.record.Cache, ttl)&abi.WhereKV != 0, Body: body,
	}
}

// planPromotion sets aside a response that has been requested again, so that it can be stored in KV after the
// admission.
func (x *exchange) planPromotion(e *cached.Entry) {
	left := e.PromotionMs(x.now, x.s.record.Cache, x.s.record.CacheTTLSeconds)
	if left == 0 {
		return
	}
	e.Global = true
	x.s.hit.promoteMs = left
	x.keep(bufferEntry, e.Encode())
}

// promote stores a cached response in KV too. It also updates the other stores, so that the next hit does not promote
// it again.
func (x *exchange) promote() {
	if left := x.s.hit.promoteMs; left > 0 {
		x.do(abi.Action{
			Kind: abi.ActionWrite, Key: x.cacheEntryKey(), Where: abi.WhereMemory | abi.WhereColo | abi.WhereKV, KeepMs: left, TTL: left / 1000,
			Body: []abi.Part{{Buffer: bufferEntry}},
		})
	}
}
