package postern

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// ViolationService reads and triages the Governor's findings that led to a review, a block or a redaction. It needs a
// project key (pk_…) with the "violations" permission, and "triage" for changes.
type ViolationService struct{ client *Client }

// ViolationState is the triage state of a violation.
type ViolationState string

// The states. A resolved violation or a false positive can only be reopened.
const (
	ViolationOpen          ViolationState = "open"
	ViolationAcknowledged  ViolationState = "acknowledged"
	ViolationResolved      ViolationState = "resolved"
	ViolationFalsePositive ViolationState = "false_positive"
)

// Violation is one or more findings of one key and rule within a minute.
type Violation struct {
	ID            string         `json:"id"`
	State         ViolationState `json:"state"`
	Rule          string         `json:"rule"`
	Category      string         `json:"category"`
	Severity      Severity       `json:"severity"`
	Decision      string         `json:"decision"` // block, review or redact
	Direction     Direction      `json:"direction"`
	Model         string         `json:"model"`     // the model or tier that was requested
	Key           string         `json:"key"`       // the key's ID
	RequestID     string         `json:"requestId"` // of the last request
	Path          string         `json:"path"`      // path of the last finding in the JSON body
	Start         int            `json:"start"`     // offset of its first byte in the UTF-8 text
	End           int            `json:"end"`       // offset just past its last byte
	RiskScore     int            `json:"riskScore"` // the highest risk score of the requests
	PolicyVersion int            `json:"policyVersion"`
	Count         int            `json:"count"`       // of findings
	Version       int            `json:"version"`     // for ViolationChange
	Fingerprint   string         `json:"fingerprint"` // equal for equal matches; empty if there is no match
	Excerpt       string         `json:"excerpt"`     // for personal data: its last two characters; otherwise empty
	FirstAt       time.Time      `json:"firstAt"`
	LastAt        time.Time      `json:"lastAt"`
	Note          string         `json:"note"`
	ChangedAt     *time.Time     `json:"changedAt"` // time of the last change to the state or the note; nil if there is none
	ChangedBy     string         `json:"changedBy"` // who made the last change: the ID of a key, owner, or an owner's email address
}

// ViolationFilter selects violations. Zero fields select all.
type ViolationFilter struct {
	State    ViolationState
	Rule     string
	Category string
	Severity Severity
	Decision string
	Model    string
	Key      string    // a key's ID
	From     time.Time // only violations whose first finding is at or after this time
	To       time.Time // only violations whose first finding is before this time
	Limit    int       // violations per page, at most 100; default 50
	After    string    // Next of the page before
}

// ViolationChange changes a violation. Zero fields stay unchanged.
type ViolationChange struct {
	State   ViolationState
	Note    *string // at most 1000 characters; a pointer to "" removes the note
	Version int     // the version that you read before the change; if it is outdated, the error is a *ConflictError
}

// MarshalJSON writes the fields that change.
func (c ViolationChange) MarshalJSON() ([]byte, error) {
	return json.Marshal(members{
		"state":   present(c.State),
		"note":    changed(c.Note),
		"version": present(c.Version),
	}.given())
}

// List yields the violations from all pages, newest first.
func (s ViolationService) List(ctx context.Context, filter ViolationFilter, opts ...CallOption) iter.Seq2[Violation, error] {
	return eachItem(func(after string) (*Page[Violation], error) {
		filter.After = after
		return s.ListPage(ctx, filter, opts...)
	}, filter.After)
}

// ListPage returns one page of violations, newest first.
func (s ViolationService) ListPage(ctx context.Context, filter ViolationFilter, opts ...CallOption) (*Page[Violation], error) {
	page, _, err := fetch[violationPage](ctx, s.client, get("/api/violations", queryOf(
		"state", string(filter.State), "rule", filter.Rule, "category", filter.Category, "severity", string(filter.Severity),
		"decision", filter.Decision, "model", filter.Model, "key", filter.Key, "from", timestamp(filter.From),
		"to", timestamp(filter.To), "limit", number(filter.Limit), "after", filter.After,
	)), opts)
	if err != nil {
		return nil, err
	}
	return &Page[Violation]{page.Violations, page.Next}, nil
}

type violationPage struct {
	Violations []Violation `json:"violations"`
	Next       string      `json:"next"`
}

func (p *violationPage) missing() string { return missingList(p.Violations, "violations") }

// Get returns a violation. A project keeps its last 10,000 violations for at most 400 days. For older violations, the
// error is a *NotFoundError.
func (s ViolationService) Get(ctx context.Context, id string, opts ...CallOption) (*Violation, error) {
	path, err := pathOf("/api/violations/", id, "")
	if err != nil {
		return nil, err
	}
	violation, _, err := fetch[Violation](ctx, s.client, get(path, nil), opts)
	return violation, err
}

// Update changes a violation's state and note. It is retried only if the gateway certainly has not changed anything.
func (s ViolationService) Update(ctx context.Context, id string, change ViolationChange, opts ...CallOption) (*Violation, error) {
	return send[Violation](ctx, s.client, http.MethodPatch, "/api/violations/", id, "", change, opts)
}
