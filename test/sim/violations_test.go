package sim_test

import (
	"bytes"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// saidWord is in every completion of more than a few words.
const saidWord = "folks"

// worldGovernor is the configuration of governed projects. Prompt 1 is blocked. Prompt 2 and completions are
// reviewed.
var worldGovernor = func() []byte {
	s := governor.NewSettings()
	s.Enabled = true
	s.Lists = []governor.KeywordList{
		{Name: "blocked", Severity: governor.High, Input: governor.Block, Words: []string{"p1"}},
		{Name: "reviewed", Severity: governor.High, Input: governor.Flag, Words: []string{"p2"}},
		{Name: "said", Severity: governor.High, Output: governor.Flag, Words: []string{saidWord}},
	}
	return s.Encode()
}()

// blocked reports whether the Governor must block the request.
func (x *exchange) blocked() bool { return x.governed() && x.item.Prompt == 1 }

// answeredBlocked reports whether the response says that the Governor blocked the request.
func (x *exchange) answeredBlocked() bool {
	return x.history.status == fault.Blocked.Status() && bytes.Contains(x.history.body, []byte(fault.Blocked.Text()))
}

func (x *exchange) governed() bool { return x.w.plan.Projects[x.project.number].Governed }

type violationCounts struct {
	stored   map[string]uint64 // by rule
	requests map[string]bool   // names: the ID of each admitted request with violations, and that ID together with each violated rule
}

// noteViolations records violations that a meter stores.
func (k *key) noteViolations(id string, list []ledger.Violation) {
	if len(list) == 0 {
		return
	}
	v := &k.violations
	if v.requests == nil {
		*v = violationCounts{map[string]uint64{}, map[string]bool{}}
	}
	v.requests[id] = true
	for _, found := range list {
		v.requests[id+" "+found.Rule] = true
		v.stored[found.Rule] += found.Count
	}
}

// checkGoverned checks I14. A blocked request gets a 422, but not before its violation is stored. It may also get an
// error that does not depend on its content. No other request may get that 422.
func (x *exchange) checkGoverned() {
	s := &x.history
	switch {
	case s.status == 200 && x.blocked() && x.request.completion && !s.replayed:
		x.w.fail("I14", "%s got 200, but its prompt is blocked", x.id)
	case !x.answeredBlocked():
	case !x.blocked():
		x.w.fail("I11 422", "%s is blocked without a reason", x.id)
	case !x.key.violations.requests[x.id]:
		x.w.fail("I14 violation", "%s is blocked, and no violation is stored", x.id)
	}
}

// checkReviewed checks I14: the settlement of a complete response must have the response's violation.
func (x *exchange) checkReviewed(s *settleCommand) {
	if !x.governed() || s.outcome != keymeter.Served || len(x.history.fetches) == 0 {
		return
	}
	last := x.history.fetches[len(x.history.fetches)-1]
	if last.whole && strings.Contains(last.text, saidWord) && len(s.violations) == 0 {
		x.w.fail("I14 output", "%s is settled without the violation of its response", x.id)
	}
}

// checkRepeated checks I14: if the meter has stored a violation with the admission, a settlement must not contain it
// again.
func (k *key) checkRepeated(s *settleCommand) {
	for _, found := range s.violations {
		if k.violations.requests[s.id+" "+found.Rule] {
			k.w.fail("I14 twice", "%s: its settlement repeats a violation of %s", s.id, found.Rule)
		}
	}
}

// compareViolations checks that the Ledger has every stored violation exactly once.
func (w *world) compareViolations(p *project) {
	listed := map[string]uint64{} // by key and rule
	query := ledger.Violations{Limit: ledger.MaxViolationPage}
	for {
		reply, ok := w.object(abi.ClassLedger, p.id).run(query.Encode())
		page, err := ledger.DecodeViolations(reply)
		if !ok || err != nil {
			w.fail("host", "%s: the list of violations is malformed", p.id)
		}
		for _, v := range page.Violations {
			listed[v.KeyID+" "+v.Rule] += v.Count
		}
		if query.After = page.Next; query.After == "" {
			break
		}
	}
	for _, k := range w.keys {
		if k.project != p {
			continue
		}
		for rule, stored := range k.violations.stored {
			name := k.id + " " + rule
			if n := listed[name]; n != stored {
				w.fail("I14 listed", "%s: %d violations of %s are listed, %d are stored", p.id, n, name, stored)
			}
			delete(listed, name)
		}
	}
	if len(listed) > 0 {
		w.fail("I14 listed", "%s: violations are listed that were never stored: %v", p.id, listed)
	}
}

// govern turns on the Governor for some projects. It has its own random numbers, so the rest of a seed's plan does
// not depend on it.
func (g *generator) govern() {
	r := fork(g.p.Seed, 14)
	for i := range g.p.Projects {
		g.p.Projects[i].Governed = r.one(6)
	}
}

func withoutViolations(command []byte) []byte {
	c := *keymeter.Open(command).(*keymeter.Admit)
	c.Violations = nil
	return c.Encode()
}

// absorbedAgain returns a batch with the next number, so that the Ledger does not drop it as a repeat. If the batch
// has no violations, it returns nil.
func absorbedAgain(command []byte) []byte {
	batch, err := ledger.DecodeAbsorb(command)
	if err != nil || len(batch.Violations) == 0 {
		return nil
	}
	batch.Seq++
	batch.Usage, batch.Recent = nil, nil
	return batch.Encode()
}

// violationDefects are bugs that concern violations.
var violationDefects = []injected{
	{"a meter forgets violations", "I14 listed", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if !isMeter(o, command, opAdmit) {
				return false
			}
			bare := withoutViolations(command)
			if bytes.Equal(bare, command) {
				return false
			}
			o.run(bare) // the real command is then a repeat
			return false
		}}
	}},
	{"the Ledger counts violations twice", "I14 listed", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if o.class == abi.ClassLedger && len(command) > 0 {
				if again := absorbedAgain(command); again != nil {
					o.run(again)
				}
			}
			return reply
		}}
	}},
	{"a settlement loses its violation", "I14 output", func() defect {
		return defect{action: func(_ *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionCall && a.Class == abi.ClassKeyMeter && op(a.Data) == opSettle {
				c := *keymeter.Open(a.Data).(*keymeter.Settle)
				c.Violations = nil
				a.Data = c.Encode()
			}
			return false
		}}
	}},
	{"a settlement repeats the violations of its admission", "I14 twice", func() defect {
		admitted := map[string][]ledger.Violation{}
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.Class != abi.ClassKeyMeter {
				return false
			}
			switch c := keymeter.Open(a.Data).(type) {
			case *keymeter.Admit:
				admitted[x.id] = c.Violations
			case *keymeter.Settle:
				c.Violations = append(c.Violations, admitted[x.id]...)
				a.Data = c.Encode()
			}
			return false
		}}
	}},
	{"a blocked request is admitted without its violation", "I14 violation", func() defect {
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionCall && a.Class == abi.ClassKeyMeter && op(a.Data) == opAdmit {
				a.Data = withoutViolations(a.Data)
			}
			return false
		}}
	}},
}
