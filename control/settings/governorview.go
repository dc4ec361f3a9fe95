package settings

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/governor"
)

// GovernorView is a project's Governor settings as the API returns them.
type GovernorView struct {
	Enabled              bool                   `json:"enabled"`
	StrictMode           bool                   `json:"strictMode"`
	AutoApproveThreshold uint64                 `json:"autoApproveThreshold"`
	Reversible           bool                   `json:"reversible"`
	Unchecked            string                 `json:"unchecked"`
	Rules                map[string]ActionsView `json:"rules"` // overrides only, keyed by rule or category
	Keywords             []keywordsView         `json:"keywords"`
	Patterns             []patternView          `json:"patterns"`
	AnswerSchema         *answerSchemaView      `json:"answerSchema"`
	MaxInputCharacters   *uint64                `json:"maxInputCharacters"`
	MaxOutputCharacters  *uint64                `json:"maxOutputCharacters"`
	Classifier           *classifierView        `json:"classifier"`
	Exemptions           []exemptionView        `json:"exemptions"`
	ExemptAgentAddresses bool                   `json:"exemptAgentAddresses"`
	Available            bool                   `json:"available"`     // the project's plan includes the Governor
	PolicyVersion        uint64                 `json:"policyVersion"` // 0: the project has no policy
	Version              uint64                 `json:"version"`       // the project's
}

// ActionsView contains the actions of a rule for each direction.
type ActionsView struct {
	Input  string  `json:"input"`
	Output string  `json:"output"`
	System *string `json:"system,omitempty"` // for system texts; absent: same as input
}

// ViewActions returns the API's view of an override's actions.
func ViewActions(a *governor.RuleActions) ActionsView {
	return ActionsView{a.Input.String(), a.Output.String(), viewSystem(a.System)}
}

func viewSystem(o governor.Override) *string {
	if o == 0 {
		return nil
	}
	name := o.Of(governor.Allow).String()
	return &name
}

// exemptionView has either a value or a pattern.
type exemptionView struct {
	Rule    *string `json:"rule"` // null: every rule
	Value   *string `json:"value,omitempty"`
	Pattern *string `json:"pattern,omitempty"`
}

func viewExemptions(all []governor.Exemption) []exemptionView {
	views := []exemptionView{}
	for i := range all {
		e := &all[i]
		views = append(views, exemptionView{kernel.NullIfEmpty(e.Rule), kernel.NullIfEmpty(e.Value), kernel.NullIfEmpty(e.Source)})
	}
	return views
}

type keywordsView struct {
	Name      string   `json:"name"`
	Severity  string   `json:"severity"`
	Input     string   `json:"input"`
	Output    string   `json:"output"`
	System    *string  `json:"system,omitempty"`
	MatchCase bool     `json:"matchCase"`
	Words     []string `json:"words"`
}

type patternView struct {
	Name     string  `json:"name"`
	Pattern  string  `json:"pattern"`
	Severity string  `json:"severity"`
	Input    string  `json:"input"`
	Output   string  `json:"output"`
	System   *string `json:"system,omitempty"`
}

type answerSchemaView struct {
	Schema   json.RawMessage `json:"schema"`
	Action   string          `json:"action"`
	Severity string          `json:"severity"`
}

type classifierView struct {
	Kind      string `json:"kind"`
	Model     string `json:"model"`
	Mode      string `json:"mode"`
	TimeoutMs uint64 `json:"timeoutMs"`
	OnFailure string `json:"onFailure"`
	Threshold uint64 `json:"threshold"`
}

// ViewGovernor returns the API's view of a project's settings.
func ViewGovernor(cp *kernel.Plane, p *directory.Project) (GovernorView, error) {
	s, err := GovernorOf(&p.Policy)
	v := GovernorView{
		Enabled: s.Enabled, StrictMode: s.Strict, AutoApproveThreshold: s.AutoApprove, Reversible: s.Reversible, Unchecked: "allow",
		Rules: map[string]ActionsView{}, Keywords: []keywordsView{}, Patterns: []patternView{},
		MaxInputCharacters: kernel.NullIfZero(s.MaxInput), MaxOutputCharacters: kernel.NullIfZero(s.MaxOutput),
		Available: cp.Catalog.Plan(p.Plan).Governor, PolicyVersion: p.Policy.Version, Version: p.Revision + 1,
	}
	if s.BlockUnchecked {
		v.Unchecked = "block"
	}
	for _, a := range s.Actions {
		v.Rules[a.Rule] = ViewActions(&a)
	}
	for _, l := range s.Lists {
		v.Keywords = append(v.Keywords, keywordsView{l.Name, l.Severity.String(), l.Input.String(), l.Output.String(), viewSystem(l.System), l.MatchCase, l.Words})
	}
	for _, p := range s.Patterns {
		v.Patterns = append(v.Patterns, patternView{p.Name, p.Source, p.Severity.String(), p.Input.String(), p.Output.String(), viewSystem(p.System)})
	}
	if s.Schema.Schema != "" {
		v.AnswerSchema = &answerSchemaView{json.RawMessage(s.Schema.Schema), s.Schema.Action.String(), s.Schema.Severity.String()}
	}
	v.Exemptions, v.ExemptAgentAddresses = viewExemptions(s.Exemptions), s.AgentAddresses
	v.Classifier = viewClassifier(&s.Classifier)
	return v, err
}

func viewClassifier(c *governor.Classifier) *classifierView {
	if c.Kind == governor.NoClassifier {
		return nil
	}
	v := &classifierView{
		Kind: kernel.Translate(c.Kind, ClassifierKinds, ClassifierWords), Model: c.Model,
		Mode: "monitor", TimeoutMs: c.TimeoutMs, OnFailure: "allow", Threshold: c.Threshold,
	}
	if c.Strict {
		v.Mode = "strict"
	}
	if c.FailClosed {
		v.OnFailure = "block"
	}
	return v
}

// auditedGovernor is GovernorView for the audit log. The log filters secrets by field name. Rules and the schema are
// therefore strings: one category is named "secret", and properties in the schema may have any name.
type auditedGovernor struct {
	GovernorView
	Rules        []string `json:"rules"`
	AnswerSchema *string  `json:"answerSchema"`
	Version      any      `json:"version,omitempty"`
}

// Audited returns the view for the audit log.
func (v *GovernorView) Audited() auditedGovernor {
	a := auditedGovernor{GovernorView: *v, Rules: []string{}}
	for _, name := range slices.Sorted(maps.Keys(v.Rules)) {
		text := name + ": input " + v.Rules[name].Input + ", output " + v.Rules[name].Output
		if system := v.Rules[name].System; system != nil {
			text += ", system " + *system
		}
		a.Rules = append(a.Rules, text)
	}
	if s := v.AnswerSchema; s != nil {
		text := s.Action + ", " + s.Severity + ": " + string(s.Schema)
		a.AnswerSchema = &text
	}
	return a
}
