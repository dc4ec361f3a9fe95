package governor

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// dash is the program of the pattern "-".
var dash = append(append([]byte{ProgramFormat, 0, 0, 0, 0, 0, 1 << 5}, make([]byte, 26)...),
	0, 0, 2, 0, // first instruction and number of instructions
	OpRune, 0, 1, 0, '-', 0, 0, 0,
	OpMatch, 0, 0, 0, 0, 0, 0, 0,
)

// fullSettings returns settings in which every field differs from the default.
func fullSettings() Settings {
	return Settings{
		Enabled: true, Strict: true, Reversible: true, AutoApprove: 55, BlockUnchecked: true,
		Actions: []RuleActions{{"secret", Block, Flag, OverrideBy(Allow)}, {"personal.email", Redact, Allow, 0}},
		Lists: []KeywordList{
			{Name: "codenames", Severity: High, Input: Block, Output: Redact, System: OverrideBy(Flag), Words: []string{"project bluebird", "Ærø"}},
			{Name: "exact", Severity: Low, Input: Flag, Output: Flag, MatchCase: true, Words: []string{"ACME"}},
		},
		Patterns: []Pattern{{Name: "employee-id", Severity: Critical, Input: Flag, Output: Block, System: OverrideBy(Redact), Source: "EMP-[0-9]{6}", Program: dash, MaxLength: 10}},
		Schema:   AnswerSchema{Schema: `{"type":"object"}`, Action: Block, Severity: High},
		MaxInput: 1000, MaxOutput: 2000,
		Classifier: Classifier{Kind: LlamaGuardClassifier, Model: "guard", Strict: true, TimeoutMs: 900, FailClosed: true, Threshold: 60},
		Exemptions: []Exemption{
			{Rule: "personal.email", Value: "jane@corp.example"}, {Source: "-", Program: dash}, {Rule: "keyword.exact", Value: "ACME"},
		},
		AgentAddresses: true,
	}
}

func TestSettingsSurviveEncoding(t *testing.T) {
	for name, s := range map[string]Settings{"defaults": NewSettings(), "all": fullSettings()} {
		data := s.Encode()
		got, err := DecodeSettings(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.automaton) == 0 {
			got.automaton = nil
		}
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%s:\n%+v\nwant\n%+v", name, got, s)
		}
		for i := range data {
			if _, err := DecodeSettings(data[:i]); err == nil {
				t.Errorf("%s: accepted when cut to %d bytes", name, i)
			}
		}
	}
}

