package exchange

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// maxViolations limits the violations of one exchange, because its state contains them. Each has another rule or
// direction.
const maxViolations = 12

// violations appends the violations among the findings. If the text is reviewed or blocked, every finding is a
// violation. Otherwise, only redactions by rules of high or critical severity are violations.
func (x *exchange) violations(list []ledger.Violation, result *inspect.Result, d governor.Direction) []ledger.Violation {
	p := x.guard().check.Policy
	for i := range result.Reports {
		r := &result.Reports[i]
		name, category, severity := p.Rule(r.Rule)
		decision := result.Decision.String()
		if result.Decision == governor.Approve {
			if severity < governor.High || r.Action != governor.Redact {
				continue
			}
			decision = "redact"
		}
		if len(list) == maxViolations {
			return list
		}
		x.s.govern.noteRule(name)
		list = append(list, ledger.Violation{
			AtMs: x.now, RequestID: x.s.requestID, Rule: name, Category: category.String(), Severity: severity.String(), Decision: decision,
			Output: d == governor.Output, Model: x.s.request.model, Path: x.ownPath(r.Path), Start: uint64(r.Start), End: uint64(r.End),
			Risk: uint64(result.Tally.Risk), Policy: x.s.record.Policy, MAC: r.MAC, Excerpt: r.Excerpt, Count: r.Count,
		})
	}
	return list
}

// maxRecordedRules limits how many rules a record names.
const maxRecordedRules = 5

// noteRule notes a violation's rule for the record. Names of rules contain no commas.
func (g *governance) noteRule(name string) {
	if g.rules == "" {
		g.rules = name
	} else if rules := strings.Split(g.rules, ","); len(rules) < maxRecordedRules && !slices.Contains(rules, name) {
		g.rules += "," + name
	}
}

// takeViolations returns the violations that have not been reported yet. It includes those found in a stream so far.
func (x *exchange) takeViolations() []ledger.Violation {
	g := &x.s.govern
	if len(g.live.Reports) > 0 {
		result := inspect.Result{Tally: g.live.Tally, Decision: g.output.decision}
		for i := range g.live.Reports {
			r := &g.live.Reports[i]
			result.Reports = append(result.Reports, inspect.Report{
				Finding: x.streamFinding(r), Count: r.Count, MAC: keys.Hex(r.Digest), Excerpt: r.Excerpt,
			})
		}
		g.violations = x.violations(g.violations, &result, governor.Output)
		g.live.Reports = nil
	}
	list := g.violations
	g.violations = nil
	return list
}
