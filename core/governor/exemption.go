package governor

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
)

// MaxExempted is the maximum length of an exemption's value, in bytes. It equals that of an email address.
const MaxExempted = maxEmail

// Exemption is a value that one rule, or every rule, must not report. The value is compared with complete findings: a
// longer finding that contains the value is still reported.
type Exemption struct {
	Rule    string // the name of a rule or category; empty for every rule
	Value   string // the text of the finding; the case of email addresses and hosts does not matter
	Source  string // instead of Value: a regular expression that matches the whole finding
	Program []byte // the compiled Source; a finding longer than MaxMatch does not match
}

// AgentAddress is an email address in lower case. A coding agent adds it to its own prompt.
type AgentAddress struct{ Value, Agent string }

// agentAddresses are the addresses that Settings.AgentAddresses exempts. Agents tell the model to sign commits with
// these addresses, and nobody reads mail there. Other addresses in prompts are examples, such as john@co.com. They
// are not listed, because in other texts they may belong to a person.
//
// Sources, read in November 2026: the agents' npm packages @anthropic-ai/claude-code 2.1.330, @openai/codex 0.169.0,
// @qwen-code/qwen-code 0.24.4 and @continuedev/cli 1.5.47. In public repositories: DEFAULT_ATTRIBUTION_VALUE in
// github.com/openai/codex, gitCoAuthor in github.com/QwenLM/qwen-code and systemMessage in
// github.com/continuedev/continue. The packages opencode-ai 1.18.33, cline 3.0.65
// and @mariozechner/pi-coding-agent 0.73.1 have no such address.
var agentAddresses = [...]AgentAddress{
	{"noreply@anthropic.com", "Claude Code"},
	{"noreply@openai.com", "Codex"},
	{"qwen-coder@alibabacloud.com", "Qwen Code"},
	{"noreply@continue.dev", "Continue"},
}

// AgentAddresses lists the addresses that Settings.AgentAddresses exempts. The caller must not change it.
func AgentAddresses() []AgentAddress { return agentAddresses[:] }

// exempt reports whether the text of a finding is exempted from its own rule, and whether it is exempted from every
// rule.
func (s *Scanner) exempt(rule ID, text []byte) (exempt, every bool) {
	settings := s.rules.settings
	if settings.AgentAddresses && rule == ruleEmail {
		for i := range agentAddresses {
			exempt = exempt || equalFold(agentAddresses[i].Value, text)
		}
	}
	policy := Policy{settings: settings}
	name, category, _ := policy.Rule(rule)
	for i := range settings.Exemptions {
		e := &settings.Exemptions[i]
		if e.Rule != "" && e.Rule != name && e.Rule != category.String() || !s.covers(e, category, text) {
			continue
		}
		if exempt = true; e.Rule == "" {
			return true, true
		}
	}
	return exempt, false
}

// continues reports whether the address in [start, end) is only the ASCII part of a longer address. For example,
// Göran@example.com contains ran@example.com, but is a different address. A zero-width character beside the address
// counts like a letter.
func continues(v *view, start, end int) bool {
	var before, after [utf8.UTFMax]byte
	for i := range utf8.UTFMax {
		before[i] = v.at(start - utf8.UTFMax + i)
	}
	dot := 0
	if v.at(end) == '.' {
		dot = 1
	}
	for i := range utf8.UTFMax {
		if after[i] = v.at(end + dot + i); after[i] < 0x80 {
			break
		}
	}
	last, _ := utf8.DecodeLastRune(before[:])
	next, _ := utf8.DecodeRune(after[:])
	return joins(last) || joins(next) || dot == 1 && next >= 0x3400 && next < 0xe000
}

// joins reports whether a non-ASCII character beside an address belongs to the address. Letters of two bytes in
// UTF-8, combining marks, zero-width characters and full-width letters belong to it. Ideographs do not, because texts
// in ideographs have no spaces around an address.
func joins(r rune) bool {
	switch {
	case r >= 0xc0 && r < 0x800 && r != '×' && r != '÷', r >= 0x200b && r <= 0x200d, r == 0x2060, r == 0xfeff:
		return true
	}
	wide := r - 0xff00 + ' '
	return wide > ' ' && wide <= '~' && isAlnum(byte(wide))
}

func (s *Scanner) covers(e *Exemption, c Category, text []byte) bool {
	if e.Value == "" {
		return s.matchesWhole(e.Program, text)
	}
	if len(e.Value) != len(text) {
		return false
	}
	return e.Value == string(text) || c != Secret && isAddress(e.Value) && sameFolded(e.Value, text)
}

