package keymeter

import (
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
)

// violations is the meter's state for violations: the unreported ones, and the rules of the current minute. It
// ensures that each rule has at most one row per minute in the Ledger, however many batches report it.
type violations struct {
	pending []ledger.ViolationGroup // at most maxGroups
	lastMs  uint64                  // time of the last violation; the largest seen if the clock goes back
	rules   []minuteRule            // of the minute of lastMs; at most ledger.MaxMinuteRules plus ledger.MoreRule
}

// minuteRule is a rule that had a violation in the current minute.
type minuteRule struct {
	hash    uint64 // of its name
	firstMs uint64 // time of its first violation in the minute
}

// maxGroups is the maximum number of groups in a meter's row and in a batch.
const maxGroups = ledger.MaxMinuteRules + 1

// Maximum lengths of a stored violation's strings, in bytes. Longer strings are truncated.
const (
	maxRuleBytes      = 64
	maxModelBytes     = 96
	maxPathBytes      = 128
	maxRequestIDBytes = 36
	maxMACBytes       = 64
	maxExcerptBytes   = 16
)

func (v *violations) fields(f *abi.Fields) {
	abi.List(f, &v.pending, ledger.ViolationGroupFields)
	f.Uint(&v.lastMs)
	abi.List(f, &v.rules, func(f *abi.Fields, r *minuteRule) {
		f.Uint(&r.hash)
		f.Uint(&r.firstMs)
	})
}

// addViolations adds the violations of one request or response. They are stamped with the meter's clock, which groups
// them by minute.
func (c *call) addViolations(list []ledger.Violation) {
	for i := range list {
		c.addViolation(list[i])
	}
}

func (c *call) addViolation(v ledger.Violation) {
	all := &c.m.violations
	boundTexts(&v)
	v.AtMs, v.Count = all.advance(c.m.lastMs), max(v.Count, 1)
	first := all.ruleOf(&v)
	for i := range all.pending {
		if g := &all.pending[i]; g.Rule == v.Rule && g.FirstMs == first {
			g.Merge(&v)
			return
		}
	}
	if len(all.pending) == maxGroups {
		// Violations of two minutes are pending, so the batch is sent at once.
		c.report(c.m.nextBatch(c.in.Name, false))
		c.out.Deliver = true
	}
	c.m.reportWithin(violationDelayMs)
	all.pending = append(all.pending, ledger.ViolationGroup{FirstMs: first, Violation: v})
}

// advance returns the time of a new violation. In a new minute, no rule has had a violation yet.
func (v *violations) advance(now uint64) uint64 {
	now = max(now, v.lastMs)
	if now/minuteMs != v.lastMs/minuteMs {
		v.rules = nil
	}
	v.lastMs = now
	return now
}

// ruleOf returns the time at which the violation's rule was first violated in this minute. If the minute has no room
// for another rule, it changes the violation's rule to ledger.MoreRule.
func (v *violations) ruleOf(of *ledger.Violation) (firstMs uint64) {
	for {
		hash := hashID(of.Rule)
		for i := range v.rules {
			if v.rules[i].hash == hash {
				return v.rules[i].firstMs
			}
		}
		if len(v.rules) < ledger.MaxMinuteRules || of.Rule == ledger.MoreRule {
			v.rules = append(v.rules, minuteRule{hash, v.lastMs})
			return v.lastMs
		}
		of.Rule = ledger.MoreRule
	}
}

// boundTexts truncates strings that are too long, at a character boundary.
func boundTexts(v *ledger.Violation) {
	for _, text := range [...]struct {
		of      *string
		maximum int
	}{
		{&v.RequestID, maxRequestIDBytes},
		{&v.Rule, maxRuleBytes},
		{&v.Category, maxRuleBytes},
		{&v.Severity, maxRuleBytes},
		{&v.Decision, maxRuleBytes},
		{&v.Model, maxModelBytes},
		{&v.Path, maxPathBytes},
		{&v.MAC, maxMACBytes},
		{&v.Excerpt, maxExcerptBytes},
	} {
		*text.of = cut(*text.of, text.maximum)
	}
}

func cut(text string, maximum int) string {
	if len(text) <= maximum {
		return text
	}
	for maximum > 0 && !utf8.RuneStart(text[maximum]) {
		maximum--
	}
	return text[:maximum]
}
