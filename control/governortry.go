package control

import (
	"net/http"

	"github.com/postern-ai/postern/core/governor"
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

// checkText checks a text as the gateway checks the text of a request or an answer.
func checkText(text string, direction governor.Direction, settings *governor.Settings) trialView {
	policy := settings.Policy()
	found := governor.Scan([]byte(text), policy.Rules(direction), nil)
	var tally governor.Tally
	tally.Add(policy, direction, found)
	if long, ok := policy.TooLong(direction, governor.Characters([]byte(text))); ok {
		tally.Add(policy, direction, []governor.Finding{long})
	}
	decision := tally.Decide(policy)
	view := trialView{
		Approved: decision != governor.Rejected, Decision: decision.String(), RiskScore: tally.Risk, Threshold: settings.AutoApprove,
		Findings: viewFindings(policy, direction, tally.Listed), Total: tally.Total,
	}
	if tally.Redact {
		redactor := governor.Redactor{Reversible: settings.Reversible}
		redactor.Reserve([]byte(text))
		redacted := string(redactor.Apply(nil, []byte(text), policy, direction, found))
		view.Redacted = &redacted
	}
	return view
}

// viewFindings gives each finding its points: those of its severity, unless it is redacted or others of its
// rule already count.
func viewFindings(policy *governor.Policy, direction governor.Direction, found []governor.Finding) []findingView {
	views, counted := []findingView{}, map[governor.ID]int{}
	for _, f := range found {
		name, category, severity := policy.Rule(f.Rule)
		action := policy.Action(direction, f.Rule)
		view := findingView{name, category.String(), severity.String(), action.String(), "text", f.Start, f.End, 0}
		if action != governor.Redact && counted[f.Rule] < governor.CountedPerRule {
			counted[f.Rule]++
			view.Points = severity.Points()
		}
		views = append(views, view)
	}
	return views
}
