package cached

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Partition is the part of the cache that a request may use.
type Partition struct {
	ProjectID string
	Policy    uint64 // version of the project's policy; 0: it has none
	Test      bool   // the mock's responses
	Strict    bool   // the caller sent x-postern-govern: strict
	Threshold uint64 // 1 + the caller's threshold for the Governor; 0: none
}

// Key returns the key of a response in host memory and KV. hash covers everything that the response depends on.
func (p *Partition) Key(hash string) string {
	name := "cache/" + p.ProjectID + "/" + hash
	if p.Policy > 0 {
		name += "/" + strconv.FormatUint(p.Policy, 10)
	}
	if p.Test {
		name += "/test"
	}
	if p.Strict || p.Threshold > 0 {
		name += "/" + strconv.FormatBool(p.Strict) + strconv.FormatUint(p.Threshold, 10)
	}
	return name
}

// Shared returns the shared stores for an entry with the given lifetime in seconds, as abi.Where flags. They are the
// data center's cache and, if the project's cache is global and the lifetime is long enough, KV.
func Shared(scope doc.CacheScope, lifetime uint64) uint64 {
	if scope == doc.CacheGlobal && lifetime >= doc.MinGlobalCacheSeconds {
		return abi.WhereColo | abi.WhereKV
	}
	return abi.WhereColo
}

// PromotionMs returns how many milliseconds KV must keep an entry that is requested again. If the entry is already in
// KV or does not belong there, it returns 0.
func (e *Entry) PromotionMs(nowMs uint64, scope doc.CacheScope, lifetime uint64) uint64 {
	left := min(e.ExpiresMs-nowMs, lifetime*1000) // the clock may have gone backward
	if e.Global || Shared(scope, left/1000)&abi.WhereKV == 0 {
		return 0
	}
	return left
}
