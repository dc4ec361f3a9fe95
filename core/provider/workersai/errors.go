package workersai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads {"errors":[{"code":5007,"message":"AiError: …"}],"success":false}, or OpenAI's {"error":{…}}.
// Codes below 10000 are those of "Errors"; a prompt that is too long is a 413, or a 400 with the words of the
// server that the model runs on.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := openai.Failure(status, root)
	e := root.Get("errors.0")
	if text := wire.Text(e.Get("message")); text != "" {
		f.Message = text
	}
	switch code(e) {
	case "5007", "5005", "5018", "5016", "3023", "3041", "3042", "5019", "3036":
		f.Kind = wire.FailTarget // the model, the account, the last its free tokens of the day
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

// code is an error's number, as it is spelled.
func code(e gjson.Result) string {
	if v := e.Get("code"); v.Type == gjson.Number {
		return v.Raw
	}
	return ""
}

func tooLong(message string) bool {
	return strings.Contains(message, "context window limit") || strings.Contains(message, "maximum context length")
}
