package gemini

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/wire"
)

// statusCancelled is Google's own status for a request that was broken off on their side.
const statusCancelled = 499

// Failure reads {"error":{"code","message","status","details":[{"@type","reason"}]}}, which some front ends put
// into an array. A 400 may be about the operator's key or account; a 429 about an account that is empty.
// Source: "Troubleshooting guide" (ai.google.dev/gemini-api/docs/troubleshooting) and google.rpc.ErrorInfo.
func Failure(status uint64, root gjson.Result) wire.Failure {
	if root.IsArray() {
		root = root.Get("0")
	}
	e := root.Get("error")
	f := wire.Failure{Kind: wire.ByStatus(status), Message: wire.Text(e.Get("message"))}
	message := string(f.Message)
	switch {
	case status == statusCancelled:
		f.Kind = wire.FailDown
	case status == 429 && strings.Contains(message, "credits are depleted"):
		f.Kind = wire.FailTarget
	case status != 400:
	case badKey(e, message), e.Get("status").Str == "FAILED_PRECONDITION":
		// FAILED_PRECONDITION: the country is not served, or billing is not set up.
		f.Kind = wire.FailTarget
	case strings.Contains(message, "token count") && strings.Contains(message, "exceeds"):
		f.Kind = wire.FailTooLong
	}
	return f
}

// badKey says whether a 400 is about the key. The message is looked at as well: details may be left out.
func badKey(e gjson.Result, message string) bool {
	bad := strings.HasPrefix(message, "API key not valid") || strings.HasPrefix(message, "API key expired")
	e.Get("details").ForEach(func(_, d gjson.Result) bool {
		bad = bad || d.Get("reason").Str == "API_KEY_INVALID"
		return true
	})
	return bad
}
