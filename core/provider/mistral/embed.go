package mistral

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// EmbedRequest builds an embeddings request. The Action's URL is empty for tokens, which the API does not
// accept.
func EmbedRequest(c *wire.EmbedCall) abi.Action {
	if len(c.Tokens) > 0 {
		return abi.Action{}
	}
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	b.Key("input")
	b.Open('[')
	for _, text := range c.Inputs {
		b.Text(text)
	}
	b.Close(']')
	b.Member("encoding_format", `"float"`)
	if c.Dimensions > 0 {
		b.Key("output_dimension")
		b.Uint(c.Dimensions)
	}
	b.Close('}')
	return wire.Post(c.Model.Provider.BaseURL+"/embeddings", []abi.Part{{Data: b.B}}, openai.Auth(c.Model)...)
}

// EmbedResponse parses OpenAI's format.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) { return openai.EmbedResponse(root) }
