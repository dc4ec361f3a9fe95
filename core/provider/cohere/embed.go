package cohere

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request. Cohere accepts up to 96 texts per request.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+"/embed", []abi.Part{{Data: embedBody(c)}}, openai.Auth(c.Model)...)
}

// embedBody returns the body of EmbedRequest. It always sends input_type search_document. Cohere embeds
// documents and queries differently, but callers cannot specify the type, and most texts are documents.
func embedBody(c *wire.EmbedCall) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	b.Member("input_type", `"search_document"`)
	b.Key("texts")
	b.Open('[')
	for _, text := range c.Inputs {
		b.Text(text)
	}
	b.Close(']')
	b.Member("embedding_types", `["float"]`)
	if c.Dimensions > 0 {
		b.Key("output_dimension")
		b.Uint(c.Dimensions)
	}
	b.Close('}')
	return b.B
}

// EmbedResponse parses {"embeddings":{"float":[[…]]},"meta":{"billed_units":{"input_tokens"}}}.
func EmbedResponse(root gjson.Result) (e wire.Embedding, ok bool) {
	e.Vectors, ok = wire.Vectors(jsonvalue.Get(root.Raw, "embeddings.float").Raw, "")
	tokens := jsonvalue.Get(root.Raw, "meta.billed_units.input_tokens")
	e.Usage = chat.Usage{Input: wire.Count(tokens), Reported: tokens.Type == gjson.Number}
	return e, ok
}
