package exchange

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider"
)

// entry is a cached answer. Only clean, complete ones are stored.
type entry struct {
	storedMs  uint64
	expiresMs uint64
	provider  string
	model     string
	usage     chat.Usage
	dropped   string // names of what the provider did not get
	raw       bool   // body is a whole answer as the provider sent it, in the caller's dialect; else deltas
	body      []byte
}

const (
	entryFormat = 3
	// minKVSeconds is the shortest life that KV takes (expirationTtl).
	minKVSeconds = 60
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
	f.Bool(&e.raw)
	f.Bytes(&e.body)
}

// decodeEntry reads an entry; ok is false for one that is damaged.
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

// response is the answer that an entry holds.
func (x *exchange) response(e *entry) (r chat.Response, ok bool) {
	if e.raw {
		return provider.ForDialect(x.s.dialect).Response(gjson.ParseBytes(e.body))
	}
	deltas, err := chat.ReadDeltas(e.body)
	return chat.Fold(deltas), err == nil
}

// checksum is FNV-1a, against damage, not against malice: nobody but us writes there.
func checksum(data []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, b := range data {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return sum
}

// cacheName is where an answer stands, in memory and in KV: under the project, so that no two projects ever
// share one, nor two versions of a project's policy, and the mock's answers apart from real ones.
func (x *exchange) cacheName() string {
	name := "cache/" + x.s.record.ProjectID + "/" + x.s.cacheKey
	if version := x.s.record.Policy; version > 0 {
		name += "/" + strconv.FormatUint(version, 10)
	}
	if x.testMode() {
		name += "/test"
	}
	return name
}

// cacheable: the project wants a cache and the caller has not forbidden it.
func (x *exchange) cacheable() bool {
	return x.s.record.CacheTTLSeconds > 0 && !x.s.cacheControl.noStore
}

// mayRead: the caller takes a cached answer.
func (x *exchange) mayRead() bool {
	return x.cacheable() && !x.s.cacheControl.noCache && x.s.cacheControl.maxAge != 1
}

// hotKeepMs is how long an answer that was found in KV stays in the isolate's memory.
const hotKeepMs = 60_000

func (x *exchange) cacheLookup(id, where uint64) {
	x.ask(abi.Action{Kind: abi.ActionRead, ID: id, Key: x.cacheName(), Where: where, KeepMs: hotKeepMs})
}

func (x *exchange) lookInMemory() {
	x.enter(phaseLookup)
	x.cacheLookup(idMemory, abi.WhereMemory)
}

// takeMemory takes the fast tier's answer. On a miss the slow one is asked beside the admission.
func (x *exchange) takeMemory() {
	x.noteCached()
	x.admitCompletion()
	if !x.s.hit.found {
		x.cacheLookup(idKV, abi.WhereKV)
	}
}

// noteCached takes a tier's answer. A failure, or a damaged or an old entry, is a miss.
func (x *exchange) noteCached() {
	if x.event.Code == abi.OutcomeOK {
		x.takeHit(x.event.Data)
	}
}

// takeCached answers the admitted request from the cache, or sends it to a provider.
func (x *exchange) takeCached() {
	x.noteCached()
	if x.s.hit.found {
		x.respondHit()
		return
	}
	x.dispatch()
}

// takeLastChance answers a request that the budget has nothing for from the cache, or refuses it.
func (x *exchange) takeLastChance() {
	x.noteCached()
	x.outOfBudget()
}

// respondHit answers from the cache, now that the request is admitted.
func (x *exchange) respondHit() {
	if x.s.idempotency != "" {
		x.enter(phaseKeepHit)
		x.ask(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferAnswer})
		return
	}
	x.finishHit()
}

// finishHit sends the cached answer, and keeps it for a repeat if the caller gave an Idempotency-Key.
func (x *exchange) finishHit() {
	s := &x.s
	headers := x.answerHeaders(&answer{provider: s.hit.provider, model: s.hit.model, cached: true})
	x.respond(200, headers, []abi.Part{{Buffer: bufferAnswer}})
	outcome := keymeter.Finish
	if s.admission.mode == keymeter.ModeReserve {
		outcome = keymeter.Hit
	}
	if outcome == keymeter.Hit || s.idempotency != "" {
		settle := x.settlement(outcome, s.hit.model, 200)
		x.keepReplay(&settle, 200, headers, x.event.Data)
		x.settle(&settle)
	}
	x.log(200, "")
	x.end()
}

// takeHit keeps a stored answer ready, if it is good for this request.
func (x *exchange) takeHit(data []byte) {
	e, ok := decodeEntry(data)
	if !ok || e.expiresMs <= x.now {
		return
	}
	if limit := x.s.cacheControl.maxAge; limit > 0 && e.storedMs+(limit-1)*1000 < x.now {
		return
	}
	if m := x.config.Model(e.model); m == nil || !policy.Listed(x.config, x.s.record.Models, m, x.s.request.model) {
		return // another key of the project has asked; this one may not
	}
	body := e.body
	if !e.raw || x.s.request.stream {
		r, ok := x.response(&e)
		if !ok {
			return
		}
		m := x.meta(&answer{provider: e.provider, model: e.model, usage: e.usage, cached: true})
		body = x.written(&r, &m)
	}
	x.s.hit, x.s.dropped = hit{true, e.provider, e.model}, e.dropped
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferAnswer, Data: body})
}

// maxEntryBytes bounds what is kept of an answer: longer ones are rarely asked for twice.
const maxEntryBytes = 1 << 20

// store puts a fresh answer into the cache: as it came (raw), or its deltas.
func (x *exchange) store(a *answer, raw bool, body []byte) {
	if !x.cacheable() || !a.clean || len(body) > maxEntryBytes {
		return
	}
	ttl := x.s.record.CacheTTLSeconds
	e := entry{x.now, x.now + ttl*1000, a.provider, a.model, a.usage, x.s.dropped, raw, body}
	write := abi.Action{
		Kind: abi.ActionWrite, Key: x.cacheName(), Where: abi.WhereMemory, KeepMs: ttl * 1000, TTL: ttl,
		Body: []abi.Part{{Data: e.encode()}},
	}
	if ttl >= minKVSeconds {
		write.Where |= abi.WhereKV
	}
	x.do(write)
}
