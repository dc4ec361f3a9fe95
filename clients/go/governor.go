package postern

import (
	"context"
	"encoding/json"
	"net/http"
)

// GovernorService checks texts against the project's policy. It needs a gateway key (sk_…) with the "validate"
// permission.
type GovernorService struct{ client *Client }

// Decision is the Governor's decision about a text.
type Decision string

// The decisions. A request under review is served and recorded as a violation.
const (
	DecisionApprove Decision = "approve"
	DecisionReview  Decision = "review"
	DecisionBlock   Decision = "block"
)

// Direction is the direction in which a text is sent.
type Direction string

// The directions.
const (
	DirectionInput  Direction = "input"  // from the caller to the model
	DirectionOutput Direction = "output" // from the model to the caller
)

// Severity is the severity of a rule.
type Severity string

// The severities. In a risk score, they count 5, 20, 40 and 100 points.
const (
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

// ValidationParams are texts to check: exactly one of Text, Texts and Messages.
type ValidationParams struct {
	Text      string    `json:"text,omitempty"`
	Texts     []string  `json:"texts,omitempty"` // at most 100; each has its own result
	Messages  []Message `json:"messages,omitempty"`
	Direction Direction `json:"direction,omitempty"` // default DirectionInput
}

// Validation is the outcome of a check. If you check Texts, Results has one result for each text, and the embedded
// result is zero.
type Validation struct {
	ValidationResult
	Results       []ValidationResult `json:"results"`
	PolicyVersion int                `json:"policyVersion"` // 0 for the default policy
	RequestID     string             `json:"requestId"`
}

// ValidationResult is the Governor's decision about one text or conversation.
type ValidationResult struct {
	Approved  bool      `json:"approved"`
	Decision  Decision  `json:"decision"`
	RiskScore int       `json:"riskScore"` // 0 to 100
	Findings  []Finding `json:"findings"`  // at most 100
	// Redacted is the text as a JSON string, or the messages as an array, with placeholders for the redacted parts.
	// It is nil or the JSON value null if the policy redacts nothing.
	Redacted json.RawMessage `json:"redacted"`
}

// Finding is a place in a checked text. It never contains the text.
type Finding struct {
	Rule     string   `json:"rule"`     // for example personal.email
	Category string   `json:"category"` // for example personal
	Severity Severity `json:"severity"`
	Action   string   `json:"action"` // flag, redact or block
	Path     string   `json:"path"`   // path of the text in the request, for example messages[2].content
	Start    int      `json:"start"`  // offset of the first byte in the UTF-8 text
	End      int      `json:"end"`    // offset of the first byte after the match
}

// Validate checks texts without calling a provider. It stores nothing and counts as one request toward the key's
// limits.
func (s GovernorService) Validate(ctx context.Context, params ValidationParams, opts ...CallOption) (*Validation, error) {
	r, err := withBody(request{method: http.MethodPost, path: "/api/governor/validate", governed: true}, params)
	if err != nil {
		return nil, err
	}
	validation, _, err := fetch[Validation](ctx, s.client, r, opts)
	return validation, err
}
