package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

func (r *reader) messages(v gjson.Result) {
	if !v.IsArray() {
		r.WrongType("messages", "an array", v)
		return
	}
	i := 0
	v.ForEach(func(_, m gjson.Result) bool {
		r.message(place{message: i, block: -1, inner: -1}, m)
		i++
		return r.CountElement("messages") && !r.Full()
	})
	if i == 0 {
		r.Wrong("messages", "must not be empty")
	}
}

func (r *reader) message(at place, v gjson.Result) {
	if !v.IsObject() {
		r.WrongType(at.name(""), "an object", v)
		return
	}
	m := chat.Message{}
	var role, content gjson.Result
	api.Members(v, func(key, raw string) bool {
		switch key {
		case "role":
			role = gjson.Parse(raw)
		case "content":
			content = api.Undecoded(raw)
		}
		return true
	})
	switch role.Str {
	case "user":
		m.Role = chat.User
	case "assistant":
		m.Role = chat.Assistant
	case "system": // allowed after a user message since Claude 4.8
		m.Role = chat.System
	default:
		r.WrongValue(at.name(".role"), "user, assistant or system", role)
		return
	}
	m.Parts = r.content(at, content, m.Role)
	r.out.Request.Messages = append(r.out.Request.Messages, m)
}

// content reads the content of a message, of the system prompt or of a tool result. Content is a string or an array
// of blocks.
func (r *reader) content(at place, v gjson.Result, role chat.Role) []chat.Part {
	if v.Type == gjson.String {
		return []chat.Part{{Kind: chat.Text, Text: jsontext.Inside(v.Raw)}}
	}
	if !v.IsArray() {
		field := ".content"
		if at.message == inSystem {
			field = ""
		}
		r.WrongType(at.name(field), "a string or an array of blocks", v)
		return nil
	}
	var parts []chat.Part
	i := 0
	v.ForEach(func(_, b gjson.Result) bool {
		here := at
		if at.block < 0 {
			here.block = i
		} else {
			here.inner = i
		}
		if !r.CountElement("messages") {
			return false
		}
		part := r.block(here, b, role)
		if part.Kind == 0 {
			part = r.foreign(here, b, role)
		}
		parts = append(parts, part)
		i++
		return !r.Full()
	})
	return parts
}

func (r *reader) foreign(at place, v gjson.Result, role chat.Role) chat.Part {
	api.Each(jsonvalue.Get(v.Raw, "tools"), func(t gjson.Result) { r.declared(at.name(".tools"), t) })
	if part, ok := ownBlock(v, role); ok {
		if part.Kind == chat.Own {
			r.NoteOwn(at.name(".type"), jsonvalue.Get(v.Raw, "type"))
		}
		return part
	}
	r.noteForeign(at, v)
	return api.ForeignPart("messages", jsonvalue.Get(v.Raw, "type"))
}

func (r *reader) noteForeign(at place, v gjson.Result) {
	kind := jsonvalue.Get(v.Raw, "type")
	if source := jsonvalue.Get(v.Raw, "source.type"); source.Exists() && (kind.Str == "image" || kind.Str == "document") {
		r.NoteForeign(at.name(".source.type"), source)
		return
	}
	r.NoteForeign(at.name(".type"), kind)
}

// fields contains the fields of all block types. Each block uses only those of its type.
type fields struct {
	kind, text, source, title, cache, id, name, input, result, content, failed, thinking, signature, data gjson.Result
}

func fieldsOf(v gjson.Result) (f fields) {
	api.Members(v, func(key, raw string) bool {
		switch value := api.Undecoded(raw); key {
		case "type":
			f.kind = gjson.Parse(raw)
		case "text":
			f.text = value
		case "source":
			f.source = value
		case "title":
			f.title = value
		case "cache_control":
			f.cache = value
		case "id":
			f.id = value
		case "name":
			f.name = value
		case "input":
			f.input = value
		case "tool_use_id":
			f.result = value
		case "content":
			f.content = value
		case "is_error":
			f.failed = value
		case "thinking":
			f.thinking = value
		case "signature":
			f.signature = value
		case "data":
			f.data = value
		}
		return true
	})
	return f
}

// block reads a block. If chat.Request cannot represent its type, the part's kind is 0.
func (r *reader) block(at place, v gjson.Result, role chat.Role) (p chat.Part) {
	if !v.IsObject() {
		r.WrongType(at.name(""), "an object", v)
		return p
	}
	f := fieldsOf(v)
	if f.kind.Type != gjson.String || f.kind.Str == "" {
		r.WrongType(at.name(".type"), "a non-empty string", f.kind)
		return p
	}
	if !r.allowed(at, f.kind.Str, role) {
		return p
	}
	switch f.kind.Str {
	case "text":
		p = chat.Part{Kind: chat.Text, Text: r.text(at, ".text", f.text)}
	case "image":
		p = r.source(at, f.source, chat.Image)
	case "document":
		if p = r.source(at, f.source, chat.File); p.Kind != 0 {
			p.Name = r.optionalText(at, ".title", f.title)
		}
	case "tool_use":
		p = r.toolUse(at, &f)
	case "tool_result":
		p = r.toolResult(at, &f, role)
	case "thinking":
		p = chat.Part{Kind: chat.Thinking, Text: r.text(at, ".thinking", f.thinking), Signature: r.optionalText(at, ".signature", f.signature)}
	case "redacted_thinking":
		p = chat.Part{Kind: chat.Redacted, Data: r.text(at, ".data", f.data)}
	}
	if f.cache.Exists() && f.cache.Type != gjson.Null {
		p.Cache = r.object(at, ".cache_control", f.cache)
	}
	return p
}

