package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

type answer struct {
	provider string
	model    string
	usage    chat.Usage
	costPico money.Pico
	cached   bool
	storable bool // the model finished normally and usage was reported, so the response can be cached
}

// governance is the state of the Governor in an exchange. The policy and the values to restore are in the attached
// buffer.
type governance struct {
	on        bool   // texts are checked
	inspected bool   // the request was checked
	schema    bool   // the project has a JSON Schema for responses
	buffered  bool   // a streamed response is checked as a whole before it is sent
	rewritten bool   // bufferChecked contains the request with placeholders
	strict    bool   // the caller sent x-postern-govern: strict
	threshold uint64 // 1 + the caller's threshold; 0: none

	input, output  verdict
	unchecked      string             // the kinds of parts that cannot be checked, comma-separated
	violations     []ledger.Violation // reported with the next admission or settlement
	rules          string             // the violated rules, including reported ones, comma-separated; at most maxRecordedRules
	live           live.Stream        // the state of the checks of a stream
	classification classification
}

func (g *governance) fields(f *abi.Fields) {
	f.Flags(&g.on, &g.inspected, &g.schema, &g.buffered, &g.rewritten, &g.strict)
	f.Uint(&g.threshold)
	if !g.on {
		return
	}
	g.input.fields(f)
	g.output.fields(f)
	f.String(&g.unchecked)
	abi.List(f, &g.violations, ledger.ViolationFields)
	f.String(&g.rules)
	g.live.Fields(f)
	g.classification.fields(f)
}

// verdict is the result of checking the input or the output.
type verdict struct {
	decision governor.Decision
	risk     uint64
}

func (v *verdict) fields(f *abi.Fields) {
	abi.Enum(f, &v.decision)
	f.Uint(&v.risk)
}

// stream is the state of a provider's stream and its forwarding to the caller.
type stream struct {
	headReceived   bool // the provider's response head has arrived
	opened         bool // the caller has a response head
	hasContent     bool // a content delta has arrived
	committed      bool // something other than a comment was sent, so a fallback is no longer possible
	sentSinceTick  bool // something was sent since the last tick
	endMarkSeen    bool // the provider's end mark has arrived
	passThrough    bool // the caller uses the provider's dialect, so events are forwarded unchanged
	parser         sse.Parser
	wire           wire.State
	api            api.State
	finish         chat.Finish
	usage          chat.Usage
	units          uint64 // the estimated size of the response so far, in fractions of a token (chat.TokenUnits)
	least          uint64 // the number of deltas with text; each is at least one token, even if its text would be less within a longer text
	held           []byte // output that waits for the first content
	deltaBytes     uint64 // bytes in bufferDeltas
	extension      extension
	withheld       withheld
	forOthers      bool // the caller has disconnected; the stream continues for the followers of its flight
	firstContentMs uint64
}

// fields encodes or decodes a stream. If the stream has not started, it is a single zero.
func (s *stream) fields(f *abi.Fields) {
	begun := s.headReceived || s.opened || s.forOthers
	if f.Bool(&begun); !begun {
		return
	}
	f.Flags(&s.headReceived, &s.opened, &s.hasContent, &s.committed, &s.sentSinceTick, &s.endMarkSeen, &s.passThrough, &s.parser.Begun, &s.forOthers)
	f.Bytes(&s.parser.Rest)
	s.wire.Fields(f)
	s.api.Fields(f)
	abi.Enum(f, &s.finish)
	s.usage.Fields(f)
	f.Uint(&s.units)
	f.Uint(&s.least)
	f.Bytes(&s.held)
	f.Uint(&s.deltaBytes)
	s.extension.fields(f)
	s.withheld.fields(f)
	f.Uint(&s.firstContentMs)
}

// tokens returns the estimated number of output tokens so far.
func (s *stream) tokens() uint64 {
	return max(s.least, (s.units+chat.TokenUnits-1)/chat.TokenUnits)
}

// A stream reserves ahead. When half of the remaining reservation is used, it requests more. The grant therefore
// usually arrives before the reservation is used up. If the grant is late, the stream waits (withhold.go). A missing
// reply says nothing about the budget, so only a refusal from the Ledger ends the stream with budget_exceeded.

type extension struct {
	nextPico int64 // the cost at which the stream requests the next part
	total    int64 // the total reservation requested from the meter; 0: no request is pending
	minTotal int64 // the least total to reserve if the budget has less than total
	budget   budgetRequest
	retryMs  uint64 // when lent budget may be free again; 0: the stream does not wait for it
	waits    uint64 // for lent budget
	dry      bool   // nothing was left beyond the reservation; the stream asks once more before it waits
}

func (e *extension) fields(f *abi.Fields) {
	f.Int(&e.nextPico)
	f.Int(&e.total)
	f.Int(&e.minTotal)
	e.budget.fields(f)
	f.Uint(&e.retryMs)
	f.Uint(&e.waits)
	f.Bool(&e.dry)
}

// Only reserved output is delivered. An event with content is processed only if the reservation covers at least one
// more token than the stream has. A stream can exceed its reservation by one event. It can also exceed it by what its
// provider charges beyond the tokens sent. If the reservation does not cover an event, that event and all later
// events are withheld. The fetch pauses until the reservation has grown, so that backpressure reaches the provider.

// withheld is the state of a stream whose reservation is used up.
type withheld struct {
	waiting  bool   // events wait in bufferWithheld for a larger reservation
	paused   bool   // the fetch is paused
	ended    bool   // the body ended after the withheld events
	waitedMs uint64 // counted in ticks, because clocks can jump
}

func (w *withheld) fields(f *abi.Fields) {
	f.Flags(&w.waiting, &w.paused, &w.ended)
	f.Uint(&w.waitedMs)
}

