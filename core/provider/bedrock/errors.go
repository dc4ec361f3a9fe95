package bedrock

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads {"message"}, which some of AWS's front ends write {"Message"}. What kind of exception it is
// stands in a header; but for a 400 the status says as much.
//
//	400 ValidationException, ServiceQuotaExceededException   403 AccessDeniedException and bad signatures
//	404 ResourceNotFoundException   408 ModelTimeoutException   424 ModelErrorException
//	429 ThrottlingException, ModelNotReadyException   500 InternalServerException   503 ServiceUnavailableException
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: wire.Text(root.Get("message"))}
	if f.Message == "" {
		f.Message = wire.Text(root.Get("Message"))
	}
	switch status {
	case 424:
		f.Kind = wire.FailDown
	case 400:
		f.Kind = rejected(string(f.Message))
	}
	return f
}

// rejected tells the 400s apart.
func rejected(message string) wire.FailureKind {
	for _, known := range [...]struct {
		words string
		kind  wire.FailureKind
	}{
		{"Input is too long", wire.FailTooLong},
		{"prompt is too long", wire.FailTooLong}, // Claude's own words
		{"exceed context limit", wire.FailTooLong},
		{"maximum context length", wire.FailTooLong},
		{"Input Tokens Exceeded", wire.FailTooLong}, // Nova's
		{"content filtering policy", wire.FailFiltered},
		{"service quota", wire.FailBusy},
		{"model identifier is invalid", wire.FailTarget},
		{"on-demand throughput", wire.FailTarget}, // the model is to be had by an inference profile only
		{"Operation not allowed", wire.FailTarget},
		{"security token included in the request", wire.FailTarget},
	} {
		if strings.Contains(message, known.words) {
			return known.kind
		}
	}
	return wire.FailRejected
}
