package mistral

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
	c.User = ""
	body := c.Body(c.Model.Upstream, "input", `"encoding_format":"float"`, "output_dimension")
	return wire.Post(c.Model.Provider.BaseURL+"/embeddings", []abi.Part{{Data: body}}, openai.Auth(c.Model)...)
}

// EmbedResponse parses OpenAI's format.
func EmbedResponse(root gjson.Result) (wire.Embedding, bool) { return openai.EmbedResponse(root) }
