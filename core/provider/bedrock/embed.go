package bedrock

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an InvokeModel request for embeddings from Amazon Titan or Cohere. For other models and for
// tokens, the Action's URL is empty. Titan accepts one text per request, so for more texts the URL is empty too.
// Source: Amazon Bedrock User Guide, "Amazon Titan Embeddings Text" and "Cohere Embed models".
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	switch id := c.Model.Upstream; {
	case len(c.Tokens) > 0 || len(c.Inputs) == 0:
	case strings.Contains(id, "cohere.embed"):
		return post(c.Model, c.NowMs, "/invoke", cohere.EmbedBody(c, ""))
	case strings.Contains(id, "amazon.titan-embed-text") && len(c.Inputs) == 1:
		return post(c.Model, c.NowMs, "/invoke", titan(c))
	}
	return abi.Action{}
}

func titan(c *wire.EmbedCall) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Key("inputText")
	b.Text(c.Inputs[0])
	if c.Dimensions > 0 {
		b.UintMember("dimensions", c.Dimensions)
	}
	b.Close('}')
	return b.B
}

// EmbedResponse parses Titan's {"embedding":[…],"inputTextTokenCount"} and Cohere's {"embeddings":{"float":[[…]]}}.
// Without types, Cohere sends {"embeddings":[[…]]}. It reports tokens only in a header.
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
