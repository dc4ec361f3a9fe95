package openai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads {"error":{"message","type","param","code"}}. A 429 of insufficient_quota does not pass by
// waiting; a 400 may be about the prompt's length, or the provider's content filter.
func Failure(status uint64, root gjson.Result) wire.Failure {
	e := root.Get("error")
	f := wire.Failure{Kind: wire.ByStatus(status), Message: wire.Text(e.Get("message"))}
	if f.Message == "" {
		f.Message = wire.Text(root.Get("message"))
	}
	switch code := e.Get("code").Str; {
	case code == "insufficient_quota" || e.Get("type").Str == "insufficient_quota":
		f.Kind = wire.FailTarget
	case status == 400 && (code == "context_length_exceeded" || code == "string_above_max_length"):
		f.Kind = wire.FailTooLong
	case status == 400 && (code == "content_filter" || code == "content_policy_violation"):
		f.Kind = wire.FailFiltered
	}
	return f
}
