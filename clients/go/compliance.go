package postern

import (
	"context"
	"encoding/json"
	"time"
)

// ComplianceService reads the evidence of the project's governance. It needs a project key (pk_…) with the
// "compliance" permission.
type ComplianceService struct{ client *Client }

// ComplianceSummary summarizes how the project is governed.
type ComplianceSummary struct {
	Project     ComplianceProject    `json:"project"`
	GeneratedAt time.Time            `json:"generatedAt"`
	Governor    ComplianceGovernor   `json:"governor"`
	Registry    ComplianceRegistry   `json:"registry"`
	Violations  ComplianceViolations `json:"violations"`
	Retention   ComplianceRetention  `json:"retention"`
	Chains      []Chain              `json:"chains"`
	Signing     Signing              `json:"signing"`
	Samples     []string             `json:"samples"` // the kinds of records that an export has only a sample of
}

// ComplianceProject is the key's project.
type ComplianceProject struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Plan   string `json:"plan"`
	Status string `json:"status"` // active or archived
}

// ComplianceGovernor describes the Governor's checks.
type ComplianceGovernor struct {
	Available            bool         `json:"available"` // in the project's plan
	Enabled              bool         `json:"enabled"`
	StrictMode           bool         `json:"strictMode"`
	AutoApproveThreshold int          `json:"autoApproveThreshold"` // 0 to 100
	PolicyVersion        int          `json:"policyVersion"`        // 0 without a policy
	Unchecked            string       `json:"unchecked"`            // allow or block
	Input                ActionCounts `json:"input"`
	System               ActionCounts `json:"system,omitzero"` // rules for system messages and tool definitions
	Output               ActionCounts `json:"output"`
	Exemptions           int          `json:"exemptions,omitzero"`           // number of exempted values and patterns
	ExemptAgentAddresses bool         `json:"exemptAgentAddresses,omitzero"` // whether the addresses of coding agents are exempted
	KeywordLists         int          `json:"keywordLists"`
	Patterns             int          `json:"patterns"`
	AnswerSchema         bool         `json:"answerSchema"`
	Classifier           bool         `json:"classifier"`
}

// ActionCounts are numbers of rules by action.
type ActionCounts struct {
	Allow  int `json:"allow"`
	Flag   int `json:"flag"`
	Redact int `json:"redact"`
	Block  int `json:"block"`
}

// ComplianceRegistry compares the models in use with the registry.
type ComplianceRegistry struct {
	Enforcement    string             `json:"enforcement"` // off, warn or enforce
	States         map[ModelState]int `json:"states"`
	Unregistered   []string           `json:"unregistered"`   // models that were used but have no entry, at most 100
	OverdueReviews []string           `json:"overdueReviews"` // models whose review date has passed, at most 100
}

// ComplianceViolations counts violations.
type ComplianceViolations struct {
	Open         int              `json:"open"`
	Acknowledged int              `json:"acknowledged"`
	BySeverity   map[Severity]int `json:"bySeverity"` // covers only the newest open violations; Counted is their number
	Counted      int              `json:"counted"`
}

// ComplianceRetention says how long records are kept.
type ComplianceRetention struct {
	AuditDays       int `json:"auditDays"`
	EventDays       int `json:"eventDays"`
	UsageDays       int `json:"usageDays"`
	HourlyUsageDays int `json:"hourlyUsageDays"`
	ViolationDays   int `json:"violationDays"`
	MaxViolations   int `json:"maxViolations"`
	RequestBatches  int `json:"requestBatches"` // each with up to 32 recent requests
}

// Chain is the state of a chain of events.
type Chain struct {
	Object     string      `json:"object"` // directory or ledger
	Oldest     int         `json:"oldest"` // the oldest entry that is kept; 0 if the chain is empty
	Head       *ChainHead  `json:"head"`   // nil if the chain is empty
	Checkpoint *Checkpoint `json:"checkpoint"`
	Unsigned   int         `json:"unsigned"` // entries since the newest checkpoint
}

// ChainHead is the newest entry of a chain.
type ChainHead struct {
	Seq  int       `json:"seq"`
	Hash string    `json:"hash"` // SHA-256 in hexadecimal
	Time time.Time `json:"time"`
}

// Checkpoint is a signed statement that entry Seq of a chain has the hash Hash.
type Checkpoint struct {
	Project   string    `json:"project"`
	Object    string    `json:"object"`
	Seq       int       `json:"seq"`
	Hash      string    `json:"hash"`
	Time      time.Time `json:"time"`
	Reason    string    `json:"reason"` // daily, export or prune
	KeyID     string    `json:"keyId"`
	Signature string    `json:"signature"` // Ed25519, base64
}

// Signing has the deployment's public keys.
type Signing struct {
	Configured bool        `json:"configured"`
	PublicKeys []PublicKey `json:"publicKeys"` // the key in use comes first
}

// PublicKey verifies signatures.
type PublicKey struct {
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"` // Ed25519, 32 bytes in base64
}

// Summary describes the Governor's checks, the open violations and the state of the project's chains. It also
// compares the models in use with the registry.
func (s ComplianceService) Summary(ctx context.Context, opts ...CallOption) (*ComplianceSummary, error) {
	summary, _, err := fetch[ComplianceSummary](ctx, s.client, get("/api/compliance/summary", nil), opts)
	return summary, err
}

// BOM returns the model inventory as a CycloneDX 1.7 document, with one machine-learning-model component per model.
func (s ComplianceService) BOM(ctx context.Context, opts ...CallOption) (json.RawMessage, error) {
	var bom json.RawMessage
	r := get("/api/compliance/export", queryOf("type", string(ExportInventory), "format", "cyclonedx"))
	_, err := fetchText(ctx, s.client, r, opts, func(response *Response, text []byte) error {
		return decode(response, text, &bom)
	})
	return bom, err
}
