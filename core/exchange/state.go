// Package exchange is one caller's request from its head to its settled end, as a state machine: every event
// moves it on and yields actions. Everything that affects the state stands in state; hosts keep it as bytes
// between steps.
package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/route"
)

// Ids of actions that are answered. Flushes and absorbs are numbered from their first id on.
const (
	idBody    = 1
	idRecord  = 2
	idAdmit   = 3
	idCache   = 4
	idFetch   = 5
	idWait    = 6
	idSettle  = 7
	idGrant   = 8
	idReport  = 9
	idSupply  = 10
	idForward = 11
	idTick    = 12
	idExtend  = 13
	idPolicy  = 14
	idUnseal  = 15
	idFlush   = 1000
	idAbsorb  = 100000

	idLedgerPolicy = 16
)

// Buffers that the host keeps.
const (
	bufferBody     = 1 // the request's body
	bufferMembers  = 2 // its members, written anew: the part of an upstream body that targets of one dialect share
	bufferAnswer   = 3 // an answer that waits for its admission
	bufferError    = 4 // the body of an error that does
	bufferUpstream = 5 // the provider's answer
	bufferDeltas   = 6 // a streamed answer, as the core keeps it to itself
	bufferPolicy   = 7 // the project's policy
	bufferSealed   = 8 // the project's own key for the present target, sealed
)

// state is what an exchange remembers between steps.
type state struct {
	requestID string
	seed      uint64 // the state of the exchange's random numbers
	startMs   uint64
	route     routeID
	dialect   chat.Dialect // the caller's
	keyHash   string
	address   string
	query     string
	left      bool // the caller is gone
	responded bool

	haveRecord bool
	known      bool // some record was found: the key is not just anybody's guess
	record     doc.Record

	bodyDone     bool
	bad          uint64 // the status of a request that is refused once it is admitted; its body is bufferError
	cacheControl cacheControl
	idempotency  string // hash of the caller's Idempotency-Key
	bodyHash     string
	request      request
	cacheKey     string
	policy       policy

	badIdempotency bool // the caller's Idempotency-Key cannot be one
	broke          bool // the budget has no more: only a cached answer, which costs nothing, can help

	lookup    lookup
	hit       hit
	admission admission

	order    []byte // the route's targets, in the order of trying
	at       uint64 // the present one
	retries  uint64 // on it
	attempts uint64 // fetches in all
	mended   bool   // the provider was asked once more because its answer was not JSON
	beta     string // the caller's anthropic-beta
	strict   bool   // nothing of the request may be dropped
	dropped  string // names of what the present target does not get
	story    string // what came of the attempts
	spent    spent
	stream   stream

	pending uint64 // flushes and absorbs that are not answered
	open    uint64 // reservations that the flushed meters still hold
	waits   uint64 // of a usage report, for those
	times   times
}

// request is what the body asked for.
type request struct {
	model        string // a tier, or a name that the catalog knows
	stream       bool
	includeUsage bool
	json         bool // the text must be JSON, or the provider is asked again
	base64       bool // embeddings are wanted in it
	maxTokens    uint64
	n            uint64
	promptTokens uint64 // estimated
	params       chat.Params
	defaulted    chat.Params // those of them that the caller did not give
}

type cacheControl struct {
	noStore, noCache bool
	maxAge           uint64 // seconds + 1; 0: not given
}

// lookup says how far the cache was asked.
type lookup uint8

const (
	lookupNone lookup = iota
	lookupMemory
	lookupKV
	lookupMissed
	lookupHit
)

// hit describes the cached answer in bufferAnswer.
type hit struct{ provider, model string }

type admission struct {
	asked    bool
	admitted bool
	rounds   uint64
	final    bool // the Ledger has no more than grant
	mode     keymeter.Mode
	grant    keymeter.Grant
	need     ledger.Grant // what the Ledger is asked for
	reserved int64
	windows  []keymeter.Window
}

// spent is what attempts have cost so far, failed ones included.
type spent struct {
	usage     chat.Usage
	costPico  int64
	estimated bool
}

// times are milliseconds for server-timing: when the running part began, and the sums.
type times struct{ admitStart, admit, upstreamStart, upstream uint64 }

// exchange is one step's view.
type exchange struct {
	config   *config.Config
	now      uint64
	event    *abi.Event
	s        state
	circuits route.Circuits
	out      abi.StepOutput
	memo     []config.Target // what targets said
}

