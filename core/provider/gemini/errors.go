package gemini

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// statusCanceled is Google's status for a request that Google canceled.
const statusCanceled = 499

// Failure parses {"error":{"code","message","status","details":[{"@type","reason"}]}}, which some frontends put into
// an array. A 400 can be about the operator's key or account. A 429 can be about an empty account. Source:
// "Troubleshooting guide" (ai.google.dev/gemini-api/docs/troubleshooting) and google.rpc.ErrorInfo.
func Failure(status uint64, root gjson.Result) wire.Failure {
	if root.IsArray() {
		root = jsonvalue.Get(root.Raw, "0")
	}
	e := jsonvalue.Get(root.Raw, "error")
	f := wire.Failure{Kind: wire.ByStatus(status), Message: jsonvalue.Text(e.Raw, "message")}
	message := string(f.Message)
	switch {
	case status == statusCanceled:
		f.Kind = wire.FailDown
	case status == 429 && strings.Contains(message, "credits are depleted"):
		f.Kind = wire.FailTarget
	case status != 400:
	case badKey(e, message), jsonvalue.String(e.Raw, "status") == "FAILED_PRECONDITION":
		// FAILED_PRECONDITION means that the country is not supported or that billing is not set up.
		f.Kind = wire.FailTarget
	case strings.Contains(message, "token count") && strings.Contains(message, "exceeds"):
		f.Kind = wire.FailTooLong
	}
	return f
}

// badKey reports whether a 400 is about the API key. Details can be missing, so it also checks the message.
func badKey(e gjson.Result, message string) bool {
	bad := strings.HasPrefix(message, "API key not valid") || strings.HasPrefix(message, "API key expired")
	jsonvalue.Get(e.Raw, "details").ForEach(func(_, d gjson.Result) bool {
		bad = bad || jsonvalue.String(d.Raw, "reason") == "API_KEY_INVALID"
		return true
	})
	return bad
}
