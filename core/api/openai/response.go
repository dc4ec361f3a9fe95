package openai

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Answer appends a chat completion.
func Answer(dst []byte, r *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	head(&b, r.ID, "chat.completion", m)
	b.Key("choices")
	b.Open('[')
	for i := range r.Choices {
		choice(&b, uint64(i), &r.Choices[i], m)
	}
	b.Close(']')
	b.Key("usage")
	usage(&b, &m.Usage)
	b.Close('}')
	return b.B
}

// head writes the first fields of an object. If the provider's ID looks like OpenAI's, it is kept.
func head(b *jsontext.Builder, id jsontext.Escaped, object string, m *api.Meta) {
	b.Key("id")
	if len(id) > 9 && id[:9] == "chatcmpl-" {
		b.Text(id)
	} else {
		b.String("chatcmpl-" + m.RequestID)
	}
	b.Key("object")
	b.String(object)
	b.Key("created")
	b.Uint(m.CreatedMs / 1000)
	b.Key("model")
	b.String(m.Model)
}

func choice(b *jsontext.Builder, index uint64, a *chat.Answer, m *api.Meta) {
	b.Open('{')
	b.Key("index")
	b.Uint(index)
	b.Key("message")
	writeMessage(b, a, m)
	b.Key("logprobs")
	if a.LogProbs == "" {
		b.Raw("null")
	} else {
		b.Raw(a.LogProbs)
	}
	b.Key("finish_reason")
	b.String(Reason(a.Finish))
	b.Close('}')
}

func writeMessage(b *jsontext.Builder, a *chat.Answer, m *api.Meta) {
	text, refusal, thinking := chat.Join(a.Parts, chat.Text), chat.Join(a.Parts, chat.Refusal), chat.Join(a.Parts, chat.Thinking)
	texts, calls := 0, 0
	for i := range a.Parts {
		switch a.Parts[i].Kind {
		case chat.Text:
			texts++
		case chat.ToolCall:
			calls++
		}
	}
	b.Open('{')
	b.Member("role", `"assistant"`)
	b.Key("content")
	if texts > 0 || calls == 0 && refusal == "" {
		b.Text(text)
	} else {
		b.Raw("null")
	}
	b.Key("refusal")
	if refusal != "" {
		b.Text(refusal)
	} else {
		b.Raw("null")
	}
	// not a field of OpenAI's API; other providers use it for reasoning text
	b.TextMember("reasoning_content", thinking)
	if calls > 0 {
		toolCalls(b, a, m)
	}
	b.Close('}')
}

func toolCalls(b *jsontext.Builder, a *chat.Answer, m *api.Meta) {
	b.Key("tool_calls")
	b.Open('[')
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Kind == chat.ToolCall {
			alias := m.Aliases.Find(p.Name)
			b.Open('{')
			b.Key("id")
			b.Text(p.ID)
			if alias.Kind == chat.Custom {
				called(b, "custom", alias.Name, "input", chat.Input(p.Args))
			} else {
				called(b, "function", alias.Name, "arguments", jsontext.Escape(p.Args))
			}
			b.Close('}')
		}
	}
	b.Close(']')
}

func called(b *jsontext.Builder, kind string, name jsontext.Escaped, member string, text jsontext.Escaped) {
	b.Key("type")
	b.String(kind)
	b.Key(kind)
	b.Open('{')
	b.Key("name")
	b.Text(name)
	b.Key(member)
	b.Text(text)
	b.Close('}')
}

// Reason returns the finish_reason.
func Reason(f chat.Finish) string {
	switch f {
	case chat.FinishLength:
		return "length"
	case chat.FinishTools:
		return "tool_calls"
	case chat.FinishFilter:
		return "content_filter"
	}
	return "stop"
}

func usage(b *jsontext.Builder, u *chat.Usage) {
	b.Open('{')
	b.Key("prompt_tokens")
	b.Uint(u.Input)
	b.Key("completion_tokens")
	b.Uint(u.Output)
	b.Key("total_tokens")
	b.Uint(u.Total())
	b.Key("prompt_tokens_details")
	b.Open('{')
	b.Key("cached_tokens")
	b.Uint(u.CachedInput)
	b.Close('}')
	b.Key("completion_tokens_details")
	b.Open('{')
	b.Key("reasoning_tokens")
	b.Uint(u.Reasoning)
	b.Close('}')
	b.Close('}')
}
