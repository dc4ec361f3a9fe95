package anthropic

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// Error appends {"type":"error","error":{"type","message"},"request_id"}. The error object also has the Governor's
// findings and the fields of the limit, if there are any.
func Error(dst []byte, e *api.Error) []byte {
	b := jsontext.Builder{B: dst}
	b.B = append(b.B, `{"type":"error","error":{"type":"`...)
	b.B = append(append(b.B, errorType(e.Status())...), '"')
	b.Key("message")
	b.Text(e.Summary())
	if len(e.Details) > 0 && e.Details[0].Field == "thread" {
		b.Member("details", `{"error_code":"thread_unsupported_request"}`) // tells the SDK to continue without threads
	}
	e.WriteFindings(&b)
	e.WriteLimit(&b)
	b.Close('}')
	b.Key("request_id")
	b.String(e.RequestID)
	b.Close('}')
	return b.B
}

func errorType(status uint64) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 409:
		return "conflict_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 503:
		return "overloaded_error"
	case 504:
		return "timeout_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}