func (r *reader) allowed(at place, kind string, role chat.Role) bool {
	problem := ""
	switch kind {
	case "tool_use", "thinking", "redacted_thinking":
		if role != chat.Assistant || at.inner >= 0 {
			problem = `"` + kind + `" is allowed only in assistant messages`
		}
	case "tool_result":
		if role != chat.User || at.inner >= 0 {
			problem = `"tool_result" is allowed only in user messages, and not inside another tool_result`
		}
	case "image", "document":
		if role == chat.System {
			problem = `must be "text" in a system prompt, got "` + kind + `"`
		}
	}
	if problem != "" {
		r.Wrong(at.name(".type"), problem)
	}
	return problem == ""
}

func (r *reader) toolUse(at place, f *fields) chat.Part {
	return chat.Part{
		Kind: chat.ToolCall, ID: r.requiredText(at, ".id", f.id), Name: r.requiredText(at, ".name", f.name), Args: r.object(at, ".input", f.input),
	}
}

func (r *reader) toolResult(at place, f *fields, role chat.Role) chat.Part {
	p := chat.Part{Kind: chat.ToolResult, ID: r.requiredText(at, ".tool_use_id", f.result)}
	if f.content.Exists() && f.content.Type != gjson.Null {
		p.Parts = r.content(at, f.content, role)
	}
	switch f.failed.Type {
	case gjson.True:
		p.Failed = true
	case gjson.False, gjson.Null:
	default:
		r.WrongValue(at.name(".is_error"), "true or false", f.failed)
	}
	return p
}

// source reads {"type":"base64","media_type","data"}, {"type":"url","url"} or, for documents,
// {"type":"text","media_type":"text/plain","data"}. chat.Request cannot represent other sources (file, content): for
// them, the part's kind is 0.
func (r *reader) source(at place, v gjson.Result, kind chat.PartKind) (p chat.Part) {
	if r.object(at, ".source", v) == "" {
		return p
	}
	switch from := jsonvalue.Get(v.Raw, "type"); {
	case from.Type != gjson.String:
		r.WrongType(at.name(".source.type"), "a string", from)
	case from.Str == "base64":
		p = chat.Part{Kind: kind, Media: r.requiredText(at, ".source.media_type", jsonvalue.Get(v.Raw, "media_type")), Data: r.requiredText(at, ".source.data", jsonvalue.Get(v.Raw, "data"))}
	case from.Str == "url":
		p = chat.Part{Kind: kind, URL: r.requiredText(at, ".source.url", jsonvalue.Get(v.Raw, "url"))}
	case from.Str == "text" && kind == chat.File:
		plain := r.text(at, ".source.data", jsonvalue.Get(v.Raw, "data")).Plain()
		p = chat.Part{Kind: kind, Media: "text/plain", Data: jsontext.Escaped(appendBase64(nil, plain))}
	}
	return p
}

func (r *reader) text(at place, rest string, v gjson.Result) jsontext.Escaped {
	if v.Type != gjson.String {
		r.WrongType(at.name(rest), "a string", v)
		return ""
	}
	return jsontext.Inside(v.Raw)
}

func (r *reader) requiredText(at place, rest string, v gjson.Result) jsontext.Escaped {
	text := jsontext.Inside(v.Raw)
	if v.Type != gjson.String || text == "" {
		r.WrongType(at.name(rest), "a non-empty string", v)
		return ""
	}
	return text
}

func (r *reader) optionalText(at place, rest string, v gjson.Result) jsontext.Escaped {
	if v.Type == gjson.Null {
		return ""
	}
	return r.text(at, rest, v)
}

func (r *reader) object(at place, rest string, v gjson.Result) string {
	if !v.IsObject() {
		r.WrongType(at.name(rest), "an object", v)
		return ""
	}
	return v.Raw
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// appendBase64 appends standard base64 with padding (RFC 4648, section 4).
func appendBase64(dst []byte, s string) []byte {
	for ; len(s) >= 3; s = s[3:] {
		n := uint(s[0])<<16 | uint(s[1])<<8 | uint(s[2])
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], alphabet[n>>6&63], alphabet[n&63])
	}
	switch len(s) {
	case 1:
		n := uint(s[0]) << 16
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], '=', '=')
	case 2:
		n := uint(s[0])<<16 | uint(s[1])<<8
		dst = append(dst, alphabet[n>>18], alphabet[n>>12&63], alphabet[n>>6&63], '=')
	}
	return dst
}
