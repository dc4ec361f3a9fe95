package azure

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"error":{"message","type","param","code","status","innererror":{"code",
// "content_filter_result":{…}}}}, and {"statusCode","message"} from Azure's frontend. A code is OpenAI's, Azure's
// (such as DeploymentNotFound) or the status as a string.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := openai.Failure(status, root)
	if status != 400 {
		return f
	}
	e := jsonvalue.Get(root.Raw, "error")
	switch code := jsonvalue.String(e.Raw, "code"); {
	case jsonvalue.String(e.Raw, "innererror.code") == "ResponsibleAIPolicyViolation":
		f.Kind = wire.FailFiltered
	case code == "OperationNotSupported" || code == "DeploymentNotFound" || code == "unknown_model":
		f.Kind = wire.FailTarget
	case code == "BadRequest" && strings.Contains(string(f.Message), "API version"):
		f.Kind = wire.FailTarget // the operator's setting
	}
	return f
}
