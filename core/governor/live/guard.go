// Package live checks streamed responses as they arrive. It redacts findings inline, blocks responses, and restores
// the caller's placeholders.
//
// Text is decided if no later byte can change its result. Only undecided text is held back: the start of a possible
// finding or placeholder.
package live

import (
	"github.com/postern-ai/postern/core/governor"
)

// Guard is the part of a stream's check that does not change from step to step.
type Guard struct {
	Policy *governor.Policy
	Rules  *governor.Rules // Policy.Rules(governor.Output); if Rules is nil, the guard compiles them
	// Redactor contains the request's placeholders. If there are none, it is nil.
	Redactor *governor.Redactor
	// Key returns the key for fingerprints of findings. If Key is nil or returns an empty key, there are no
	// fingerprints. Key is called only if there are findings.
	Key func() []byte

	labelOf governor.ID // rule of the last label
	labeled string
}

func (g *Guard) rules() *governor.Rules {
	if g.Rules == nil {
		g.Rules = g.Policy.Rules(governor.Output)
	}
	return g.Rules
}

func (g *Guard) redactor() *governor.Redactor { return g.Redactor }

func (g *Guard) action(rule governor.ID) governor.Action {
	return g.Policy.Action(governor.Output, rule)
}

// label returns the placeholder for redacted findings of a rule, such as [EMAIL]. It has no number, so it is never
// restored.
func (g *Guard) label(rule governor.ID) string {
	if g.labeled == "" || g.labelOf != rule {
		one := [1]governor.Finding{{Rule: rule, Start: 0, End: 1}}
		g.labeled = string(new(governor.Redactor).Apply(nil, []byte{'x'}, g.Policy, governor.Output, one[:]))
		g.labelOf = rule
	}
	return g.labeled
}
