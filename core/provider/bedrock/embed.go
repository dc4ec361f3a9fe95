package bedrock

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an InvokeModel request for embeddings of Amazon Titan or Cohere. The Action's URL is empty
// for other models, for tokens, and for more than one text to Titan, which takes one text per request. Source:
// Amazon Bedrock User Guide, "Amazon Titan Embeddings Text" and "Cohere Embed models".
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	switch id := c.Model.Upstream; {
	case len(c.Tokens) > 0 || len(c.Inputs) == 0:
		return abi.Action{}
	case strings.Contains(id, "cohere.embed"):
		cohere(&b, c)
	case strings.Contains(id, "amazon.titan-embed-text") && len(c.Inputs) == 1:
		titan(&b, c)
	default:
		return abi.Action{}
	}
	b.Close('}')
	return post(c.Model, c.NowMs, "/invoke", b.B)
}

func titan(b *jsontext.Builder, c *wire.EmbedCall) {
	b.Key("inputText")
	b.Text(c.Inputs[0])
	dimensions(b, "dimensions", c)
}

// cohere always sends input_type search_document. Cohere embeds documents and queries differently, but callers
// cannot specify the type, and most texts are documents.
func cohere(b *jsontext.Builder, c *wire.EmbedCall) {
	b.Member("input_type", `"search_document"`)
	b.Key("texts")
	b.Open('[')
	for _, text := range c.Inputs {
		b.Text(text)
	}
	b.Close(']')
	b.Member("embedding_types", `["float"]`)
	dimensions(b, "output_dimension", c)
}

func dimensions(b *jsontext.Builder, name string, c *wire.EmbedCall) {
	if c.Dimensions > 0 {
		b.Key(name)
		b.Uint(c.Dimensions)
	}
}

// EmbedResponse parses Titan's {"embedding":[…],"inputTextTokenCount"} and Cohere's
// {"embeddings":{"float":[[…]]}} or, without types, {"embeddings":[[…]]}. Cohere reports tokens only in a
// header.
func EmbedResponse(root gjson.Result) (e wire.Embedding, ok bool) {
	if jsonvalue.Get(root.Raw, "embedding").Exists() {
		e.Vectors, ok = wire.Vectors("["+root.Raw+"]", "embedding")
		tokens := jsonvalue.Get(root.Raw, "inputTextTokenCount")
		e.Usage = chat.Usage{Input: wire.Count(tokens), Reported: tokens.Type == gjson.Number}
		return e, ok
	}
	vectors := jsonvalue.Get(root.Raw, "embeddings")
	if vectors.IsObject() {
		vectors = jsonvalue.Get(vectors.Raw, "float")
	}
	e.Vectors, ok = wire.Vectors(vectors.Raw, "")
	return e, ok
}
