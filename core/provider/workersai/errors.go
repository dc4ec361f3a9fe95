package workersai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"errors":[{"code":5007,"message":"AiError: …"}],"success":false}, or OpenAI's {"error":{…}}. Codes
// below 10000 are documented under "Errors". If a prompt is too long, the status is 413, or 400 with a message from
// the model's server.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := openai.Failure(status, root)
	e := jsonvalue.Get(root.Raw, "errors.0")
	if text := jsonvalue.Text(e.Raw, "message"); text != "" {
		f.Message = text
	}
	switch code(e) {
	case "5007", "5005", "5018", "5016", "3023", "3041", "3042", "5019", "3036":
		f.Kind = wire.FailTarget // problems with the model or the account; 3036: the daily free allocation is used up
	case "3040": // no capacity
		f.Kind = wire.FailBusy
	case "3007", "3008": // timeouts
		f.Kind = wire.FailDown
	}
	if (status == 400 || status == 413) && tooLong(string(f.Message)) {
		f.Kind = wire.FailTooLong
	}
	return f
}

func code(e gjson.Result) string {
	if v := jsonvalue.Get(e.Raw, "code"); v.Type == gjson.Number {
		return v.Raw
	}
	return ""
}

func tooLong(message string) bool {
	return strings.Contains(message, "context window limit") || strings.Contains(message, "maximum context length")
}
