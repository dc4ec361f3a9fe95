package governor

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// Bounds of settings.
const (
	MaxPolicy     = 64 << 10 // bytes of encoded settings
	MaxLists      = 32
	MaxPatterns   = 32
	MaxNameLength = 32 // bytes in the name of a list or pattern
	MaxExemptions = 100
)

// Settings is a project's configuration of the Governor. doc.Policy.Governor is its stored form. The zero value is
// not valid: start with NewSettings.
type Settings struct {
	Enabled        bool
	Strict         bool          // block instead of review
	Reversible     bool          // the redacted values are restored in the response
	AutoApprove    uint64        // the highest risk score that passes without review, from 0 to 100
	BlockUnchecked bool          // block content that cannot be read: images, audio, PDFs, tokens
	Actions        []RuleActions // overrides of the defaults
	Lists          []KeywordList // at most MaxLists
	Patterns       []Pattern     // at most MaxPatterns
	Schema         AnswerSchema
	MaxInput       uint64 // maximum number of characters in all checked texts of a request, or 0 for no limit
	MaxOutput      uint64 // maximum number of characters in all checked texts of a response, or 0 for no limit
	Classifier     Classifier
	Exemptions     []Exemption // at most MaxExemptions
	AgentAddresses bool        // personal.email does not report AgentAddresses
	automaton      []byte      // the lists' compiled words
}

// RuleActions overrides the actions of a rule, or of all rules of a category. If there are overrides for both, the
// rule's own override wins.
type RuleActions struct {
	Rule          string // name such as "personal.email", or a category such as "secret"
	Input, Output Action
	System        Override // overrides Input for system texts
}

// Override is an action that replaces another action. It is 1 + the action. The value 0 means that nothing is
// replaced.
type Override uint8

// OverrideBy returns the override that replaces every action with the action a.
func OverrideBy(a Action) Override { return Override(a) + 1 }

// Of returns the action that replaces the action a. If there is no override, it returns a.
func (o Override) Of(a Action) Action {
	if o == 0 {
		return a
	}
	return Action(o - 1)
}

// KeywordList is a list of words that the rule "keyword.NAME" reports.
type KeywordList struct {
	Name          string // a lowercase letter, then lowercase letters, digits and dashes; at most MaxNameLength
	Severity      Severity
	Input, Output Action
	System        Override
	MatchCase     bool     // ASCII letters match only in the case that the word has
	Words         []string // 2 to 120 bytes each, UTF-8 without control characters
}

// Pattern is a regular expression whose matches the rule "pattern.NAME" reports.
type Pattern struct {
	Name          string // like KeywordList.Name
	Severity      Severity
	Input, Output Action
	System        Override
	Source        string // the regular expression
	Program       []byte // the compiled form, which the control plane writes
	MaxLength     uint64 // maximum length of a match, in bytes; at most MaxMatch
}

// AnswerSchema is the JSON Schema that non-streaming responses must satisfy.
type AnswerSchema struct {
	Schema   string // JSON; empty: none
	Action   Action // Flag or Block
	Severity Severity
}

// ClassifierKind is the API of a classifier.
type ClassifierKind uint8

const (
	NoClassifier         ClassifierKind = iota
	ChatClassifier                      // a chat model with a prompt and a JSON response
	ModerationClassifier                // OpenAI's moderation endpoint
	LlamaGuardClassifier                // Llama Guard
)

// Classifier is a model that judges requests.
type Classifier struct {
	Kind       ClassifierKind
	Model      string // name in the catalog
	Strict     bool   // true: the request is judged before it is sent; false: while it is sent
	TimeoutMs  uint64
	FailClosed bool   // block if the classifier fails
	Threshold  uint64 // the lowest score that is a finding, 0 to 100
}

// NewSettings returns the defaults. In the defaults, the Governor is not enabled.
func NewSettings() Settings {
	return Settings{AutoApprove: DefaultAutoApprove, AgentAddresses: true, Schema: AnswerSchema{Action: Flag, Severity: Medium}}
}

// settingsFormat is the first number of encoded settings. Older formats can still be read. Format 1 has no exemptions
// and no actions for system texts.
const settingsFormat = 2

// Encode returns the stored form. The order of overrides does not matter. If Check accepts the settings, the form is
// valid.
func (s *Settings) Encode() []byte {
	s.automaton = compileKeywords(s.Lists)
	s.sortActions()
	w := abi.Writer{Buf: make([]byte, 0, 256+len(s.automaton))}
	format := uint64(settingsFormat)
	s.fields(abi.WriteTo(&w), &format)
	return w.Buf
}

