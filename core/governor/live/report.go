package live

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/hmac"
)

// Report describes the findings of a rule in a stream: their number, and the first finding.
type Report struct {
	Rule       governor.ID
	Count      uint64
	Path       string // such as "choices[0].message.content"
	Start, End uint64 // UTF-8 offsets in the decoded text
	Digest     []byte // HMAC-SHA-256 of the match, keyed with Guard.Key; nil if there is no key
	Excerpt    string // last two characters of the match; only for personal data
}

func reportFields(f *abi.Fields, r *Report) {
	rule := uint64(r.Rule)
	f.Uint(&rule)
	r.Rule = governor.ID(rule)
	f.Uint(&r.Count)
	f.String(&r.Path)
	f.Uint(&r.Start)
	f.Uint(&r.End)
	f.Bytes(&r.Digest)
	f.String(&r.Excerpt)
}

// count adds a finding to the tally and the reports. If the policy requires it, count blocks the response.
func (s *Stream) count(g *Guard, c *channel, f governor.Finding, match []byte) {
	s.found(f.Rule)
	one := [1]governor.Finding{f}
	s.Tally.Add(g.Policy, governor.Output, one[:])
	s.Tally.Listed = s.Tally.Listed[:0] // Reports has the same data and is smaller
	s.report(g, c, f, match)
	redacts := g.action(f.Rule) == governor.Redact
	s.blocked = s.blocked || s.Tally.Decide(g.Policy) == governor.Rejected || redacts && c.signed
}

func (s *Stream) report(g *Guard, c *channel, f governor.Finding, match []byte) {
	for i := range s.Reports {
		if r := &s.Reports[i]; r.Rule == f.Rule {
			r.Count++
			return
		}
	}
	if len(s.Reports) == MaxReports {
		return
	}
	r := Report{Rule: f.Rule, Count: 1, Path: c.path(), Start: uint64(f.Start), End: uint64(f.End)}
	if g.Key != nil {
		if key := g.Key(); len(key) > 0 {
			r.Digest = hmac.SHA256(key, string(match))
		}
	}
	if _, category, _ := g.Policy.Rule(f.Rule); category == governor.Personal {
		r.Excerpt = lastTwo(match)
	}
	s.Reports = append(s.Reports, r)
}

// found records that a rule has a finding. If the rule already had one, found returns false.
func (s *Stream) found(rule governor.ID) bool {
	if slices.Contains(s.seen, uint64(rule)) {
		return false
	}
	s.seen = append(s.seen, uint64(rule))
	return true
}

// measure counts the characters of decided text. If there are more than the settings allow, it adds a finding.
func (s *Stream) measure(g *Guard, c *channel, text []byte) {
	s.characters += governor.Characters(text)
	f, long := g.Policy.TooLong(governor.Output, s.characters)
	if long && g.action(f.Rule) != governor.Allow && s.found(f.Rule) {
		s.count(g, c, f, nil)
	}
}

// unsearched adds a finding for each pattern if their work budget is spent, because a match may have been missed. Such
// a finding cannot be redacted, so the action Redact blocks. If the budget was spent before, the findings exist.
func (s *Stream) unsearched(g *Guard, c *channel, before bool) {
	if before || s.work < governor.MaxWork {
		return
	}
	for rule, to := g.Policy.Patterns(); rule < to; rule++ {
		if action := g.action(rule); action != governor.Allow {
			s.count(g, c, governor.Finding{Rule: rule}, nil)
			s.blocked = s.blocked || action == governor.Redact
		}
	}
}

func lastTwo(text []byte) string {
	n := len(text)
	for range 2 {
		_, size := utf8.DecodeLastRune(text[:n])
		n -= size
	}
	return string(text[n:])
}

// path returns the path of a channel's text. The path is the same as in package inspect for a translated response.
func (c *channel) path() string {
	path := "choices[" + strconv.FormatUint(c.choice, 10) + "]."
	switch c.kind {
	case chat.DeltaRefusal:
		return path + "message.refusal"
	case chat.DeltaThinking:
		return path + "message.reasoning_content"
	case chat.DeltaArgs:
		return path + "message.tool_calls[" + strconv.FormatUint(c.index, 10) + "].function.arguments"
	}
	return path + "message.content"
}
