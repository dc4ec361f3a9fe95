package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/hmac"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

// maxViolations bounds the violations of one exchange, which its state carries. Each is of another rule or direction.
const maxViolations = 12

// violations appends the violations among the findings: all of them if the text is reviewed or blocked, else the
// redactions by rules of high or critical severity.
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
		list = append(list, ledger.Violation{
			AtMs: x.now, RequestID: x.s.requestID, Rule: name, Category: category.String(), Severity: severity.String(), Decision: decision,
			Output: d == governor.Output, Model: x.s.request.model, Path: r.Path, Start: uint64(r.Start), End: uint64(r.End),
			Risk: uint64(result.Tally.Risk), Policy: x.s.record.Policy, MAC: r.MAC, Excerpt: r.Excerpt, Count: r.Count,
		})
	}
	return list
}

// fingerprintKey is the project's key for fingerprints of matches, from the first master key: repeats of a value have
// the same fingerprint, and nobody without the key can test guesses. It is empty if the deployment has no master key.
func (x *exchange) fingerprintKey() []byte {
	if len(x.config.MasterKeys) == 0 {
		return nil
	}
	return hmac.SHA256([]byte(x.config.MasterKeys[0].Key), "postern/violations/"+x.s.record.ProjectID)
}

// takeViolations returns the violations that have not been reported yet, including those of a stream so far.
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

// findingsJSON appends the findings as the API shows them: rule, category, severity, action, path and offsets.
func findingsJSON(dst []byte, found []inspect.Finding, p *governor.Policy) []byte {
	dst = append(dst, '[')
	for i := range found {
		f := &found[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		name, category, severity := p.Rule(f.Rule)
		dst = jsontext.AppendString(append(dst, `{"rule":`...), name)
		dst = append(append(dst, `,"category":"`...), category.String()...)
		dst = append(append(dst, `","severity":"`...), severity.String()...)
		dst = append(append(dst, `","action":"`...), f.Action.String()...)
		dst = jsontext.AppendString(append(dst, `","path":`...), f.Path)
		dst = strconv.AppendInt(append(dst, `,"start":`...), int64(f.Start), 10)
		dst = append(strconv.AppendInt(append(dst, `,"end":`...), int64(f.End), 10), '}')
	}
	return append(dst, ']')
}
