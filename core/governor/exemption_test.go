package governor

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// dashes is the program of the pattern "-+".
var dashes = append(append([]byte{ProgramFormat, 0, 0, 0, 0, 0, 1 << 5}, make([]byte, 26)...),
	0, 0, 3, 0, // first instruction and number of instructions
	OpRune, 0, 1, 0, '-', 0, 0, 0,
	OpEither, 0, 2, 0, 0, 0, 0, 0,
	OpMatch, 0, 0, 0, 0, 0, 0, 0,
)

// foundBy lists what the rules find in a text. It checks that the findings are the same if the text arrives byte by
// byte.
func foundBy(t *testing.T, s *Settings, text string) (names []string) {
	t.Helper()
	p := s.Policy()
	rules := p.Rules(Input)
	found := Scan([]byte(text), rules, nil)
	if pieces, _ := scanPieces(t, rules, slices.Collect(slices.Chunk([]byte(text), 1))...); !slices.Equal(pieces, found) {
		t.Fatalf("%q in single bytes: %v, whole: %v", text, pieces, found)
	}
	for _, f := range found {
		name, _, _ := p.Rule(f.Rule)
		names = append(names, name+"="+text[f.Start:f.End])
	}
	return names
}

func TestExemptions(t *testing.T) {
	const card = "4111 1111 1111 1111"
	for _, test := range []struct {
		exemption Exemption
		text      string
		want      []string
	}{
		{Exemption{Value: "jane@corp.example"}, "mail jane@corp.example now", nil},
		{Exemption{Value: "jane@corp.example"}, "mail Jane@Corp.EXAMPLE now", nil},
		{Exemption{Rule: "personal.email", Value: "jane@corp.example"}, "mail jane@corp.example now", nil},
		{Exemption{Rule: "personal", Value: "jane@corp.example"}, "mail jane@corp.example now", nil},
		{Exemption{Rule: "secret", Value: "jane@corp.example"}, "mail jane@corp.example now", []string{"personal.email=jane@corp.example"}},
		{Exemption{Rule: "personal.phone", Value: "jane@corp.example"}, "mail jane@corp.example", []string{"personal.email=jane@corp.example"}},
		{Exemption{Value: "jane@corp.example"}, "mail jane@corp.example.org", []string{"personal.email=jane@corp.example.org"}},
		{Exemption{Value: "jane@corp.example"}, "mail mary-jane@corp.example", []string{"personal.email=mary-jane@corp.example"}},
		{Exemption{Value: "jane@corp.example"}, "jane@corp.example joe@corp.example", []string{"personal.email=joe@corp.example"}},
		{Exemption{Value: "jane@corp.exampl"}, "mail jane@corp.example", []string{"personal.email=jane@corp.example"}},
		{Exemption{Value: card}, "card " + card + " end", nil},
		{Exemption{Value: "4111111111111111"}, "card " + card, []string{"personal.payment-card=" + card}},
		{Exemption{Value: "192.0.2.1"}, "at 192.0.2.1 and 192.0.2.10", []string{"personal.ipv4=192.0.2.10"}},
		{Exemption{Value: "AKIAIOSFODNN7EXAMPLE"}, "key AKIAIOSFODNN7EXAMPLE", nil},
		{Exemption{Value: "bluebird"}, "a bluebird sings", nil},
		{Exemption{Rule: "keyword.birds", Value: "bluebird"}, "a bluebird sings", []string{"keyword.other=bluebird"}},
		{Exemption{Rule: "keyword", Value: "bluebird"}, "a Bluebird sings", []string{"keyword.birds=Bluebird"}},
		{Exemption{Value: "jane@bluebird.example"}, "mail jane@bluebird.example", []string{"keyword.birds=bluebird"}},
		{Exemption{Value: "--"}, "a -- b", []string{"pattern.dash=-", "pattern.dash=-"}},
		{Exemption{Rule: "pattern", Source: "-+", Program: dashes}, "a ---- b", nil},
		{Exemption{Source: "-", Program: dash}, "a -- b", []string{"pattern.dashes=--"}},
		{Exemption{Source: "-", Program: dash}, "a - b", nil},
		{Exemption{Rule: "pattern.dashes", Value: "--"}, "a -- b", []string{"pattern.dash=-", "pattern.dash=-"}},
		{Exemption{Source: "-+", Program: dashes}, "jane-doe@corp.example", []string{"personal.email=jane-doe@corp.example"}},
		{Exemption{Value: "\xff\xfe"}, "jane@corp.example \xff\xfe", []string{"personal.email=jane@corp.example"}},
	} {
		s := NewSettings()
		s.Exemptions = []Exemption{test.exemption}
		s.Lists = []KeywordList{{Name: "birds", Input: Flag, Words: []string{"bluebird"}}, {Name: "other", Input: Flag, MatchCase: true, Words: []string{"bluebird"}}}
		if strings.Contains(test.text, "Bluebird") || strings.Contains(test.text, "@bluebird") {
			s.Lists = s.Lists[:1]
		}
		s.Patterns = []Pattern{{Name: "dashes", Input: Flag, Program: dashes}, {Name: "dash", Input: Flag, Program: dash}}
		if strings.Contains(test.text, "@") {
			s.Patterns = nil
		}
		if got := foundBy(t, &s, test.text); !slices.Equal(got, test.want) {
			t.Errorf("%+v in %q: %q, want %q", test.exemption, test.text, got, test.want)
		}
	}
}

