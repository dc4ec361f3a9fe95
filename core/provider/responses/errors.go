package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure reads an error as all of OpenAI's APIs have it.
func Failure(status uint64, root gjson.Result) wire.Failure { return openai.Failure(status, root) }
