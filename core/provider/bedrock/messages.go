package bedrock

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

type writer struct {
	b         jsontext.Builder
	documents int  // the number of documents so far, which makes their names unique
	failed    bool // a part could not be written
	calls     bool // tool calls or results were written
}

func (w *writer) system(r *chat.Request) {
	started := false
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != chat.System {
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if p.Kind != chat.Text || blank(p.Text) {
				continue
			}
			if !started {
				w.b.Key("system")
				w.b.Open('[')
				started = true
			}
			w.text(p.Text)
			w.cachePoint(p.Cache)
		}
	}
	if started {
		w.b.Close(']')
	}
}

// messages writes the turns. Roles must alternate, so neighboring messages with the same role are merged.
func (w *writer) messages(r *chat.Request) {
	w.b.Key("messages")
	w.b.Open('[')
	for at := 0; at < len(r.Messages); {
		role := roleOf(&r.Messages[at])
		end := at + 1
		for end < len(r.Messages) && (role == "" || roleOf(&r.Messages[end]) == role || roleOf(&r.Messages[end]) == "") {
			if role == "" {
				role = roleOf(&r.Messages[end])
			}
			end++
		}
		if role != "" {
			w.turn(r.Messages[at:end], role)
		}
		at = end
	}
	w.b.Close(']')
}

// roleOf returns the API's role for a message. If the message is not written, it returns "".
func roleOf(m *chat.Message) string {
	if m.Role == chat.System {
		return ""
	}
	role := "user"
	if m.Role == chat.Assistant {
		role = "assistant"
	}
	for i := range m.Parts {
		if writable(&m.Parts[i], role) {
			return role
		}
	}
	return ""
}

// turn writes one turn. Tool results come first: models require them directly after the calls.
func (w *writer) turn(messages []chat.Message, role string) {
	w.b.Open('{')
	w.b.Key("role")
	w.b.String(role)
	w.b.Key("content")
	w.b.Open('[')
	for _, results := range [...]bool{true, false} {
		for i := range messages {
			if messages[i].Role == chat.System {
				continue
			}
			for j := range messages[i].Parts {
				p := &messages[i].Parts[j]
				if (p.Kind == chat.ToolResult) == results && writable(p, role) {
					w.block(p)
				}
			}
		}
	}
	w.b.Close(']')
	w.b.Close('}')
}

// writable reports whether a part can be sent. Text must not be blank, and thinking must be signed by Claude.
// Claude's signatures are base64. Signatures of other providers have a prefix with ":".
func writable(p *chat.Part, role string) bool {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		return !blank(p.Text)
	case chat.Image, chat.File, chat.ToolResult:
		return role == "user"
	case chat.ToolCall:
		return role == "assistant"
	case chat.Thinking:
		return role == "assistant" && p.Signature != "" && !strings.Contains(string(p.Signature), ":")
	case chat.Redacted:
		return role == "assistant" && p.Data != ""
	}
	return false
}

// blank reports whether a text consists only of spaces, tabs and line breaks. Converse rejects such text.
func blank(text jsontext.Escaped) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ' ':
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == 'n' || text[i+1] == 'r' || text[i+1] == 't'):
			i++
		default:
			return false
		}
	}
	return true
}

// block writes a part. If the part is marked for caching, a cache point follows.
func (w *writer) block(p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		w.text(p.Text)
	case chat.Image:
		w.image(p)
	case chat.File:
		w.document(p)
	case chat.ToolCall:
		w.toolUse(p)
	case chat.ToolResult:
		w.toolResult(p)
	case chat.Thinking:
		w.b.Raw(`{"reasoningContent":{"reasoningText":{"text":"` + string(p.Text) + `","signature":"` + string(p.Signature) + `"}}}`)
	case chat.Redacted:
		w.b.Raw(`{"reasoningContent":{"redactedContent":"` + string(p.Data) + `"}}`)
	}
	w.cachePoint(p.Cache)
}

func (w *writer) text(text jsontext.Escaped) {
	w.b.Open('{')
	w.b.Key("text")
	w.b.Text(text)
	w.b.Close('}')
}

// cachePoint translates Anthropic's {"type":"ephemeral","ttl":"5m"|"1h"}.
func (w *writer) cachePoint(marker string) {
	switch {
	case marker == "":
	case gjson.Get(marker, "ttl").Str == "1h":
		w.b.Raw(`{"cachePoint":{"type":"default","ttl":"1h"}}`)
	default:
		w.b.Raw(`{"cachePoint":{"type":"default"}}`)
	}
}

