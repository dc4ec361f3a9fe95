package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	provider "github.com/postern-ai/postern/core/provider/openai"
)

func messages(p *api.Parser, list gjson.Result) (all []chat.Message) {
	if !list.IsArray() {
		p.WrongType("messages", "an array", list)
		return nil
	}
	count := 0
	list.ForEach(func(_, v gjson.Result) bool {
		if !p.CountElement("messages") {
			return false
		}
		all = append(all, message(p, count, v))
		count++
		return !p.Full()
	})
	if count == 0 {
		p.Wrong("messages", "must not be empty")
	}
	return all
}

var roles = []struct {
	name string
	role chat.Role
}{
	{"system", chat.System}, {"developer", chat.System}, {"user", chat.User}, {"assistant", chat.Assistant},
	{"tool", chat.ToolRole}, {"function", chat.ToolRole},
}

func message(p *api.Parser, index int, v gjson.Result) (m chat.Message) {
	if !v.IsObject() {
		p.WrongType(api.At("messages", index, ""), "an object", v)
		return m
	}
	var content, calls gjson.Result
	var id, reasoning, refusal jsontext.Escaped
	api.Members(v, func(key, raw string) bool {
		switch v := api.Undecoded(raw); key {
		case "role":
			m.Role = role(p, index, gjson.Parse(raw))
		case "content":
			content = v
		case "name":
			m.Name = wireText(v)
		case "tool_calls":
			calls = v
		case "tool_call_id":
			id = p.Text(api.At("messages", index, ".tool_call_id"), v)
		case "reasoning_content", "reasoning":
			reasoning = wireText(v)
		case "refusal":
			refusal = wireText(v)
		}
		return true
	})
	if m.Role == 0 {
		p.Wrong(api.At("messages", index, ".role"), "is required")
		return m
	}
	if reasoning != "" {
		m.Parts = append(m.Parts, chat.Part{Kind: chat.Thinking, Text: reasoning})
	}
	parts := contentParts(p, index, content)
	if refusal != "" {
		parts = append(parts, chat.Part{Kind: chat.Refusal, Text: refusal})
	}
	if m.Role == chat.ToolRole {
		m.Parts = []chat.Part{{Kind: chat.ToolResult, ID: id, Name: m.Name, Parts: parts}}
		return m
	}
	m.Parts = append(m.Parts, parts...)
	if calls.IsArray() {
		calls.ForEach(func(_, call gjson.Result) bool {
			if !p.CountElement("messages") {
				return false
			}
			m.Parts = append(m.Parts, toolCall(call))
			return true
		})
	}
	if len(m.Parts) == 0 && m.Role != chat.Assistant && !content.Exists() {
		p.Wrong(api.At("messages", index, ".content"), "is required")
	}
	return m
}

// toolCall reads a call of a function or a custom tool, {"id","type":"custom","custom":{"name","input"}}.
func toolCall(v gjson.Result) chat.Part {
	part := provider.ToolCall(v)
	if jsonvalue.Get(v.Raw, "custom").IsObject() {
		part.Raw = v.Raw
	}
	return part
}

func role(p *api.Parser, index int, v gjson.Result) chat.Role {
	for _, r := range roles {
		if v.Str == r.name {
			return r.role
		}
	}
	p.WrongValue(api.At("messages", index, ".role"), "system, developer, user, assistant or tool", v)
	return chat.User
}

func wireText(v gjson.Result) jsontext.Escaped {
	if v.Type != gjson.String {
		return ""
	}
	return jsontext.Inside(v.Raw)
}

func contentParts(p *api.Parser, index int, v gjson.Result) (parts []chat.Part) {
	switch {
	case v.Type == gjson.Null:
	case v.Type == gjson.String:
		if text := jsontext.Inside(v.Raw); text != "" {
			parts = []chat.Part{{Kind: chat.Text, Text: text}}
		}
	case v.IsArray():
		count := 0
		v.ForEach(func(_, part gjson.Result) bool {
			if !p.CountElement("messages") {
				return false
			}
			p.Term(CacheTTL, jsonvalue.Get(part.Raw, "prompt_cache_breakpoint.ttl"))
			if c, ok := contentPart(part); ok {
				parts = append(parts, c)
			} else {
				parts = append(parts, api.ForeignPart("messages", jsonvalue.Get(part.Raw, "type")))
				foreignPart(p, api.At("messages", index, api.At(".content", count, "")), part)
			}
			count++
			return !p.Full()
		})
	default:
		p.WrongType(api.At("messages", index, ".content"), "a string or an array of parts", v)
	}
	return parts
}

// foreignPart checks and notes a part whose type chat.Request cannot represent.
func foreignPart(p *api.Parser, field string, part gjson.Result) {
	kind := jsonvalue.Get(part.Raw, "type")
	if kind.Str == "file" {
		p.NoteForeign(field+".file.file_id", jsonvalue.Get(part.Raw, "file.file_id"))
	}
	if !part.IsObject() || kind.Type != gjson.String {
		p.Wrong(field, "must be an object with a string \"type\"")
	}
	p.NoteForeign(field+".type", kind)
}

// contentPart reads a content part. If chat.Request cannot represent the type, it returns false. Targets with this
// dialect still get the part in Members.
func contentPart(v gjson.Result) (c chat.Part, ok bool) {
	switch jsonvalue.String(v.Raw, "type") {
	case "text":
		c = chat.Part{Kind: chat.Text, Text: jsonvalue.Text(v.Raw, "text")}
	case "refusal":
		c = chat.Part{Kind: chat.Refusal, Text: jsonvalue.Text(v.Raw, "refusal")}
	case "image_url":
		c = chat.Part{Kind: chat.Image, Detail: jsonvalue.Text(v.Raw, "image_url.detail")}
		url := jsonvalue.Get(v.Raw, "image_url.url")
		if !url.Exists() {
			url = jsonvalue.Get(v.Raw, "image_url")
		}
		address(&c, wireText(url))
	case "input_audio":
		c = chat.Part{Kind: chat.Audio, Media: jsonvalue.Text(v.Raw, "input_audio.format"), Data: jsonvalue.Text(v.Raw, "input_audio.data")}
	case "file":
		c = chat.Part{Kind: chat.File, Name: jsonvalue.Text(v.Raw, "file.filename")}
		if address(&c, jsonvalue.Text(v.Raw, "file.file_data")); c.URL == "" && c.Data == "" {
			return c, false // a stored file
		}
	default:
		return c, false
	}
	if cache := jsonvalue.Get(v.Raw, "cache_control"); cache.IsObject() {
		c.Cache = cache.Raw
	}
	return c, true
}

// address sets Media and Data from a data URL, or URL from any other URL.
func address(c *chat.Part, url jsontext.Escaped) {
	media, data, ok := strings.Cut(strings.TrimPrefix(string(url), "data:"), ";base64,")
	if !ok || !strings.HasPrefix(string(url), "data:") {
		c.URL = url
		return
	}
	c.Media, c.Data = jsontext.Escaped(media), jsontext.Escaped(data)
}
