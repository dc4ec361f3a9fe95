package settings

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
)

// GovernorSummary is the Governor's state as the API shows it in a project.
type GovernorSummary struct {
	Enabled    bool `json:"enabled"`
	StrictMode bool `json:"strictMode"`
}

// GovernorOf returns the Governor settings of a policy. If the policy has none, it returns the defaults.
func GovernorOf(p *doc.Policy) (governor.Settings, error) {
	if len(p.Governor) == 0 {
		return governor.NewSettings(), nil
	}
	return governor.DecodeSettings(p.Governor)
}

// SummarizeGovernor returns the state of a policy's Governor. If its settings cannot be read, it counts as disabled.
func SummarizeGovernor(p *doc.Policy) GovernorSummary {
	s, err := GovernorOf(p)
	if err != nil {
		return GovernorSummary{}
	}
	return GovernorSummary{s.Enabled, s.Strict}
}

// MayGovern rejects an enabled Governor on a plan that does not include it.
func MayGovern(cp *kernel.Plane, plan string, enabled bool) error {
	if !enabled || cp.Catalog.Plan(plan).Governor {
		return nil
	}
	return kernel.Refuse(fault.NoGovernor, "enabled", "cannot be true on the plan "+plan+"; "+governorPlans(cp))
}

// governorPlans returns the remedy, which names the plans that include the Governor.
func governorPlans(cp *kernel.Plane) string {
	var names []string
	for _, name := range PlanNames(cp) {
		if cp.Catalog.Plan(name).Governor {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no plan of the catalog includes the Governor"
	}
	return "change the project's plan to " + kernel.OneOf(names)
}

// KeepsGovernor rejects a change to a plan without the Governor while the Governor is enabled. An operator who only
// wants other limits could otherwise switch off the checks without noticing.
func KeepsGovernor(cp *kernel.Plane, before, after *directory.Project) error {
	if before.Plan == after.Plan || cp.Catalog.Plan(after.Plan).Governor || !SummarizeGovernor(&after.Policy).Enabled {
		return nil
	}
	return kernel.Refuse(fault.NoGovernor, "plan", after.Plan+" does not include the Governor, which this project has enabled; disable it first, or "+governorPlans(cp))
}

// Words of the API and their internal values, in the same order. The first is the default.
var (
	ActionWords     = []string{"flag", "allow", "redact", "block"}
	Actions         = []governor.Action{governor.Flag, governor.Allow, governor.Redact, governor.Block}
	SeverityWords   = []string{"medium", "low", "high", "critical"}
	Severities      = []governor.Severity{governor.Medium, governor.Low, governor.High, governor.Critical}
	ClassifierWords = []string{"chat", "moderation", "llama-guard"}
	ClassifierKinds = []governor.ClassifierKind{governor.ChatClassifier, governor.ModerationClassifier, governor.LlamaGuardClassifier}
)
