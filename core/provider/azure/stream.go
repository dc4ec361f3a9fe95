package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream reads one chunk. The first is about the prompt's filters, {"id":"","model":"","choices":[],
// "prompt_filter_results":[…]}: it says nothing, and the answer has not begun. With the asynchronous filter
// there are chunks whose choices have content_filter_offsets and no delta.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !s.Started && root.Get("prompt_filter_results").Exists() && !root.Get("choices.0").Exists() {
		return out, true
	}
	return openai.Stream(s, name, root, out)
}
