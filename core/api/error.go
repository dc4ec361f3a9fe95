package api

import (
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// Error is a row of the error table with its details.
type Error struct {
	fault.Fault
	RequestID string
	Details   []fault.Detail
	// Message is the provider's message. It is empty if callers must not read it.
	Message jsontext.Escaped
	// Findings are the Governor's findings as a JSON array. It is empty if there are none.
	Findings string
	// Limit is the limit or budget because of which the request was refused. It is nil if there is none.
	Limit *Limit
}

// Names in details that are not parameters of the request.
const (
	BodyField        = "body" // the entire body
	ProviderField    = "provider"
	PermissionsField = "permissions" // of the key
	LimitField       = "limit"       // of the key
	BudgetField      = "budget"      // of the key, its project or a node above
)

// Param returns the parameter that the first detail is about, or "".
func (e *Error) Param() string {
	if len(e.Details) == 0 {
		return ""
	}
	switch field := e.Details[0].Field; field {
	case BodyField, ProviderField, PermissionsField, LimitField, BudgetField:
		return ""
	default:
		return field
	}
}

// WriteFindings writes the field "findings" if there are any.
func (e *Error) WriteFindings(b *jsontext.Builder) {
	if e.Findings != "" {
		b.Key("findings")
		b.Raw(e.Findings)
	}
}

// Summary returns one message, for families whose errors have a single message. If there is a provider's message,
// Summary returns it. Otherwise, it returns the table's text and the first detail. For a spent limit, the message
// starts with words that make Pi and Qwen Code stop instead of retrying. Sources: the retries of
// github.com/earendil-works/pi, isQuotaExhaustedError of github.com/QwenLM/qwen-code, read in November 2026.
func (e *Error) Summary() jsontext.Escaped {
	switch {
	case e.Message != "":
		return e.Message
	case len(e.Details) > 0:
		d, text := e.Details[0], e.Text()
		switch {
		case e.Spent() && e.Limit.ResetMs == 0:
			text = "Quota exceeded, will not reset"
		case e.Spent():
			text = "Quota exceeded, will reset later"
		}
		return jsontext.Escape(text + ": " + d.Field + " " + d.Message)
	}
	return jsontext.Escape(e.Text())
}
