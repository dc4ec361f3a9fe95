package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/route"
)

// Buffers that the host keeps. What may be large stands there, not in the state.
const (
	bufferBody     = 1 // the request's body
	bufferMembers  = 2 // its members, written anew: the part of an upstream body that targets of one dialect share
	bufferAnswer   = 3 // a cached answer that waits for its admission
	bufferError    = 4 // the body of an error that does
	bufferUpstream = 5 // the provider's answer
	bufferDeltas   = 6 // a streamed answer, as the core keeps it to itself
	bufferPolicy   = 7 // the project's policy
	bufferPieces   = 16
	bufferSealed   = 128 // the project's own key for each target, sealed, numbered from here on
)

// state is what an exchange remembers between steps: at most 8 KiB, and an unfinished event of a stream besides.
type state struct {
	phase       phase
	outstanding []uint64 // ids of actions that will be answered

	requestID string
	seed      uint64 // of the exchange's random numbers
	startMs   uint64
	endpoint  endpointID
	dialect   chat.Dialect // the caller's
	keyHash   string
	address   string
	query     string

	disconnected bool // the caller is gone
	responded    bool // the caller has an answer, or its head

	haveRecord bool
	record     doc.Record

	bodyDone           bool
	rejected           string // code of the fault that refuses the request once it is admitted; its body is bufferError
	cacheControl       cacheControl
	invalidIdempotency bool   // the caller's Idempotency-Key cannot be one
	idempotency        string // hash of the caller's Idempotency-Key
	bodyHash           string
	request            request
	cacheKey           string
	policyVersion      uint64 // of the selection; 0: no policy was read
	selection          policy.Selection

	hit       hit
	admission admission

	order            []byte // the route's targets, in the order of trying
	orderIndex       uint64 // the present one
	retries          uint64 // on it
	attempts         uint64 // fetches in all
	lastTarget       uint64 // the number of the target that was fetched from last, plus one; 0: none was
	dispatchMs       uint64 // when the first attempt began
	jsonRetried      bool   // the provider was asked once more because its answer was not JSON
	beta             string // the caller's anthropic-beta
	strict           bool   // nothing of the request may be dropped
	providerKey      string // the project's own key, unsealed for the fetch that comes next
	imposedMaxTokens uint64 // of tokens, which the present attempt was given though the caller named none (or more)
	dropped          string // names of what the present target does not get
	attemptResults   string // how the attempts ended
	spent            spent
	stream           stream
	pieces           pieces

	reported uint64 // settles under way that the flushed meters told of
	pauses   uint64 // of a usage report, for those
	reports  uint64 // how often the Ledger was asked for one
	times    times
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
	unseenTokens uint64 // reserved for parts whose length nobody knows: documents by URL, file ids, searches
	thinking     uint64 // tokens that the model may think beside its answer, given or typical
	params       chat.Params
	defaulted    chat.Params // those of them that the caller did not give
}

type cacheControl struct {
	noStore, noCache bool
	maxAge           uint64 // seconds + 1; 0: not given
}

// hit describes the cached answer in bufferAnswer.
type hit struct {
	found           bool
	provider, model string
}

// slice is a conversation with the Ledger about more budget: what the meter lacks, and what came of it.
type budgetRequest struct {
	need  ledger.Grant // Key is the exchange's own, and empty here
	grant keymeter.Grant
	final bool // the Ledger has no more than that
	// unasked: a key that holds idle budget could not be asked for it. Then it is not known that there is no more.
	unreachable bool
	spent       bool   // no more until the budget's next turn: what is missing is spent, not reserved by others
	recalled    bool   // a key had news in this pass over those that hold idle budget: others may have taken what it gave back
	passes      uint64 // that were made again for that
}

type admission struct {
	called    bool
	admitted  bool
	rounds    uint64
	mode      keymeter.Mode
	budget    budgetRequest
	amount    int64 // to be reserved
	minAmount int64 // and if the budget has not that much, at least
	reserved  int64
	windows   []keymeter.Window
}

// spent is what attempts have cost so far, failed ones included, and to whom it is charged.
type spent struct {
	usage     chat.Usage
	costPico  int64
	estimated bool
	charges   []charge
}

// charge is what one target has cost.
type charge struct {
	target    uint64
	usage     chat.Usage
	costPico  int64
	estimated bool
}

// pieces is a mock's stream on its way to the caller: numbered buffers, one sent at a time.
type pieces struct{ next, count uint64 }

// times are milliseconds for server-timing: when the running part began, and the sums.
type times struct{ admitStart, admit, upstreamStart, upstream uint64 }

// exchange is one step's view.
type exchange struct {
	config      *config.Config
	now         uint64
	event       *abi.Event
	s           state
	circuits    route.Circuits
	out         abi.StepOutput
	targetsMemo []policy.Target // what targets said
}

func (s *state) encode(models []config.Model) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	s.fields(abi.WriteTo(&w), models)
	return w.Buf
}

func decodeState(data []byte, models []config.Model) (s state) {
	r := abi.Reader{Buf: data}
	s.fields(abi.ReadFrom(&r), models)
	if r.End() != nil {
		panic("exchange: a state that this version did not write")
	}
	return s
}

