package control

import (
	"net/http"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/ledger"
)

// complianceRoutes are the endpoints of the compliance data.
var complianceRoutes = []route{
	{http.MethodGet, "/compliance/summary", (*handler).summarizeCompliance, doc.MaySeeCompliance},
	{http.MethodGet, "/compliance/export", (*handler).exportCompliance, doc.MaySeeCompliance},
	{http.MethodGet, "/compliance/verify", (*handler).verifyCompliance, doc.MaySeeCompliance},
	{http.MethodGet, "/compliance/checkpoints", (*handler).listCheckpoints, doc.MaySeeCompliance},
}

// complianceView is the summary of a project's compliance data.
type complianceView struct {
	Project     governedView     `json:"project"`
	GeneratedAt string           `json:"generatedAt"`
	Governor    governorCoverage `json:"governor"`
	Registry    registryCoverage `json:"registry"`
	Violations  openViolations   `json:"violations"`
	Retention   retentionView    `json:"retention"`
	Chains      []chainView      `json:"chains"`
	Signing     signingView      `json:"signing"`
	Samples     []string         `json:"samples"` // records of exports that are samples
}

type governedView struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Plan   string `json:"plan"`
	Status string `json:"status"`
}

// governorCoverage says what the Governor checks.
type governorCoverage struct {
	Available            bool         `json:"available"` // the plan includes it
	Enabled              bool         `json:"enabled"`
	StrictMode           bool         `json:"strictMode"`
	AutoApproveThreshold uint64       `json:"autoApproveThreshold"`
	PolicyVersion        uint64       `json:"policyVersion"` // 0: the project has no policy
	Unchecked            string       `json:"unchecked"`
	Input                actionCounts `json:"input"`
	Output               actionCounts `json:"output"`
	KeywordLists         int          `json:"keywordLists"`
	Patterns             int          `json:"patterns"`
	AnswerSchema         bool         `json:"answerSchema"`
	Classifier           bool         `json:"classifier"`
}

// actionCounts is the number of rules by action.
type actionCounts struct {
	Allow  int `json:"allow"`
	Flag   int `json:"flag"`
	Redact int `json:"redact"`
	Block  int `json:"block"`
}

// registryCoverage compares the models that were used with the registry.
type registryCoverage struct {
	Enforcement    string         `json:"enforcement"`
	States         map[string]int `json:"states"`       // number of models by state; discovered ones have no entry
	Unregistered   []string       `json:"unregistered"` // models that were used and have no entry, at most maxListedModels
	OverdueReviews []string       `json:"overdueReviews"`
}

// maxListedModels is how many names a list of the summary has at most.
const maxListedModels = 100

// retentionView says for how long data is kept.
type retentionView struct {
	AuditDays      int `json:"auditDays"`
	EventDays      int `json:"eventDays"`
	UsageDays      int `json:"usageDays"`
	HourlyDays     int `json:"hourlyUsageDays"`
	ViolationDays  int `json:"violationDays"`
	MaxViolations  int `json:"maxViolations"`
	RequestBatches int `json:"requestBatches"` // of up to 32 requests; the newest ones of all keys
}

// chainView is the state of a chain.
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

// signingView says whether checkpoints are signed, and with which keys.
type signingView struct {
	Configured bool            `json:"configured"`
	PublicKeys []publicKeyView `json:"publicKeys"` // the first one is in use
}

// summarizeCompliance is GET …/compliance/summary.
func (h *handler) summarizeCompliance(c *call) (answer, error) {
	if _, err := readQuery(c.request, ""); err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	view := complianceView{
		Project:     governedView{p.ID, p.Name, p.Plan, viewProject(&p).Status},
		GeneratedAt: timestamp(h.nowMs()), Retention: retentions(), Samples: []string{"request"},
		Signing: signingView{PublicKeys: h.viewPublicKeys()},
	}
	view.Signing.Configured = len(view.Signing.PublicKeys) > 0
	if view.Governor, err = h.governorCoverage(&p); err != nil {
		return answer{}, err
	}
	if view.Registry, err = h.registryCoverage(c, &p); err != nil {
		return answer{}, err
	}
	if view.Violations, err = h.openViolations(c, &p); err != nil {
		return answer{}, err
	}
	view.Chains, err = h.viewChains(c, &p)
	return answer{http.StatusOK, view}, err
}

func retentions() retentionView {
	const days = 24
	return retentionView{
		AuditDays: int(auditRetention.Hours()) / days, EventDays: int(auditRetention.Hours()) / days,
		UsageDays: ledger.KeepDays, HourlyDays: ledger.KeepHourDays, ViolationDays: ledger.KeepViolationDays,
		MaxViolations: ledger.KeepViolations, RequestBatches: ledger.KeepBatches,
	}
}

func (h *handler) governorCoverage(p *project) (governorCoverage, error) {
	s, err := governorOf(&p.Policy)
	if err != nil {
		return governorCoverage{}, err
	}
	v := governorCoverage{
		Available: h.Catalog.Plan(p.Plan).Governor, Enabled: s.Enabled, StrictMode: s.Strict, AutoApproveThreshold: s.AutoApprove,
		PolicyVersion: p.Policy.Version, Unchecked: "allow", KeywordLists: len(s.Lists), Patterns: len(s.Patterns),
		AnswerSchema: s.Schema.Schema != "", Classifier: s.Classifier.Kind != governor.NoClassifier,
	}
	if s.BlockUnchecked {
		v.Unchecked = "block"
	}
	policy := s.Policy()
	for id := range len(governor.Table()) + len(s.Lists) + len(s.Patterns) {
		v.Input.count(policy.Action(governor.Input, governor.ID(id)))
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

func (h *handler) registryCoverage(c *call, p *project) (registryCoverage, error) {
	v := registryCoverage{
		Enforcement: enforcementWord(p.Policy.Enforcement), States: map[string]int{}, Unregistered: []string{}, OverdueReviews: []string{},
	}
	all, err := h.inventory(c, p)
	for i := range all {
		e := &all[i]
		v.States[e.State.String()]++
		if e.State == 0 && len(v.Unregistered) < maxListedModels {
			v.Unregistered = append(v.Unregistered, e.Model)
		}
		if e.overdue(h.nowMs()) && len(v.OverdueReviews) < maxListedModels {
			v.OverdueReviews = append(v.OverdueReviews, e.Model)
		}
	}
	return v, err
}

// viewChains reads the state of each chain, with its newest checkpoint.
func (h *handler) viewChains(c *call, p *project) (views []chainView, err error) {
	known, _, err := h.store.newestCheckpoints(c, p.ID)
	if err != nil {
		return nil, err
	}
	for _, object := range chainObjects {
		state, err := h.store.chainPage(c, p, object, 0, 0)
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
