package cohere

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// statusClosed is Cohere's status for a canceled request.
const statusClosed = 499

// Failure parses {"id","message"}. A 400 with "too many tokens" is about the prompt's length. Waiting does not help
// after a 429 about a trial key's monthly calls. Source: "Errors (status codes and description)"
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
