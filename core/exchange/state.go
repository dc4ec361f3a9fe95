package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/route"
)

// Numbers of the host's buffers. Buffers hold data that is too large for the state.
const (
	bufferBody       = 1   // the request body
	bufferMembers    = 2   // the body's re-encoded fields, which are the same for all targets with the caller's dialect
	bufferAnswer     = 3   // a cached response that waits for the admission, or another response that waits to be stored
	bufferError      = 4   // an error body that waits for the admission
	bufferUpstream   = 5   // the provider's response
	bufferDeltas     = 6   // a streamed response, as encoded deltas
	bufferPolicy     = 7   // the project's policy
	bufferChecked    = 9   // the request body with placeholders in place of redacted values; 8 is abi.AttachedBuffer
	bufferClassify   = 10  // the text for the project's classifier
	bufferClassified = 11  // the classifier's response
	bufferSettle     = 12  // the settlement that waits for the classifier
	bufferEntry      = 13  // a cached response that KV will also store
	bufferFlight     = 14  // the first bytes of a flight, which wait for the admission
	bufferWithheld   = 15  // events of a stream that wait for a larger reservation
	bufferPieces     = 16  // the pieces of a mock's stream, numbered from here
	bufferOutcome    = 100 // the command that settles a request and stores its response
	bufferSealed     = 128 // the project's encrypted provider key for each target, numbered from here
)

// state contains everything that an exchange remembers between steps. Its size is at most 8 KiB, plus one unfinished
// stream event.
type state struct {
	phase       phase
	outstanding []uint64 // IDs of the actions whose replies are still expected

	requestID string
	seed      uint64 // of the exchange's random sequence
	startMs   uint64
	endpoint  endpointID
	dialect   chat.Dialect // the caller's
	keyHash   string
	address   string
	agent     string // the caller's user agent, for the list of recent requests
	query     string
	variable  string // value of the {variable} in the endpoint's path

	disconnected bool // the client has closed the connection
	responded    bool // the caller has received at least the head of the response

	haveRecord bool
	record     doc.Record
	encoded    []byte // the record as it was received
	early      []byte // the policy that came with the record, until it is used

	bodyDone           bool
	rejected           fault.Fault // the fault to return after the admission; its body is in bufferError
	cacheControl       cacheControl
	invalidIdempotency uint64 // length of the caller's malformed Idempotency-Key; 0: valid or absent
	idempotency        string // hash of the caller's Idempotency-Key
	rerun              bool   // the request may run although the outcome of the previous request with this key is unknown
	kept               uint64 // the buffer with the response that is being stored; 0: none
	bodyHash           string
	request            request
	cacheKey           string
	policyVersion      uint64 // the policy version of the selection; 0: no policy was read
	selection          policy.Selection
	govern             governance

	hit       hit
	flight    flight
	admission admission
	leased    leased

	order            []byte       // the route's targets in the order of the attempts, as indexes into targets()
	orderIndex       uint64       // the current target's index in order
	retries          uint64       // of the current target
	attempts         uint64       // fetches in total
	lastTarget       uint64       // 1 + the index of the last target called; 0: none
	dispatchMs       uint64       // start of the first attempt
	jsonRetried      bool         // the request was repeated because the response was not the requested JSON
	passed           []abi.Header // the caller's headers for providers, without unknown beta values
	droppedHeaders   string       // headers that no provider gets, comma-separated: names, or anthropic-beta:VALUE for a single beta
	codex            bool         // the caller is Codex, according to its originator header
	lossy            bool         // no target gets all provider tools and parts, so a target that does not get them will do
	skipped          bool         // a target before the chosen one was skipped because of its open circuit
	strict           bool         // no part of the request may be dropped (x-postern-strict)
	providerKey      string       // the project's provider key, decrypted for the next fetch
	imposedMaxTokens uint64       // max tokens that the gateway set for the current attempt; 0: none
	dropped          string       // names of the parameters that the current target does not get
	attemptResults   string       // outcomes of the attempts, for x-postern-attempts
	failures         []failure    // failed attempts by target and cause
	notes            notes
	ending           ending
	spent            bill.Spent
	stream           stream
	pieces           pieces

	openReservations uint64 // the number of open reservations that the flushed meters reported
	pauses           uint64 // how often a usage report has paused to wait for them
	reportCalls      uint64 // how often a usage report has called the Ledger
	times            times
}

type request struct {
	bill.Order
	model        string // a tier or a model name in the catalog
	stream       bool
	includeUsage bool
	json         bool   // the text must be JSON; if it is not, the request is repeated once
	base64       bool   // embeddings are returned as base64
	vectors      uint64 // the number of embeddings that the response must have
	params       chat.Params
	defaulted    chat.Params  // parameters that the gateway added because the caller did not set them
	question     chat.Params  // see chat.Request.Question
	foreign      fault.Detail // see api.Parser.Foreign
	own          fault.Detail // see api.Parser.Own
	aliases      chat.Aliases // the functions that replace the request's tools
	unknown      string       // names of fields that are not forwarded
	schema       string       // the JSON Schema that the text must match: a native request's responseSchema
}

type cacheControl struct {
	noStore, noCache bool
	maxAge           uint64 // 1 + seconds; 0: not given
}

// hit describes the cached response in bufferAnswer.
type hit struct {
	found           bool
	provider, model string
	promoteMs       uint64 // how long KV will also keep the response; 0: KV will not store it
}

// admission is the state of the admission by the key's meter. Amounts are in picodollars.
type admission struct {
	called    bool
	admitted  bool
	rounds    uint64
	mode      keymeter.Mode
	budget    budgetRequest
	amount    int64 // to reserve
	minAmount int64 // the least to reserve, if the budget has less than amount
	reserved  int64
	windows   []keymeter.Window
}

