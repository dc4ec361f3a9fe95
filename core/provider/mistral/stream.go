package mistral

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream reads one chunk, which is as OpenAI's. Calls of tools come whole; the last chunk of an answer has the
// reason and the usage. A failure has the form of an error answer: {"object":"error","message","type"}.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if root.Get("object").Str == "error" {
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: wire.Text(root.Get("type")), Text: message(root)}), true
	}
	before := len(out)
	out, ok := openai.Stream(s, name, root, out)
	for i := range out[before:] {
		if d := &out[before+i]; d.Kind == chat.DeltaUsage {
			cached(&d.Usage, root.Get("usage"))
		}
	}
	return out, ok
}
