package control

import (
	"net/http"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/schema"
)

// maxTryBody is the maximum size of a request body with a text and settings.
const maxTryBody = 2 * maxBody

// trialView is the result of a text's check.
type trialView struct {
	Approved  bool          `json:"approved"`
	Decision  string        `json:"decision"`
	RiskScore int           `json:"riskScore"` // the sum of the points, at most 100
	Threshold uint64        `json:"autoApproveThreshold"`
	Findings  []findingView `json:"findings"` // the first 100
	Total     int           `json:"total"`    // findings
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

// tryGovernor is POST …/governor/try {"text","direction","settings"}: it checks a text against the project's
// settings, or against a draft of them. Neither is stored or logged.
func (h *handler) tryGovernor(c *call) (answer, error) {
	f, err := readFieldsUpTo(c.request, maxTryBody)
	if err != nil {
		return answer{}, err
	}
	text, given := f.text("text", "")
	if !given && len(f.problems) == 0 {
		f.problem("text", "is required")
	}
	direction := translate(f.defaultedChoice("direction", []string{"input", "output"}), []string{"input", "output"}, []governor.Direction{governor.Input, governor.Output})
	draft, hasDraft := f.object("settings")
	var settings governor.Settings
	if hasDraft {
		for _, readOnly := range []string{"version", "policyVersion", "available"} {
			draft.take(readOnly)
		}
		settings = h.governorSettings(draft)
		f.addProblems("settings", draft)
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	if !hasDraft {
		if settings, err = governorOf(&p.Policy); err != nil {
			return answer{}, err
		}
	}
	if _, err := encodeGovernor(&settings); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, checkText(text, direction, &settings)}, nil
}

// checkText checks a text as the gateway checks the text of a request or a response.
func checkText(text string, direction governor.Direction, settings *governor.Settings) trialView {
	check := inspect.Check{Policy: settings.Policy(), Redactor: &governor.Redactor{Reversible: settings.Reversible}}
	result := check.Text(text, direction)
	if direction == governor.Output {
		checkSchema(text, settings, &check, &result)
	}
	view := trialView{
		Approved: result.Decision == governor.Approve, Decision: result.Decision.String(), RiskScore: result.Tally.Risk,
		Threshold: settings.AutoApprove, Findings: viewFindings(check.Policy, result.Findings), Total: result.Tally.Total,
	}
	if result.Body != nil {
		redacted := string(result.Body)
		view.Redacted = &redacted
	}
	return view
}

// checkSchema adds the finding of a text that does not satisfy the answers' schema.
func checkSchema(text string, settings *governor.Settings, check *inspect.Check, result *inspect.Result) {
	if settings.Schema.Schema == "" {
		return
	}
	if outcome := schema.Validate(settings.Schema.Schema, text); outcome.Valid() {
		return
	}
	result.Tally.Add(check.Policy, governor.Output, []governor.Finding{{Rule: governor.RuleSchema}})
	result.Decision = result.Tally.Decide(check.Policy)
	if len(result.Findings) < governor.MaxListed {
		result.Findings = append(result.Findings, inspect.Finding{Rule: governor.RuleSchema, Action: settings.Schema.Action, Path: "text"})
	}
}

// viewFindings gives each finding its points: those of its severity, unless it is redacted or others of its
// rule already count.
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
