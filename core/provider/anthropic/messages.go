package anthropic

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// system writes the system instructions, including those in later messages. If the caller has this dialect, later
// system messages stay where they are: newer models accept {"role":"system"} among the messages.
func system(b *jsontext.Builder, r *chat.Request) {
	started, leading := false, true
	for i := range r.Messages {
		m := &r.Messages[i]
		leading = leading && m.Role == chat.System
		if m.Role != chat.System || !leading && native(r) {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind != chat.Text || p.Text == "" {
				continue
			}
			if !started {
				b.Key("system")
				b.Open('[')
				started = true
			}
			text(b, p)
		}
	}
	if started {
		b.Close(']')
	}
}

// turns iterates over the conversation's turns. It skips messages without anything to write.
type turns struct {
	r       *chat.Request
	at      int
	leading bool
}

// role returns the API's role for a message. If the message is not written, it returns "".
func (t *turns) role(m *chat.Message) string {
	if m.Role != chat.System {
		t.leading = false
	}
	if m.Role == chat.System && (t.leading || !native(t.r)) {
		return ""
	}
	for i := range m.Parts {
		if writable(&m.Parts[i], m.Role) {
			return roles[m.Role]
		}
	}
	return ""
}

var roles = [...]string{chat.System: "system", chat.User: "user", chat.Assistant: "assistant", chat.ToolRole: "user"}

// next returns the next turn, messages[start:end]. All of its written messages have the returned role.
func (t *turns) next() (start, end int, role string) {
	for start = t.at; t.at < len(t.r.Messages); t.at++ {
		next := t.role(&t.r.Messages[t.at])
		if next == "" || next == role {
			continue
		}
		if role != "" {
			break
		}
		start, role = t.at, next
	}
	return start, t.at, role
}

// messages writes the turns. Roles must alternate, so neighboring messages with the same role are merged.
func messages(b *jsontext.Builder, r *chat.Request) {
	b.Key("messages")
	b.Open('[')
	t := turns{r: r, leading: true}
	for {
		start, end, role := t.next()
		if role == "" {
			break
		}
		turn(b, r, r.Messages[start:end], role)
	}
	b.Close(']')
}

// turn writes one turn. Tool results come first: the API requires them directly after the calls.
func turn(b *jsontext.Builder, r *chat.Request, messages []chat.Message, role string) {
	b.Open('{')
	b.Key("role")
	b.String(role)
	b.Key("content")
	b.Open('[')
	for _, results := range [...]bool{true, false} {
		for i := range messages {
			m := &messages[i]
			if m.Role == chat.System && role != "system" {
				continue
			}
			for j := range m.Parts {
				p := &m.Parts[j]
				if (p.Kind == chat.ToolResult) == results && writable(p, m.Role) {
					block(b, r, p)
				}
			}
		}
	}
	b.Close(']')
	b.Close('}')
}

// writable reports whether a part can be sent. Text must not be empty, and thinking must be signed by Anthropic.
// Anthropic's signatures are base64. Signatures of other providers have a prefix with ":".
func writable(p *chat.Part, role chat.Role) bool {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return p.Text != ""
	case chat.Image, chat.File:
		return role != chat.System && (p.URL != "" || p.Data != "")
	case chat.ToolCall:
		return role == chat.Assistant
	case chat.ToolResult:
		return role == chat.User || role == chat.ToolRole
	case chat.Thinking:
		return role == chat.Assistant && p.Signature != "" && !strings.Contains(string(p.Signature), ":")
	case chat.Redacted:
		return role == chat.Assistant && p.Data != ""
	}
	return false
}

func Thinks(p *chat.Part) bool { return writable(p, chat.Assistant) }

