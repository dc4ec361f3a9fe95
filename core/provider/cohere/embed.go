package cohere

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request. Cohere accepts up to 96 texts per request. If the inputs are token IDs,
// the Action's URL is empty.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	return wire.Post(c.Model.Provider.BaseURL+"/embed", []abi.Part{{Data: EmbedBody(c, c.Model.Upstream)}}, openai.Auth(c.Model)...)
}

// EmbedBody returns the body of EmbedRequest. Its input_type is always search_document: Cohere embeds documents and
// queries differently, callers cannot state the type, and most texts are documents. The body for Amazon Bedrock has
// no model.
func EmbedBody(c *wire.EmbedCall, model string) []byte {
	c.User = ""
	return c.Body(model, "texts", `"input_type":"search_document","embedding_types":["float"]`, "output_dimension")
}

// EmbedResponse parses {"embeddings":{"float":[[…]]},"meta":{"billed_units":{"input_tokens"}}}.
func EmbedResponse(root gjson.Result) (e wire.Embedding, ok bool) {
	e.Vectors, ok = wire.Vectors(jsonvalue.Get(root.Raw, "embeddings.float").Raw, "")
	tokens := jsonvalue.Get(root.Raw, "meta.billed_units.input_tokens")
	e.Usage = chat.Usage{Input: wire.Count(tokens), Reported: tokens.Type == gjson.Number}
	return e, ok
}
