package exchange

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider"
)

// entry is a cached response. Only complete ones with reported usage are stored.
type entry struct {
	storedMs  uint64
	expiresMs uint64
	provider  string
	model     string
	usage     chat.Usage
	dropped   string // names of the parameters that the provider did not get
	raw       bool   // body is the provider's original response in the caller's dialect; otherwise encoded deltas
	global    bool   // the response is in KV too, or about to be
	body      []byte
}

const (
	entryFormat = 5
)

func (e *entry) encode() []byte {
	w := abi.Writer{Buf: make([]byte, 8, 128+len(e.body))}
	w.Uint(entryFormat)
	e.fields(abi.WriteTo(&w))
	sum := checksum(w.Buf[8:])
	for i := range 8 {
		w.Buf[i] = byte(sum >> (8 * i))
	}
	return w.Buf
}

func (e *entry) fields(f *abi.Fields) {
	f.Uint(&e.storedMs)
	f.Uint(&e.expiresMs)
	f.String(&e.provider)
	f.String(&e.model)
	e.usage.Fields(f)
	f.String(&e.dropped)
	f.Flags(&e.raw, &e.global)
	f.Bytes(&e.body)
}

// decodeEntry decodes an entry; ok is false if it is corrupt.
func decodeEntry(data []byte) (e entry, ok bool) {
	if len(data) < 8 {
		return e, false
	}
	var sum uint64
	for i := range 8 {
		sum |= uint64(data[i]) << (8 * i)
	}
	r := abi.Reader{Buf: data[8:]}
	if sum != checksum(r.Buf) || r.Uint() != entryFormat {
		return e, false
	}
	e.fields(abi.ReadFrom(&r))
	return e, r.End() == nil
}

// response decodes the response in an entry.
func (x *exchange) response(e *entry) (r chat.Response, ok bool) {
	if e.raw {
		return provider.ForDialect(x.s.dialect).Response(gjson.ParseBytes(e.body))
	}
	deltas, err := chat.ReadDeltas(e.body)
	return chat.Fold(deltas), err == nil
}

// checksum is FNV-1a. It detects corruption; tampering is not a concern, because only this gateway writes the
// entries.
func checksum(data []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, b := range data {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return sum
}

// cacheEntryKey is the key of a response in host memory and KV. It separates projects, the versions of a project's
// policy, and the mock's responses from real ones.
func (x *exchange) cacheEntryKey() string {
	name := "cache/" + x.s.record.ProjectID + "/" + x.s.cacheKey
	if version := x.s.record.Policy; version > 0 {
		name += "/" + strconv.FormatUint(version, 10)
	}
	if x.testMode() {
		name += "/test"
	}
	if g := &x.s.govern; g.strict || g.threshold > 0 {
		name += "/" + strconv.FormatBool(g.strict) + strconv.FormatUint(g.threshold, 10)
	}
	return name
}

// cacheable reports whether the project enables the cache and the caller has not sent no-store.
func (x *exchange) cacheable() bool {
	return x.s.record.Caches() && !x.s.cacheControl.noStore
}

// cacheReadable reports whether the caller accepts a cached response.
func (x *exchange) cacheReadable() bool {
	return x.cacheable() && !x.s.cacheControl.noCache && x.s.cacheControl.maxAge != 1
}

// hotKeepMs is how long a response found in a shared store stays in the isolate's memory.
const hotKeepMs = 60_000

// sharedStores are the stores that isolates share: the data center's cache, and KV if the project's cache is global.
func (x *exchange) sharedStores(ttl uint64) uint64 {
	if x.s.record.Cache == doc.CacheGlobal && ttl >= doc.MinGlobalCacheSeconds {
		return abi.WhereColo | abi.WhereKV
	}
	return abi.WhereColo
}

func (x *exchange) readSharedCache() {
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idKV, Key: x.cacheEntryKey(), Where: x.sharedStores(x.s.record.CacheTTLSeconds), KeepMs: hotKeepMs,
		Limit: x.config.Routing.CacheReadMs,
	})
}

func (x *exchange) readMemoryCache() {
	x.enter(phaseLookup)
	if x.joins() {
		x.join(x.cacheEntryKey())
		return
	}
	x.await(abi.Action{Kind: abi.ActionRead, ID: idMemory, Key: x.cacheEntryKey(), Where: abi.WhereMemory})
}

// onMemoryCache takes the result of the lookup in host memory. After a miss, the lookup in the shared stores runs in
// parallel with the admission. An exchange that follows a flight leaves it to the leader.
func (x *exchange) onMemoryCache() {
	x.noteCacheResult()
	if !x.joinedFlight() {
		return
	}
	if !x.s.hit.found && x.s.flight.role != follows {
		x.readSharedCache()
	}
	x.admitCompletion()
}

// noteCacheResult takes the result of a cache lookup. A failure counts as a miss, and so does a corrupt or expired
// entry.
func (x *exchange) noteCacheResult() {
	if x.event.Code == abi.OutcomeOK {
		x.useHit(x.event.Data)
	}
}

// noteSharedCacheResult does the same for the shared stores. What a leader finds is for its followers, too.
func (x *exchange) noteSharedCacheResult() {
	if x.noteCacheResult(); x.s.hit.found {
		x.land(abi.FlightLanded, x.event.Data)
	}
}

