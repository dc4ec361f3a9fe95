package control

import (
	"net/http"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
)

// governorSummary is the Governor's state in the view of a project.
type governorSummary struct {
	Enabled    bool `json:"enabled"`
	StrictMode bool `json:"strictMode"`
}

// governorOf returns the settings of a policy. A policy without settings has the defaults.
func governorOf(p *doc.Policy) (governor.Settings, error) {
	if len(p.Governor) == 0 {
		return governor.NewSettings(), nil
	}
	return governor.DecodeSettings(p.Governor)
}

func summarizeGovernor(p *doc.Policy) governorSummary {
	s, err := governorOf(p)
	if err != nil {
		return governorSummary{}
	}
	return governorSummary{s.Enabled, s.Strict}
}

// getGovernor is GET …/governor.
func (h *handler) getGovernor(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	view, err := h.viewGovernor(&p)
	return answer{http.StatusOK, view}, err
}

// putGovernor is PUT …/governor: it replaces all settings. A missing field has its default. The response
// arrives when the keys' meters have the policy.
func (h *handler) putGovernor(c *call) (answer, error) {
	f, err := readFields(c.request)
	if err != nil {
		return answer{}, err
	}
	version, _ := f.integer("version", 1, 1<<53)
	f.take("policyVersion") // GET returns both, so a changed GET can be sent back
	f.take("available")
	settings := h.governorSettings(f)
	if err := f.err(); err != nil {
		return answer{}, err
	}
	encoded, err := encodeGovernor(&settings)
	if err != nil {
		return answer{}, err
	}
	view, err := h.replaceGovernor(c, version, &settings, encoded)
	return answer{http.StatusOK, view}, err
}

// replaceGovernor commits the settings. version is that of the project on which they are based; 0: any.
func (h *handler) replaceGovernor(c *call, version uint64, settings *governor.Settings, encoded []byte) (view governorView, err error) {
	err = h.store.change(c, func() (change, error) {
		before, err := h.store.project(c, c.project)
		if err != nil {
			return change{}, err
		}
		if version != 0 && version != before.Revision+1 {
			return change{}, outdated(before.Revision+1, version)
		}
		if err := h.mayGovern(before.Plan, settings.Enabled); err != nil {
			return change{}, err
		}
		after := next(before)
		after.Revision++
		after.Policy.Governor = encoded
		h.versionPolicy(&before, &after)
		if view, err = h.viewGovernor(&after); err != nil {
			return change{}, err
		}
		entry, err := h.auditGovernor(c, &before, &view)
		made := h.projectChange(&before, &after, entry)
		made.republish = c.project // an earlier attempt with the same settings may have missed some keys
		return made, err
	})
	return view, err
}

// encodeGovernor returns the stored form; nil for the defaults. The error is a 400.
func encodeGovernor(s *governor.Settings) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, invalid(fault.Detail{Field: "body", Message: "is not valid: " + err.Error()})
	}
	encoded, defaults := s.Encode(), governor.NewSettings()
	if string(encoded) == string(defaults.Encode()) {
		return nil, nil
	}
	return encoded, nil
}

// mayGovern rejects an enabled Governor on a plan without it.
func (h *handler) mayGovern(plan string, enabled bool) error {
	if !enabled || h.Catalog.Plan(plan).Governor {
		return nil
	}
	return refuse(fault.NoGovernor, "enabled", "cannot be true on the plan "+plan+"; "+h.governorPlans())
}

// governorPlans is the remedy: it names the plans that include the Governor.
func (h *handler) governorPlans() string {
	var names []string
	for _, name := range h.planNames() {
		if h.Catalog.Plan(name).Governor {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no plan of the catalog includes the Governor"
	}
	return "change the project's plan to " + oneOf(names)
}

// keepsGovernor rejects a change to a plan without the Governor while the Governor is enabled: a change of
// limits must not end the checks unnoticed.
func (h *handler) keepsGovernor(before, after *project) error {
	if before.Plan == after.Plan || h.Catalog.Plan(after.Plan).Governor || !summarizeGovernor(&after.Policy).Enabled {
		return nil
	}
	return refuse(fault.NoGovernor, "plan", after.Plan+" does not include the Governor, which this project has enabled; disable it first, or "+h.governorPlans())
}

// auditGovernor is the audit entry of a change from a project's settings to view.
func (h *handler) auditGovernor(c *call, before *project, view *governorView) (directory.Write, error) {
	old, err := h.viewGovernor(before)
	if err != nil {
		return directory.Write{}, err
	}
	return h.auditWrite(c, "governor.update", c.project, "", old.audited(), view.audited())
}

// ruleView is a rule of the Governor in the API.
type ruleView struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	Severity string `json:"severity"`
	Points   int    `json:"points"` // of the risk, for each finding that counts
	Input    string `json:"input"`  // default action
	Output   string `json:"output"` // default action
}

// listGovernorRules is GET /api/admin/governor/rules.
func (h *handler) listGovernorRules(*call) (answer, error) {
	return answer{http.StatusOK, map[string]any{"rules": governorRules()}}, nil
}

// governorRules lists the rules that settings can give actions, in the order of the Governor's table.
func governorRules() []ruleView {
	defaults := governor.NewSettings()
	policy := defaults.Policy()
	views := []ruleView{}
	for i, rule := range governor.Table() {
		if !isConfigurable(&rule) {
			continue
		}
		views = append(views, ruleView{
			rule.Name, rule.Category.String(), rule.Severity.String(), rule.Severity.Points(),
			policy.Action(governor.Input, governor.ID(i)).String(), policy.Action(governor.Output, governor.ID(i)).String(),
		})
	}
	return views
}

// isConfigurable reports whether a rule gets its actions from the member "rules". The others have settings of
// their own: keywords, patterns, answerSchema, unchecked.
func isConfigurable(rule *governor.Rule) bool {
	switch rule.Category {
	case governor.Secret, governor.Personal, governor.Injection, governor.Length, governor.Classified:
		return true
	}
	return false
}
