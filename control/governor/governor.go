// Package governor is the Governor resource of a project.
package governor

import (
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
)

type handler struct{ *kernel.Plane }

// Routes returns the Governor endpoints of a project.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodGet, Path: kernel.ProjectPath + "/governor", For: kernel.Operators, Operation: "getGovernor", Serve: h.getGovernor},
		{Method: http.MethodPut, Path: kernel.ProjectPath + "/governor", For: kernel.Owners, Body: kernel.MaxBody, Audit: "governor.update", Operation: "putGovernor", Serve: h.putGovernor},
		{Method: http.MethodPost, Path: kernel.ProjectPath + "/governor/try", For: kernel.Owners, Body: maxTryBody, Audit: kernel.Unaudited, Operation: "tryGovernor", Serve: h.tryGovernor},
		{Method: http.MethodGet, Path: "/api/admin/governor/rules", For: kernel.Operators, Operation: "listGovernorRules", Serve: h.listGovernorRules},
	}
}

// getGovernor serves GET …/governor.
func (h *handler) getGovernor(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	view, err := settings.ViewGovernor(h.Plane, &p)
	return kernel.OK(view), err
}

// putGovernor serves PUT …/governor. It replaces all settings. A missing field gets its default. The response is sent
// once the keys' meters have the policy.
func (h *handler) putGovernor(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	version, _ := f.Integer("version", 1, 1<<53)
	f.Take("policyVersion") // ignored, like "available", so that a GET response can be edited and sent back
	f.Take("available")
	rules := h.governorSettings(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	encoded, err := encodeGovernor(&rules)
	if err != nil {
		return kernel.Answer{}, err
	}
	view, err := h.replaceGovernor(c, version, &rules, encoded)
	return kernel.OK(view), err
}

// replaceGovernor commits the settings. version is the project version that the settings are based on. 0 accepts any
// version.
func (h *handler) replaceGovernor(c *kernel.Call, version uint64, rules *governor.Settings, encoded []byte) (view settings.GovernorView, err error) {
	err = h.Store.Change(c, func() (kernel.Change, error) {
		before, err := h.Store.Project(c, c.Project)
		if err != nil {
			return kernel.Change{}, err
		}
		if version != 0 && version != before.Revision+1 {
			return kernel.Change{}, kernel.Outdated(before.Revision+1, version)
		}
		if err := settings.MayGovern(h.Plane, before.Plan, rules.Enabled); err != nil {
			return kernel.Change{}, err
		}
		after := kernel.NextProject(before)
		after.Revision++
		after.Policy.Governor = encoded
		settings.VersionPolicy(&before, &after)
		if view, err = settings.ViewGovernor(h.Plane, &after); err != nil {
			return kernel.Change{}, err
		}
		entry, err := h.auditGovernor(c, &before, &view)
		made := settings.ProjectChange(h.Plane, &before, &after, entry)
		made.Republish = []string{c.Project} // an earlier attempt with the same settings may have missed some keys
		return made, err
	})
	return view, err
}

// encodeGovernor returns the stored form of settings, which is nil for the defaults. The error is a 400.
func encodeGovernor(s *governor.Settings) ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, kernel.Invalid(fault.Detail{Field: "body", Message: "is not valid: " + err.Error()})
	}
	encoded, defaults := s.Encode(), governor.NewSettings()
	if string(encoded) == string(defaults.Encode()) {
		return nil, nil
	}
	return encoded, nil
}

// auditGovernor returns the audit entry for a change of the settings. before has the old settings, and view has the
// new ones.
func (h *handler) auditGovernor(c *kernel.Call, before *directory.Project, view *settings.GovernorView) (directory.Write, error) {
	old, err := settings.ViewGovernor(h.Plane, before)
	if err != nil {
		return directory.Write{}, err
	}
	return h.AuditWrite(c, c.Project, "", old.Audited(), view.Audited())
}

type ruleView struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	Severity string `json:"severity"`
	Points   int    `json:"points"` // added to the risk score by each finding that counts
	Input    string `json:"input"`  // default action
	Output   string `json:"output"` // default action
}

// listGovernorRules serves GET /api/admin/governor/rules.
func (h *handler) listGovernorRules(*kernel.Call) (kernel.Answer, error) {
	return kernel.OK(map[string]any{"rules": governorRules(), "agentAddresses": agentAddresses()}), nil
}

// agentAddress is an email address that the setting exemptAgentAddresses exempts.
type agentAddress struct {
	Value string `json:"value"`
	Agent string `json:"agent"`
}

func agentAddresses() (views []agentAddress) {
	for _, a := range governor.AgentAddresses() {
		views = append(views, agentAddress(a))
	}
	return views
}

// governorRules lists the rules whose actions can be set, in the order of the Governor's table.
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

// isConfigurable reports whether the actions of a rule are set in the field "rules". Other rules have their own
// settings: keywords, patterns, answerSchema, unchecked and classifier.
func isConfigurable(rule *governor.Rule) bool {
	switch rule.Category {
	case governor.Secret, governor.Personal, governor.Injection, governor.Length:
		return true
	}
	return false
}
