package workersai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request. The API does not accept token IDs. If the inputs are token IDs, the
// Action's URL is empty.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	return wire.Post(url(c.Model, "/embeddings"), []abi.Part{{Data: openai.EmbedBody(c)}}, openai.Auth(c.Model)...)
}

// EmbedResponse parses OpenAI's format.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) {
	return openai.EmbedResponse(unwrap(root))
}
