// Package compliance is the compliance resource of a project: the summary, exports, checkpoints, and verification.
package compliance

import (
	"net/http"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/ledger"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints of a project's compliance data.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return kernel.ForBoth(
		kernel.Route{Method: http.MethodGet, Path: "/compliance/summary", For: kernel.Operators, Permission: doc.MaySeeCompliance,
			Operation: "projectComplianceSummary", KeyOperation: "complianceSummary", Serve: h.summarizeCompliance},
		kernel.Route{Method: http.MethodGet, Path: "/compliance/export", For: kernel.Operators, Permission: doc.MaySeeCompliance,
			Operation: "projectExportCompliance", KeyOperation: "exportCompliance", Serve: h.exportCompliance},
		kernel.Route{Method: http.MethodGet, Path: "/compliance/verify", For: kernel.Operators, Permission: doc.MaySeeCompliance,
			Operation: "projectVerifyCompliance", KeyOperation: "verifyCompliance", Serve: h.verifyCompliance},
		kernel.Route{Method: http.MethodGet, Path: "/compliance/checkpoints", For: kernel.Operators, Permission: doc.MaySeeCompliance,
			Operation: "projectListCheckpoints", KeyOperation: "listCheckpoints", Serve: h.listCheckpoints},
	)
}

type complianceView struct {
	Project     governedView     `json:"project"`
	GeneratedAt string           `json:"generatedAt"`
	Governor    governorCoverage `json:"governor"`
	Registry    registryCoverage `json:"registry"`
	Violations  openViolations   `json:"violations"`
	Retention   retentionView    `json:"retention"`
	Chains      []chainView      `json:"chains"`
	Signing     signingView      `json:"signing"`
	Samples     []string         `json:"samples"` // record types that an export contains only as a sample
}

type governedView struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Plan   string `json:"plan"`
	Status string `json:"status"`
}

type governorCoverage struct {
	Available            bool         `json:"available"` // the plan includes the Governor
	Enabled              bool         `json:"enabled"`
	StrictMode           bool         `json:"strictMode"`
	AutoApproveThreshold uint64       `json:"autoApproveThreshold"`
	PolicyVersion        uint64       `json:"policyVersion"` // 0: the project has no policy
	Unchecked            string       `json:"unchecked"`
	Input                actionCounts `json:"input"`
	System               actionCounts `json:"system"` // for system texts and tool definitions
	Output               actionCounts `json:"output"`
	Exemptions           int          `json:"exemptions"`
	ExemptAgentAddresses bool         `json:"exemptAgentAddresses"`
	KeywordLists         int          `json:"keywordLists"`
	Patterns             int          `json:"patterns"`
	AnswerSchema         bool         `json:"answerSchema"`
	Classifier           bool         `json:"classifier"`
}

type actionCounts struct {
	Allow  int `json:"allow"`
	Flag   int `json:"flag"`
	Redact int `json:"redact"`
	Block  int `json:"block"`
}

type registryCoverage struct {
	Enforcement    string         `json:"enforcement"`
	States         map[string]int `json:"states"`       // number of models in each state, including "discovered"
	Unregistered   []string       `json:"unregistered"` // models that were used but have no entry, at most maxListedModels
	OverdueReviews []string       `json:"overdueReviews"`
}

// maxListedModels is the maximum number of names in a list of the summary.
const maxListedModels = 100

type retentionView struct {
	AuditDays      int `json:"auditDays"`
	EventDays      int `json:"eventDays"`
	UsageDays      int `json:"usageDays"`
	HourlyDays     int `json:"hourlyUsageDays"`
	ViolationDays  int `json:"violationDays"`
	MaxViolations  int `json:"maxViolations"`
	RequestBatches int `json:"requestBatches"` // number of batches kept for all keys together; each batch has up to 32 requests
}

type chainView struct {
	Object     string                 `json:"object"`
	Oldest     uint64                 `json:"oldest"` // the oldest entry that is kept; 0: the chain is empty
	Head       *headView              `json:"head"`   // the newest entry; null: the chain is empty
	Checkpoint *compliance.Checkpoint `json:"checkpoint"`
	Unsigned   uint64                 `json:"unsigned"` // entries since the newest checkpoint
}

type headView struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
	Time string `json:"time"`
}

// signingView says whether checkpoints are signed and with which keys.
type signingView struct {
	Configured bool            `json:"configured"`
	PublicKeys []publicKeyView `json:"publicKeys"` // the first one is in use
}

