package governor

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fragments are pieces of text in which findings touch and overlap.
var fragments = [...]string{
	"(212) 555-0123", "+1 212 555 0123", "212-555-0123", "noreply@anthropic.com", "team@example.com", "192.0.2.1", "AKIAQYLPMN5HHHFPZAM2",
	"4111 1111 1111 1111", "4111111111111111", "password=", "token: ", "hunter2horse9Q", "-----BEGIN ", "https://bob:", "@example.com/",
	"DE89370400440532013000", "078-05-1120", "::1", "fe80::1", "2001:db8::1", " ", " ", ".", ",", "-", "_", "x", "7", "\n", ":", "/",
	"bluebird", "bluebird sings", "--", "é", "中", "+", "<", "[", "(", ")",
}

var exempting = [...]Exemption{
	{Value: "(212) 555-0123"}, {Value: "+1 212 555 0123"}, {Rule: "personal.phone", Value: "212-555-0123"}, {Value: "team@example.com"},
	{Rule: "personal", Value: "192.0.2.1"}, {Value: "192.0.2.1"}, {Value: "4111 1111 1111 1111"}, {Rule: "personal.iban", Value: "DE89370400440532013000"},
	{Rule: "keyword.birds", Value: "bluebird"}, {Value: "--"}, {Rule: "pattern", Source: "-+", Program: dashes}, {Value: "hunter2horse9Q"},
	{Rule: "secret.aws-access-key-id", Value: "AKIAQYLPMN5HHHFPZAM2"}, {Rule: "personal.ipv6", Value: "::1"}, {Value: "078-05-1120"},
}

// someSettings returns settings with a random selection of the exemptions, keywords and patterns. Two lists and two
// patterns find the same texts.
func someSettings(random *rand.Rand) (s Settings) {
	s = NewSettings()
	s.AgentAddresses = random.IntN(2) == 0
	if random.IntN(2) == 0 {
		s.Lists = []KeywordList{{Name: "birds", Input: Flag, Words: []string{"bluebird"}}, {Name: "other", Input: Flag, MatchCase: true, Words: []string{"bluebird", "bluebird sings"}}}
	}
	if random.IntN(2) == 0 {
		s.Patterns = []Pattern{{Name: "dashes", Input: Flag, Program: dashes}, {Name: "dash", Input: Flag, Program: dash}}
	}
	for _, e := range exempting {
		if random.IntN(3) == 0 {
			s.Exemptions = append(s.Exemptions, e)
		}
	}
	return s
}

// TestExemptionsKeepOtherFindings: exemptions do not hide other findings. Every finding that is not exempted is still
// found, or overlaps a finding that is at least as severe. This is true for any exempted text before or around the
// finding, and for every way to cut the text.
func TestExemptionsKeepOtherFindings(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var text []byte
		for range 1 + random.IntN(9) {
			text = append(text, fragments[random.IntN(len(fragments))]...)
		}
		s := someSettings(random)
		p := s.Policy()
		rules := p.Rules(Input)
		found := Scan(text, rules, nil)
		if pieces, _ := scanPieces(t, rules, slices.Collect(slices.Chunk(text, 1+random.IntN(6)))...); !slices.Equal(pieces, found) {
			t.Fatalf("%q in pieces: %v, whole: %v", text, pieces, found)
		}
		bare := s
		bare.Exemptions, bare.AgentAddresses = nil, false
		for _, f := range Scan(text, bare.Policy().Rules(Input), nil) {
			one := text[f.Start:f.End]
			exempted, _ := NewScanner(rules).exempt(f.Rule, one)
			name, _, severity := p.Rule(f.Rule)
			kept := slices.ContainsFunc(found, func(g Finding) bool {
				_, _, other := p.Rule(g.Rule)
				return g.Start < f.End && f.Start < g.End && other >= severity
			})
			if !exempted && !kept {
				t.Errorf("%q: lost %s=%q", text, name, one)
			}
		}
	}
}

