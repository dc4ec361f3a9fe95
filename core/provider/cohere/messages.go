package cohere

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// messages writes the conversation. Some models reject system messages after the start, so all of them become one
// message at the start.
func messages(b *jsontext.Builder, all []chat.Message) {
	b.Key("messages")
	b.Open('[')
	system(b, all)
	for i := range all {
		switch all[i].Role {
		case chat.System:
		case chat.Assistant:
			assistant(b, all[i].Parts)
		default:
			user(b, all[i].Parts)
		}
	}
	b.Close(']')
}

func system(b *jsontext.Builder, all []chat.Message) {
	var parts []chat.Part
	count := 0
	for i := range all {
		if all[i].Role == chat.System {
			count++
			parts = append(parts, all[i].Parts...)
		}
	}
	if count > 0 {
		message(b, "system", parts)
	}
}

func message(b *jsontext.Builder, role string, parts []chat.Part) {
	b.Open('{')
	b.Key("role")
	b.String(role)
	b.Key("content")
	content(b, parts)
	b.Close('}')
}

// user writes a user message. Tool results become separate messages before the rest. They cannot contain images, so
// their images become part of the rest.
func user(b *jsontext.Builder, parts []chat.Part) {
	results := 0
	for i := range parts {
		if parts[i].Kind == chat.ToolResult {
			results++
			toolResult(b, &parts[i])
		}
	}
	if results == 0 {
		message(b, "user", parts)
		return
	}
	var rest []chat.Part
	for i := range parts {
		if parts[i].Kind != chat.ToolResult {
			rest = append(rest, parts[i])
			continue
		}
		for j := range parts[i].Parts {
			if parts[i].Parts[j].Kind == chat.Image {
				rest = append(rest, parts[i].Parts[j])
			}
		}
	}
	if len(rest) > 0 {
		message(b, "user", rest)
	}
}

func toolResult(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("role", `"tool"`)
	b.Key("tool_call_id")
	b.Text(p.ID)
	b.Key("content")
	texts(b, p.Parts)
	b.Close('}')
}

// assistant writes an assistant message: its thinking and text as content, and its tool calls. Thinking before calls
// goes into tool_plan, where Cohere's models put it.
func assistant(b *jsontext.Builder, parts []chat.Part) {
	calls, others := 0, 0
	for i := range parts {
		switch parts[i].Kind {
		case chat.ToolCall:
			calls++
		case chat.Text, chat.Refusal:
			others++
		}
	}
	b.Open('{')
	b.Member("role", `"assistant"`)
	if calls == 0 || others > 0 {
		b.Key("content")
		textParts(b, parts, calls == 0)
	}
	if calls > 0 {
		toolPlan(b, parts)
		toolCalls(b, parts)
	}
	b.Close('}')
}

// textParts writes text parts. If thoughts is set, it also writes thinking. If the only part is text, it writes a
// string. Otherwise, it writes an array.
func textParts(b *jsontext.Builder, parts []chat.Part, thoughts bool) {
	if len(parts) == 1 && parts[0].Kind == chat.Text {
		b.Text(parts[0].Text)
		return
	}
	before := len(b.B)
	b.Open('[')
	empty := len(b.B)
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Text == "":
		case p.Kind == chat.Text || p.Kind == chat.Refusal:
			typedPart(b, "text", p.Text)
		case p.Kind == chat.Thinking && thoughts:
			typedPart(b, "thinking", p.Text)
		}
	}
	if len(b.B) == empty {
		b.B = append(b.B[:before], `""`...)
		return
	}
	b.Close(']')
}

// typedPart writes a part. The part's content is in the field named like its type, such as {"type":"text","text":…}.
func typedPart(b *jsontext.Builder, kind string, text jsontext.Escaped) {
	b.Open('{')
	b.Key("type")
	b.String(kind)
	b.Key(kind)
	b.Text(text)
	b.Close('}')
}

// toolPlan writes all thinking as one string.
func toolPlan(b *jsontext.Builder, parts []chat.Part) {
	written := false
	for i := range parts {
		if parts[i].Kind != chat.Thinking || parts[i].Text == "" {
			continue
		}
		if !written {
			written = true
			b.Key("tool_plan")
			b.B = append(b.B, '"')
		}
		b.B = append(b.B, parts[i].Text...)
	}
	if written {
		b.B = append(b.B, '"')
	}
}

func toolCalls(b *jsontext.Builder, parts []chat.Part) {
	b.Key("tool_calls")
	b.Open('[')
	for i := range parts {
		p := &parts[i]
		if p.Kind != chat.ToolCall {
			continue
		}
		b.Open('{')
		b.Key("id")
		b.Text(p.ID)
		b.Member("type", `"function"`)
		b.Key("function")
		b.Open('{')
		b.Key("name")
		b.Text(p.Name)
		b.Key("arguments")
		b.String(p.Args)
		b.Close('}')
		b.Close('}')
	}
	b.Close(']')
}

// content writes a string if the only part is text. Otherwise, it writes an array of text parts and images.
func content(b *jsontext.Builder, parts []chat.Part) {
	for i := range parts {
		if parts[i].Kind == chat.Image {
			textsAndImages(b, parts)
			return
		}
	}
	texts(b, parts)
}

// texts writes a string if the only part is text. Otherwise, it writes an array of text parts.
func texts(b *jsontext.Builder, parts []chat.Part) { textParts(b, parts, false) }

func textsAndImages(b *jsontext.Builder, parts []chat.Part) {
	b.Open('[')
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case chat.Text, chat.Refusal:
			typedPart(b, "text", p.Text)
		case chat.Image:
			image(b, p)
		}
	}
	b.Close(']')
}

func image(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"image_url"`)
	b.Key("image_url")
	b.Open('{')
	b.Key("url")
	if p.URL != "" {
		b.Text(p.URL)
	} else {
		b.Text("data:" + p.Media + ";base64," + p.Data)
	}
	b.TextMember("detail", p.Detail)
	b.Close('}')
	b.Close('}')
}
