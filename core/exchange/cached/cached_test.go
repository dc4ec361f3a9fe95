package cached_test

import (
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/cached"
)

// TestCorruptEntry: an entry survives encoding and decoding. Decoding fails if a byte is missing, added or changed.
func TestCorruptEntry(t *testing.T) {
	e := cached.Entry{
		StoredMs: 1, ExpiresMs: 2, Provider: "openai", Model: "gpt", Usage: chat.Usage{Input: 3, Output: 4, Reported: true}, Dropped: "top_k", Raw: true, Body: []byte("{}"),
	}
	data := e.Encode()
	if got, ok := cached.Decode(data); !ok || !reflect.DeepEqual(got, e) {
		t.Errorf("got %+v (%t), want %+v", got, ok, e)
	}
	for i := range data {
		changed := append([]byte(nil), data...)
		if changed[i] ^= 1; valid(changed) {
			t.Errorf("decoded an entry with byte %d changed", i)
		}
		if valid(data[:i]) {
			t.Errorf("decoded the first %d bytes of an entry", i)
		}
	}
	if valid(append(data, 0)) {
		t.Error("decoded an entry with another byte behind it")
	}
}

func valid(data []byte) bool {
	_, ok := cached.Decode(data)
	return ok
}

func TestFresh(t *testing.T) {
	e := cached.Entry{StoredMs: 10_000, ExpiresMs: 20_000}
	for _, c := range []struct {
		nowMs, maxAge uint64
		want          bool
	}{
		{19_999, 0, true}, {20_000, 0, false}, // expiry
		{12_000, 3, true}, {12_001, 3, false}, {10_000, 1, true}, {20_000, 60, false}, // maximum ages of 2, 0 and 59 seconds
	} {
		if got := e.Fresh(c.nowMs, c.maxAge); got != c.want {
			t.Errorf("at %d with a maximum age of %d: got %t", c.nowMs, c.maxAge, got)
		}
	}
}

// TestPartitions: the keys of different partitions differ.
func TestPartitions(t *testing.T) {
	seen := map[string]cached.Partition{}
	for _, p := range []cached.Partition{
		{}, {ProjectID: "prj_1"}, {ProjectID: "prj_1", Policy: 1}, {ProjectID: "prj_1", Policy: 2}, {ProjectID: "prj_1", Test: true},
		{ProjectID: "prj_1", Policy: 1, Test: true}, {ProjectID: "prj_1", Strict: true}, {ProjectID: "prj_1", Threshold: 1}, {ProjectID: "prj_1", Strict: true, Threshold: 1},
	} {
		key := p.Key("hash")
		if other, ok := seen[key]; ok {
			t.Errorf("%+v and %+v have the same key %s", p, other, key)
		}
		seen[key] = p
	}
}

// TestPromotion: when an entry is requested again, it is stored in KV if the cache is global and the entry lives long
// enough.
func TestPromotion(t *testing.T) {
	const now, ttl = 1_000_000, 600
	for name, c := range map[string]struct {
		expiresMs uint64
		global    bool
		scope     doc.CacheScope
		want      uint64
	}{
		"half of its lifetime left":  {expiresMs: now + 300_000, scope: doc.CacheGlobal, want: 300_000},
		"the shortest lifetime left": {expiresMs: now + 60_000, scope: doc.CacheGlobal, want: 60_000},
		"less left":                  {expiresMs: now + 59_999, scope: doc.CacheGlobal},
		"a clock that has gone back": {expiresMs: now + 900_000, scope: doc.CacheGlobal, want: 600_000},
		"in KV already":              {expiresMs: now + 300_000, scope: doc.CacheGlobal, global: true},
		"a cache of the data center": {expiresMs: now + 300_000, scope: doc.CacheColo},
	} {
		e := cached.Entry{ExpiresMs: c.expiresMs, Global: c.global}
		if got := e.PromotionMs(now, c.scope, ttl); got != c.want {
			t.Errorf("%s: got %d ms, want %d ms", name, got, c.want)
		}
	}
	if got := cached.Shared(doc.CacheOff, ttl); got != abi.WhereColo {
		t.Errorf("got stores %b without a global cache", got)
	}
}
