package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request: a batch with one request per text. If the inputs are token IDs, the
// Action's URL is empty.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	return wire.Post(url(c.Model, ":batchEmbedContents"), []abi.Part{{Data: embedBody(c)}}, auth(c.Model)...)
}

// embedBody returns the body of EmbedRequest: {"requests":[{"model","content":{"parts":[{"text"}]},
// "outputDimensionality"}]}.
func embedBody(c *wire.EmbedCall) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Key("requests")
	b.Open('[')
	for _, text := range c.Inputs {
		b.Open('{')
		b.Key("model")
		b.String("models/" + c.Model.Upstream)
		b.Key("content")
		b.B = append(b.B, `{"parts":[{"text":`...)
		b.Text(text)
		b.B = append(b.B, `}]}`...)
		if c.Dimensions > 0 {
			b.Key("outputDimensionality")
			b.Uint(c.Dimensions)
		}
		b.Close('}')
	}
	b.Close(']')
	b.Close('}')
	return b.B
}

// EmbedResponse parses {"embeddings":[{"values":[…]}],"usageMetadata":{"promptTokenCount"}}. Not all models
// report usage.
func EmbedResponse(root gjson.Result) (e wire.Embedding, ok bool) {
	e.Vectors, ok = wire.Vectors(jsonvalue.Get(root.Raw, "embeddings").Raw, "values")
	e.Usage = usage(jsonvalue.Get(root.Raw, "usageMetadata"))
	return e, ok
}
