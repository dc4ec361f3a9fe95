package azure

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one chunk in OpenAI's format. The first chunk has only the prompt's filter results,
// {"id":"","model":"", "choices":[],"prompt_filter_results":[…]}. This chunk is ignored and does not start the
// response. With the asynchronous filter, some chunks have choices without a delta but with content_filter_offsets.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !s.Started && jsonvalue.Get(root.Raw, "prompt_filter_results").Exists() && !jsonvalue.Get(root.Raw, "choices.0").Exists() {
		return out, true
	}
	return openai.Stream(s, name, root, out)
}
