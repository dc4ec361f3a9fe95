// Package openai is OpenAI's chat completions API for callers: POST /v1/chat/completions.
// Source: OpenAI's API reference, "Create chat completion", "The chat completion object" and "The chat
// completion chunk object" (platform.openai.com/docs/api-reference/chat).
package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	provider "github.com/postern-ai/postern/core/provider/openai"
)

// Family returns the chat completions family.
func Family() api.Family {
	return api.Family{
		Dialect: chat.OpenAI, Members: chat.OpenAI, Parse: Parse, Answer: Answer, Stream: Stream, End: End,
		StreamError: StreamError, Error: Error,
	}
}

const (
	maxChoices = 128
	maxStops   = 16
)

// Parse reads a body. Unknown members are kept in Extra and Members.
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	out := api.Parsed{Request: chat.Request{Dialect: chat.OpenAI}}
	out.Members = make([]byte, 0, len(root.Raw))
	r := &out.Request
	haveMessages := false
	root.ForEach(func(key, v gjson.Result) bool {
		name := key.String()
		if !p.Forwards("openai", name, &out) {
			return true
		}
		switch name {
		case "model":
			r.Model = p.Model(v)
			return true
		case "service_tier":
			p.Term(name, v)
			return true
		case "stream":
			r.Stream = p.Bool(name, v) == "true"
			return true
		case "stream_options":
			r.IncludeUsage = v.Get("include_usage").Bool()
			return true
		case "max_tokens", "max_completion_tokens":
			if n := p.Integer(name, v, 1, api.MaxTokens); n > 0 {
				r.MaxTokens = n
			}
			return true
		case "messages":
			haveMessages = true
			r.Messages = messages(p, v)
		default:
			if !parameter(p, r, name, v) {
				r.Extra = append(r.Extra, chat.Member{Name: name, Value: v.Raw})
			}
		}
		out.Members = api.AppendMember(out.Members, key, v)
		return true
	})
	p.Priced(r, "", 0)
	if r.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveMessages {
		p.Wrong("messages", "is required")
	}
	return out
}

// parameter reads a generation parameter or tool setting. It returns false for an unknown member.
func parameter(p *api.Parser, r *chat.Request, name string, v gjson.Result) bool {
	switch name {
	case "temperature":
		r.Temperature = p.Number(name, v, 0, 2)
	case "top_p":
		r.TopP = p.Number(name, v, 0, 1)
	case "frequency_penalty":
		r.FrequencyPenalty = p.Number(name, v, -2, 2)
	case "presence_penalty":
		r.PresencePenalty = p.Number(name, v, -2, 2)
	case "seed":
		r.Seed = p.Seed(name, v)
	case "n":
		r.N = p.Integer(name, v, 1, maxChoices)
	case "logprobs":
		r.LogProbs = p.Bool(name, v)
	case "top_logprobs":
		r.TopLogProbs = p.Number(name, v, 0, 20)
	case "stop":
		r.Stop = stops(p, v)
	case "user":
		r.User = p.Text(name, v)
	case "tools":
		r.Tools = tools(p, v)
	case "tool_choice":
		r.ToolChoice = toolChoice(p, v)
	case "parallel_tool_calls":
		r.ParallelTools = p.Bool(name, v)
	case "response_format":
		r.Format = format(p, v)
	case "reasoning_effort":
		if v.Type == gjson.String {
			r.Reasoning.Effort = v.Str
		}
	default:
		priced(p, name, v)
		return false
	}
	return true
}

// Wire is the wire of providers that serve this API.
const Wire = "openai"

// priced notes what an extra member changes about the price.
func priced(p *api.Parser, name string, v gjson.Result) {
	switch name {
	case "modalities":
		api.Each(v, func(kind gjson.Result) {
			if kind.Str != "text" {
				p.Term(name, kind)
			}
		})
	case "web_search_options":
		if v.Type != gjson.Null {
			p.Use(Wire, name, name, gjson.Result{})
		}
	case "prompt_cache_options":
		p.Term(CacheTTL, v.Get("ttl"))
	}
}

// CacheTTL is the term for how long a provider keeps a prompt in its cache.
const CacheTTL = "prompt_cache_options.ttl"

func stops(p *api.Parser, v gjson.Result) (stop []jsontext.Escaped) {
	switch {
	case v.Type == gjson.Null:
	case v.Type == gjson.String:
		stop = []jsontext.Escaped{jsontext.Inside(v.Raw)}
	case v.IsArray():
		v.ForEach(func(_, s gjson.Result) bool {
			if len(stop) == maxStops {
				p.Wrong("stop", "must have at most 16 entries")
				return false
			}
			stop = append(stop, p.Text(api.At("stop", len(stop), ""), s))
			return true
		})
	default:
		p.WrongType("stop", "a string or an array of strings", v)
	}
	return stop
}

func format(p *api.Parser, v gjson.Result) (f chat.Format) {
	if v.Type != gjson.Null && !v.IsObject() {
		p.WrongValue("response_format", "an object", v)
		return f
	}
	switch kind := v.Get("type"); kind.Str {
	case "json_object":
		f.Kind = chat.FormatJSON
	case "json_schema":
		s := v.Get("json_schema")
		if !s.IsObject() {
			p.WrongType("response_format.json_schema", "an object", s)
			return f
		}
		f = chat.Format{Kind: chat.FormatSchema}
		s.ForEach(func(key, v gjson.Result) bool {
			switch key.Str {
			case "name":
				f.Name = p.Text("response_format.json_schema.name", v)
			case "description":
				f.Description = p.Text("response_format.json_schema.description", v)
			case "schema":
				f.Schema = p.Object("response_format.json_schema.schema", v)
			case "strict":
				f.Strict = p.Bool("response_format.json_schema.strict", v)
			}
			return true
		})
	case "text":
	default:
		if v.Type != gjson.Null {
			p.WrongValue("response_format.type", "text, json_object or json_schema", kind)
		}
	}
	return f
}

