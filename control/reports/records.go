package reports

import (
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// RecordView contains the additional fields that the API returns for a request that was not served. Fields that do
// not apply are left out.
type RecordView struct {
	Message            string            `json:"message"`
	Method             string            `json:"method"`
	Endpoint           string            `json:"endpoint"`
	Details            []json.RawMessage `json:"details,omitempty"`
	RequestedModel     string            `json:"requestedModel,omitempty"`
	User               string            `json:"user,omitempty"`
	FinishReason       string            `json:"finishReason,omitempty"`
	Attempts           []json.RawMessage `json:"attempts,omitempty"`
	ProviderError      json.RawMessage   `json:"providerError,omitempty"`
	TimeToFirstTokenMs *uint64           `json:"timeToFirstTokenMs,omitempty"`
	Governor           json.RawMessage   `json:"governor,omitempty"`
	Limits             []json.RawMessage `json:"limits,omitempty"`
}

// recorded is the body of a record as package exchange writes it.
type recorded struct {
	RecordView
	ProviderText     string          `json:"providerText"`
	Code             string          `json:"code"`
	DurationMs       uint64          `json:"durationMs"`
	UserAgent        string          `json:"userAgent"`
	Stream           bool            `json:"stream"`
	Cache            string          `json:"cache"`
	PromptTokens     uint64          `json:"promptTokens"`
	CompletionTokens uint64          `json:"completionTokens"`
	Cost             json.RawMessage `json:"cost"`
	Estimated        bool            `json:"estimated"`
}

// AddChunk adds the records of a chunk that match a filter, newest first.
func (v *RequestsView) AddChunk(k *ledger.Chunk, f *RequestFilter) {
	for i := len(k.Records) - 1; i >= 0; i-- {
		if r := &k.Records[i]; f.matchesRecord(r) {
			if view, ok := viewRecord(r, f); ok {
				v.Requests = append(v.Requests, view)
			}
		}
	}
}

// viewRecord returns a record in the same form as other requests, with its additional fields.
func viewRecord(r *ledger.Record, f *RequestFilter) (v RequestView, ok bool) {
	var b recorded
	if json.Unmarshal(r.Body, &b) != nil {
		return v, false
	}
	if f.ProviderTexts {
		b.tellText()
	}
	cause, outcome := Causes[r.End], outcomeOf(r.End)
	v = RequestView{
		Time: kernel.Timestamp(r.AtMs), RequestID: r.ID, KeyID: r.KeyID, Model: kernel.NullIfEmpty(r.Model), Provider: kernel.NullIfEmpty(f.provider(r.Provider)),
		UserAgent: kernel.NullIfEmpty(b.UserAgent), Status: kernel.NullIfZero(r.Status), LatencyMs: b.DurationMs, FirstTokenMs: b.TimeToFirstTokenMs,
		PromptTokens: b.PromptTokens, CompletionTokens: b.CompletionTokens, Cost: b.Cost, Cache: b.Cache, Stream: b.Stream, Estimated: b.Estimated,
		PromptCache: viewPromptCache(&ledger.PromptCache{}), Outcome: &outcome, Cause: &cause, Code: &b.Code, Diagnosis: &b.RecordView,
	}
	if v.Cost == nil {
		v.Cost = money.Append(nil, 0, money.Dollar)
	}
	if v.Cache == "" {
		v.Cache = CacheWords[ledger.CacheBypass]
	}
	return v, true
}

// tellText adds the provider's message to the JSON of the provider's error.
func (b *recorded) tellText() {
	if n := len(b.ProviderError); n > 2 && b.ProviderText != "" {
		if text, err := kernel.Encode(b.ProviderText); err == nil {
			b.ProviderError = append(append(b.ProviderError[:n-1:n-1], `,"message":`...), append(text, '}')...)
		}
	}
}

// OutcomeWords lists the API's words for the outcome of a request.
var OutcomeWords = []string{"served", "refused", "failed", "left"}

func outcomeOf(e ledger.End) string {
	switch {
	case e.Refused():
		return OutcomeWords[1]
	case e.Failed():
		return OutcomeWords[2]
	}
	return OutcomeWords[3]
}

// outcomeByStatus returns the outcome of a request that has no record. Older versions recorded failed requests in the
// same way as served ones.
func outcomeByStatus(status uint64) string {
	switch {
	case status == 0:
		return ""
	case status == 499:
		return OutcomeWords[3]
	case status >= 500:
		return OutcomeWords[2]
	case status >= 400:
		return OutcomeWords[1]
	}
	return OutcomeWords[0]
}

func (f *RequestFilter) matchesRecord(r *ledger.Record) bool {
	return f.matchesTime(r.AtMs) && (f.ID == "" || f.ID == r.ID) && (f.Key == "" || f.Key == r.KeyID) && (f.Model == "" || f.Model == r.Model) &&
		(f.Provider == "" || f.provider(f.Provider) == f.provider(r.Provider)) && f.Cache == "" && f.matchesStatus(r.Status) &&
		(f.Outcome == "" || f.Outcome == outcomeOf(r.End)) && (f.Cause == "" || f.Cause == Causes[r.End])
}
