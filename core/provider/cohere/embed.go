package cohere

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request. Cohere accepts up to 96 texts per request. The Action's URL is empty if
// the inputs are token IDs.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	return wire.Post(c.Model.Provider.BaseURL+"/embed", []abi.Part{{Data: EmbedBody(c, c.Model.Upstream)}}, openai.Auth(c.Model)...)
}

// EmbedBody returns the body of EmbedRequest. It always sends input_type search_document. Cohere embeds documents and
// queries differently, but callers cannot specify the type, and most texts are documents. The body for Amazon Bedrock
// has no model.
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
