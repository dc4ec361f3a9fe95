package exchange_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/internal/transcript"
)

// startMs is the clock when a story begins: November 21st, 2026, 12:00 UTC.
const startMs = 1_795_262_400_000

// story is the host of a transcript: it keeps the buffers and knows which actions are outstanding.
type story struct {
	t        *testing.T
	config   *config.Config
	printer  transcript.Printer
	rows     []bool // of the table, that were reached
	phases   []string
	requests int

	nowMs    uint64
	state    []byte
	shared   []byte
	buffers  map[uint64][]byte
	open     []abi.Action
	answered bool
	opened   bool // the answer is a stream
	closed   bool // that has its end
	left     bool
	out      strings.Builder
}

func newStory(t *testing.T, rows []bool) *story {
	s := &story{t: t, rows: rows, nowMs: startMs}
	s.printer = transcript.Printer{Mask: masks, Buffer: exchange.BufferName, Limit: 400}
	s.configure(catalogWith(t, nil), nil)
	return s
}

// play carries one command out, and returns what the machine did.
func (s *story) play(b *block) string {
	handle := commands[strings.Fields(b.command)[0]]
	if handle == nil {
		s.t.Fatalf("there is no command %q", b.command)
	}
	s.out.Reset()
	a := parseArgs(s.t, b)
	s.nowMs += a.milliseconds("after")
	handle(s, a)
	a.done()
	return s.out.String()
}

// answer delivers the answer to an action. One that comes late is to an action that was cancelled.
func (s *story) answer(a *args, id uint64, event abi.Event) {
	at := slices.IndexFunc(s.open, func(o abi.Action) bool { return o.ID == id })
	if a.late == (at >= 0) {
		a.fail("whether the action is outstanding is not as the transcript says")
	}
	if at >= 0 && event.Kind != abi.EventHead && event.Kind != abi.EventChunk {
		s.open = slices.Delete(s.open, at, at+1)
	}
	event.ID = id
	s.step(event)
}

// find is the outstanding action with one of the ids.
func (s *story) find(a *args, which func(*abi.Action) bool) *abi.Action {
	at := slices.IndexFunc(s.open, func(o abi.Action) bool { return which(&o) })
	if at < 0 {
		a.fail("nothing of that kind is outstanding")
	}
	return &s.open[at]
}

func kind(k abi.ActionKind) func(*abi.Action) bool {
	return func(o *abi.Action) bool { return o.Kind == k }
}

// calling is a call, by its meaning.
func calling(meaning string) func(*abi.Action) bool {
	return func(o *abi.Action) bool {
		return o.Kind == abi.ActionCall && strings.HasPrefix(transcript.Meaning(o), meaning)
	}
}

// step runs the machine, and writes down what it did.
func (s *story) step(event abi.Event) {
	if row := exchange.RowOf(s.config, s.state, &event); row >= 0 {
		s.rows[row] = true
	}
	out := exchange.Step(s.config, &abi.StepInput{NowMs: s.nowMs, Shared: s.shared, State: s.state, Event: event})
	s.state = out.State
	if out.SharedChanged {
		s.shared = out.Shared
	}
	phase := exchange.PhaseName(s.config, s.state)
	s.phases = append(s.phases, phase)
	s.out.WriteString("phase: " + phase + "\n")
	for i := range out.Actions {
		s.out.WriteString("  " + strings.ReplaceAll(s.printer.Action(&out.Actions[i]), "\n", "\n  ") + "\n")
		s.perform(&out.Actions[i])
	}
}

// perform does what a host does at once.
func (s *story) perform(o *abi.Action) {
	switch o.Kind {
	case abi.ActionKeep:
		s.buffers[o.Buffer] = o.Data
	case abi.ActionAppend:
		s.buffers[o.Buffer] = append(slices.Clip(s.buffers[o.Buffer]), o.Data...)
	case abi.ActionCancel:
		s.open = slices.DeleteFunc(s.open, func(p abi.Action) bool { return p.ID == o.ID })
	case abi.ActionRespond, abi.ActionOpen:
		if s.answered {
			s.t.Fatal("the caller is answered twice")
		}
		s.answered, s.opened = true, o.Kind == abi.ActionOpen
	case abi.ActionClose:
		s.closed = true
	case abi.ActionCall, abi.ActionReadBody, abi.ActionSupply, abi.ActionRead, abi.ActionFetch, abi.ActionWait, abi.ActionForward, abi.ActionUnseal:
		s.start(o)
	}
}

func (s *story) start(o *abi.Action) {
	if o.ID == 0 {
		return
	}
	if slices.ContainsFunc(s.open, func(p abi.Action) bool { return p.ID == o.ID }) {
		s.t.Fatalf("id %d is used again", o.ID)
	}
	s.open = append(s.open, *o)
}

// checkOver says whether the story was told to its end.
func (s *story) checkOver() {
	s.t.Helper()
	switch {
	case s.requests == 0:
		s.t.Error("there is no request")
	case exchange.PhaseName(s.config, s.state) != "done" || len(s.open) > 0:
		s.t.Errorf("the exchange is not over: %d actions are outstanding", len(s.open))
	case !s.answered, s.opened && !s.closed && !s.left:
		s.t.Error("the caller has no answer, or one without an end")
	}
}
