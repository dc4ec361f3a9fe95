package workersai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
)

// Response parses a chat completion in OpenAI's format.
func Response(root gjson.Result) (chat.Response, bool) { return openai.Response(unwrap(root)) }

// unwrap removes the envelope of Cloudflare's API, {"result":{…},"success":true,"errors":[],"messages":[]}. Its
// OpenAI-compatible endpoints usually send no envelope.
func unwrap(root gjson.Result) gjson.Result {
	if result := jsonvalue.Get(root.Raw, "result"); result.IsObject() {
		return result
	}
	return root
}
