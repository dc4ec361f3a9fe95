package governor

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// points says how much a finding of each severity adds to the risk score.
var points = [...]int{Low: 5, Medium: 20, High: 40, Critical: 100}

// Points returns how much a finding of this severity adds to the risk score.
func (s Severity) Points() int { return points[s] }

const (
	// MaxRisk is the highest risk score.
	MaxRisk = 100
	// CountedPerRule is the maximum number of findings of one rule that count. Many email addresses are no greater a
	// risk than three.
	CountedPerRule = 3
	// MaxListed is the maximum number of listed findings. Actions also apply to findings that are not listed.
	MaxListed = 100
)

// Tally adds up the findings in the texts of a request or response. Its zero value has no findings.
//
// The risk score is the sum of the points of all findings whose action is flag or block, but at most 100. Points are
// low 5, medium 20, high 40, critical 100. Only the first three findings of each rule count. Redacted findings do not
// count, because they are not sent. Another finding never lowers the risk score.
type Tally struct {
	Listed  []Finding // the first MaxListed
	Total   int
	Risk    int
	Blocked bool // a rule's own action is block
	Redact  bool // a finding must be redacted
	counts  []ruleCount
}

// ruleCount holds the number of findings of a rule that have counted so far.
type ruleCount struct {
	rule  ID
	count uint8
}

// Add counts the findings in one text.
func (t *Tally) Add(p *Policy, d Direction, findings []Finding) {
	for _, f := range findings {
		action := p.Action(d, f.Rule)
		if action == Allow {
			continue
		}
		t.Total++
		if len(t.Listed) < MaxListed {
			t.Listed = append(t.Listed, f)
		}
		t.Blocked = t.Blocked || action == Block
		t.Redact = t.Redact || action == Redact
		if action != Redact && t.Risk < MaxRisk && t.counted(f.Rule) {
			_, _, severity := p.Rule(f.Rule)
			t.Risk = min(MaxRisk, t.Risk+points[severity])
		}
	}
}

// counted reports whether another finding of a rule counts. If it does, counted counts it.
func (t *Tally) counted(rule ID) bool {
	for i := range t.counts {
		if c := &t.counts[i]; c.rule == rule {
			if c.count == CountedPerRule {
				return false
			}
			c.count++
			return true
		}
	}
	t.counts = append(t.counts, ruleCount{rule, 1})
	return true
}

// Own makes t independent of the value that it was copied from.
func (t *Tally) Own() { t.Listed, t.counts = slices.Clip(t.Listed), slices.Clone(t.counts) }

// Decide returns the decision. If a rule's own action is block, the decision is block. Otherwise, if the risk score
// is at most the threshold, the decision is approve. If the risk score is above the threshold, the decision is block
// in strict mode and review otherwise.
func (t *Tally) Decide(p *Policy) Decision {
	switch {
	case t.Blocked, t.Risk > p.AutoApprove && p.Strict:
		return Rejected
	case t.Risk > p.AutoApprove:
		return Review
	}
	return Approve
}

// Fields writes or reads the tally as part of a stream's state. The encoding has at most about 1 KiB. Most of it is
// the list of findings.
func (t *Tally) Fields(f *abi.Fields) {
	total, risk := uint64(t.Total), uint64(t.Risk)
	f.Flags(&t.Blocked, &t.Redact)
	f.Uint(&total)
	f.Uint(&risk)
	t.Total, t.Risk = int(total), int(risk)
	abi.List(f, &t.counts, func(f *abi.Fields, c *ruleCount) {
		v := uint64(c.rule)<<2 | uint64(c.count)
		f.Uint(&v)
		c.rule, c.count = ID(v>>2), uint8(v&3)
		if v>>2 >= MaxRules {
			f.Fail()
		}
	})
	abi.List(f, &t.Listed, findingFields)
	if risk > MaxRisk || len(t.Listed) > MaxListed {
		f.Fail()
	}
}

// findingFields writes or reads a finding: its rule, start and length.
func findingFields(f *abi.Fields, one *Finding) {
	rule, start, length := uint64(one.Rule), uint64(one.Start), uint64(one.End-one.Start)
	f.Uint(&rule)
	f.Uint(&start)
	f.Uint(&length)
	if rule >= MaxRules || start > 1<<31-1 || length > 1<<31-1-start {
		f.Fail()
		return
	}
	*one = Finding{ID(rule), int(start), int(start + length)}
}