func tools(p *api.Parser, v gjson.Result) (tools []chat.Tool) {
	if v.Type == gjson.Null {
		return nil
	}
	if !v.IsArray() {
		p.WrongType("tools", "an array", v)
		return nil
	}
	v.ForEach(func(_, t gjson.Result) bool {
		tools = append(tools, tool(p, len(tools), t))
		return p.CountElement("tools") && !p.Full()
	})
	return tools
}

func tool(p *api.Parser, index int, v gjson.Result) (t chat.Tool) {
	if kind := v.Get("type"); kind.Str != "function" {
		if !v.IsObject() || kind.Str == "" {
			p.WrongType(api.At("tools", index, ".type"), "a non-empty string", kind)
		}
		field := api.At("tools", index, ".type")
		p.NoteForeign(field, kind)
		p.Use(Wire, field, chat.ToolName(kind.Str), gjson.Result{})
		return chat.Tool{Raw: v.Raw}
	}
	f := v.Get("function")
	f.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "name":
			t.Name = p.Text(api.At("tools", index, ".function.name"), v)
		case "description":
			if v.Type != gjson.Null {
				t.Description = p.Text(api.At("tools", index, ".function.description"), v)
			}
		case "parameters":
			t.Schema = p.Object(api.At("tools", index, ".function.parameters"), v)
		case "strict":
			t.Strict = p.Bool(api.At("tools", index, ".function.strict"), v)
		}
		return true
	})
	if t.Name == "" {
		p.Wrong(api.At("tools", index, ".function.name"), "is required")
	}
	if cache := v.Get("cache_control"); cache.IsObject() { // an extension that OpenRouter and others support
		t.Cache = cache.Raw
	}
	return t
}

func toolChoice(p *api.Parser, v gjson.Result) chat.ToolChoice {
	if v.Type == gjson.Null {
		return chat.ToolChoice{}
	}
	if name := v.Get("function.name"); v.Get("type").Str == "function" && name.Type == gjson.String {
		return chat.ToolChoice{Choice: chat.ChoiceTool, Name: jsontext.Inside(name.Raw)}
	}
	if v.Type == gjson.String {
		switch v.Str {
		case "auto":
			return chat.ToolChoice{Choice: chat.ChoiceAuto}
		case "none":
			return chat.ToolChoice{Choice: chat.ChoiceNone}
		case "required", "any":
			return chat.ToolChoice{Choice: chat.ChoiceAny}
		}
	}
	if !v.IsObject() {
		p.WrongValue("tool_choice", "auto, none, required or a function", v)
	}
	return chat.ToolChoice{}
}

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
			m.Parts = append(m.Parts, provider.ToolCall(call))
			return true
		})
	}
	if len(m.Parts) == 0 && m.Role != chat.Assistant && !content.Exists() {
		p.Wrong(api.At("messages", index, ".content"), "is required")
	}
	return m
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
			p.Term(CacheTTL, part.Get("prompt_cache_breakpoint.ttl"))
			if c, ok := contentPart(part); ok {
				parts = append(parts, c)
			} else {
				parts = append(parts, chat.Part{Kind: chat.Foreign})
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

// foreignPart checks and notes a part of a type that chat.Request cannot represent.
func foreignPart(p *api.Parser, field string, part gjson.Result) {
	kind := part.Get("type")
	if !part.IsObject() || kind.Type != gjson.String {
		p.Wrong(field, "must be an object with a string \"type\"")
	}
	p.NoteForeign(field+".type", kind)
}

// contentPart reads a content part. It returns false for types that chat.Request cannot represent; targets of
// this dialect still get them, in Members.
func contentPart(v gjson.Result) (c chat.Part, ok bool) {
	switch v.Get("type").Str {
	case "text":
		c = chat.Part{Kind: chat.Text, Text: wireText(v.Get("text"))}
	case "refusal":
		c = chat.Part{Kind: chat.Refusal, Text: wireText(v.Get("refusal"))}
	case "image_url":
		c = chat.Part{Kind: chat.Image, Detail: wireText(v.Get("image_url.detail"))}
		url := v.Get("image_url.url")
		if !url.Exists() {
			url = v.Get("image_url")
		}
		address(&c, wireText(url))
	case "input_audio":
		c = chat.Part{Kind: chat.Audio, Media: wireText(v.Get("input_audio.format")), Data: wireText(v.Get("input_audio.data"))}
	case "file":
		c = chat.Part{Kind: chat.File, Name: wireText(v.Get("file.filename"))}
		address(&c, wireText(v.Get("file.file_data")))
	default:
		return c, false
	}
	if cache := v.Get("cache_control"); cache.IsObject() {
		c.Cache = cache.Raw
	}
	return c, true
}

// address sets Media and Data from a data URL, or URL from any other.
func address(c *chat.Part, url jsontext.Escaped) {
	media, data, ok := strings.Cut(strings.TrimPrefix(string(url), "data:"), ";base64,")
	if !ok || !strings.HasPrefix(string(url), "data:") {
		c.URL = url
		return
	}
	c.Media, c.Data = jsontext.Escaped(media), jsontext.Escaped(data)
}
