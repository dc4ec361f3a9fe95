package anthropic

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"type":"error","error":{"type","message","details":{"error_code"}},"request_id"}. An overloaded API
// sends 529. For most 400s, only the message reveals the cause.
func Failure(status uint64, root gjson.Result) wire.Failure {
	e := jsonvalue.Get(root.Raw, "error")
	f := wire.Failure{Kind: wire.ByStatus(status), Message: jsonvalue.Text(e.Raw, "message")}
	switch jsonvalue.String(e.Raw, "type") {
	case "overloaded_error", "api_error", "timeout_error":
		f.Kind = wire.FailDown
	case "rate_limit_error":
		f.Kind = wire.FailBusy
	case "authentication_error", "billing_error", "permission_error", "not_found_error":
		f.Kind = wire.FailTarget
	}
	switch {
	case accountBlocked(jsonvalue.String(e.Raw, "details.error_code")):
		f.Kind = wire.FailTarget
	case status == 400:
		f.Kind = rejectionKind(f.Kind, string(f.Message))
	}
	return f
}

// accountBlocked reports whether the code of a 400 or 429 means a problem with the operator's account that waiting
// does not resolve.
func accountBlocked(code string) bool {
	switch code {
	case "contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold", "cmek_key_disabled",
		"cmek_key_network_blocked":
		return true
	}
	return false
}

// rejectionKind classifies a 400 by its message. All 400s have the type invalid_request_error.
func rejectionKind(kind wire.FailureKind, message string) wire.FailureKind {
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
