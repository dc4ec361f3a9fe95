package anthropic

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Answer appends a message:
//
//	{"id","type":"message","role":"assistant","model","content":[…],"stop_reason","stop_sequence","usage"}
//
// The API has only one choice, so further choices are dropped.
func Answer(dst []byte, r *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	messageHead(&b, r.ID, m)
	b.Key("content")
	b.Open('[')
	var a chat.Answer
	if len(r.Choices) > 0 {
		a = r.Choices[0]
	}
	for i := range a.Parts {
		block(&b, &a.Parts[i], m)
	}
	b.Close(']')
	ending(&b, reason(a.Finish, holds(a.Parts, chat.ToolCall), holds(a.Parts, chat.Refusal)), r.StopSequence)
	b.Key("usage")
	u := &m.Usage
	if r.Usage.Reported {
		u = &r.Usage
	}
	usage(&b, u, true)
	b.Close('}')
	return b.B
}

func holds(parts []chat.Part, kind chat.PartKind) bool {
	for i := range parts {
		if parts[i].Kind == kind {
			return true
		}
	}
	return false
}

// messageHead writes the first fields of a message. If an ID does not look like Anthropic's, messageHead writes one
// made from the request ID.
func messageHead(b *jsontext.Builder, id jsontext.Escaped, m *api.Meta) {
	b.Key("id")
	if strings.HasPrefix(string(id), "msg_") {
		b.Text(id)
	} else {
		b.String("msg_" + m.RequestID)
	}
	b.Member("type", `"message"`)
	b.Member("role", `"assistant"`)
	b.Key("model")
	b.String(m.Model)
}

func block(b *jsontext.Builder, p *chat.Part, m *api.Meta) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		b.Open('{')
		b.Member("type", `"text"`)
		b.Key("text")
		b.Text(p.Text)
		b.Close('}')
	case chat.Thinking:
		b.Open('{')
		b.Member("type", `"thinking"`)
		b.Key("thinking")
		b.Text(p.Text)
		b.Key("signature")
		b.Text(p.Signature)
		b.Close('}')
	case chat.Redacted:
		redacted(b, p.Data)
	case chat.ToolCall:
		b.Open('{')
		toolUse(b, p.ID, m.Aliases.Find(p.Name).Name, p.Args)
		b.Close('}')
	}
}

func redacted(b *jsontext.Builder, data jsontext.Escaped) {
	b.Open('{')
	b.Member("type", `"redacted_thinking"`)
	b.Key("data")
	b.Text(data)
	b.Close('}')
}

// toolUse writes the fields of a tool call. If the arguments are not a JSON object, for example because a stream
// broke off, the field _invalid contains them as a string.
func toolUse(b *jsontext.Builder, id, name jsontext.Escaped, args string) {
	b.Member("type", `"tool_use"`)
	b.Key("id")
	b.Text(id)
	b.Key("name")
	b.Text(name)
	b.Member("input", chat.Object(args))
}

// reason returns the stop_reason. It is tool_use for a turn with a tool call even if the provider says stop.
func reason(f chat.Finish, called, refused bool) string {
	switch f {
	case chat.FinishLength:
		return "max_tokens"
	case chat.FinishTools:
		return "tool_use"
	case chat.FinishFilter:
		return "refusal"
	case chat.FinishStopSeq:
		return "stop_sequence"
	case chat.FinishPause:
		return "pause_turn"
	}
	switch {
	case called:
		return "tool_use"
	case refused:
		return "refusal"
	}
	return "end_turn"
}

func ending(b *jsontext.Builder, reason string, sequence jsontext.Escaped) {
	b.Key("stop_reason")
	b.String(reason)
	b.Key("stop_sequence")
	if reason == "stop_sequence" && sequence != "" {
		b.Text(sequence)
	} else {
		b.Raw("null")
	}
}

// usage writes the usage object. input_tokens excludes tokens read from or written to the prompt cache. Complete
// messages and message_start always show cache writes by lifetime. The end of a stream shows them by lifetime only if
// there are 1-hour writes.
func usage(b *jsontext.Builder, u *chat.Usage, whole bool) {
	written := u.CacheWrite + u.CacheWrite1h
	b.Open('{')
	count(b, "input_tokens", u.Input-min(u.Input, u.CachedInput+written))
	count(b, "cache_creation_input_tokens", written)
	count(b, "cache_read_input_tokens", u.CachedInput)
	if whole || u.CacheWrite1h > 0 {
		b.Key("cache_creation")
		b.Open('{')
		count(b, "ephemeral_5m_input_tokens", u.CacheWrite)
		count(b, "ephemeral_1h_input_tokens", u.CacheWrite1h)
		b.Close('}')
	}
	count(b, "output_tokens", u.Output)
	if u.Reasoning > 0 {
		b.Key("output_tokens_details")
		b.Open('{')
		count(b, "thinking_tokens", u.Reasoning)
		b.Close('}')
	}
	b.Close('}')
}

func count(b *jsontext.Builder, name string, n uint64) {
	b.Key(name)
	b.Uint(n)
}