// sortActions sorts the overrides in the order of the table. Policy can then find their rules in one pass.
func (s *Settings) sortActions() {
	s.Actions = slices.Clone(s.Actions)
	slices.SortStableFunc(s.Actions, func(a, b RuleActions) int {
		i, _ := Lookup(a.Rule)
		j, _ := Lookup(b.Rule)
		return int(i) - int(j)
	})
}

// DecodeSettings decodes the stored form. The programs and the automaton of the lists share memory with data.
func DecodeSettings(data []byte) (s Settings, err error) {
	if len(data) > MaxPolicy {
		return s, abi.ErrMalformed
	}
	r := abi.Reader{Buf: data}
	format := uint64(0)
	s.fields(abi.ReadFrom(&r), &format)
	return s, r.End()
}

func (s *Settings) fields(f *abi.Fields, format *uint64) {
	if f.Uint(format); *format == 0 || *format > settingsFormat {
		f.Fail()
		return
	}
	f.Flags(&s.Enabled, &s.Strict, &s.Reversible, &s.BlockUnchecked, &s.Classifier.Strict, &s.Classifier.FailClosed)
	f.Uint(&s.AutoApprove)
	abi.List(f, &s.Actions, actionsFields)
	abi.List(f, &s.Lists, listFields)
	f.Bytes(&s.automaton)
	abi.List(f, &s.Patterns, patternFields)
	f.String(&s.Schema.Schema)
	effectFields(f, &s.Schema.Severity, &s.Schema.Action, &s.Schema.Action)
	f.Uint(&s.MaxInput)
	f.Uint(&s.MaxOutput)
	abi.Enum(f, &s.Classifier.Kind)
	f.String(&s.Classifier.Model)
	f.Uint(&s.Classifier.TimeoutMs)
	f.Uint(&s.Classifier.Threshold)
	if *format >= 2 {
		s.overrideFields(f)
		f.Bool(&s.AgentAddresses)
		abi.List(f, &s.Exemptions, exemptionFields)
	}
	if s.AutoApprove > MaxRisk || len(s.Lists) > MaxLists || len(s.Patterns) > MaxPatterns || s.Classifier.Kind > LlamaGuardClassifier ||
		len(s.Exemptions) > MaxExemptions {
		f.Fail()
	}
}

// overrideFields encodes the actions for system texts in the overrides, the lists and the patterns.
func (s *Settings) overrideFields(f *abi.Fields) {
	for i := range s.Actions {
		overrideField(f, &s.Actions[i].System)
	}
	for i := range s.Lists {
		overrideField(f, &s.Lists[i].System)
	}
	for i := range s.Patterns {
		overrideField(f, &s.Patterns[i].System)
	}
}

func overrideField(f *abi.Fields, o *Override) {
	if abi.Enum(f, o); *o > OverrideBy(Block) {
		f.Fail()
	}
}

// effectFields encodes a severity and two actions as one number. The number has six bits.
func effectFields(f *abi.Fields, severity *Severity, input, output *Action) {
	v := uint8(*severity)<<4 | uint8(*input)<<2 | uint8(*output)
	abi.Enum(f, &v)
	if v > 63 {
		f.Fail()
	}
	*severity, *input, *output = Severity(v>>4&3), Action(v>>2&3), Action(v&3)
}

func actionsFields(f *abi.Fields, a *RuleActions) {
	f.String(&a.Rule)
	none := Low
	effectFields(f, &none, &a.Input, &a.Output)
}

// wordEnd separates the words of an encoded list. Words contain no control characters.
const wordEnd = "\n"

func listFields(f *abi.Fields, l *KeywordList) {
	f.String(&l.Name)
	effectFields(f, &l.Severity, &l.Input, &l.Output)
	f.Bool(&l.MatchCase)
	words := ""
	if !f.Reading() {
		words = strings.Join(l.Words, wordEnd)
	}
	f.String(&words)
	if f.Reading() && words != "" {
		l.Words = strings.Split(words, wordEnd)
	}
}

func patternFields(f *abi.Fields, p *Pattern) {
	f.String(&p.Name)
	effectFields(f, &p.Severity, &p.Input, &p.Output)
	f.String(&p.Source)
	f.Bytes(&p.Program)
	f.Uint(&p.MaxLength)
}
