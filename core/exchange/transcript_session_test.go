package exchange_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/internal/transcript"
)

// startMs is November 21, 2026, 12:00 UTC, when every transcript starts.
const startMs = 1_795_262_400_000

// session is the host of a transcript: it stores the buffers and tracks the outstanding actions.
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
	stored    map[string][]byte // cache entries that exchanges wrote
	flight    recordedFlight
	followers uint64
	out       strings.Builder

	*conversation                 // the exchange that gets the next event
	all           []*conversation // by the numbers of their requests, from 1
}

// conversation is one exchange.
type conversation struct {
	state        []byte
	pins         string // key of its pinned entry
	buffers      map[uint64][]byte
	pending      []abi.Action
	responded    bool
	streaming    bool // the response is a stream
	closed       bool // the stream has ended
	disconnected bool
	paused       bool // its fetch
}

func newSession(t *testing.T, rows []bool) *session {
	s := &session{t: t, rows: rows, nowMs: startMs, stored: map[string][]byte{}, pinned: map[string][]byte{}}
	s.printer = transcript.Printer{Mask: masks, Buffer: exchange.BufferName, Limit: 400}
	s.configure(catalogWith(t, nil), nil)
	return s
}

// play runs one command and returns the resulting phase and actions.
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

// reply delivers the event that answers an action. A late reply must be to a canceled action.
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

// callOf matches a call by its meaning.
func callOf(meaning string) func(*abi.Action) bool {
	return func(o *abi.Action) bool {
		return o.Kind == abi.ActionCall && strings.HasPrefix(transcript.Meaning(o), meaning)
	}
}

// step advances the exchange by one event and records the result.
func (s *session) step(event abi.Event) {
	if row := exchange.RowOf(s.config, s.state, &event); row >= 0 {
		s.rows[row] = true
	}
	out := exchange.Step(s.config, &abi.StepInput{NowMs: s.nowMs, Shared: s.shared, State: s.state, Attached: s.buffers[abi.AttachedBuffer], Pinned: s.pinned[s.pins], Waiting: s.followers, Event: event})
	s.state = out.State
	if out.SharedChanged {
		s.shared = out.Shared
	}
	phase := exchange.PhaseName(s.config, s.state)
	s.phases = append(s.phases, phase)
	s.out.WriteString("phase: " + phase + "\n")
	s.pin(&out)
	for i := range out.Actions {
		s.out.WriteString("  " + strings.ReplaceAll(s.printer.Action(&out.Actions[i]), "\n", "\n  ") + "\n")
		s.perform(&out.Actions[i])
	}
}

// pin replaces the pinned entry of the exchange.
func (s *session) pin(out *abi.StepOutput) {
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
}

// perform executes the actions that a host performs at once.
func (s *session) perform(o *abi.Action) {
	s.flight.record(o, s.buffers)
	switch o.Kind {
	case abi.ActionKeep:
		s.buffers[o.Buffer] = o.Data
	case abi.ActionAppend:
		s.buffers[o.Buffer] = append(slices.Clip(s.buffers[o.Buffer]), o.Data...)
	case abi.ActionWrite:
		if strings.HasPrefix(o.Key, "cache/") {
			s.stored[o.Key] = o.Body[0].Data
			if buffer := o.Body[0].Buffer; buffer != 0 {
				s.stored[o.Key] = s.buffers[buffer]
			}
		}
	case abi.ActionCancel:
		s.paused = s.paused && o.ID != fetchID
		s.pending = slices.DeleteFunc(s.pending, func(p abi.Action) bool { return p.ID == o.ID })
	case abi.ActionPause, abi.ActionResume:
		s.paused = o.Kind == abi.ActionPause
	case abi.ActionRespond, abi.ActionOpen:
		if s.responded {
			s.t.Fatal("the caller gets a second response")
		}
		s.responded, s.streaming = true, o.Kind == abi.ActionOpen
	case abi.ActionClose:
		s.closed = true
	case abi.ActionPin:
		s.pins = o.Key
	case abi.ActionCall, abi.ActionReadBody, abi.ActionSupply, abi.ActionRead, abi.ActionFetch, abi.ActionWait, abi.ActionForward, abi.ActionUnseal,
		abi.ActionJoin, abi.ActionFollow:
		s.start(o)
	}
}

func (s *session) start(o *abi.Action) {
	if o.ID == 0 {
		return
	}
	if slices.ContainsFunc(s.pending, func(p abi.Action) bool { return p.ID == o.ID }) {
		s.t.Fatalf("ID %d is already outstanding", o.ID)
	}
	s.pending = append(s.pending, *o)
}

// checkFinished checks that all exchanges are complete.
func (s *session) checkFinished() {
	s.t.Helper()
	if s.requests == 0 {
		s.t.Error("the transcript has no request")
	}
	for i, c := range s.all {
		switch {
		case exchange.PhaseName(s.config, c.state) != "done" || len(c.pending) > 0:
			s.t.Errorf("exchange %d is not over: %d actions are outstanding", i+1, len(c.pending))
		case !c.responded, c.streaming && !c.closed && !c.disconnected:
			s.t.Errorf("the caller of exchange %d has no response, or an unfinished one", i+1)
		}
	}
}