// pieces is the progress of a mock's stream: the next buffer to send and the number of buffers.
type pieces struct{ next, count uint64 }

// times contains the times for the server-timing header, in milliseconds. Each part has a start and a total.
type times struct{ admitStart, admit, upstreamStart, upstream uint64 }

// exchange is the data of one step: the state, which lasts from step to step, and everything else.
type exchange struct {
	step
	s state
}

// step is the part of an exchange that ends with the step: its input, its output and cached results.
type step struct {
	config      *config.Config
	proceeds    bool     // the handler is done; proceed continues the request with what has arrived
	mayEnter    phaseSet // the phases that this step's handler may enter
	now         uint64
	event       *abi.Event
	endpoint    *endpoint  // the row of s.endpoint
	rows        []endpoint // the endpoint table; functions in the table cannot refer to it directly
	circuits    route.Circuits
	out         abi.StepOutput
	waiting     uint64          // StepInput.Waiting
	ending      fault.Fault     // the error with which the exchange ends in this step
	attached    []byte          // StepInput.Attached, or its new content
	pinned      []byte          // StepInput.Pinned
	pins        bool            // this step has pinned the entry, so pinned does not contain it
	entryMemo   *lease.Entry    // cached result of entry
	wakeAll     bool            // all exchanges that wait for the lease continue
	guardMemo   *guard          // cached result of guard
	targetsMemo []policy.Target // cached result of targets
}

func (s *state) encode(models []config.Model) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	s.fields(abi.WriteTo(&w), models)
	return w.Buf
}

func decodeState(data []byte, models []config.Model) (s state) {
	r := abi.Reader{Buf: data}
	r.ShareTexts()
	s.fields(abi.ReadFrom(&r), models)
	if r.End() != nil {
		panic("exchange: malformed state")
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
	f.String(&s.agent)
	f.String(&s.query)
	f.String(&s.variable)
	f.Flags(&s.disconnected, &s.responded, &s.haveRecord, &s.bodyDone, &s.jsonRetried, &s.cacheControl.noStore, &s.cacheControl.noCache,
		&s.strict, &s.hit.found, &s.rerun, &s.codex, &s.lossy, &s.skipped)
	s.idempotencyFields(f)
	s.recordField(f)
	abi.Enum(f, &s.rejected)
	f.Uint(&s.cacheControl.maxAge)
	s.request.fields(f)
	f.String(&s.cacheKey)
	if f.Uint(&s.policyVersion); s.policyVersion != 0 {
		s.selection.Fields(f, models)
	}
	f.String(&s.hit.provider)
	f.String(&s.hit.model)
	f.Uint(&s.hit.promoteMs)
	s.flight.fields(f)
	s.admission.fields(f)
	s.leased.fields(f)
	s.attemptFields(f)
	s.govern.fields(f)
	s.stream.fields(f)
	if f.Group(s.openReservations+s.pauses+s.reportCalls > 0) {
		f.Uint(&s.openReservations)
		f.Uint(&s.pauses)
		f.Uint(&s.reportCalls)
	}
	s.endFields(f)
}

func (s *state) endFields(f *abi.Fields) {
	s.times.fields(f)
	s.notes.fields(f)
	s.ending.fields(f)
}

func (s *state) idempotencyFields(f *abi.Fields) {
	f.Uint(&s.invalidIdempotency)
	f.String(&s.idempotency)
	f.String(&s.bodyHash)
	f.Uint(&s.kept)
}

func (s *state) recordField(f *abi.Fields) {
	if !s.haveRecord {
		return
	}
	f.Bytes(&s.encoded)
	f.Bytes(&s.early)
	if f.Reading() {
		s.record, _ = doc.DecodeRecord(s.encoded)
	}
}

func (s *state) attemptFields(f *abi.Fields) {
	abi.List(f, &s.passed, (*abi.Fields).Header)
	f.String(&s.droppedHeaders)
	if !f.Group(len(s.order) > 0 || s.dispatchMs > 0) {
		return
	}
	f.Bytes(&s.order)
	f.Uint(&s.orderIndex)
	f.Uint(&s.retries)
	f.Uint(&s.attempts)
	f.Uint(&s.lastTarget)
	f.Uint(&s.dispatchMs)
	f.String(&s.providerKey)
	f.Uint(&s.imposedMaxTokens)
	f.String(&s.dropped)
	f.String(&s.attemptResults)
	abi.List(f, &s.failures, func(f *abi.Fields, v *failure) { v.fields(f) })
	s.spent.Fields(f)
	f.Uint(&s.pieces.next)
	f.Uint(&s.pieces.count)
}

func (q *request) fields(f *abi.Fields) {
	f.String(&q.model)
	f.Flags(&q.stream, &q.includeUsage, &q.json, &q.base64)
	f.Uint(&q.vectors)
	q.Order.Fields(f)
	f.Uint((*uint64)(&q.params))
	f.Uint((*uint64)(&q.defaulted))
	f.Uint((*uint64)(&q.question))
	f.String(&q.foreign.Field)
	f.String(&q.foreign.Message)
	f.String(&q.own.Field)
	f.String(&q.own.Message)
	f.String((*string)(&q.aliases))
	f.String(&q.unknown)
	f.String(&q.schema)
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

// least returns the smallest sufficient reservation.
func (a *admission) least() int64 {
	if a.minAmount == 0 {
		return a.amount
	}
	return min(a.minAmount, a.amount)
}

func (t *times) fields(f *abi.Fields) {
	f.Uint(&t.admitStart)
	f.Uint(&t.admit)
	f.Uint(&t.upstreamStart)
	f.Uint(&t.upstream)
}
