package mistral

import (
	"crypto/sha256"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// messages writes the conversation. Results of tools are messages of their own, and only the model may speak
// after them ("Unexpected role 'user' after role 'tool'"): what the user says there goes into the last result.
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
		for end < len(list) && spoken(&list[end]) && lastResult(&list[end]) < 0 {
			end++
		}
		results(b, list[at:end], last)
		at = end
	}
	b.Close(']')
}

// spoken says whether a message is the user's.
func spoken(m *chat.Message) bool { return m.Role == chat.User || m.Role == chat.ToolRole }

// lastResult is which of a message's parts is the last result of a tool; -1 if there is none.
func lastResult(m *chat.Message) int {
	if spoken(m) {
		for i := len(m.Parts) - 1; i >= 0; i-- {
			if m.Parts[i].Kind == chat.ToolResult {
				return i
			}
		}
	}
	return -1
}

// results writes those of the first message, and into the last of them what else the messages say.
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
				parts = said(parts, list[j].Parts)
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

func said(to, parts []chat.Part) []chat.Part {
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

// assistant writes what the model said: its text as one string, and its calls. A text that is the last message
// is one that the model is to go on with, and has to say so.
func assistant(b *jsontext.Builder, parts []chat.Part, last bool) {
	var text jsontext.Spelled
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

// content writes a string if there is one text only, else the array of chunks.
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
		b.Text(address(p, "image/png"))
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
		b.Text(address(p, "application/pdf"))
		b.TextMember("document_name", p.Name)
		b.Close('}')
	}
}

// address is a part's own, or its data as one.
func address(p *chat.Part, media jsontext.Spelled) jsontext.Spelled {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + orText(p.Media, media) + ";base64," + p.Data
}

// idLength is how many letters and digits ids of calls have here.
const idLength = 9

// toolID makes such an id of another provider's. A call and its result are changed in the same way.
func toolID(id jsontext.Spelled) jsontext.Spelled {
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
	return jsontext.Spelled(out)
}