// summarizeCompliance serves GET …/compliance/summary.
func (h *handler) summarizeCompliance(c *kernel.Call) (kernel.Answer, error) {
	if _, err := kernel.ReadQuery(c.Request, ""); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := complianceView{
		Project:     governedView{p.ID, p.Name, p.Plan, settings.ProjectStatus(&p)},
		GeneratedAt: kernel.Timestamp(h.NowMs()), Retention: retentions(), Samples: []string{"request"},
		Signing: signingView{PublicKeys: viewPublicKeys(h.Plane)},
	}
	view.Signing.Configured = len(view.Signing.PublicKeys) > 0
	if view.Governor, err = h.governorCoverage(&p); err != nil {
		return kernel.Answer{}, err
	}
	if view.Registry, err = h.registryCoverage(c, &p); err != nil {
		return kernel.Answer{}, err
	}
	if view.Violations, err = h.openViolations(c, &p); err != nil {
		return kernel.Answer{}, err
	}
	view.Chains, err = h.viewChains(c, &p)
	return kernel.OK(view), err
}

func retentions() retentionView {
	const days = 24
	return retentionView{
		AuditDays: int(kernel.AuditRetention.Hours()) / days, EventDays: int(kernel.AuditRetention.Hours()) / days,
		UsageDays: ledger.KeepDays, HourlyDays: ledger.KeepHourDays, ViolationDays: ledger.KeepViolationDays,
		MaxViolations: ledger.KeepViolations, RequestBatches: ledger.KeepBatches,
	}
}

func (h *handler) governorCoverage(p *directory.Project) (governorCoverage, error) {
	s, err := settings.GovernorOf(&p.Policy)
	if err != nil {
		return governorCoverage{}, err
	}
	v := governorCoverage{
		Available: h.Catalog.Plan(p.Plan).Governor, Enabled: s.Enabled, StrictMode: s.Strict, AutoApproveThreshold: s.AutoApprove,
		PolicyVersion: p.Policy.Version, Unchecked: "allow", KeywordLists: len(s.Lists), Patterns: len(s.Patterns),
		Exemptions: len(s.Exemptions), ExemptAgentAddresses: s.AgentAddresses,
		AnswerSchema: s.Schema.Schema != "", Classifier: s.Classifier.Kind != governor.NoClassifier,
	}
	if s.BlockUnchecked {
		v.Unchecked = "block"
	}
	policy := s.Policy()
	for id := range len(governor.Table()) + len(s.Lists) + len(s.Patterns) {
		v.Input.count(policy.Action(governor.Input, governor.ID(id)))
		v.System.count(policy.Action(governor.System, governor.ID(id)))
		v.Output.count(policy.Action(governor.Output, governor.ID(id)))
	}
	return v, nil
}

func (n *actionCounts) count(a governor.Action) {
	switch a {
	case governor.Allow:
		n.Allow++
	case governor.Flag:
		n.Flag++
	case governor.Redact:
		n.Redact++
	case governor.Block:
		n.Block++
	}
}

func (h *handler) registryCoverage(c *kernel.Call, p *directory.Project) (registryCoverage, error) {
	v := registryCoverage{
		Enforcement: settings.EnforcementWord(p.Policy.Enforcement), States: map[string]int{}, Unregistered: []string{}, OverdueReviews: []string{},
	}
	all, err := inventory.List(c, h.Plane, p)
	for i := range all {
		e := &all[i]
		v.States[e.State.String()]++
		if e.State == 0 && len(v.Unregistered) < maxListedModels {
			v.Unregistered = append(v.Unregistered, e.Model)
		}
		if e.IsOverdue(h.NowMs()) && len(v.OverdueReviews) < maxListedModels {
			v.OverdueReviews = append(v.OverdueReviews, e.Model)
		}
	}
	return v, err
}

func (h *handler) viewChains(c *kernel.Call, p *directory.Project) (views []chainView, err error) {
	known, _, err := newestCheckpoints(c, h.Store, p.ID)
	if err != nil {
		return nil, err
	}
	for _, object := range chainObjects {
		state, err := chainPage(c, h.Store, p, object, 0, 0)
		if err != nil {
			return nil, err
		}
		views = append(views, viewChain(object, &state, known.of(object)))
	}
	return views, nil
}

func viewChain(object string, state *chain.PageReply, checkpoint *compliance.Checkpoint) chainView {
	v := chainView{Object: object, Oldest: state.Oldest, Checkpoint: checkpoint, Unsigned: state.Head.Seq}
	if state.Head.Seq > 0 {
		v.Head = &headView{state.Head.Seq, state.Head.Hash.String(), eventTime(&state.Head)}
	}
	if checkpoint != nil {
		v.Unsigned -= min(checkpoint.Seq, v.Unsigned)
	}
	return v
}
