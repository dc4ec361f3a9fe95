package workersai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/openai"
)

// Response reads a chat completion.
func Response(root gjson.Result) (chat.Response, bool) { return openai.Response(inner(root)) }

// inner takes off the envelope of Cloudflare's API, {"result":{…},"success":true,"errors":[],"messages":[]},
// which its endpoints of OpenAI's dialect do without, as a rule.
func inner(root gjson.Result) gjson.Result {
	if result := root.Get("result"); result.IsObject() {
		return result
	}
	return root
}
