package cohere

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// statusClosed is Cohere's status for a canceled request.
const statusClosed = 499

// Failure parses {"id","message"}. If a 400 says "too many tokens", the prompt is too long. If a 429 is about a trial
// key's monthly calls, waiting does not help. Source: "Errors (status codes and description)"
// (docs.cohere.com/reference/errors) and "Rate limits".
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: jsonvalue.Text(root.Raw, "message")}
	message := string(f.Message)
	switch {
	case status == statusClosed:
		f.Kind = wire.FailDown
	case status == 429 && strings.Contains(message, "/ month"):
		f.Kind = wire.FailTarget
	case (status == 400 || status == 422) && strings.Contains(message, "too many tokens"):
		f.Kind = wire.FailTooLong
	}
	return f
}
