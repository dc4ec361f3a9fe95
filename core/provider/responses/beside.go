package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Compact builds a request for a shorter form of a conversation. The API has no limit of the output. Sources: the types of
// OpenAI's Python SDK, responses/response_compact_params.py and compacted_response.py (github.com/openai/openai-python, read in
// 2026-11); codex-rs/codex-api/src/endpoint/compact.rs (github.com/openai/codex, read in 2026-11).
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

// CountRequest builds a request for the number of tokens of a prompt. Source: the types of OpenAI's Python SDK,
// responses/input_token_count_params.py and input_token_count_response.py (github.com/openai/openai-python, read in 2026-11).
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
	return wire.Count(v), v.Type == gjson.Number
}

func beside(c *wire.Call, path string, head []byte, members abi.Part) abi.Action {
	return wire.Post(c.Model.Provider.BaseURL+path, []abi.Part{{Data: append(head, ',')}, members, {Data: []byte{'}'}}}, openai.Auth(c.Model)...)
}
