package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/policy"
)

// State is the state of one exchange, for hosts in Go that keep it decoded. The zero value is the state before the first
// step.
type State struct{ s state }

// Room is memory for a step. Between two steps of an exchange, others may use it. The zero value is ready to use.
type Room struct {
	x       exchange
	actions []abi.Action
	entry   *lease.Entry
}

// Step is like the function Step, but neither decodes nor encodes the state: it ignores in.State, and the output's State
// is empty. Step does not change the state until Keep is called, so it may be repeated with newer shared memory or a newer
// pinned entry. The new state may share memory with the input, which must not be changed any more. The list of actions
// is valid until the room is used again or cleared.
//
// The pinned entry is decoded, too: entry takes the place of in.Pinned, and Entry that of the output's Pinned, which is
// empty. entry is nil if there is none. Step does not change it, so parallel steps can share it.
func (s *State) Step(room *Room, cfg *config.Config, in *abi.StepInput, entry *lease.Entry) abi.StepOutput {
	x := &room.x
	x.s = s.s
	x.s.own()
	x.out.Actions = room.actions[:0]
	if entry != nil {
		entry = entry.Copy()
	}
	x.run(cfg, in, entry)
	large := len(in.Event.Data) > detachBytes
	if x.s.rest(); large {
		x.s = decodeState(x.s.encode(cfg.Models), cfg.Models)
	}
	room.keepEntry(large)
	out := x.out
	room.actions = out.Actions[:0]
	x.step = step{config: cfg}
	return out
}

// keepEntry makes the step's entry the room's. If detach is set, the entry shares no memory with the step's input.
func (r *Room) keepEntry(detach bool) {
	r.entry = nil
	if !r.x.out.PinnedChanged {
		return
	}
	e := r.x.entryMemo
	if r.x.out.PinnedKeepMs = e.KeepMs(); r.x.out.PinnedKeepMs == 0 {
		return
	}
	if detach {
		encoded, _ := e.Encode()
		e = lease.Decode(encoded)
	}
	r.entry = e
}

// Entry returns the pinned entry after the room's last Step, if PinnedChanged is set. nil: the entry is removed. It must
// not be changed any more.
func (r *Room) Entry() *lease.Entry { return r.entry }

// detachBytes is the size of an event above which the state and the entry keep no memory of the event. Texts such as a
// model's name would otherwise keep a long prompt in memory for as long as the exchange runs.
const detachBytes = 8 << 10

// Keep makes the result of the room's last Step the state.
func (s *State) Keep(room *Room) { s.s = room.x.s }

// DecodeState returns a State from an encoded state.
func DecodeState(cfg *config.Config, encoded []byte) *State {
	return &State{decodeState(encoded, cfg.Models)}
}

// Encode returns the encoded state.
func (s *State) Encode(cfg *config.Config) []byte { return s.s.encode(cfg.Models) }

// DescribeFetch is like the function DescribeFetch, for the state after the room's last Step.
func (r *Room) DescribeFetch(id uint64) (Fetch, bool) {
	defer func() { r.x.step = step{config: r.x.config} }()
	return r.x.describeFetch(id)
}

// Clear drops everything that the room's last Step has left there.
func (r *Room) Clear() {
	actions := r.actions[:cap(r.actions)]
	clear(actions)
	*r = Room{}
	if len(actions) <= maxSpareActions {
		r.actions = actions[:0]
	}
}

// maxSpareActions is the longest list of actions whose memory is used again.
const maxSpareActions = 32

// outstandingRoom is the number of actions that can be added without an allocation.
const outstandingRoom = 4

// own copies what a step changes in place. A slice that a step only appends to loses its spare capacity instead.
func (s *state) own() {
	s.outstanding = append(make([]uint64, 0, len(s.outstanding)+outstandingRoom), s.outstanding...)
	s.passed = slices.Clone(s.passed)
	s.failures = slices.Clone(s.failures)
	s.notes.times = slices.Clip(s.notes.times)
	s.govern.violations = slices.Clip(s.govern.violations)
	s.govern.classification.charges = slices.Clip(s.govern.classification.charges)
	s.govern.live.Own()
	s.spent.Own()
	s.admission.budget.own()
	s.stream.own()
}

func (b *budgetRequest) own() {
	b.asked = slices.Clone(b.asked)
	b.grants = slices.Clip(b.grants)
	b.reports = slices.Clip(b.reports)
}

func (s *stream) own() {
	s.held = slices.Clip(s.held)
	s.api.Inputs = slices.Clone(s.api.Inputs)
	s.extension.budget.own()
}

// rest drops what only this step needs. The state is then equal to one that was encoded and decoded: the conditions are
// those of the functions that list the encoded fields.
func (s *state) rest() {
	if !s.haveRecord {
		s.record, s.encoded, s.early = doc.Record{}, nil, nil
	}
	if s.policyVersion == 0 {
		s.selection = policy.Selection{}
	}
	if s.spent.Rest(); len(s.order) == 0 && s.dispatchMs == 0 {
		s.restAttempts()
	}
	if b := &s.request.Bought; b.Terms == "" && len(b.Uses) == 0 && b.Cache == 0 {
		b.Uses, b.MaxToolCalls = nil, 0
	}
	if len(s.notes.times) == 0 {
		s.notes = notes{details: s.notes.details, user: s.notes.user, finish: s.notes.finish}
	}
	if s.ending.count.Count == 0 {
		s.ending = ending{}
	}
	s.admission.budget.rest()
	s.govern.rest()
	if st := &s.stream; !st.headReceived && !st.opened && !st.forOthers {
		*st = stream{}
	}
	s.stream.extension.budget.rest()
}

func (b *budgetRequest) rest() { b.need.Key, b.need.WantPico = "", 0 }

// restAttempts drops the fields of attempts, because there are none.
func (s *state) restAttempts() {
	s.order, s.orderIndex, s.retries, s.attempts, s.lastTarget = nil, 0, 0, 0, 0
	s.providerKey, s.imposedMaxTokens, s.dropped, s.attemptResults = "", 0, "", ""
	s.failures, s.spent, s.pieces = nil, bill.Spent{}, pieces{}
}

func (g *governance) rest() {
	if !g.on {
		*g = governance{
			inspected: g.inspected, schema: g.schema, buffered: g.buffered, rewritten: g.rewritten, strict: g.strict, threshold: g.threshold,
		}
		return
	}
	g.live.Rest()
	if c := &g.classification; !c.wanted {
		*c = classification{done: c.done, held: c.held, failed: c.failed}
	}
}
