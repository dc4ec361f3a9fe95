package bedrock

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"message"}, or {"Message"}, which some AWS frontends send. The exception type is in a header.
// Except for a 400, the status is enough.
//
//	400 ValidationException, ServiceQuotaExceededException   403 AccessDeniedException and bad signatures
//	404 ResourceNotFoundException   408 ModelTimeoutException   424 ModelErrorException
//	429 ThrottlingException, ModelNotReadyException   500 InternalServerException   503 ServiceUnavailableException
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: jsonvalue.Text(root.Raw, "message")}
	if f.Message == "" {
		f.Message = jsonvalue.Text(root.Raw, "Message")
	}
	switch status {
	case 424:
		f.Kind = wire.FailDown
	case 400:
		f.Kind = rejectionKind(string(f.Message))
	}
	return f
}

func rejectionKind(message string) wire.FailureKind {
	for _, known := range [...]struct {
		phrase string
		kind   wire.FailureKind
	}{
		{"Input is too long", wire.FailTooLong},
		{"prompt is too long", wire.FailTooLong}, // Claude
		{"exceed context limit", wire.FailTooLong},
		{"maximum context length", wire.FailTooLong},
		{"Input Tokens Exceeded", wire.FailTooLong}, // Nova
		{"content filtering policy", wire.FailFiltered},
		{"service quota", wire.FailBusy},
		{"model identifier is invalid", wire.FailTarget},
		{"on-demand throughput", wire.FailTarget}, // the model requires an inference profile
		{"Operation not allowed", wire.FailTarget},
		{"security token included in the request", wire.FailTarget},
	} {
		if strings.Contains(message, known.phrase) {
			return known.kind
		}
	}
	return wire.FailRejected
}
