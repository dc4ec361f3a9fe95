package exchange_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/test/interpreter"
	"github.com/postern-ai/postern/test/transcript"
)

// startMs is November 21, 2026, 12:00 UTC, when every transcript starts.
const startMs = 1_795_262_400_000

// session is the host in a transcript. It stores the buffers and knows the outstanding actions.
type session struct {
	t        *testing.T
	config   *config.Config
	printer  transcript.Printer
	rows     []bool // rows of the table that were reached
	phases   []string
	requests int

	nowMs     uint64
	shared    []byte
	pinned    map[string][]byte
	stored    map[string][]byte // values that exchanges wrote
	flight    recordedFlight
	followers uint64
	out       strings.Builder

	*conversation                 // the exchange that gets the next event
	all           []*conversation // in the order of their requests, which are numbered from 1
}

type conversation struct {
	interpreter.Exchange

	pins         string // key of its pinned entry
	pending      []abi.Action
	disconnected bool
	paused       bool // the fetch is paused
}

func newSession(t *testing.T, rows []bool) *session {
	s := &session{t: t, rows: rows, nowMs: startMs, stored: map[string][]byte{}, pinned: map[string][]byte{}}
	s.printer = transcript.Printer{Mask: masks, Buffer: exchange.BufferName, Limit: 400}
	s.configure(catalogWith(t, nil), nil)
	return s
}

// play runs one command. It returns the resulting phase and actions.
func (s *session) play(b *block) string {
	handle := commands[strings.Fields(b.command)[0]]
	if handle == nil {
		s.t.Fatalf("unknown command %q", b.command)
	}
	s.out.Reset()
	a := parseArgs(s.t, b)
	s.nowMs += a.milliseconds("after")
	if n := a.number("of", uint64(len(s.all))); n > 0 && n <= uint64(len(s.all)) {
		s.conversation = s.all[n-1]
	}
	handle(s, a)
	a.checkConsumed()
	return s.out.String()
}

// reply delivers the event that replies to an action. If the reply is late, the action must be canceled.
func (s *session) reply(a *args, id uint64, event abi.Event) {
	at := slices.IndexFunc(s.pending, func(o abi.Action) bool { return o.ID == id })
	if a.late == (at >= 0) {
		a.fail("only a reply to a canceled action is marked late")
	}
	if s.paused && id == fetchID && (event.Kind == abi.EventChunk || event.Kind == abi.EventEnd) {
		a.fail("the fetch is paused")
	}
	if at >= 0 && event.Kind != abi.EventHead && event.Kind != abi.EventChunk {
		s.pending = slices.Delete(s.pending, at, at+1)
	}
	event.ID = id
	s.step(event)
}

// find returns the first outstanding action that matches.
func (s *session) find(a *args, which func(*abi.Action) bool) *abi.Action {
	at := slices.IndexFunc(s.pending, func(o abi.Action) bool { return which(&o) })
	if at < 0 {
		a.fail("no such action is outstanding")
	}
	return &s.pending[at]
}

func kind(k abi.ActionKind) func(*abi.Action) bool {
	return func(o *abi.Action) bool { return o.Kind == k }
}

// callOf matches a call by a prefix of its meaning. transcript.Meaning describes the meaning.
func callOf(meaning string) func(*abi.Action) bool {
	return func(o *abi.Action) bool {
		return o.Kind == abi.ActionCall && strings.HasPrefix(transcript.Meaning(o), meaning)
	}
}

func (s *session) step(event abi.Event) {
	s.Step(s, &abi.StepInput{NowMs: s.nowMs, Shared: s.shared, Pinned: s.pinned[s.pins], Waiting: s.followers, Event: event})
}

func (s *session) Run(in *abi.StepInput) (abi.StepOutput, bool) {
	if row := exchange.RowOf(s.config, in.State, &in.Event); row >= 0 {
		s.rows[row] = true
	}
	return s.Core(s, s.config, in), true
}

// Stepped notes the phase and replaces the exchange's pinned entry.
func (s *session) Stepped(_ *abi.StepInput, out *abi.StepOutput) {
	if out.SharedChanged {
		s.shared = out.Shared
	}
	phase := exchange.PhaseName(s.config, s.State)
	s.phases = append(s.phases, phase)
	s.out.WriteString("phase: " + phase + "\n")
	switch {
	case !out.PinnedChanged:
		return
	case s.pins == "":
		s.t.Fatal("the exchange has no pinned entry yet")
	case len(out.Pinned) == 0:
		s.out.WriteString("  entry removed\n")
	default:
		s.out.WriteString("  entry kept for " + (time.Duration(out.PinnedKeepMs) * time.Millisecond).String() + "\n")
	}
	s.pinned[s.pins] = out.Pinned
	if out.Wake > 0 && s.queued() {
		s.out.WriteString("  wakes " + strconv.FormatUint(out.Wake, 10) + "\n")
	}
}

// queued reports whether an exchange waits in a queue.
func (s *session) queued() bool {
	return slices.ContainsFunc(s.all, func(c *conversation) bool {
		return slices.ContainsFunc(c.pending, func(a abi.Action) bool { return a.Kind == abi.ActionWait && a.Code != abi.WaitTimer })
	})
}

func (s *session) Sees(a *abi.Action) bool {
	s.out.WriteString("  " + strings.ReplaceAll(s.printer.Action(a), "\n", "\n  ") + "\n")
	return true
}

func (s *session) Start(a *abi.Action) {
	if a.ID != 0 {
		s.pending = append(s.pending, *a)
	}
}

func (s *session) Outstanding(id uint64) bool {
	return slices.ContainsFunc(s.pending, func(a abi.Action) bool { return a.ID == id })
}

func (s *session) Cancel(id uint64) {
	s.paused = s.paused && id != fetchID
	s.pending = slices.DeleteFunc(s.pending, func(a abi.Action) bool { return a.ID == id })
}

func (s *session) Pause(a *abi.Action) { s.paused = a.Kind == abi.ActionPause }

func (s *session) Write(a *abi.Action, value []byte) {
	s.stored[a.Key] = value
}

func (s *session) Answer(*abi.Action, []byte) {}

func (s *session) Note(a *abi.Action) {
	s.flight.record(a, s.Buffers)
	if a.Kind == abi.ActionPin {
		s.pins = a.Key
	}
}

func (s *session) Violate(format string, args ...any) { s.t.Fatalf(format, args...) }

// checkFinished checks that all exchanges are complete.
func (s *session) checkFinished() {
	s.t.Helper()
	if s.requests == 0 {
		s.t.Error("the transcript has no request")
	}
	for i, c := range s.all {
		left := len(c.pending)
		if left == 1 && c.pending[0].ID == pinnedID {
			left = 0 // ending.txt covers the rest of such exchanges
		}
		switch {
		case exchange.PhaseName(s.config, c.State) != "done" || left > 0:
			s.t.Errorf("exchange %d is not over: %d actions are outstanding", i+1, left)
		case c.Response == interpreter.None, c.Response == interpreter.Opened && !c.disconnected:
			s.t.Errorf("the caller of exchange %d has no response, or an unfinished one", i+1)
		}
	}
}
