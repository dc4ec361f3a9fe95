package explore_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/test/interpreter"
)

// startMs is the time of a request's arrival: November 21, 2026, 12:00 UTC.
const startMs = 1_795_262_400_000

// oracle makes a nondeterministic choice: it returns the index of an option.
type oracle func(options []string) int

// world is one exchange with the state of its environment.
type world struct {
	scenario *scenario
	config   *config.Config
	oracle   oracle
	trace    *transcript  // nil: no transcript
	rows     []phasesSeen // the rows reached

	interpreter.Exchange

	nowMs  uint64
	shared []byte
	pinned []byte // the key's entry
	pins   bool   // the exchange has pinned the entry
	open   []pending
	ready  []abi.Event    // replies that are available at once
	uses   map[string]int // how often choices with a limit were used
	// the attempts that have appended to a buffer, in order
	attempts []attempt
	facts    facts
	broken   []string // violations
	stored   []byte   // the cached response
	// published and landed are the data that the exchange has given to its flight. publishes is the buffer that it
	// publishes.
	published [][]byte
	landed    []byte
	publishes uint64
	sent      []byte // the stream's bytes sent to the caller, without comments
}

// pending is an action that awaits its reply.
type pending struct {
	action  abi.Action
	meaning string
	script  *script    // the stream in progress
	at      int        // the index of its next piece
	reply   *abi.Event // a slow host's reply, not yet delivered
	paused  bool       // of a fetch
}

// attempt is a fetch that has appended to a buffer. fetch is its number.
type attempt struct {
	buffer uint64
	fetch  int
}

// facts are the parts of the past that the invariants use.
type facts struct {
	begun        bool
	disconnected bool
	admitted     keymeter.Mode // mode of the last admission; 0: none yet
	unsure       bool          // an admission reserves, and its outcome is unknown
	idem         bool          // that admission started an idempotency record
	kept         bool          // a response under the idempotency key was stored, or storing it failed
	unkept       bool          // storing it failed or takes too long, and the exchange has not handed it over to the host
	stored       string        // the command that stores it
	freed        bool          // the idempotency key may be used again, for example after a failure
	settled      int
	fetches      int
	called       string // the called models; a space follows each
	clean        bool   // the last fetch returned a response that is complete and clean
	dispatched   bool   // a fetch was sent under a reservation
	seen         reasons
	classified   int    // calls of the classifier
	reported     string // the violations that the meter has, by direction and rule
	blocked      bool   // the caller got the error of a block
	seat         seat   // in a flight
	waiting      uint64 // followers of the flight
	read         int    // pieces read as a follower
	leased       bool   // the request was admitted by a lease
	left         bool   // the request's settle was left in the entry
	confirmed    int    // reports with its settle that the meter has confirmed
	withheld     bool   // the exchange withholds the end of a response that is complete and clean
	reserved     int64  // amount that the exchange knows to be reserved
	delivered    int    // marks in the content sent to the caller
	outcomes     string // the outcomes for caller, meter and cache, as text
}

// reasons are observations. Each justifies an error status.
type reasons uint16

const (
	sawUnknownKey  reasons = 1 << iota // the key is unknown or inactive
	sawLimit                           // a rate or concurrency limit is reached
	sawNoBudget                        // the budget is used up
	sawOutage                          // a dependency of the gateway failed
	sawBadProvider                     // a provider call failed
	sawSlow                            // a provider timed out
	sawSealedKey                       // a project's provider key could not be unsealed
	sawHit                             // a cached response was found
	sawRound                           // one more round to the meter or the Ledger was needed
	sawRounds                          // two more rounds were needed
)

func (f *facts) encode(w *abi.Writer) {
	w.Bool(f.begun)
	w.Bool(f.disconnected)
	w.Uint(uint64(f.admitted))
	w.Bool(f.unsure)
	w.Bool(f.idem)
	w.Bool(f.kept)
	w.Bool(f.unkept)
	w.String(f.stored)
	w.Bool(f.freed)
	w.Uint(uint64(f.settled))
	w.Uint(uint64(f.fetches))
	w.String(f.called)
	w.Bool(f.clean)
	w.Bool(f.dispatched)
	w.Uint(uint64(f.seen))
	w.Uint(uint64(f.classified))
	w.String(f.reported)
	w.Bool(f.blocked)
	w.Uint(uint64(f.seat))
	w.Uint(f.waiting)
	w.Uint(uint64(f.read))
	w.Bool(f.leased)
	w.Bool(f.left)
	w.Uint(uint64(f.confirmed))
	w.Bool(f.withheld)
	w.Uint(uint64(f.reserved))
	w.Uint(uint64(f.delivered))
	w.String(f.outcomes)
}

func (f *facts) record(what string) {
	if f.outcomes != "" {
		f.outcomes += "; "
	}
	f.outcomes += what
}

func newWorld(s *scenario, cfg *config.Config) *world {
	return &world{scenario: s, config: cfg, nowMs: startMs, shared: s.shared, pinned: s.pinned, rows: make([]phasesSeen, len(machine.rows()))}
}

// clone returns an independent copy. Buffers are shared, because their contents are never changed in place.
func (w *world) clone() *world {
	c := *w
	c.open, c.ready = slices.Clone(w.open), nil
	c.uses = nil
	for name, n := range w.uses {
		c.use(name, n)
	}
	c.broken = nil
	return &c
}

func (w *world) use(name string, n int) {
	if w.uses == nil {
		w.uses = map[string]int{}
	}
	w.uses[name] += n
}

func (w *world) violate(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// key identifies the state of a world. If two worlds have equal keys, their futures are equal.
func (w *world) key() [sha256.Size]byte {
	var b abi.Writer
	b.Buf = make([]byte, 0, 4096)
	switch {
	case w.scenario.clock:
		b.Bytes(w.State) // includes the request's remaining time
	case w.facts.begun:
		b.Bytes(machine.canonical(w.config, w.State))
	}
	b.Bytes(w.shared)
	b.Bytes(w.pinned)
	b.Uint(w.nowMs)
	open := slices.Clone(w.open)
	sort.Slice(open, func(i, j int) bool { return open[i].action.ID < open[j].action.ID })
	for i := range open {
		p := &open[i]
		b.Uint(p.action.ID)
		b.String(p.meaning)
		b.Uint(uint64(p.at))
		b.Bool(p.paused)
		if p.script != nil {
			b.String(p.script.name)
		}
		if p.reply != nil {
			b.Bytes(p.reply.Data)
			b.Uint(p.reply.Code)
		}
	}
	w.facts.encode(&b)
	b.Bytes(w.sent)
	if len(w.uses) > 0 {
		b.String(fmt.Sprint(w.uses))
	}
	b.Uint(uint64(w.Response))
	for _, one := range w.Buffers {
		b.Uint(one.Number)
		b.Bytes(one.Data)
	}
	for _, wrote := range w.attempts {
		b.Uint(wrote.buffer)
		b.Uint(uint64(wrote.fetch))
	}
	return sha256.Sum256(b.Buf)
}
