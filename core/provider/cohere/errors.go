package cohere

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/wire"
)

// statusClosed is Cohere's status for a request that was broken off.
const statusClosed = 499

// Failure reads {"id","message"}. A 400 that begins with "too many tokens" is about the prompt's length; a 429
// about a month's calls of a trial key does not pass by waiting.
// Source: "Errors (status codes and description)" (docs.cohere.com/reference/errors) and "Rate limits".
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: wire.Text(root.Get("message"))}
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
