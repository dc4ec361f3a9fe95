package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	wire "github.com/postern-ai/postern/core/provider/responses"
)

type reader struct {
	*api.Parser
	tools toolReader // the tools that items add
}

func (p *reader) input(v gjson.Result) (messages []chat.Message) {
	switch {
	case v.Type == gjson.String:
		return []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: inside(v)}}}}
	case !v.IsArray():
		p.WrongType("input", "a string or an array of items", v)
		return nil
	}
	index := 0
	v.ForEach(func(_, item gjson.Result) bool {
		if !p.CountElement("input") {
			return false
		}
		role, parts := p.item(index, item)
		index++
		if role == 0 { // an item that is not a message
			return !p.Full()
		}
		// Consecutive assistant items become one message.
		if n := len(messages); n > 0 && role == chat.Assistant && messages[n-1].Role == chat.Assistant {
			messages[n-1].Parts = append(messages[n-1].Parts, parts...)
		} else {
			messages = append(messages, chat.Message{Role: role, Parts: parts})
		}
		return !p.Full()
	})
	if index == 0 {
		p.Wrong("input", "must not be empty")
	}
	return messages
}

func (p *reader) item(index int, v gjson.Result) (chat.Role, []chat.Part) {
	kind := jsonvalue.String(v.Raw, "type")
	switch {
	case !v.IsObject():
		p.WrongType(api.At("input", index, ""), "an object", v)
	case kind == "message" || kind == "" && jsonvalue.Get(v.Raw, "role").Exists():
		return message(p.Parser, index, v)
	case kind == "reasoning":
		return chat.Assistant, reasoning(v)
	case kind == "item_reference":
		p.Wrong(api.At("input", index, ""), "is an item_reference, which is not supported: items are not stored; send the item itself")
	}
	field := api.At("input", index, "")
	if kind != "mcp_list_tools" { // only lists a server's tools
		p.tools.list(field+".tools", jsonvalue.Get(v.Raw, "tools"), "")
	}
	if kind == "additional_tools" {
		return 0, nil
	}
	for i := range clients {
		switch c := &clients[i]; kind {
		case c.call:
			return chat.Assistant, []chat.Part{p.call(field, v)}
		case c.result:
			return chat.ToolRole, []chat.Part{p.result(field, c, v)}
		}
	}
	p.NoteOwn(field+".type", jsonvalue.Get(v.Raw, "type"))
	return chat.Assistant, []chat.Part{{Kind: chat.Own, Name: "input." + jsonvalue.Text(v.Raw, "type")}}
}

// call reads a tool call. The result calls the function that replaces the tool.
func (p *reader) call(field string, v gjson.Result) chat.Part {
	part, _ := wire.Call(v)
	part.ID = p.Text(field+".call_id", wire.CallID(v))
	return part
}

// result reads the output of a tool call. If the output is neither a string nor a list of parts, its JSON is kept.
func (p *reader) result(field string, c *client, v gjson.Result) chat.Part {
	part := chat.Part{Kind: chat.ToolResult, ID: p.Text(field+".call_id", wire.CallID(v))}
	output, name := jsonvalue.Get(v.Raw, "output"), ".output"
	switch c.kind {
	case chat.Shell, chat.ToolSearch:
		if c.kind == chat.ToolSearch {
			output = jsonvalue.Get(v.Raw, "tools")
		}
		part.Parts = []chat.Part{{Kind: chat.Text, Text: jsontext.Escape(output.Raw)}}
	case chat.ApplyPatch:
		status := jsonvalue.Text(v.Raw, "status")
		if part.Failed = status == "failed"; output.Type == gjson.String {
			status = inside(output)
		}
		part.Parts = []chat.Part{{Kind: chat.Text, Text: status}}
	default:
		part.Parts = content(p.Parser, field+name, output)
	}
	return part
}

// These prefixes of encrypted_content mark thinking signed by other providers. OpenAI's values have no colon.
const (
	signedMark   = "anthropic:"
	redactedMark = "anthropic-redacted:"
)

