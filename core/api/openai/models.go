package openai

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// models is the format of model lists. Source: OpenAI's API reference, "List models"
// (platform.openai.com/docs/api-reference/models).
var models = api.ModelList{Start: `{"object":"list","data":[`, End: "]}", Entry: modelEntry}

func modelEntry(dst []byte, m *api.Listed) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("id")
	b.String(m.Name)
	b.Member("object", `"model"`)
	b.Key("created")
	b.Uint(api.ModelsCreatedUnix)
	b.Key("owned_by")
	b.String(m.OwnedBy)
	b.Close('}')
	return b.B
}
