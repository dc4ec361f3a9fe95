package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/openai"
)

// Response parses OpenAI's format. It ignores Azure's additions, prompt_filter_results and
// content_filter_results.
func Response(root gjson.Result) (chat.Response, bool) { return openai.Response(root) }