func TestSettingsActions(t *testing.T) {
	s := fullSettings()
	p := s.Policy()
	for rule, want := range map[string][2]Action{
		"secret.jwt": {Block, Flag}, "personal.email": {Redact, Allow}, "personal.phone": {Flag, Flag},
		"unchecked.content": {Block, Block}, "length.input": {Block, Block}, "schema.answer": {Allow, Block},
	} {
		if got := [2]Action{p.Action(Input, find(t, rule)), p.Action(Output, find(t, rule))}; got != want {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	for i, want := range []struct {
		name          string
		input, output Action
		severity      Severity
	}{{"keyword.codenames", Block, Redact, High}, {"keyword.exact", Flag, Flag, Low}, {"pattern.employee-id", Flag, Block, Critical}} {
		id := ID(len(Table()) + i)
		if name, _, severity := p.Rule(id); name != want.name || severity != want.severity || p.Action(Input, id) != want.input || p.Action(Output, id) != want.output {
			t.Errorf("rule %d: %s %s", id, name, severity)
		}
	}
	if name, _, _ := p.Rule(ID(len(Table()) + 3)); name != "" {
		t.Errorf("a rule that does not exist is %q", name)
	}
}

// TestRuleOverridesCategory: a rule's own override wins over that of its category, whatever their order.
func TestRuleOverridesCategory(t *testing.T) {
	for _, actions := range [][]RuleActions{{{"personal.email", Allow, Allow, 0}, {"personal", Block, Block, 0}}, {{"personal", Block, Block, 0}, {"personal.email", Allow, Allow, 0}}} {
		s := NewSettings()
		s.Actions = actions
		if p := s.Policy(); p.Action(Input, find(t, "personal.email")) != Allow || p.Action(Input, find(t, "personal.phone")) != Block {
			t.Errorf("%v: the category's entry wins", actions)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"autoApproveThreshold must be": func(s *Settings) { s.AutoApprove = 101 },
		"at most 32":                   func(s *Settings) { s.Lists = make([]KeywordList, 33) },
		`unknown rule "no.rule"`:       func(s *Settings) { s.Actions = []RuleActions{{"no.rule", Flag, Flag, 0}} },
		`got "Code Names"`:             func(s *Settings) { s.Lists[0].Name = "Code Names" },
		"appears twice":                func(s *Settings) { s.Lists[1].Name = "codenames" },
		"2 to 120 bytes":               func(s *Settings) { s.Lists[0].Words = []string{"a"} },
		"without control":              func(s *Settings) { s.Lists[0].Words = []string{"a\nb"} },
		"more than 65536":              func(s *Settings) { s.Schema.Schema = strings.Repeat(" ", MaxPolicy) },
		"is not compiled":              func(s *Settings) { s.Patterns[0].Program = dash[:40] },
		"more than 400 instructions": func(s *Settings) {
			many := append(append([]byte(nil), dash...), make([]byte, 8*1000)...)
			many[35], many[36] = 1002&0xff, 1002>>8
			s.Patterns[0].Program = many
		},
		"remove words": func(s *Settings) { s.Lists[0].Words = manyWords(300) },
	} {
		s := fullSettings()
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// manyWords returns words of 100 bytes. The words begin differently.
func manyWords(n int) (words []string) {
	for i := range n {
		words = append(words, strings.Repeat(string(rune('a'+i%26))+string(rune('a'+i/26)), 50))
	}
	return words
}

func TestTooLong(t *testing.T) {
	s := NewSettings()
	if _, ok := s.Policy().TooLong(Input, 1<<40); ok {
		t.Error("a text is too long without a limit")
	}
	s.MaxInput, s.MaxOutput = 5, 3
	p := s.Policy()
	n := Characters([]byte("Zoë"))
	for _, c := range []struct {
		d    Direction
		n    uint64
		rule ID
		want bool
	}{{Input, n + 2, RuleLengthInput, false}, {Input, n + 3, RuleLengthInput, true}, {Output, n, RuleLengthOutput, false}, {Output, n + 1, RuleLengthOutput, true}} {
		if f, ok := p.TooLong(c.d, c.n); ok != c.want || f.Rule != c.rule {
			t.Errorf("direction %d, %d characters: %v, %t", c.d, c.n, f, ok)
		}
	}
}

func TestTallySurvivesEncoding(t *testing.T) {
	p := NewPolicy()
	email, card := find(t, "personal.email"), find(t, "personal.payment-card")
	var whole, first Tally
	parts := [][]Finding{{{email, 0, 5}, {card, 9, 25}, {email, 30, 40}}, {{email, 50, 60}, {email, 70, 80}, {card, 90, 99}}}
	first.Add(p, Input, parts[0])
	w := abi.Writer{}
	first.Fields(abi.WriteTo(&w))
	var second Tally
	r := abi.Reader{Buf: w.Buf}
	second.Fields(abi.ReadFrom(&r))
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	second.Add(p, Input, parts[1])
	whole.Add(p, Input, append(parts[0], parts[1]...))
	if !reflect.DeepEqual(whole, second) {
		t.Errorf("%+v, want %+v", second, whole)
	}
}

func TestRedactorSurvivesEncoding(t *testing.T) {
	p, r := redactAll(), &Redactor{Reversible: true}
	r.Reserve([]byte(letter))
	redacted := r.Apply(nil, []byte(letter), p, Input, Scan([]byte(letter), AllRules(), nil))
	w := abi.Writer{}
	r.Fields(abi.WriteTo(&w))
	var again Redactor
	reader := abi.Reader{Buf: w.Buf}
	again.Fields(abi.ReadFrom(&reader))
	if err := reader.End(); err != nil {
		t.Fatal(err)
	}
	if got := again.Restore(nil, redacted); string(got) != letter {
		t.Errorf("restored: %s", got)
	}
	more := []byte("b@example.com, c@example.com")
	if got := again.Apply(nil, more, p, Input, Scan(more, AllRules(), nil)); string(got) != "[EMAIL_3], [EMAIL_4]" {
		t.Errorf("redacted: %s", got)
	}
}
