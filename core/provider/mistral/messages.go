package mistral

import (
	"crypto/sha256"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// messages writes the conversation. Tool results are separate messages. Only an assistant message may follow them
// ("Unexpected role 'user' after role 'tool'"), so the last result gets the user text after it.
func messages(b *jsontext.Builder, list []chat.Message) {
	b.Key("messages")
	b.Open('[')
	for at := 0; at < len(list); {
		last := lastResult(&list[at])
		if last < 0 {
			turn(b, &list[at], at == len(list)-1)
			at++
			continue
		}
		end := at + 1
		for end < len(list) && fromUser(&list[end]) && lastResult(&list[end]) < 0 {
			end++
		}
		results(b, list[at:end], last)
		at = end
	}
	b.Close(']')
}

// fromUser reports whether a message is from the user. Tool results are from the user too.
func fromUser(m *chat.Message) bool { return m.Role == chat.User || m.Role == chat.ToolRole }

// lastResult returns the index of a message's last tool result. If there is none, it returns -1.
func lastResult(m *chat.Message) int {
	if fromUser(m) {
		for i := len(m.Parts) - 1; i >= 0; i-- {
			if m.Parts[i].Kind == chat.ToolResult {
				return i
			}
		}
	}
	return -1
}

// results writes the first message's tool results. The last result also gets the other parts of all messages.
func results(b *jsontext.Builder, list []chat.Message, last int) {
	for i := range list[0].Parts {
		p := &list[0].Parts[i]
		if p.Kind != chat.ToolResult {
			continue
		}
		parts := p.Parts
		if i == last {
			parts = parts[:len(parts):len(parts)]
			for j := range list {
				parts = appendOthers(parts, list[j].Parts)
			}
		}
		b.Open('{')
		b.Member("role", `"tool"`)
		b.Key("tool_call_id")
		b.Text(toolID(p.ID))
		b.Key("content")
		content(b, parts)
		b.Close('}')
	}
}

func appendOthers(to, parts []chat.Part) []chat.Part {
	for i := range parts {
		if parts[i].Kind != chat.ToolResult {
			to = append(to, parts[i])
		}
	}
	return to
}

func turn(b *jsontext.Builder, m *chat.Message, last bool) {
	b.Open('{')
	switch m.Role {
	case chat.Assistant:
		b.Member("role", `"assistant"`)
		assistant(b, m.Parts, last)
	case chat.System:
		b.Member("role", `"system"`)
		b.Key("content")
		content(b, m.Parts)
	default:
		b.Member("role", `"user"`)
		b.Key("content")
		content(b, m.Parts)
	}
	b.Close('}')
}

// assistant writes an assistant message: its text as one string, and its tool calls. If the message is the last one,
// prefix makes the model continue its text.
func assistant(b *jsontext.Builder, parts []chat.Part, last bool) {
	var text jsontext.Escaped
	calls := 0
	for i := range parts {
		switch parts[i].Kind {
		case chat.Text, chat.Refusal:
			text += parts[i].Text
		case chat.ToolCall:
			calls++
		}
	}
	b.Key("content")
	b.Text(text)
	if calls == 0 {
		if last {
			b.Member("prefix", "true")
		}
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
	b.Open('{')
	b.Key("id")
	b.Text(toolID(p.ID))
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

// content writes a string if the only part is text. Otherwise, it writes an array of chunks.
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
		chunk(b, &parts[i])
	}
	b.Close(']')
}

func chunk(b *jsontext.Builder, p *chat.Part) {
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
		b.Text(urlOf(p, "image/png"))
		b.Close('}')
	case chat.Audio:
		b.Open('{')
		b.Member("type", `"input_audio"`)
		b.Key("input_audio")
		b.Text(p.Data)
		b.Close('}')
	case chat.File:
		b.Open('{')
		b.Member("type", `"document_url"`)
		b.Key("document_url")
		b.Text(urlOf(p, "application/pdf"))
		b.TextMember("document_name", p.Name)
		b.Close('}')
	}
}

// urlOf returns a part's URL. If the part has data, it returns a data URL.
func urlOf(p *chat.Part, media jsontext.Escaped) jsontext.Escaped {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + orText(p.Media, media) + ";base64," + p.Data
}

// idLength is the length of a tool call ID. Mistral requires exactly this many letters and digits.
const idLength = 9

// toolID replaces an ID in another format with its hash. A call and its result get the same new ID.
func toolID(id jsontext.Escaped) jsontext.Escaped {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	valid := len(id) == idLength
	for i := 0; i < len(id) && valid; i++ {
		c := id[i]
		valid = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	if valid {
		return id
	}
	var n uint64
	sum := sha256.Sum256([]byte(id))
	for _, c := range sum[:8] {
		n = n<<8 | uint64(c)
	}
	out := make([]byte, idLength)
	for i := range out {
		out[i] = digits[n%uint64(len(digits))]
		n /= uint64(len(digits))
	}
	return jsontext.Escaped(out)
}
