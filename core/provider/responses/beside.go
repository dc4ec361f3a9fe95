package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Compact builds a request for a shorter form of a conversation. The API has no output limit. Sources:
// /responses/compact in OpenAI's OpenAPI specification (github.com/openai/openai-openapi, 2026-08),
// ResponseCompactParams in openai-node 7.57, which adds image, and CompactionInput in
// codex-rs/codex-api/src/common.rs (github.com/openai/codex), which also has tools, parallel_tool_calls, reasoning
// and text. Read in 2026-11.
func Compact(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 96)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	if c.Request.ServiceTier != "" {
		b.Key("service_tier")
		b.String(c.Request.ServiceTier)
	}
	return beside(c, "/responses/compact", b.B, members)
}

// Counted has the fields of Request that the API counts. For the source, see CountRequest.
const Counted = " input parallel_tool_calls reasoning text tool_choice tools "

// CountRequest builds a request for the number of tokens in a prompt. Source: /responses/input_tokens in OpenAI's
// OpenAPI specification (github.com/openai/openai-openapi, 2026-08) and openai-node 7.57, read in 2026-11.
// personality is not sent, because /v1/responses does not have it.
func CountRequest(c *wire.Call, members abi.Part) abi.Action {
	b := jsontext.Builder{B: make([]byte, 0, 64)}
	b.Open('{')
	b.Key("model")
	b.String(c.Model.Upstream)
	return beside(c, "/responses/input_tokens", b.B, members)
}

// CountResponse parses {"object":"response.input_tokens","input_tokens":14}.
func CountResponse(root gjson.Result) (tokens uint64, ok bool) {
	v := jsonvalue.Get(root.Raw, "input_tokens")
	tokens = wire.Count(v)
	return tokens, v.Type == gjson.Number && tokens != chat.Nonsense
}

func beside(c *wire.Call, path string, head []byte, members abi.Part) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+path, []abi.Part{{Data: append(head, ',')}, members, {Data: []byte{'}'}}}, openai.Auth(c.Model)...)
}