// onKVCache responds to the admitted request from the cache, or sends it to a provider.
func (x *exchange) onKVCache() {
	x.noteSharedCacheResult()
	if x.s.hit.found {
		x.respondHit()
		return
	}
	x.dispatch()
}

// onKVCacheOverBudget responds from the cache, or refuses the request because the budget is exhausted.
func (x *exchange) onKVCacheOverBudget() {
	x.noteSharedCacheResult()
	x.outOfBudget()
}

// respondHit responds to the admitted request from the cache.
func (x *exchange) respondHit() {
	if x.s.idempotency != "" {
		x.enter(phaseKeepHit)
		x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferAnswer})
		return
	}
	x.finishHit()
}

// finishHit sends the cached response. With an Idempotency-Key it first stores it for a replay.
func (x *exchange) finishHit() {
	s := &x.s
	headers := x.answerHeaders(&answer{provider: s.hit.provider, model: s.hit.model, cached: true})
	outcome := keymeter.Finish
	if s.admission.mode == keymeter.ModeReserve {
		outcome = keymeter.Hit
	}
	if s.idempotency != "" {
		x.promote()
		settle := x.settlement(outcome, s.hit.model, 200)
		x.keepReplay(&settle, 200, headers, x.event.Data)
		x.keepAnswer(&settle, bufferAnswer)
		return
	}
	x.respond(200, headers, []abi.Part{{Buffer: bufferAnswer}})
	if outcome == keymeter.Hit {
		settle := x.settlement(outcome, s.hit.model, 200)
		x.settle(&settle)
	}
	x.promote()
	x.log(200, "")
	x.end()
}

// useHit stores a cached response in bufferAnswer if it is valid for this request.
func (x *exchange) useHit(data []byte) {
	e, ok := decodeEntry(data)
	if !ok || e.expiresMs <= x.now {
		return
	}
	if limit := x.s.cacheControl.maxAge; limit > 0 && e.storedMs+(limit-1)*1000 < x.now {
		return
	}
	if !x.mayUse(e.model) {
		return // cached for another key of the project; this key is not allowed to use the model
	}
	var body []byte
	if e.raw && !x.s.request.stream {
		body = x.restoreRaw(e.body)
	} else {
		r, ok := x.response(&e)
		if !ok {
			return
		}
		x.restoreResponse(&r)
		m := x.meta(&answer{provider: e.provider, model: e.model, usage: e.usage, cached: true})
		body = x.encodeAnswer(&r, &m)
	}
	x.s.hit, x.s.dropped = hit{found: true, provider: e.provider, model: e.model}, e.dropped
	x.planPromotion(&e)
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferAnswer, Data: body})
}

// maxEntryBytes is the size limit for a cached response.
const maxEntryBytes = 1 << 20

// lacksLogProbs reports whether the checks of a stream left out log probabilities that the caller asked for. A whole
// response from the cache would lack them too.
func (x *exchange) lacksLogProbs(raw bool) bool {
	return !raw && x.s.govern.on && x.streams() && x.s.request.params&chat.ParamLogProbs != 0
}

// store caches a response: the provider's original body (raw), or encoded deltas.
func (x *exchange) store(a *answer, raw bool, body []byte) {
	if !x.cacheable() || !a.storable || len(body) > maxEntryBytes || x.lacksLogProbs(raw) {
		return
	}
	e := x.newEntry(a, raw, body)
	ttl := x.s.record.CacheTTLSeconds
	write := abi.Action{
		Kind: abi.ActionWrite, Key: x.cacheEntryKey(), Where: abi.WhereMemory | abi.WhereColo, KeepMs: ttl * 1000, TTL: ttl,
		Body: []abi.Part{{Data: e.encode()}},
	}
	if e.global {
		write.Where |= abi.WhereKV
	}
	x.do(write)
}

// newEntry is the cache entry of a response. It is stored in KV only if it was asked for twice: others wait for it.
func (x *exchange) newEntry(a *answer, raw bool, body []byte) entry {
	ttl := x.s.record.CacheTTLSeconds
	return entry{
		storedMs: x.now, expiresMs: x.now + ttl*1000, provider: a.provider, model: a.model, usage: a.usage, dropped: x.s.dropped, raw: raw,
		global: x.waiting > 0 && x.sharedStores(ttl)&abi.WhereKV != 0, body: body,
	}
}

// planPromotion keeps a response that is now asked for a second time, to store it in KV after the admission.
func (x *exchange) planPromotion(e *entry) {
	left := min(e.expiresMs-x.now, x.s.record.CacheTTLSeconds*1000) // the clock may have gone back
	if e.global || x.sharedStores(left/1000)&abi.WhereKV == 0 {
		return
	}
	e.global = true
	x.s.hit.promoteMs = left
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferEntry, Data: e.encode()})
}

// promote stores a response in KV that was cached without it. The other stores get its new form, so that the next hit does
// not store it again.
func (x *exchange) promote() {
	if left := x.s.hit.promoteMs; left > 0 {
		x.do(abi.Action{
			Kind: abi.ActionWrite, Key: x.cacheEntryKey(), Where: abi.WhereMemory | abi.WhereColo | abi.WhereKV, KeepMs: left, TTL: left / 1000,
			Body: []abi.Part{{Buffer: bufferEntry}},
		})
	}
}