func block(b *jsontext.Builder, r *chat.Request, p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		text(b, p)
	case chat.Image:
		image(b, p)
	case chat.File:
		document(b, p)
	case chat.ToolCall:
		toolUse(b, r, p)
	case chat.ToolResult:
		toolResult(b, r, p)
	case chat.Thinking:
		b.Open('{')
		b.Member("type", `"thinking"`)
		b.Key("thinking")
		b.Text(p.Text)
		b.TextMember("signature", p.Signature)
		b.Close('}')
	case chat.Redacted:
		b.Open('{')
		b.Member("type", `"redacted_thinking"`)
		b.TextMember("data", p.Data)
		b.Close('}')
	}
}

func text(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"text"`)
	b.Key("text")
	b.Text(p.Text)
	b.Member("cache_control", p.Cache)
	b.Close('}')
}

func image(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"image"`)
	source(b, p, "image/png")
	b.Member("cache_control", p.Cache)
	b.Close('}')
}

// document writes a file: a PDF as data or as a URL, or text as data.
func document(b *jsontext.Builder, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"document"`)
	if plain, ok := plainText(p); ok {
		b.Key("source")
		b.Open('{')
		b.Member("type", `"text"`)
		b.Member("media_type", `"text/plain"`)
		b.Key("data")
		b.String(plain)
		b.Close('}')
	} else {
		source(b, p, "application/pdf")
	}
	b.TextMember("title", p.Name)
	b.Member("cache_control", p.Cache)
	b.Close('}')
}

// plainText decodes a text file that is sent as data. text/plain is the API's only media type for text.
func plainText(p *chat.Part) (string, bool) {
	if p.URL != "" || !strings.HasPrefix(string(p.Media), "text/") {
		return "", false
	}
	return decodeBase64(p.Data.Plain())
}

func source(b *jsontext.Builder, p *chat.Part, media jsontext.Escaped) {
	b.Key("source")
	b.Open('{')
	if p.URL != "" {
		b.Member("type", `"url"`)
		b.TextMember("url", p.URL)
	} else {
		if p.Media != "" {
			media = p.Media
		}
		b.Member("type", `"base64"`)
		b.TextMember("media_type", media)
		b.TextMember("data", p.Data)
	}
	b.Close('}')
}

func toolUse(b *jsontext.Builder, r *chat.Request, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"tool_use"`)
	b.Key("id")
	b.Text(toolID(r, p.ID))
	b.Key("name")
	b.Text(p.Name)
	b.Key("input")
	if p.Args != "" {
		b.Raw(p.Args)
	} else {
		b.Raw("{}")
	}
	b.Member("cache_control", p.Cache)
	b.Close('}')
}

func toolResult(b *jsontext.Builder, r *chat.Request, p *chat.Part) {
	b.Open('{')
	b.Member("type", `"tool_result"`)
	b.Key("tool_use_id")
	b.Text(toolID(r, p.ID))
	started := false
	for i := range p.Parts {
		inner := &p.Parts[i]
		if inner.Kind == chat.ToolResult || !writable(inner, chat.User) {
			continue
		}
		if !started {
			b.Key("content")
			b.Open('[')
			started = true
		}
		block(b, r, inner)
	}
	if started {
		b.Close(']')
	}
	if p.Failed {
		b.Member("is_error", "true")
	}
	b.Member("cache_control", p.Cache)
	b.Close('}')
}

// toolID replaces characters that the API rejects. The API's IDs consist of letters, digits, "_" and "-". IDs from
// other providers can have dots and colons. A call and its result get the same new ID.
func toolID(r *chat.Request, id jsontext.Escaped) jsontext.Escaped {
	if native(r) {
		return id
	}
	if id == "" {
		return "_"
	}
	for i := 0; i < len(id); i++ {
		if !idByte(id[i]) {
			return cleanID(id)
		}
	}
	return id
}

func cleanID(id jsontext.Escaped) jsontext.Escaped {
	clean := []byte(id.Plain())
	for i, c := range clean {
		if !idByte(c) {
			clean[i] = '_'
		}
	}
	return jsontext.Escaped(clean)
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
