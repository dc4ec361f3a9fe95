package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"error":{"message","type","param","code"}}, or xAI's {"error":"…"}. insufficient_quota has the
// status 429, but waiting does not help. A 400 can be about the prompt's length, the provider's content filter or the
// model.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: errorText(root)}
	e := jsonvalue.Get(root.Raw, "error")
	code := jsonvalue.String(e.Raw, "code")
	switch {
	case code == "insufficient_quota" || jsonvalue.String(e.Raw, "type") == "insufficient_quota" || code == "billing_not_active":
		f.Kind = wire.FailTarget
	case status == 498 || code == "rate_limit_exceeded":
		f.Kind = wire.FailBusy // Groq sends 498 if it has no capacity, and 413 at its limit of tokens per minute
	case f.Kind == wire.FailRejected:
		f.Kind = rejectionKind(code, string(f.Message))
	}
	return f
}

func errorText(root gjson.Result) jsontext.Escaped {
	e := jsonvalue.Get(root.Raw, "error")
	if text := wire.Text(e); text != "" {
		return text
	}
	if e.IsObject() {
		if text := jsonvalue.Text(e.Raw, "message"); text != "" {
			return text
		}
	}
	return jsonvalue.Text(root.Raw, "message")
}

// rejectionKind classifies a rejected request. Compatible providers have no code for a prompt that is too long, so it
// also checks the message.
func rejectionKind(code, message string) wire.FailureKind {
	switch code {
	case "context_length_exceeded", "string_above_max_length":
		return wire.FailTooLong
	case "content_filter", "content_policy_violation", "invalid_prompt":
		return wire.FailFiltered
	case "model_not_found", "model_decommissioned":
		return wire.FailTarget
	}
	for _, phrase := range [...]string{"maximum context length", "maximum prompt length", "prompt is too long"} {
		if strings.Contains(message, phrase) {
			return wire.FailTooLong
		}
	}
	return wire.FailRejected
}
