package workersai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest asks for embeddings. Tokens cannot be sent: then the action has no URL.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	return wire.Post(url(c.Model, "/embeddings"), []abi.Part{{Data: openai.EmbedBody(c)}}, openai.Auth(c.Model)...)
}

// EmbedResponse reads them as OpenAI's.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) {
	return openai.EmbedResponse(inner(root))
}
