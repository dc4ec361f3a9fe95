package governor

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/schema"
)

// maxTryBody is the maximum size of a request body that contains both a text and settings.
const maxTryBody = 2 * kernel.MaxBody

type trialView struct {
	Approved  bool          `json:"approved"`
	Decision  string        `json:"decision"`
	RiskScore int           `json:"riskScore"` // sum of the points, at most 100
	Threshold uint64        `json:"autoApproveThreshold"`
	Findings  []findingView `json:"findings"` // at most 100
	Total     int           `json:"total"`    // number of findings
	Redacted  *string       `json:"redacted"` // null: nothing is redacted
}

type findingView struct {
	Rule     string `json:"rule"`
	Category string `json:"category"`
	Severity string `json:"severity"`
	Action   string `json:"action"`
	Path     string `json:"path"`
	Start    int    `json:"start"` // offset in the text's UTF-8 bytes
	End      int    `json:"end"`   // exclusive
	Points   int    `json:"points"`
}

// tryGovernor serves POST …/governor/try {"text","direction","settings"}. It checks a text against the project's
// settings or a draft of them. Neither the text nor the draft is stored or logged.
func (h *handler) tryGovernor(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	text, given := f.Text("text", "")
	if !given && len(f.Problems) == 0 {
		f.Problem("text", "is required")
	}
	direction := takeDirection(f)
	draft, hasDraft := f.Object("settings")
	var rules governor.Settings
	if hasDraft {
		for _, readOnly := range []string{"version", "policyVersion", "available"} {
			draft.Take(readOnly)
		}
		rules = h.governorSettings(draft)
		f.AddProblems("settings", draft)
	}
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	if !hasDraft {
		if rules, err = settings.GovernorOf(&p.Policy); err != nil {
			return kernel.Answer{}, err
		}
	}
	if _, err := encodeGovernor(&rules); err != nil {
		return kernel.Answer{}, err
	}
	return kernel.OK(checkText(text, direction, &rules)), nil
}

// takeDirection takes the fields "direction" and "role". Only an input can have the role "system".
func takeDirection(f *kernel.Fields) governor.Direction {
	direction := kernel.Translate(f.DefaultedChoice("direction", []string{"input", "output"}), []string{"input", "output"}, []governor.Direction{governor.Input, governor.Output})
	switch role := f.DefaultedChoice("role", []string{"user", "system"}); {
	case role == "system" && direction == governor.Output:
		f.Problem("role", "must be user for an output; system texts are input")
	case role == "system":
		return governor.System
	}
	return direction
}

// checkText checks a text in the same way as the gateway checks the text of a request or response.
func checkText(text string, direction governor.Direction, rules *governor.Settings) trialView {
	check := inspect.Check{Policy: rules.Policy(), Redactor: &governor.Redactor{Reversible: rules.Reversible}}
	result := check.Text(text, direction)
	if direction == governor.Output {
		checkSchema(text, rules, &check, &result)
	}
	view := trialView{
		Approved: result.Decision == governor.Approve, Decision: result.Decision.String(), RiskScore: result.Tally.Risk,
		Threshold: rules.AutoApprove, Findings: viewFindings(check.Policy, result.Findings), Total: result.Tally.Total,
	}
	if result.Body != nil {
		redacted := string(result.Body)
		view.Redacted = &redacted
	}
	return view
}

// checkSchema adds a finding if the text does not satisfy the answer schema.
func checkSchema(text string, rules *governor.Settings, check *inspect.Check, result *inspect.Result) {
	if rules.Schema.Schema == "" {
		return
	}
	if outcome := schema.Validate(rules.Schema.Schema, text); outcome.Valid() {
		return
	}
	result.Tally.Add(check.Policy, governor.Output, []governor.Finding{{Rule: governor.RuleSchema}})
	result.Decision = result.Tally.Decide(check.Policy)
	if len(result.Findings) < governor.MaxListed {
		result.Findings = append(result.Findings, inspect.Finding{Rule: governor.RuleSchema, Action: rules.Schema.Action, Path: "text"})
	}
}

// viewFindings gives each finding the points of its severity. A redacted finding gets no points. If enough other
// findings of the same rule already count, a further finding gets no points either.
func viewFindings(policy *governor.Policy, found []inspect.Finding) []findingView {
	views, counted := []findingView{}, map[governor.ID]int{}
	for _, f := range found {
		name, category, severity := policy.Rule(f.Rule)
		view := findingView{name, category.String(), severity.String(), f.Action.String(), f.Path, f.Start, f.End, 0}
		if f.Action != governor.Redact && counted[f.Rule] < governor.CountedPerRule {
			counted[f.Rule]++
			view.Points = severity.Points()
		}
		views = append(views, view)
	}
	return views
}