func (s *state) encode(models []config.Model) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 768)}
	w.String(s.requestID)
	w.Uint(s.seed)
	w.Uint(s.startMs)
	w.Uint(uint64(s.route))
	w.Uint(uint64(s.dialect))
	w.String(s.keyHash)
	w.String(s.address)
	w.String(s.query)
	w.Uint(flags(s.left, s.responded, s.haveRecord, s.known, s.bodyDone, s.mended, s.cacheControl.noStore, s.cacheControl.noCache, s.badIdempotency, s.broke, s.strict))
	if s.haveRecord {
		w.Bytes(s.record.Encode())
	}
	w.Uint(s.bad)
	w.Uint(s.cacheControl.maxAge)
	w.String(s.idempotency)
	w.String(s.bodyHash)
	s.request.encode(&w)
	w.String(s.cacheKey)
	s.policy.encode(&w, models)
	w.Uint(uint64(s.lookup))
	w.String(s.hit.provider)
	w.String(s.hit.model)
	s.admission.encode(&w)
	w.Bytes(s.order)
	w.Uint(s.at)
	w.Uint(s.retries)
	w.Uint(s.attempts)
	w.String(s.beta)
	w.String(s.dropped)
	w.String(s.story)
	s.spent.usage.Encode(&w)
	w.Int(s.spent.costPico)
	w.Bool(s.spent.estimated)
	s.stream.encode(&w)
	w.Uint(s.pending)
	w.Uint(s.open)
	w.Uint(s.waits)
	w.Uint(s.times.admitStart)
	w.Uint(s.times.admit)
	w.Uint(s.times.upstreamStart)
	w.Uint(s.times.upstream)
	return w.Buf
}

func decodeState(data []byte, models []config.Model) state {
	r := abi.Reader{Buf: data}
	s := state{requestID: r.String(), seed: r.Uint(), startMs: r.Uint(), route: routeID(r.Uint()), dialect: chat.Dialect(r.Byte()), keyHash: r.String(), address: r.String(), query: r.String()}
	f := r.Uint()
	for i, flag := range []*bool{&s.left, &s.responded, &s.haveRecord, &s.known, &s.bodyDone, &s.mended, &s.cacheControl.noStore, &s.cacheControl.noCache, &s.badIdempotency, &s.broke, &s.strict} {
		*flag = f>>i&1 == 1
	}
	if s.haveRecord {
		s.record, _ = doc.DecodeRecord(r.Bytes())
	}
	s.bad, s.cacheControl.maxAge = r.Uint(), r.Uint()
	s.idempotency, s.bodyHash = r.String(), r.String()
	s.request = decodeRequest(&r)
	s.cacheKey = r.String()
	s.policy = decodePolicy(&r, models)
	s.lookup = lookup(r.Uint())
	s.hit = hit{r.String(), r.String()}
	s.admission = decodeAdmission(&r)
	s.order, s.at, s.retries, s.attempts = r.Bytes(), r.Uint(), r.Uint(), r.Uint()
	s.beta, s.dropped, s.story = r.String(), r.String(), r.String()
	s.spent = spent{chat.DecodeUsage(&r), r.Int(), r.Bool()}
	s.stream = decodeStream(&r)
	s.pending, s.open, s.waits = r.Uint(), r.Uint(), r.Uint()
	s.times = times{r.Uint(), r.Uint(), r.Uint(), r.Uint()}
	if r.End() != nil {
		panic("exchange: a state that this version did not write")
	}
	return s
}

func (q *request) encode(w *abi.Writer) {
	w.String(q.model)
	w.Uint(flags(q.stream, q.includeUsage, q.json, q.base64))
	w.Uint(q.maxTokens)
	w.Uint(q.n)
	w.Uint(q.promptTokens)
	w.Uint(uint64(q.params))
	w.Uint(uint64(q.defaulted))
}

func decodeRequest(r *abi.Reader) request {
	q := request{model: r.String()}
	f := r.Uint()
	q.stream, q.includeUsage, q.json, q.base64 = f&1 != 0, f&2 != 0, f&4 != 0, f&8 != 0
	q.maxTokens, q.n, q.promptTokens = r.Uint(), r.Uint(), r.Uint()
	q.params, q.defaulted = chat.Params(r.Uint()), chat.Params(r.Uint())
	return q
}

func flags(values ...bool) uint64 {
	var f uint64
	for i, v := range values {
		if v {
			f |= 1 << i
		}
	}
	return f
}

func (a *admission) encode(w *abi.Writer) {
	w.Uint(flags(a.asked, a.admitted, a.final))
	w.Uint(a.rounds)
	w.Uint(uint64(a.mode))
	a.grant.Fields(abi.WriteTo(w))
	a.need.Fields(abi.WriteTo(w))
	w.Int(a.reserved)
	w.Uint(uint64(len(a.windows)))
	for _, win := range a.windows {
		w.Bool(win.Tokens)
		w.Uint(win.WindowMs)
		w.Uint(win.Limit)
		w.Uint(win.Remaining)
		w.Uint(win.ResetMs)
	}
}

func decodeAdmission(r *abi.Reader) admission {
	f := r.Uint()
	a := admission{asked: f&1 != 0, admitted: f&2 != 0, final: f&4 != 0, rounds: r.Uint(), mode: keymeter.Mode(r.Uint())}
	a.grant.Fields(abi.ReadFrom(r))
	a.need.Fields(abi.ReadFrom(r))
	a.reserved = r.Int()
	for n := r.Count(); n > 0; n-- {
		a.windows = append(a.windows, keymeter.Window{Tokens: r.Bool(), WindowMs: r.Uint(), Limit: r.Uint(), Remaining: r.Uint(), ResetMs: r.Uint()})
	}
	return a
}

// random is the next number of the exchange's own sequence (splitmix64).
func (x *exchange) random() uint64 {
	x.s.seed += 0x9e3779b97f4a7c15
	z := x.s.seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
