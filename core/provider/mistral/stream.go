package mistral

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one chunk in OpenAI's format. Tool calls are never split across chunks. The last chunk has the
// finish reason and the usage. An error has the format of an error response:
// {"object":"error","message","type"}.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if jsonvalue.String(root.Raw, "object") == "error" {
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: jsonvalue.Text(root.Raw, "type"), Text: message(root)}), true
	}
	before := len(out)
	out, ok := openai.Stream(s, name, root, out)
	for i := range out[before:] {
		if d := &out[before+i]; d.Kind == chat.DeltaUsage {
			cached(&d.Usage, jsonvalue.Get(root.Raw, "usage"))
		}
	}
	return out, ok
}
