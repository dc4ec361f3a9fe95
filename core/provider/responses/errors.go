package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses OpenAI's error body.
func Failure(status uint64, root gjson.Result) wire.Failure { return openai.Failure(status, root) }
