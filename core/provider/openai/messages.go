package openai

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// messages writes the conversation. A tool message can contain only text. All other output of tools follows in a user
// message, after the results of all parallel calls.
func messages(b *jsontext.Builder, messages []chat.Message) {
	var media []chat.Part
	b.Open('[')
	for i := range messages {
		if media != nil && !onlyResults(&messages[i]) {
			mediaMessage(b, media)
			media = nil
		}
		media = append(media, message(b, &messages[i])...)
	}
	if media != nil {
		mediaMessage(b, media)
	}
	b.Close(']')
}

func onlyResults(m *chat.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind != chat.ToolResult {
			return false
		}
	}
	return len(m.Parts) > 0
}

func mediaMessage(b *jsontext.Builder, parts []chat.Part) {
	b.Open('{')
	b.Member("role", `"user"`)
	b.Key("content")
	b.Open('[')
	for i := range parts {
		part(b, &parts[i])
	}
	b.Close(']')
	b.Close('}')
}

// message writes one message. Tool results become separate messages before the rest. message returns the parts of the
// results that it did not write. These parts are not text.
func message(b *jsontext.Builder, m *chat.Message) (media []chat.Part) {
	rest := m.Parts[:0:0]
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind != chat.ToolResult {
			rest = append(rest, *p)
		} else {
			media = append(media, toolResult(b, p)...)
		}
	}
	if len(rest) == 0 && len(m.Parts) > 0 {
		return media
	}
	b.Open('{')
	b.Key("role")
	b.String(roles[m.Role])
	b.TextMember("name", m.Name)
	if m.Role == chat.Assistant {
		assistant(b, rest)
	} else {
		b.Key("content")
		content(b, append(media, rest...))
	}
	b.Close('}')
	return nil
}

var roles = [...]string{chat.System: "system", chat.User: "user", chat.Assistant: "assistant", chat.ToolRole: "user"}

// toolResult writes the text of a result. It returns the rest, after a text that says which result the rest belongs
// to.
func toolResult(b *jsontext.Builder, p *chat.Part) (media []chat.Part) {
	texts := p.Parts[:0:0]
	for i := range p.Parts {
		if q := &p.Parts[i]; q.Kind == chat.Text {
			texts = append(texts, *q)
		} else {
			media = append(media, *q)
		}
	}
	if len(media) > 0 {
		about := "The result of tool call " + p.ID + ":"
		media = append([]chat.Part{{Kind: chat.Text, Text: about}}, media...)
		if len(texts) == 0 {
			texts = []chat.Part{{Kind: chat.Text, Text: "The result follows in a message."}}
		}
	}
	b.Open('{')
	b.Member("role", `"tool"`)
	b.Key("tool_call_id")
	b.Text(p.ID)
	b.Key("content")
	content(b, texts)
	b.Close('}')
	return media
}

// assistant writes an assistant message: its text as one string, and then its tool calls.
func assistant(b *jsontext.Builder, parts []chat.Part) {
	text, refusal := chat.Join(parts, chat.Text), chat.Join(parts, chat.Refusal)
	calls := 0
	for i := range parts {
		if parts[i].Kind == chat.ToolCall {
			calls++
		}
	}
	b.Key("content")
	if text == "" && (calls > 0 || refusal != "") {
		b.Raw("null")
	} else {
		b.Text(text)
	}
	b.TextMember("refusal", refusal)
	if calls == 0 {
		return
	}
	b.Key("tool_calls")
	b.Open('[')
	for i := range parts {
		if parts[i].Kind == chat.ToolCall {
			toolCall(b, &parts[i])
		}
	}
	b.Close(']')
}

func toolCall(b *jsontext.Builder, p *chat.Part) {
	if p.Raw != "" {
		b.Raw(p.Raw)
		return
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
	if p.Args != "" {
		b.String(p.Args)
	} else {
		b.String("{}")
	}
	b.Close('}')
	b.Close('}')
}

// content writes a string if the only part is text. Otherwise, it writes an array of parts.
func content(b *jsontext.Builder, parts []chat.Part) {
	if len(parts) == 1 && parts[0].Kind == chat.Text {
		b.Text(parts[0].Text)
		return
	}
	if len(parts) == 0 {
		b.Raw(`""`)
		return
	}
	b.Open('[')
	for i := range parts {
		part(b, &parts[i])
	}
	b.Close(']')
}

func part(b *jsontext.Builder, p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		b.Open('{')
		b.Member("type", `"text"`)
		b.Key("text")
		b.Text(p.Text)
		b.Close('}')
	case chat.Image:
		b.Open('{')
		b.Member("type", `"image_url"`)
		b.Key("image_url")
		b.Open('{')
		b.Key("url")
		b.Text(imageURL(p))
		b.TextMember("detail", p.Detail)
		b.Close('}')
		b.Close('}')
	case chat.Audio:
		b.Raw(`{"type":"input_audio","input_audio":{"data":"` + string(p.Data) + `","format":"` + string(p.Media) + `"}}`)
	case chat.File:
		file(b, p)
	}
}

func imageURL(p *chat.Part) jsontext.Escaped {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.Media + ";base64," + p.Data
}

func file(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"file"`)
	b.Key("file")
	b.Open('{')
	b.Key("filename")
	b.Text(orText(p.Name, "file"))
	b.Key("file_data")
	b.Text(imageURL(p))
	b.Close('}')
	b.Close('}')
}