func reasoning(v gjson.Result) []chat.Part {
	part := chat.Part{Kind: chat.Thinking}
	api.Each(jsonvalue.Get(v.Raw, "summary"), func(s gjson.Result) {
		part.Text += jsonvalue.Text(s.Raw, "text")
	})
	if part.Text == "" {
		api.Each(jsonvalue.Get(v.Raw, "content"), func(s gjson.Result) {
			part.Text += jsonvalue.Text(s.Raw, "text")
		})
	}
	encrypted := string(jsonvalue.Text(v.Raw, "encrypted_content"))
	signed, isSigned := strings.CutPrefix(encrypted, signedMark)
	redacted, isRedacted := strings.CutPrefix(encrypted, redactedMark)
	switch {
	case encrypted == "":
	case isSigned:
		part.Signature = jsontext.Escaped(signed)
	case isRedacted:
		part = chat.Part{Kind: chat.Redacted, Data: jsontext.Escaped(redacted)}
	case strings.Contains(encrypted, ":"):
		part.Signature = jsontext.Escaped(encrypted)
	default:
		part.Signature = jsontext.Escaped(wire.Mark + encrypted)
	}
	return []chat.Part{part}
}

// encrypted returns an encrypted_content that reasoning can read back.
func encrypted(p *chat.Part) jsontext.Escaped {
	own, isOpenAI := strings.CutPrefix(string(p.Signature), wire.Mark)
	switch {
	case p.Kind == chat.Redacted:
		return redactedMark + p.Data
	case isOpenAI:
		return jsontext.Escaped(own)
	case p.Signature == "" || strings.Contains(string(p.Signature), ":"):
		return p.Signature
	}
	return signedMark + p.Signature
}

func message(p *api.Parser, index int, v gjson.Result) (role chat.Role, parts []chat.Part) {
	switch name := jsonvalue.Get(v.Raw, "role"); name.Str {
	case "user":
		role = chat.User
	case "assistant":
		role = chat.Assistant
	case "system", "developer":
		role = chat.System
	default:
		p.WrongValue(api.At("input", index, ".role"), "user, assistant, system or developer", name)
	}
	return role, content(p, api.At("input", index, ".content"), jsonvalue.Get(v.Raw, "content"))
}

func content(p *api.Parser, field string, v gjson.Result) (parts []chat.Part) {
	switch {
	case v.Type == gjson.String:
		return []chat.Part{{Kind: chat.Text, Text: inside(v)}}
	case !v.IsArray():
		p.WrongType(field, "a string or an array of parts", v)
		return nil
	}
	v.ForEach(func(_, c gjson.Result) bool {
		p.Term(openai.CacheTTL, jsonvalue.Get(c.Raw, "prompt_cache_breakpoint.ttl"))
		read := part(c)
		if read.Kind == chat.Foreign {
			notePart(p, api.At(field, len(parts), ""), c)
		}
		parts = append(parts, read)
		return p.CountElement("input")
	})
	return parts
}

// notePart notes a part of an unknown type, or a stored file or image.
func notePart(p *api.Parser, field string, v gjson.Result) {
	if id := jsonvalue.Get(v.Raw, "file_id"); id.Exists() {
		p.NoteForeign(field+".file_id", id)
		return
	}
	p.NoteForeign(field+".type", jsonvalue.Get(v.Raw, "type"))
}

func part(v gjson.Result) (p chat.Part) {
	switch jsonvalue.String(v.Raw, "type") {
	case "input_text", "output_text", "text":
		return chat.Part{Kind: chat.Text, Text: jsonvalue.Text(v.Raw, "text")}
	case "refusal":
		return chat.Part{Kind: chat.Refusal, Text: jsonvalue.Text(v.Raw, "refusal")}
	case "input_image":
		p = chat.Part{Kind: chat.Image, Detail: jsonvalue.Text(v.Raw, "detail")}
		address(&p, jsonvalue.Text(v.Raw, "image_url"))
	case "input_file":
		p = chat.Part{Kind: chat.File, Name: jsonvalue.Text(v.Raw, "filename"), URL: jsonvalue.Text(v.Raw, "file_url")}
		if data := jsonvalue.Text(v.Raw, "file_data"); data != "" {
			address(&p, data)
		}
	}
	if p.URL == "" && p.Data == "" {
		return api.ForeignPart("input", jsonvalue.Get(v.Raw, "type")) // a stored file or an unknown type
	}
	return p
}

// address sets Media and Data from a data URL, or URL from any other URL.
func address(p *chat.Part, url jsontext.Escaped) {
	media, data, ok := strings.Cut(strings.TrimPrefix(string(url), "data:"), ";base64,")
	if !ok || !strings.HasPrefix(string(url), "data:") {
		p.URL = url
		return
	}
	p.Media, p.Data = jsontext.Escaped(media), jsontext.Escaped(data)
}
