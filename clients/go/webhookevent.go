package postern

import (
	"encoding/json"
	"time"
)

// WebhookEvent is a verified event of a project.
type WebhookEvent struct {
	ID        string      // the same for repeated deliveries
	Type      string      // budget.threshold, violation.created, compliance.checkpoint or a newer type
	Timestamp time.Time   // time of the event; zero if the gateway did not send it
	Data      WebhookData // depends on Type; UnknownWebhookData for a newer type
	Body      []byte      // as it was signed
}

// WebhookData is the content of an event: BudgetThreshold, ViolationCreated, ComplianceCheckpoint or
// UnknownWebhookData.
type WebhookData interface{ webhookData() }

// BudgetThreshold says that the spending has reached a percentage of the budget of a project, a key or a group.
type BudgetThreshold struct {
	ProjectID        string        `json:"projectId"`        // empty for a group and the deployment
	Node             *BudgetNode   `json:"node"`             // the key, the group or the deployment; nil for a project
	ThresholdPercent int           `json:"thresholdPercent"` // 80 or 100
	Budget           WebhookBudget `json:"budget"`
}

// BudgetNode is a key, a group or the deployment.
type BudgetNode struct {
	Level string `json:"level"` // key, group or deployment
	ID    string `json:"id"`
	Name  string `json:"name"`
}

// WebhookBudget is the budget in the current period, in US dollars. A budget that never resets has no times.
type WebhookBudget struct {
	Limit float64   `json:"limit"`
	Used  float64   `json:"used"`
	Start time.Time `json:"start"` // of the period
	End   time.Time `json:"end"`   // the start of the next one
}

// ViolationCreated says that there are new violations.
type ViolationCreated struct {
	ProjectID string    `json:"projectId"`
	Count     int       `json:"count"`     // number of new violations since the last event
	Violation Violation `json:"violation"` // the first one with the highest severity
}

// ComplianceCheckpoint is a signature over an entry of a chain, and therefore over all entries before it.
// docs/guides/compliance.md has the signed text.
type ComplianceCheckpoint struct {
	Project   string    `json:"project"` // its ID
	Object    string    `json:"object"`  // the chain: directory or ledger
	Seq       int64     `json:"seq"`     // number of the entry
	Hash      string    `json:"hash"`    // the entry's hash, in hexadecimal digits
	Time      time.Time `json:"time"`    // of the signature
	Reason    string    `json:"reason"`  // daily, export or prune
	KeyID     string    `json:"keyId"`
	Signature string    `json:"signature"` // Ed25519, in base64
}

// UnknownWebhookData is the JSON of an event whose type this version does not know. It may be nil.
type UnknownWebhookData json.RawMessage

func (BudgetThreshold) webhookData()      {}
func (ViolationCreated) webhookData()     {}
func (ComplianceCheckpoint) webhookData() {}
func (UnknownWebhookData) webhookData()   {}

// WebhookVerificationError reports a delivery that the gateway did not send, or whose time is outside the tolerance.
type WebhookVerificationError struct {
	// Code is missing_header, invalid_timestamp, timestamp_out_of_tolerance, invalid_signature or invalid_payload.
	Code    string
	Problem string
}

const codeInvalidPayload = "invalid_payload"

func unverified(code, problem string) error { return &WebhookVerificationError{code, problem} }

func (e *WebhookVerificationError) Error() string {
	return "postern: webhook not verified: " + e.Problem + " (" + e.Code + ")"
}
func (e *WebhookVerificationError) posternError() {}

// newWebhookEvent parses a verified body. id is the ID of the delivery.
func newWebhookEvent(body []byte, id string) (*WebhookEvent, error) {
	var e struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if !isObject(body) || json.Unmarshal(body, &e) != nil || e.Type == "" {
		return nil, unverified(codeInvalidPayload, "the body is no event: a JSON object with a type")
	}
	if e.ID == "" {
		e.ID = id
	}
	data, err := newWebhookData(e.Type, e.Data)
	if err != nil {
		return nil, unverified(codeInvalidPayload, "the body is no event of the type that it says")
	}
	return &WebhookEvent{ID: e.ID, Type: e.Type, Timestamp: e.Timestamp, Data: data, Body: body}, nil
}

func newWebhookData(kind string, text json.RawMessage) (WebhookData, error) {
	switch kind {
	case "budget.threshold":
		return webhookDataOf[BudgetThreshold](text)
	case "violation.created":
		return webhookDataOf[ViolationCreated](text)
	case "compliance.checkpoint":
		return webhookDataOf[ComplianceCheckpoint](text)
	}
	return UnknownWebhookData(text), nil
}

func webhookDataOf[T WebhookData](text json.RawMessage) (WebhookData, error) {
	var data T
	err := json.Unmarshal(text, &data)
	return data, err
}
