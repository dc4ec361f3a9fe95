package responses

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Answer appends a response object.
func Answer(dst []byte, r *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	object(&b, status(r.Choices[0].Finish), r, m, nil)
	return b.B
}

func status(f chat.Finish) string {
	if f == chat.FinishLength || f == chat.FinishFilter {
		return "incomplete"
	}
	return "completed"
}

// object writes a response object. r is nil for a response that is in progress or has failed.
func object(b *jsontext.Builder, status string, r *chat.Response, m *api.Meta, e *api.Error) {
	b.Open('{')
	b.Key("id")
	b.String("resp_" + bare(m))
	b.Member("object", `"response"`)
	b.Key("created_at")
	b.Uint(m.CreatedMs / 1000)
	b.Key("status")
	b.String(status)
	b.Member("background", "false")
	b.Key("error")
	if e == nil {
		b.Raw("null")
	} else {
		b.Open('{')
		b.Key("code")
		b.String(e.Code())
		b.Key("message")
		b.Text(e.Summary())
		b.Close('}')
	}
	incomplete(b, status, r)
	b.Key("model")
	b.String(m.Model)
	b.Key("output")
	b.Open('[')
	if r != nil {
		for i, p := range r.Choices[0].Parts {
			item(b, i, &p, "completed", m)
		}
	}
	b.Close(']')
	// The request's parameters are not repeated. These fields are present because the SDKs' types require them.
	for _, name := range []string{"instructions", "max_output_tokens", "previous_response_id", "temperature", "top_p", "user"} {
		b.Member(name, "null")
	}
	b.Member("metadata", "{}")
	b.Member("parallel_tool_calls", "true")
	b.Member("reasoning", `{"effort":null,"summary":null}`)
	b.Member("store", "false")
	b.Member("text", `{"format":{"type":"text"}}`)
	b.Member("tool_choice", `"auto"`)
	b.Member("tools", "[]")
	b.Member("truncation", `"disabled"`)
	b.Key("usage")
	if r == nil {
		b.Raw("null")
	} else {
		usage(b, &m.Usage)
	}
	b.Close('}')
}

func incomplete(b *jsontext.Builder, status string, r *chat.Response) {
	switch {
	case status != "incomplete" || r == nil:
		b.Member("incomplete_details", "null")
	case r.Choices[0].Finish == chat.FinishFilter:
		b.Member("incomplete_details", `{"reason":"content_filter"}`)
	default:
		b.Member("incomplete_details", `{"reason":"max_output_tokens"}`)
	}
}

func bare(m *api.Meta) string { return strings.TrimPrefix(m.RequestID, "req_") }

// itemID returns an item ID made from the request ID and the item's index.
func itemID(p *chat.Part, index int, m *api.Meta) string {
	prefix := "msg_"
	switch p.Kind {
	case chat.Thinking, chat.Redacted:
		prefix = "rs_"
	case chat.ToolCall:
		prefix = clientOf(m.Aliases.Find(p.Name).Kind).prefix
	}
	return prefix + bare(m) + "_" + strconv.Itoa(index)
}

// item writes an output item. If the message is in progress, its content is empty.
func item(b *jsontext.Builder, index int, p *chat.Part, status string, m *api.Meta) {
	b.Open('{')
	b.Key("id")
	b.String(itemID(p, index, m))
	switch p.Kind {
	case chat.Thinking, chat.Redacted:
		b.Member("type", `"reasoning"`)
		b.Key("summary")
		b.Open('[')
		if p.Text != "" {
			summary(b, p.Text)
		}
		b.Close(']')
		b.TextMember("encrypted_content", encrypted(p))
	case chat.ToolCall:
		alias := m.Aliases.Find(p.Name)
		b.Key("type")
		b.String(clientOf(alias.Kind).call)
		b.Key("status")
		b.String(status)
		b.Key("call_id")
		b.Text(p.ID)
		call(b, p.Args, &alias)
	default:
		b.Member("type", `"message"`)
		b.Member("role", `"assistant"`)
		b.Key("status")
		b.String(status)
		b.Key("content")
		b.Open('[')
		if status == "completed" {
			writeContent(b, p)
		}
		b.Close(']')
	}
	b.Close('}')
}

func summary(b *jsontext.Builder, text jsontext.Escaped) {
	b.Open('{')
	b.Member("type", `"summary_text"`)
	b.Key("text")
	b.Text(text)
	b.Close('}')
}

func writeContent(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	if p.Kind == chat.Refusal {
		b.Member("type", `"refusal"`)
		b.Key("refusal")
		b.Text(p.Text)
	} else {
		b.Member("type", `"output_text"`)
		b.Member("annotations", "[]")
		b.Member("logprobs", "[]")
		b.Key("text")
		b.Text(p.Text)
	}
	b.Close('}')
}

func usage(b *jsontext.Builder, u *chat.Usage) {
	b.Open('{')
	b.Key("input_tokens")
	b.Uint(u.Input)
	b.Key("input_tokens_details")
	b.Open('{')
	b.Key("cached_tokens")
	b.Uint(u.CachedInput)
	b.Close('}')
	b.Key("output_tokens")
	b.Uint(u.Output)
	b.Key("output_tokens_details")
	b.Open('{')
	b.Key("reasoning_tokens")
	b.Uint(u.Reasoning)
	b.Close('}')
	b.Key("total_tokens")
	b.Uint(u.Total())
	b.Close('}')
}
