package explore_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keymeter"
)

// startMs is the clock at a request's arrival: November 21st, 2026, 12:00 UTC.
const startMs = 1_795_262_400_000

// oracle decides what is left open: it takes one of the options.
type oracle func(options []string) int

// world is one exchange and all that its surroundings remember of it.
type world struct {
	scenario *scenario
	config   *config.Config
	oracle   oracle
	trace    *transcript // nil: nobody reads it
	rows     []bool      // that were reached

	nowMs   uint64
	state   []byte
	shared  []byte
	open    []pending
	ready   []abi.Event // answers that were there at once
	buffers []buffer
	uses    map[string]int // of choices that are bounded
	facts   facts
	broken  []string // what was violated
	stored  []byte   // in the cache
	sent    []byte   // of a stream, to the caller, but for comments
}

// pending is an action that is not answered.
type pending struct {
	action  abi.Action
	meaning string
	script  *script    // a stream that has begun
	at      int        // its next piece
	answer  *abi.Event // that a slow host has
}

type buffer struct {
	number  uint64
	data    []byte
	fetches []int // during which attempts it was appended to
}

// answered is how far the caller's answer is.
type answered uint8

const (
	nothing answered = iota
	whole
	opened
	closed
)

// facts are what the invariants need to know of the past.
type facts struct {
	begun      bool
	answer     answered
	left       bool
	admitted   keymeter.Mode // of the last admission; 0: none yet
	idem       bool          // that admission began an idempotency record
	settled    int
	fetches    int
	asked      string // the models that were fetched, each after a space
	clean      bool   // the last fetch brought a whole, clean answer
	dispatched bool   // a fetch went out under a reservation
	seen       reasons
	told       string // what the caller, the meter and the cache were told, in words
}

// reasons are what may justify a refusal.
type reasons uint16

const (
	sawStranger    reasons = 1 << iota // the key is unknown or inactive
	sawLimit                           // a window is full, or too much is under way
	sawNoBudget                        // the Ledger has no more
	sawOutage                          // a part of ours failed
	sawBadProvider                     // a provider did not answer well
	sawSlow                            // a provider took too long
	sawSealed                          // a project's key did not open
	sawHit                             // a cached answer was found
	sawRound                           // the meter was asked again
	sawRounds                          // and again
)

func (f *facts) encode(w *abi.Writer) {
	w.Bool(f.begun)
	w.Uint(uint64(f.answer))
	w.Bool(f.left)
	w.Uint(uint64(f.admitted))
	w.Bool(f.idem)
	w.Uint(uint64(f.settled))
	w.Uint(uint64(f.fetches))
	w.String(f.asked)
	w.Bool(f.clean)
	w.Bool(f.dispatched)
	w.Uint(uint64(f.seen))
	w.String(f.told)
}

func (f *facts) tell(what string) {
	if f.told != "" {
		f.told += "; "
	}
	f.told += what
}

func newWorld(s *scenario, cfg *config.Config) *world {
	return &world{scenario: s, config: cfg, nowMs: startMs, shared: s.shared, rows: make([]bool, len(machine.rows()))}
}

// clone is a world that goes its own way. Contents of buffers are never changed in place.
func (w *world) clone() *world {
	c := *w
	c.open, c.buffers, c.ready = slices.Clone(w.open), slices.Clone(w.buffers), nil
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

// key is the world's identity: two worlds with one key have one future.
func (w *world) key() [sha256.Size]byte {
	var b abi.Writer
	b.Buf = make([]byte, 0, 4096)
	switch {
	case w.scenario.clock:
		b.Bytes(w.state) // what is left of the request's time is in it
	case w.facts.begun:
		b.Bytes(machine.canonical(w.config, w.state))
	}
	b.Bytes(w.shared)
	b.Uint(w.nowMs)
	open := slices.Clone(w.open)
	sort.Slice(open, func(i, j int) bool { return open[i].action.ID < open[j].action.ID })
	for i := range open {
		p := &open[i]
		b.Uint(p.action.ID)
		b.String(p.meaning)
		b.Uint(uint64(p.at))
		if p.script != nil {
			b.String(p.script.name)
		}
		if p.answer != nil {
			b.Bytes(p.answer.Data)
			b.Uint(p.answer.Code)
		}
	}
	w.facts.encode(&b)
	b.Bytes(w.sent)
	if len(w.uses) > 0 {
		b.String(fmt.Sprint(w.uses))
	}
	for i := range w.buffers {
		b.Uint(w.buffers[i].number)
		b.Bytes(w.buffers[i].data)
		for _, n := range w.buffers[i].fetches {
			b.Uint(uint64(n))
		}
	}
	return sha256.Sum256(b.Buf)
}
