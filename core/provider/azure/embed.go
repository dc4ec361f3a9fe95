package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest asks for embeddings.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	return wire.Post(url(c.Model, "/embeddings"), []abi.Part{{Data: openai.EmbedBody(c)}}, auth(c.Model)...)
}

// EmbedResponse reads them as OpenAI's.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) { return openai.EmbedResponse(root) }