// isAddress reports whether a value has the form of an email address, a host or an IP address: letters, digits and
// the punctuation of addresses, with at least one dot, at sign or colon. Secrets can have the same form, so callers
// do not use isAddress for secrets.
func isAddress(value string) bool {
	marks := false
	for i := range len(value) {
		switch b := value[i]; b {
		case '.', '@', ':':
			marks = true
		case '-', '_', '+', '%':
		default:
			if !isAlnum(b) {
				return false
			}
		}
	}
	return marks
}

// sameFolded reports whether two texts of the same length are equal. The case of ASCII letters does not matter.
func sameFolded(value string, text []byte) bool {
	for i, b := range text {
		if fold(b) != fold(value[i]) {
			return false
		}
	}
	return true
}

// wholeMatch is the memory for comparing a text with a pattern.
type wholeMatch struct {
	scanner Scanner
	all     patterns
	one     [1]program
	threads int // the scanner's machine has room for this many
}

// matchesWhole reports whether a pattern matches a whole text. What surrounds the text does not matter. The search
// returns the longest of the leftmost matches. If the pattern matches the whole text, the search returns that match.
func (s *Scanner) matchesWhole(data, text []byte) bool {
	one, ok := readProgram(data)
	if !ok || len(text) == 0 || len(text) > MaxMatch || one.count() > MaxInstructions {
		return false
	}
	if s.whole == nil {
		s.whole = &wholeMatch{scanner: Scanner{rules: s.rules}}
	}
	w := s.whole
	w.one[0], w.all = one, patterns{programs: w.one[:], total: one.count()}
	copy(w.all.first[:], one.first)
	if w.threads < one.count() {
		w.scanner.machine, w.threads = newMachine(one.count()), one.count()
	}
	w.scanner.search(&w.all, &view{text: text}, 0, len(text), true)
	m := w.scanner.machine
	return m.matched && m.start == 0 && m.end == len(text)
}

// checkExemptions is the part of Check that concerns exemptions. Its messages do not repeat values, because those may
// be confidential.
func (s *Settings) checkExemptions() error {
	if len(s.Exemptions) > MaxExemptions {
		return errors.New("at most " + strconv.Itoa(MaxExemptions) + " exemptions are possible, got " + strconv.Itoa(len(s.Exemptions)))
	}
	total := 0
	for i := range s.Exemptions {
		e := &s.Exemptions[i]
		if !s.MayExempt(e.Rule) {
			return errors.New("exemptions[" + strconv.Itoa(i) + "] is of the rule " + strconv.Quote(e.Rule) + ", which does not exist or finds no text")
		}
		if (e.Value == "") == (e.Source == "") {
			return errors.New("exemptions[" + strconv.Itoa(i) + "] must have either a value or a pattern")
		}
		if !IsExemptible(e.Value) {
			return errors.New("exemptions[" + strconv.Itoa(i) + "] must have at most " + strconv.Itoa(MaxExempted) + " bytes of UTF-8 without control characters")
		}
		if e.Source == "" {
			continue
		}
		n := Instructions(e.Program)
		if n == 0 {
			return errors.New("the pattern of exemptions[" + strconv.Itoa(i) + "] is not compiled")
		}
		if total += n; total > MaxInstructions {
			return errors.New("the patterns of exemptions need more than " + strconv.Itoa(MaxInstructions) + " instructions in all; use values, or shorter patterns")
		}
	}
	return nil
}

// IsExemptible reports whether value can be the value of an exemption.
func IsExemptible(value string) bool {
	return len(value) <= MaxExempted && utf8.ValidString(value) &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// MayExempt reports whether a name can be the rule of an exemption. The name can be empty. Otherwise, it must be that
// of a rule or category whose findings are texts.
func (s *Settings) MayExempt(name string) bool {
	kind, own, dotted := strings.Cut(name, ".")
	for c := range Categories {
		if c.String() != kind {
			continue
		}
		switch c {
		case Length, Schema, Unchecked, Classified:
			return false
		case Keyword:
			return !dotted || slices.ContainsFunc(s.Lists, func(l KeywordList) bool { return l.Name == own })
		case CustomPattern:
			return !dotted || slices.ContainsFunc(s.Patterns, func(p Pattern) bool { return p.Name == own })
		}
		return !dotted || isRule(name)
	}
	return name == ""
}

func exemptionFields(f *abi.Fields, e *Exemption) {
	f.String(&e.Rule)
	f.String(&e.Value)
	f.String(&e.Source)
	if e.Source != "" {
		f.Bytes(&e.Program)
	}
}