// TestExemptedFromEveryRule: an exempted text may begin with a separator. It is exempted even if no finding comes
// before it, with and without keywords.
func TestExemptedFromEveryRule(t *testing.T) {
	for _, text := range []string{"call (212) 555-0123 now", "(212) 555-0123", "[::1] (212) 555-0123 ::1"} {
		for _, lists := range [][]KeywordList{nil, {{Name: "birds", Input: Flag, Words: []string{"bluebird"}}}} {
			s := NewSettings()
			s.Exemptions, s.Lists = []Exemption{{Value: "(212) 555-0123"}, {Value: "::1"}}, lists
			if got := foundBy(t, &s, text); got != nil {
				t.Errorf("%q: %q", text, got)
			}
			if got := foundBy(t, &s, text+" jane@corp.example"); !slices.Equal(got, []string{"personal.email=jane@corp.example"}) {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

// oobar and foo are programs for the words "oobar" and "foo".
var oobar, foo = wordProgram("oobar"), wordProgram("foo")

func wordProgram(word string) []byte {
	first := make([]byte, 32)
	first[word[0]>>3] = 1 << (word[0] & 7)
	p := append(append([]byte{ProgramFormat}, first...), 0, 0, byte(len(word)+1), 0)
	for i := range len(word) {
		p = append(p, OpRune, 0, byte(i+1), 0, word[i], 0, 0, 0)
	}
	return append(p, OpMatch, 0, 0, 0, 0, 0, 0, 0)
}

// TestPatternsAcrossExempted: a match may begin inside the exempted match of another pattern and end after it.
func TestPatternsAcrossExempted(t *testing.T) {
	for text, want := range map[string][]string{
		"a foobar b": {"pattern.secret=oobar"}, "foofoobar": {"pattern.secret=oobar"}, "foo bar": nil, "foofoo": nil,
	} {
		s := NewSettings()
		s.Patterns = []Pattern{{Name: "name", Input: Flag, Program: foo}, {Name: "secret", Input: Flag, Program: oobar}}
		s.Exemptions = []Exemption{{Rule: "pattern.name", Value: "foo"}}
		if got := foundBy(t, &s, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPartsOfAddresses: the ASCII part of a longer address is not the exempted address. Next to punctuation, or in
// text without spaces, the same characters are the exempted address.
func TestPartsOfAddresses(t *testing.T) {
	const address = "ran@example.com"
	for form, found := range map[string]bool{
		"G\u00f6@ b": true, "Go\u0308@": true, "\u0430@": true, "\u200b@": true, "\uff4a@": true, "x\u2060@": true, "@\u00e9": true,
		"@.\u4e2d\u56fd": true, "@\u200d": true, "@.\u0440\u0444": true, "@\uff4d": true, "x.@": true, "x+@": true, "o'@": true,
		"\u8bf7\u8054\u7cfb@\u3002": false, "\u201c@\u201d": false, "\u00ab@\u00bb": false, "\uff1a@\uff0c": false, "@.\u201d": false, "<@>": false, "@.": false,
	} {
		text := strings.Replace(form, "@", address, 1)
		s := NewSettings()
		s.Exemptions = []Exemption{{Value: address}}
		if got := foundBy(t, &s, text); (got != nil) != found {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestExemptEverything: a pattern that matches every text exempts all findings of its rule, except those longer than
// MaxMatch.
func TestExemptEverything(t *testing.T) {
	s := NewSettings()
	s.Exemptions = []Exemption{{Rule: "pattern", Source: "-+", Program: dashes}}
	s.Patterns = []Pattern{{Name: "dashes", Input: Flag, Program: dashes}}
	if got := foundBy(t, &s, strings.Repeat("-", 3*MaxMatch)+" jane@corp.example"); !slices.Equal(got, []string{"personal.email=jane@corp.example"}) {
		t.Errorf("%q", got)
	}
}