// TestSecretsKeepTheirCase: if a secret differs from an exempted one only in case, it is still reported.
func TestSecretsKeepTheirCase(t *testing.T) {
	s := NewSettings()
	s.Exemptions = []Exemption{{Value: "AKIAIOSFODNN7SAMPLEF"}}
	if got := foundBy(t, &s, "key AKIAIOSFODNN7SAMPLEE"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestAgentAddresses(t *testing.T) {
	s := NewSettings()
	for _, a := range AgentAddresses() {
		if a.Value != strings.ToLower(a.Value) || a.Agent == "" {
			t.Errorf("%+v: not in lower case, or without its agent", a)
		}
		if got := foundBy(t, &s, "Co-Authored-By: "+a.Agent+" <"+a.Value+">"); got != nil {
			t.Errorf("%s: %q", a.Value, got)
		}
		for _, other := range []string{a.Value + ".evil", a.Value + ".co", "x" + a.Value, "jane." + a.Value} {
			if got := foundBy(t, &s, "mail "+other+" now"); !slices.Equal(got, []string{"personal.email=" + other}) {
				t.Errorf("%s: %q", other, got)
			}
		}
	}
	s.AgentAddresses = false
	if got := foundBy(t, &s, "<noreply@anthropic.com>"); len(got) != 1 {
		t.Errorf("without the list: %q", got)
	}
}

// TestOlderSettings: settings of an earlier format exempt nothing. In such settings, system texts get the actions of
// input.
func TestOlderSettings(t *testing.T) {
	want := fullSettings()
	want.Exemptions, want.AgentAddresses = nil, false
	want.Lists[0].System, want.Patterns[0].System, want.Actions[0].System = 0, 0, 0
	w, format := abi.Writer{}, uint64(1)
	want.automaton = compileKeywords(want.Lists)
	want.fields(abi.WriteTo(&w), &format)
	got, err := DecodeSettings(w.Buf)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
	}
	if p := got.Policy(); p.Roles() || p.Rules(Input).exempts {
		t.Error("older settings have roles or exemptions")
	}
}

func TestInvalidExemptions(t *testing.T) {
	for want, all := range map[string][]Exemption{
		"at most 100":          make([]Exemption, 101),
		"either a value":       {{Rule: "personal.email"}},
		`"personal.nobody"`:    {{Rule: "personal.nobody", Value: "a"}},
		`"keyword.nothing"`:    {{Rule: "keyword.nothing", Value: "a"}},
		`"pattern.nothing"`:    {{Rule: "pattern.nothing", Value: "a"}},
		`"length.input"`:       {{Rule: "length.input", Value: "a"}},
		`"schema"`:             {{Rule: "schema", Value: "a"}},
		"at most 320 bytes":    {{Value: strings.Repeat("a", 321)}},
		"exemptions[1] must":   {{Value: "a"}, {Value: "a\nb"}},
		"of UTF-8":             {{Value: "\xff"}},
		"is not compiled":      {{Source: "a", Program: dash[:40]}},
		"more than 400 instru": slices.Repeat([]Exemption{{Source: "-+", Program: append(dashes[:35:35], append([]byte{90, 0}, append(slices.Clone(dashes[37:]), make([]byte, 8*87)...)...)...)}}, 5),
	} {
		s := fullSettings()
		s.Exemptions = all
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestSystemActions(t *testing.T) {
	s := NewSettings()
	s.Actions = []RuleActions{{"personal", Block, Flag, OverrideBy(Allow)}, {"personal.iban", Redact, Flag, 0}}
	s.Lists = []KeywordList{{Name: "words", Input: Flag, Output: Flag, System: OverrideBy(Block), Words: []string{"word"}}}
	p := s.Policy()
	for rule, want := range map[string][2]Action{"personal.email": {Block, Allow}, "personal.iban": {Redact, Redact}, "secret.jwt": {Redact, Redact}} {
		if got := [2]Action{p.Action(Input, find(t, rule)), p.Action(System, find(t, rule))}; got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	if id := listRule(0); p.Action(System, id) != Block || p.Action(Input, id) != Flag || !p.Roles() {
		t.Error("the list's action for system texts")
	}
	if NewPolicy().Roles() {
		t.Error("the defaults have roles")
	}
}