// image writes {"image":{"format":"png","source":{"bytes":"…"}}}.
func (w *writer) image(p *chat.Part) {
	format := ""
	switch mediaType(p) {
	case "image/png", "":
		format = "png"
	case "image/jpeg", "image/jpg":
		format = "jpeg"
	case "image/gif":
		format = "gif"
	case "image/webp":
		format = "webp"
	}
	if format == "" || p.Data == "" {
		w.failed = true
		return
	}
	w.b.Raw(`{"image":{"format":"` + format + `","source":{"bytes":"`)
	w.b.B = append(append(w.b.B, p.Data...), `"}}}`...)
}

func mediaType(p *chat.Part) string {
	kind, _, _ := strings.Cut(p.Media.Plain(), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// document writes {"document":{"format":"pdf","name":"…","source":{"bytes":"…"}}}.
func (w *writer) document(p *chat.Part) {
	format := documentFormat(mediaType(p))
	if format == "" || p.Data == "" {
		w.failed = true
		return
	}
	w.documents++
	name := documentName(p.Name.Plain())
	if w.documents > 1 {
		name += "-" + strconv.Itoa(w.documents)
	}
	w.b.Raw(`{"document":{"format":"` + format + `","name":"` + name + `","source":{"bytes":"`)
	w.b.B = append(append(w.b.B, p.Data...), `"}}}`...)
}

func documentFormat(media string) string {
	switch media {
	case "application/pdf", "":
		return "pdf"
	case "text/csv":
		return "csv"
	case "text/html":
		return "html"
	case "text/markdown":
		return "md"
	case "application/msword":
		return "doc"
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return "docx"
	case "application/vnd.ms-excel":
		return "xls"
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return "xlsx"
	}
	if strings.HasPrefix(media, "text/") {
		return "txt"
	}
	return ""
}

// maxName keeps document names below the limit of 200 characters. Their numeric suffixes count too.
const maxName = 150

// documentName replaces characters with hyphens, except letters, digits, hyphens, parentheses and brackets.
func documentName(name string) string {
	clean := make([]byte, 0, min(len(name), maxName))
	for i := 0; i < len(name) && len(clean) < maxName; i++ {
		c := name[i]
		if !idByte(c) && c != '(' && c != ')' && c != '[' && c != ']' || c == '_' {
			c = '-'
		}
		clean = append(clean, c)
	}
	if len(clean) == 0 {
		return "document"
	}
	return string(clean)
}

func (w *writer) toolUse(p *chat.Part) {
	w.calls = true
	b := &w.b
	b.Open('{')
	b.Key("toolUse")
	b.Open('{')
	b.Key("toolUseId")
	b.Text(toolID(p.ID))
	b.Key("name")
	b.Text(p.Name)
	b.Key("input")
	if p.Args != "" {
		b.Raw(p.Args)
	} else {
		b.Raw("{}")
	}
	b.Close('}')
	b.Close('}')
}

func (w *writer) toolResult(p *chat.Part) {
	w.calls = true
	b := &w.b
	b.Open('{')
	b.Key("toolResult")
	b.Open('{')
	b.Key("toolUseId")
	b.Text(toolID(p.ID))
	b.Key("content")
	b.Open('[')
	for i := range p.Parts {
		inner := p.Parts[i]
		inner.Cache = "" // cache points are not allowed inside a result
		switch inner.Kind {
		case chat.Text, chat.Image, chat.File:
			if writable(&inner, "user") {
				w.block(&inner)
			}
		}
	}
	b.Close(']')
	if p.Failed {
		b.Member("status", `"error"`)
	}
	b.Close('}')
	b.Close('}')
}

// toolID returns the hash of an ID that Converse rejects. Valid IDs stay unchanged. They consist of 1 to 64 letters,
// digits, "_" and "-". A call and its result get the same new ID.
func toolID(id jsontext.Escaped) jsontext.Escaped {
	valid := id != "" && len(id) <= 64
	for i := 0; i < len(id) && valid; i++ {
		valid = idByte(id[i])
	}
	if valid {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return jsontext.Escaped(hex(sum[:16]))
}

func idByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
