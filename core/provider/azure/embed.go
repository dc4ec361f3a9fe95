package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	return wire.Post(url(c.Model, "/embeddings"), []abi.Part{{Data: openai.EmbedBody(c)}}, auth(c.Model)...)
}

// EmbedResponse parses OpenAI's format.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) { return openai.EmbedResponse(root) }
