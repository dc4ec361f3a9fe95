package openai

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Stream appends a chat.completion.chunk for a delta.
func Stream(dst []byte, s *api.State, d *chat.Delta, m *api.Meta) []byte {
	switch d.Kind {
	case chat.DeltaStart:
		return chunk(dst, m, d.Choice, func(b *jsontext.Builder) {
			b.Member("role", `"assistant"`)
			b.Member("content", `""`)
		}, "")
	case chat.DeltaText:
		return textChunk(dst, m, d, "content")
	case chat.DeltaRefusal:
		return textChunk(dst, m, d, "refusal")
	case chat.DeltaThinking:
		return textChunk(dst, m, d, "reasoning_content")
	case chat.DeltaTool:
		alias := m.Aliases.Find(d.Name)
		if alias.Kind == chat.Custom {
			s.Input(inputIndex(d), true)
		}
		return chunk(dst, m, d.Choice, func(b *jsontext.Builder) { toolDelta(b, d, &alias) }, "")
	case chat.DeltaArgs:
		return argsChunk(dst, s, d, m)
	case chat.DeltaLogProbs:
		return chunk(dst, m, d.Choice, func(*jsontext.Builder) {}, `,"logprobs":`+d.JSON+`,"finish_reason":null`)
	case chat.DeltaFinish:
		return chunk(dst, m, d.Choice, func(*jsontext.Builder) {}, `,"logprobs":null,"finish_reason":"`+Reason(d.Finish)+`"`)
	}
	return dst
}

func textChunk(dst []byte, m *api.Meta, d *chat.Delta, name string) []byte {
	return chunk(dst, m, d.Choice, func(b *jsontext.Builder) { b.TextMember(name, d.Text) }, "")
}

// inputIndex numbers the calls of all choices.
func inputIndex(d *chat.Delta) uint64 { return d.Choice<<32 | d.Index }

// argsChunk writes a piece of a call's arguments. For a custom tool, it writes the input text that this piece
// completes.
func argsChunk(dst []byte, s *api.State, d *chat.Delta, m *api.Meta) []byte {
	kind, member, text := "function", "arguments", d.Text
	if input := s.Input(inputIndex(d), false); input != nil {
		if kind, member, text = "custom", "input", jsontext.Escaped(input.Read(nil, d.Text)); text == "" {
			return dst
		}
	}
	return chunk(dst, m, d.Choice, func(b *jsontext.Builder) {
		b.Key("tool_calls")
		b.Open('[')
		b.Open('{')
		b.Key("index")
		b.Uint(d.Index)
		b.Key(kind)
		b.Open('{')
		b.Key(member)
		b.Text(text)
		b.Close('}')
		b.Close('}')
		b.Close(']')
	}, "")
}

func toolDelta(b *jsontext.Builder, d *chat.Delta, alias *chat.Alias) {
	b.Key("tool_calls")
	b.Open('[')
	b.Open('{')
	b.Key("index")
	b.Uint(d.Index)
	b.Key("id")
	b.Text(d.ID)
	if alias.Kind == chat.Custom {
		called(b, "custom", alias.Name, "input", "")
	} else {
		called(b, "function", alias.Name, "arguments", "")
	}
	b.Close('}')
	b.Close(']')
}

// chunk appends one event. rest is the JSON that follows the delta object.
func chunk(dst []byte, m *api.Meta, choice uint64, delta func(*jsontext.Builder), rest string) []byte {
	b := jsontext.Builder{B: append(dst, "data: {"...)}
	head(&b, "", "chat.completion.chunk", m)
	b.Key("choices")
	b.Open('[')
	b.Open('{')
	b.Key("index")
	b.Uint(choice)
	b.Key("delta")
	b.Open('{')
	delta(&b)
	b.Close('}')
	if rest == "" {
		rest = `,"logprobs":null,"finish_reason":null`
	}
	return append(append(b.B, rest...), "}]}\n\n"...)
}

// End appends a usage chunk if the request asked for one, and the end mark "data: [DONE]".
func End(dst []byte, _ *api.State, _ *chat.Response, m *api.Meta) []byte {
	if m.IncludeUsage {
		b := jsontext.Builder{B: append(dst, "data: {"...)}
		head(&b, "", "chat.completion.chunk", m)
		b.Member("choices", "[]")
		b.Key("usage")
		usage(&b, &m.Usage)
		dst = append(b.B, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// StreamError appends data: {"error":{…}} in place of the end mark. The SDKs throw this error.
func StreamError(dst []byte, _ *api.State, e *api.Error, _ *api.Meta) []byte {
	return append(Error(append(dst, "data: "...), e), "\n\n"...)
}
