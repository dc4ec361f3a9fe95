package mistral

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a chat completion in OpenAI's format. There is one difference: if there is reasoning, the content
// is an array:
//
//	[{"type":"thinking","thinking":[{"type":"text","text"}]},{"type":"text","text"}]
func Response(root gjson.Result) (chat.Response, bool) {
	r, ok := openai.Response(root)
	cached(&r.Usage, jsonvalue.Get(root.Raw, "usage"))
	return r, ok
}

// cached sets CachedInput from Mistral's fields: {"num_cached_tokens"}, or
// {"prompt_token_details":{"cached_tokens"}}. Mistral sends the second in addition to OpenAI's prompt_tokens_details.
func cached(u *chat.Usage, v gjson.Result) {
	if u.CachedInput > 0 {
		return
	}
	n := max(wire.Count(jsonvalue.Get(v.Raw, "num_cached_tokens")), wire.Count(jsonvalue.Get(v.Raw, "prompt_token_details.cached_tokens")))
	u.CachedInput = wire.Within(n, u.Input)
}
