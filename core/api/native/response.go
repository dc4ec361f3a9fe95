package native

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Answer appends a Completion (docs/openapi.yaml). A model's refusal is returned as text.
func Answer(dst []byte, r *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("text")
	b.Text(Text(r))
	result(&b, m)
	b.Close('}')
	return b.B
}

// Text returns the text of the first choice, refusals included.
func Text(r *chat.Response) jsontext.Escaped {
	parts := r.Choices[0].Parts
	return chat.Join(parts, chat.Text) + chat.Join(parts, chat.Refusal)
}

// result writes the members that complete responses and the final stream event share.
func result(b *jsontext.Builder, m *api.Meta) {
	b.Key("provider")
	b.String(m.Provider)
	b.Key("model")
	b.String(m.Model)
	b.Key("cacheHit")
	b.Bool(m.Cached)
	b.Key("usage")
	b.Open('{')
	b.Key("promptTokens")
	b.Uint(m.Usage.Input)
	b.Key("completionTokens")
	b.Uint(m.Usage.Output)
	b.Key("totalTokens")
	b.Uint(m.Usage.Total())
	b.Key("costCents")
	b.Raw(string(money.Append(nil, m.CostPico, money.Cent)))
	b.Close('}')
	if m.Governor != "" {
		b.Key("governor")
		b.Raw(m.Governor)
	}
}
