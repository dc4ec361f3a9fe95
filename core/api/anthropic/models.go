package anthropic

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// models is the format of model lists. Source: "List Models" in the API reference.
var models = api.ModelList{Start: `{"data":[`, End: `],"has_more":false,"first_id":null,"last_id":null}`, Entry: modelEntry}

func modelEntry(dst []byte, m *api.Listed) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("id")
	b.String(m.Name)
	b.Member("type", `"model"`)
	b.Key("display_name")
	b.String(m.Name)
	b.Key("created_at")
	b.String(api.ModelsCreated)
	b.Close('}')
	return b.B
}
