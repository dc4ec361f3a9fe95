package native

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
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
	toolCalls(&b, r.Choices[0].Parts, m)
	result(&b, r.Choices[0].Finish, m)
	b.Close('}')
	return b.B
}

// toolCalls writes the calls of a response: [{"id","name","arguments":{…}}].
func toolCalls(b *jsontext.Builder, parts []chat.Part, m *api.Meta) {
	b.Key("toolCalls")
	b.Open('[')
	for _, p := range parts {
		if p.Kind == chat.ToolCall {
			b.Open('{')
			b.TextMember("id", p.ID)
			b.TextMember("name", m.Aliases.Find(p.Name).Name)
			b.Member("arguments", chat.Object(p.Args))
			b.Close('}')
		}
	}
	b.Close(']')
}

// Text returns the text of the first choice, including refusals.
func Text(r *chat.Response) jsontext.Escaped {
	parts := r.Choices[0].Parts
	return chat.Join(parts, chat.Text) + chat.Join(parts, chat.Refusal)
}

func result(b *jsontext.Builder, finish chat.Finish, m *api.Meta) {
	b.StringMember("finishReason", openai.Reason(finish))
	shared(b, m)
}

func shared(b *jsontext.Builder, m *api.Meta) {
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
	b.UintMember("attempts", m.Attempts)
	b.UintMember("latencyMs", m.LatencyMs)
	if m.Governor != "" {
		b.Key("governor")
		b.Raw(m.Governor)
	}
}