// classification is the state of the project's classifier in an exchange. The classifier is a model that judges the
// request, before the request is sent (strict) or in parallel (monitor).
type classification struct {
	wanted  bool // the request has text to classify
	done    bool // the classifier has responded or failed
	held    bool // the settlement waits in bufferSettle for the classifier
	failed  bool
	model   string // a model of the catalog, or the moderation endpoint's model
	prompt  uint64 // the estimated tokens in the text
	charges []keymeter.Charge
}

func (c *classification) fields(f *abi.Fields) {
	f.Flags(&c.wanted, &c.done, &c.held, &c.failed)
	if !c.wanted {
		return
	}
	f.String(&c.model)
	f.Uint(&c.prompt)
	abi.List(f, &c.charges, keymeter.ChargeFields)
}

// Flights. If identical cacheable requests miss the cache in one isolate at the same time, only one is sent to the
// provider. The first request leads a flight (core/abi/wire.schema). The others follow the flight and are served as
// cache hits (follow.go). Each request is admitted by its own key's meter.
//
// A flight carries the bytes of the cache, not those for the leader's caller. The cache's bytes have placeholders in
// place of redacted values, and no IDs. A non-streaming response is a cache entry, sent when the flight ends. A
// stream consists of its head (flightHead) and deltas. It ends with an entry that has no body and reports the usage.

type flightRole uint8

const (
	noFlight flightRole = iota
	leads
	follows
)

type flight struct {
	role     flightRole
	began    bool   // leader: it has published its stream; follower: it has read the head
	kept     bool   // a follower's first bytes wait in bufferFlight for the admission
	failures uint64 // the number of failed flights that the exchange followed
	lastMs   uint64 // when the follower last read
}

func (f *flight) fields(to *abi.Fields) {
	used := *f != flight{}
	if to.Bool(&used); !used {
		return
	}
	abi.Enum(to, &f.role)
	to.Flags(&f.began, &f.kept)
	to.Uint(&f.failures)
	to.Uint(&f.lastMs)
}

// leased is the exchange's use of its key's lease in this isolate.
type leased struct {
	pinned  bool          // the key's entry is pinned
	taken   bool          // the lease admitted the request
	sends   bool          // the request has sent a report because the lease did not admit it
	untilMs uint64        // when the request no longer waits for the lease; 0: it has not waited
	asked   uint64        // the ID of the lease that the admission requests; 0: none
	sent    lease.Sending // of the outstanding report
	tally   uint64        // number of the outstanding tally
}

func (l *leased) fields(f *abi.Fields) {
	f.Flags(&l.pinned, &l.taken, &l.sends)
	f.Uint(&l.untilMs)
	f.Uint(&l.asked)
	l.sent.Fields(f)
	f.Uint(&l.tally)
}

// redactor returns the request's redactor. Most steps do not need it.
func (g *guard) redactor() *governor.Redactor {
	if g.redacted == nil {
		g.redacted = &governor.Redactor{}
		if abi.DecodeFields(g.values, g.redacted.Fields) != nil {
			panic("exchange: malformed attached buffer")
		}
	}
	return g.redacted
}

type guard struct {
	encoded  []byte // the settings
	values   []byte // the redactor
	settings governor.Settings
	check    inspect.Check
	redacted *governor.Redactor // result of redactor; nil: not used in this step
	live     *live.Guard        // nil: not used in this step
}

// budgetRequest is the state of a request to the Ledger for more budget. It has the shortfall and the result.
type budgetRequest struct {
	need  ledger.Grant // Key is empty here; callGrant fills in the exchange's key
	grant keymeter.Grant
	final bool // the Ledger has nothing left beyond the grant
	// unreachable means that some budget may be left. A meter could not be reached for a recall, its batches could not
	// be delivered, or other requests kept winning the budget.
	unreachable bool
	// spent means that the missing budget is spent, not only reserved by other requests.
	spent bool
	// period is the budget period in which the budget was exhausted. If told is set, budgetPico is the period's
	// budget, and spentPico is the spent part of it.
	period                calendar.Period
	told                  bool
	budgetPico, spentPico int64
	// recalled means that a meter returned budget in this pass over the meters with idle slices. Another key may
	// already have it, so another pass may help.
	recalled bool
	passes   uint64 // repeated passes
	lentMs   uint64 // when budget that meters have lent may be free again; 0: no budget is lent
	waits    uint64 // for lent budget
	levels
}

func (b *budgetRequest) fields(f *abi.Fields) {
	if !f.Group(b.used()) {
		return
	}
	f.Uint((*uint64)(&b.need.Period))
	f.Uint(&b.need.Epoch)
	f.Int(&b.need.HeldPico)
	f.Int(&b.need.NeedPico)
	f.Int(&b.need.LeastPico)
	f.Int(&b.need.SpentPico)
	f.String(&b.need.After)
	b.grant.Fields(f)
	f.Flags(&b.final, &b.unreachable, &b.spent, &b.told, &b.recalled)
	f.Uint(&b.passes)
	f.Uint(&b.lentMs)
	f.Uint(&b.waits)
	f.Uint((*uint64)(&b.period))
	f.Int(&b.budgetPico)
	f.Int(&b.spentPico)
	b.levels.fields(f)
}

// used reports whether any field is set. Every request with a shortfall has a period.
func (b *budgetRequest) used() bool {
	return b.need != ledger.Grant{} || b.grant != keymeter.Grant{} || b.final || b.unreachable || b.spent || b.told || b.recalled ||
		b.passes != 0 || b.lentMs != 0 || b.waits != 0 || b.period != 0 || b.budgetPico != 0 || b.spentPico != 0 || b.levels.used()
}