func (s *state) fields(f *abi.Fields, models []config.Model) {
	abi.Enum(f, &s.phase)
	abi.List(f, &s.outstanding, (*abi.Fields).Uint)
	f.String(&s.requestID)
	f.Uint(&s.seed)
	f.Uint(&s.startMs)
	abi.Enum(f, &s.endpoint)
	abi.Enum(f, &s.dialect)
	f.String(&s.keyHash)
	f.String(&s.address)
	f.String(&s.query)
	f.Flags(&s.disconnected, &s.responded, &s.haveRecord, &s.bodyDone, &s.jsonRetried, &s.cacheControl.noStore, &s.cacheControl.noCache,
		&s.invalidIdempotency, &s.strict, &s.hit.found)
	s.recordField(f)
	f.String(&s.rejected)
	f.Uint(&s.cacheControl.maxAge)
	f.String(&s.idempotency)
	f.String(&s.bodyHash)
	s.request.fields(f)
	f.String(&s.cacheKey)
	if f.Uint(&s.policyVersion); s.policyVersion != 0 {
		s.selection.Fields(f, models)
	}
	f.String(&s.hit.provider)
	f.String(&s.hit.model)
	s.admission.fields(f)
	s.attemptFields(f)
	s.stream.fields(f)
	f.Uint(&s.reported)
	f.Uint(&s.pauses)
	f.Uint(&s.reports)
	s.times.fields(f)
}

func (s *state) recordField(f *abi.Fields) {
	if !s.haveRecord {
		return
	}
	var encoded []byte
	if !f.Reading() {
		encoded = s.record.Encode()
	}
	f.Bytes(&encoded)
	if f.Reading() {
		s.record, _ = doc.DecodeRecord(encoded)
	}
}

func (s *state) attemptFields(f *abi.Fields) {
	f.Bytes(&s.order)
	f.Uint(&s.orderIndex)
	f.Uint(&s.retries)
	f.Uint(&s.attempts)
	f.Uint(&s.lastTarget)
	f.Uint(&s.dispatchMs)
	f.String(&s.beta)
	f.String(&s.providerKey)
	f.Uint(&s.imposedMaxTokens)
	f.String(&s.dropped)
	f.String(&s.attemptResults)
	s.spent.usage.Fields(f)
	f.Int(&s.spent.costPico)
	f.Bool(&s.spent.estimated)
	abi.List(f, &s.spent.charges, func(f *abi.Fields, c *charge) {
		f.Uint(&c.target)
		c.usage.Fields(f)
		f.Int(&c.costPico)
		f.Bool(&c.estimated)
	})
	f.Uint(&s.pieces.next)
	f.Uint(&s.pieces.count)
}

func (q *request) fields(f *abi.Fields) {
	f.String(&q.model)
	f.Flags(&q.stream, &q.includeUsage, &q.json, &q.base64)
	f.Uint(&q.maxTokens)
	f.Uint(&q.n)
	f.Uint(&q.promptTokens)
	f.Uint(&q.unseenTokens)
	f.Uint(&q.thinking)
	f.Uint((*uint64)(&q.params))
	f.Uint((*uint64)(&q.defaulted))
}

func (l *budgetRequest) fields(f *abi.Fields) {
	f.Uint((*uint64)(&l.need.Period))
	f.Uint(&l.need.Epoch)
	f.Int(&l.need.HeldPico)
	f.Int(&l.need.NeedPico)
	f.Int(&l.need.LeastPico)
	f.String(&l.need.After)
	l.grant.Fields(f)
	f.Flags(&l.final, &l.unreachable, &l.spent, &l.recalled)
	f.Uint(&l.passes)
}

func (a *admission) fields(f *abi.Fields) {
	f.Flags(&a.called, &a.admitted)
	f.Uint(&a.rounds)
	abi.Enum(f, &a.mode)
	a.budget.fields(f)
	f.Int(&a.amount)
	f.Int(&a.minAmount)
	f.Int(&a.reserved)
	abi.List(f, &a.windows, keymeter.WindowFields)
}

func (t *times) fields(f *abi.Fields) {
	f.Uint(&t.admitStart)
	f.Uint(&t.admit)
	f.Uint(&t.upstreamStart)
	f.Uint(&t.upstream)
}

// fields of a stream; one that was not begun is a single zero.
func (s *stream) fields(f *abi.Fields) {
	begun := s.headReceived || s.opened
	if f.Bool(&begun); !begun {
		return
	}
	f.Flags(&s.headReceived, &s.opened, &s.hasContent, &s.committed, &s.sentSinceTick, &s.endMarkSeen, &s.passThrough, &s.parser.Begun, &s.budgetExhausted, &s.fixedReservation)
	f.Bytes(&s.parser.Rest)
	s.wire.Fields(f)
	s.api.Fields(f)
	abi.Enum(f, &s.finish)
	s.usage.Fields(f)
	f.Uint(&s.units)
	f.Bytes(&s.held)
	f.Uint(&s.deltaBytes)
	s.extension.fields(f)
	f.Uint(&s.firstContentMs)
}

// random is the next number of the exchange's own sequence (splitmix64).
func (x *exchange) random() uint64 {
	x.s.seed += 0x9e3779b97f4a7c15
	z := x.s.seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// since is how long ago an instant was; 0 if the clock went back meanwhile.
func (x *exchange) since(ms uint64) uint64 { return x.now - min(x.now, ms) }
