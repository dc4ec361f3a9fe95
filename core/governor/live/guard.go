// Package live checks streamed answers while they arrive: it redacts findings inline, blocks, and restores the
// caller's placeholders. It holds back at most what a rule or a placeholder could still complete.
package live

import (
	"github.com/postern-ai/postern/core/governor"
)

// Guard is the constant part of a stream's check: the same for all its steps.
type Guard struct {
	Policy *governor.Policy
	Rules  *governor.Rules // Policy.Rules(governor.Output); nil: the guard makes them
	// Redactor has the request's placeholders; nil if there are none.
	Redactor *governor.Redactor
	// Key gives the key of the findings' fingerprints; nil, or an empty key, for none. It is called for findings only.
	Key func() []byte

	labelOf governor.ID // the rule of the label made last
	labeled string
}

// rules are the policy's rules for output.
func (g *Guard) rules() *governor.Rules {
	if g.Rules == nil {
		g.Rules = g.Policy.Rules(governor.Output)
	}
	return g.Rules
}

// redactor is the request's redactor, or nil.
func (g *Guard) redactor() *governor.Redactor { return g.Redactor }

// action is what the policy does with an output's finding.
func (g *Guard) action(rule governor.ID) governor.Action {
	return g.Policy.Action(governor.Output, rule)
}

// label is the placeholder of a rule's redacted findings, such as [EMAIL]. It is never restored.
func (g *Guard) label(rule governor.ID) string {
	if g.labeled == "" || g.labelOf != rule {
		one := [1]governor.Finding{{Rule: rule, Start: 0, End: 1}}
		g.labeled = string(new(governor.Redactor).Apply(nil, []byte{'x'}, g.Policy, governor.Output, one[:]))
		g.labelOf = rule
	}
	return g.labeled
}
