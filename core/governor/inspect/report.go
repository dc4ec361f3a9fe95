package inspect

import (
	"unicode/utf8"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/hmac"
)

// place is a finding whose path is not known yet.
type place struct {
	at      int // offset of the text in the body
	finding int // index in Result.Findings, or -1
	report  int // index in Result.Reports, or -1
}

// report lists a finding and counts it in the report of its rule. at is the offset in the body of the finding's text.
func (in *inspector) report(f Finding, at int, match []byte) {
	r := &in.result
	p := place{at: at, finding: -1, report: -1}
	if len(r.Findings) < governor.MaxListed {
		p.finding = len(r.Findings)
		r.Findings = append(r.Findings, f)
	}
	if i := in.reported[f.Rule]; i != 0 {
		one := &r.Reports[i-1]
		one.Count++
		one.Action = max(one.Action, f.Action)
	} else {
		p.report = len(r.Reports)
		r.Reports = append(r.Reports, in.newReport(f, match))
		in.reported[f.Rule] = uint16(len(r.Reports))
	}
	if p.finding >= 0 || p.report >= 0 {
		in.places = append(in.places, p)
	}
}

func (in *inspector) newReport(f Finding, match []byte) Report {
	one := Report{Finding: f, Count: 1}
	if in.check.Key != nil && len(match) > 0 {
		if key := in.check.Key(); len(key) > 0 {
			one.MAC = hexadecimal(hmac.SHA256(key, string(match)))
		}
	}
	if _, category, _ := in.check.Policy.Rule(f.Rule); category == governor.Personal {
		one.Excerpt = lastTwo(match)
	}
	return one
}

func lastTwo(text []byte) string {
	at := len(text)
	for range 2 {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return string(text[at:])
}

func hexadecimal(data []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(data))
	for _, b := range data {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// note records content that cannot be read. at is the offset in the body of the object or array with that content.
// Each kind of content is listed once.
func (in *inspector) note(kind string, at uint32) {
	if in.mode != scan {
		return
	}
	have := false
	for _, k := range in.result.Unchecked {
		have = have || k == kind
	}
	if !have {
		in.result.Unchecked = append(in.result.Unchecked, kind)
	}
	in.whole(governor.Finding{Rule: governor.RuleUnchecked}, int(at))
}

// whole adds a finding about the whole text or body. Such a finding cannot be redacted, so the action Redact becomes
// Block.
func (in *inspector) whole(f governor.Finding, at int) {
	action := in.check.Policy.Action(in.dir, f.Rule)
	switch action {
	case governor.Allow:
		return
	case governor.Redact:
		action = governor.Block
	}
	in.count(f, action)
	in.report(Finding{Rule: f.Rule, Action: action}, at, nil)
}

// length adds a finding if the texts have more characters than the policy allows.
func (in *inspector) length() {
	if f, ok := in.check.Policy.TooLong(in.dir, in.result.Characters); ok {
		in.whole(f, -1)
	}
}

// unsearched adds a finding for each pattern, because the text has spent their work budget, and a match in it or in a
// later text may be missed. In a request, the stricter of a pattern's actions applies.
func (in *inspector) unsearched() {
	p, d := in.check.Policy, in.dir
	for rule, to := p.Patterns(); rule < to; rule++ {
		if in.dir = d; d != governor.Output && p.Action(governor.System, rule) > p.Action(governor.Input, rule) {
			in.dir = governor.System
		}
		in.whole(governor.Finding{Rule: rule}, int(in.segments.at(in.at.first).start))
	}
	in.dir = d
}
