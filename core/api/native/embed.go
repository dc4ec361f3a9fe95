package native

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/jsontext"
)

// ParseEmbed reads the body of POST /api/ai/embed, {"model","input","dimensions"}. input is a string or an array of
// strings.
func ParseEmbed(p *api.Parser, root gjson.Result) openai.Embeddings {
	e := openai.ParseEmbeddings(p, root, true)
	if len(e.Tokens) > 0 {
		p.Wrong("input", "must be a text or an array of texts")
	}
	return e
}

// AppendEmbeddings appends {"embeddings":[[…],…]} in the order of the inputs, and the fields that all results share.
func AppendEmbeddings(dst []byte, vectors []string, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("embeddings")
	b.Open('[')
	for _, vector := range vectors {
		b.Raw(vector)
	}
	b.Close(']')
	shared(&b, m)
	b.Close('}')
	return b.B
}
