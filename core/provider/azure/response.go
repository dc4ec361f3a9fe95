package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/openai"
)

// Response reads a chat completion. What it has besides OpenAI's, prompt_filter_results and the choices'
// content_filter_results, is left out.
func Response(root gjson.Result) (chat.Response, bool) { return openai.Response(root) }
