package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads {"error":{"message","type","param","code"}}, or {"error":"…"} as xAI has it. A 429 of
// insufficient_quota does not pass by waiting; a 400 may be about the prompt's length, the provider's content
// filter, or the model.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: errorText(root)}
	e := root.Get("error")
	code := e.Get("code").Str
	switch {
	case code == "insufficient_quota" || e.Get("type").Str == "insufficient_quota" || code == "billing_not_active":
		f.Kind = wire.FailTarget
	case status == 498 || code == "rate_limit_exceeded":
		f.Kind = wire.FailBusy // 498 is Groq's for no capacity; its 413 is about tokens a minute
	case f.Kind == wire.FailRejected:
		f.Kind = rejected(code, string(f.Message))
	}
	return f
}

// errorText is the provider's words.
func errorText(root gjson.Result) jsontext.Spelled {
	e := root.Get("error")
	if text := wire.Text(e); text != "" {
		return text
	}
	if e.IsObject() {
		if text := wire.Text(e.Get("message")); text != "" {
			return text
		}
	}
	return wire.Text(root.Get("message"))
}

// rejected tells apart what a request may be refused for. Providers that took the dialect over have no codes
// for the prompt's length, but words.
func rejected(code, message string) wire.FailureKind {
	switch code {
	case "context_length_exceeded", "string_above_max_length":
		return wire.FailTooLong
	case "content_filter", "content_policy_violation", "invalid_prompt":
		return wire.FailFiltered
	case "model_not_found", "model_decommissioned":
		return wire.FailTarget
	}
	for _, words := range [...]string{"maximum context length", "maximum prompt length", "prompt is too long"} {
		if strings.Contains(message, words) {
			return wire.FailTooLong
		}
	}
	return wire.FailRejected
}
