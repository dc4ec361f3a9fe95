package workersai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one chunk in OpenAI's format. Errors can have the format of Cloudflare's API.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if e := jsonvalue.Get(root.Raw, "errors.0"); e.IsObject() {
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: jsontext.Escaped(code(e)), Text: jsonvalue.Text(e.Raw, "message")}), true
	}
	return openai.Stream(s, name, root, out)
}
