package anthropic

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads {"type":"error","error":{"type","message","details":{"error_code"}},"request_id"}. Overload
// is a 529. Most of what a 400 may be about can only be told by its message.
func Failure(status uint64, root gjson.Result) wire.Failure {
	e := root.Get("error")
	f := wire.Failure{Kind: wire.ByStatus(status), Message: wire.Text(e.Get("message"))}
	switch e.Get("type").Str {
	case "overloaded_error", "api_error", "timeout_error":
		f.Kind = wire.FailDown
	case "rate_limit_error":
		f.Kind = wire.FailBusy
	case "authentication_error", "billing_error", "permission_error", "not_found_error":
		f.Kind = wire.FailTarget
	}
	switch {
	case spent(e.Get("details.error_code").Str):
		f.Kind = wire.FailTarget
	case status == 400:
		f.Kind = rejected(f.Kind, string(f.Message))
	}
	return f
}

// spent tells the codes of 400s and 429s that are about the operator's account and do not pass by waiting.
func spent(code string) bool {
	switch code {
	case "contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold", "cmek_key_disabled",
		"cmek_key_network_blocked":
		return true
	}
	return false
}

// rejected tells the 400s apart whose type is invalid_request_error like any other's.
func rejected(kind wire.FailureKind, message string) wire.FailureKind {
	switch {
	case strings.Contains(message, "prompt is too long") || strings.Contains(message, "exceed context limit"):
		return wire.FailTooLong
	case strings.Contains(message, "credit balance is too low") || strings.Contains(message, "API usage limits") ||
		strings.Contains(message, "organization has been disabled"):
		return wire.FailTarget
	case strings.Contains(message, "content filtering policy"):
		return wire.FailFiltered
	}
	return kind
}
