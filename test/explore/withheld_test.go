package explore_test

import (
	"regexp"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/test/interpreter"
)

// withheldBuffer is the buffer in which the machine keeps events of a stream if the reservation does not cover them.
const withheldBuffer = 15

// pause stops a fetch or continues it (see ActionPause).
func (w *world) pause(a *abi.Action) {
	p := w.find(a.ID)
	switch pausing := a.Kind == abi.ActionPause; {
	case p == nil || p.script == nil:
		w.violate("a pause of action %d, which is no stream", a.ID)
	case p.paused == pausing:
		w.violate("the stream is paused twice, or resumed twice")
	default:
		p.paused = pausing
	}
}

// noteWithheld records whether the exchange withholds the end of a response. Until the withheld events are released,
// the response does not count as complete.
func (w *world) noteWithheld(a *abi.Action) {
	f := &w.facts
	switch {
	case a.Buffer != withheldBuffer:
	case a.Kind == abi.ActionKeep:
		f.withheld, f.clean = f.clean, false
	default:
		f.clean, f.withheld = f.clean || f.withheld, false
	}
}

var textInEvent = regexp.MustCompile(`"(?:content|text|delta)":"([^"]*)"`)

// longestEvent returns the size of the longest event's text in token units. It looks at all streams of the scenario.
func (s *scenario) longestEvent() (units uint64) {
	for _, choices := range s.alphabet {
		for _, c := range choices {
			if c.script == nil {
				continue
			}
			for _, p := range c.script.pieces {
				for _, found := range textInEvent.FindAllSubmatch(p.data, -1) {
					units = max(units, chat.EstimateUnits(jsontext.Escaped(found[1])))
				}
			}
		}
	}
	return units
}

// checkCovered checks I15 when a stream with estimated usage is settled. The text that the caller has received is
// booked. It may cost at most one event more than was reserved.
func (w *world) checkCovered(s *keymeter.Settle) {
	f := &w.facts
	if !s.Estimated || s.Outcome != keymeter.Served || w.Response == interpreter.Complete || w.Response == interpreter.None || f.leased || w.scenario.governed {
		return
	}
	at := slices.IndexFunc(w.config.Models, func(m config.Model) bool { return m.Name == s.Model })
	if at < 0 || f.seat != apart {
		return
	}
	m := &w.config.Models[at]
	mark := chat.EstimateUnits(completionMark)
	if sent := uint64(f.delivered) * mark; sent > s.Tokens.Completion*chat.TokenUnits {
		w.violate("%d tokens are booked of a stream, and %d units delivered", s.Tokens.Completion, sent)
	}
	event := m.Cost(&chat.Usage{Output: w.scenario.longestEvent()/chat.TokenUnits + 1})
	cost := s.CostPico
	for i := range s.Attempts {
		cost += s.Attempts[i].CostPico
	}
	if s.Tokens.Completion > 0 && cost > f.reserved+event {
		w.violate("a stream cost %d with a reservation of %d; one event costs %d", cost, f.reserved, event)
	}
}
