// Package openai implements OpenAI's chat completions API for callers: POST /v1/chat/completions. Source: OpenAI's
// API reference, "Create chat completion", "The chat completion object" and "The chat completion chunk object"
// (platform.openai.com/docs/api-reference/chat).
package openai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Family returns the chat completions family.
func Family() api.Family {
	return api.Family{
		Dialect: chat.OpenAI, Members: chat.OpenAI, Parse: Parse, Answer: Answer, Stream: Stream, End: End,
		StreamError: StreamError, Error: Error, Models: &models,
	}
}

const (
	maxChoices = 128
	maxStops   = 16
)

// Parse reads a body. It keeps unknown fields in Extra and Members.
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
		switch {
		case own(p, r, name, v):
			return true
		case name == "messages":
			haveMessages = true
			r.Messages = messages(p, v)
		case !parameter(p, r, name, v):
			r.Extra = append(r.Extra, chat.Member{Name: name, Value: v.Raw})
		}
		out.Members = api.AppendMember(out.Members, key, v)
		return true
	})
	p.Priced(r, "")
	allow(r, jsonvalue.Get(root.Raw, "tool_choice.allowed_tools.tools"))
	if r.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveMessages {
		p.Wrong("messages", "is required")
	}
	out.Aliases = p.Flatten(r)
	return out
}

func allow(r *chat.Request, list gjson.Result) {
	if list.IsArray() {
		Allow(r.Tools, list, func(t gjson.Result) gjson.Result {
			if name := jsonvalue.Get(t.Raw, "function.name"); name.Exists() {
				return name
			}
			return jsonvalue.Get(t.Raw, "custom.name")
		})
	}
}

// own reads a field that Postern writes itself. It returns false for other fields.
func own(p *api.Parser, r *chat.Request, name string, v gjson.Result) bool {
	switch name {
	case "model":
		r.Model = p.Model(v)
	case "stream":
		r.Stream = p.Bool(name, v) == "true"
	case "service_tier":
		p.Term(name, v)
	case "stream_options":
		r.IncludeUsage = jsonvalue.Get(v.Raw, "include_usage").Bool()
	case "max_tokens", "max_completion_tokens":
		if n := p.Integer(name, v, 1, api.MaxTokens); n > 0 {
			r.MaxTokens = n
		}
	default:
		return false
	}
	return true
}

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

// Wire is the wire format of providers that serve this API.
const Wire = "openai"

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
		p.Term(CacheTTL, jsonvalue.Get(v.Raw, "ttl"))
	}
}

// CacheTTL is the field of the term that sets how long a provider caches a prompt.
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
	switch kind := jsonvalue.Get(v.Raw, "type"); kind.Str {
	case "json_object":
		f.Kind = chat.FormatJSON
	case "json_schema":
		s := jsonvalue.Get(v.Raw, "json_schema")
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
	if kind := jsonvalue.Get(v.Raw, "type"); kind.Str != "function" {
		if !v.IsObject() || kind.Str == "" {
			p.WrongType(api.At("tools", index, ".type"), "a non-empty string", kind)
		}
		field := api.At("tools", index, ".type")
		p.Use(Wire, field, chat.ToolName(kind.Str), gjson.Result{})
		return typedTool(p, index, v, kind)
	}
	f := jsonvalue.Get(v.Raw, "function")
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
	if cache := jsonvalue.Get(v.Raw, "cache_control"); cache.IsObject() { // an extension that OpenRouter and others support
		t.Cache = cache.Raw
	}
	return t
}

// typedTool reads a custom tool or a provider tool.
func typedTool(p *api.Parser, index int, v, kind gjson.Result) (t chat.Tool) {
	if kind.Str != "custom" {
		p.NoteOwn(api.At("tools", index, ".type"), kind)
	} else if t = Freeform(jsonvalue.Get(v.Raw, "custom")); t.Name == "" {
		p.Wrong(api.At("tools", index, ".custom.name"), "is required")
	}
	t.Raw = v.Raw
	return t
}

func toolChoice(p *api.Parser, v gjson.Result) chat.ToolChoice {
	if v.Type == gjson.Null {
		return chat.ToolChoice{}
	}
	if name := jsonvalue.Get(v.Raw, "function.name"); jsonvalue.String(v.Raw, "type") == "function" && name.Type == gjson.String {
		return chat.ToolChoice{Choice: chat.ChoiceTool, Name: jsontext.Inside(name.Raw)}
	}
	switch jsonvalue.String(v.Raw, "type") {
	case "custom":
		return chat.ToolChoice{Choice: chat.ChoiceTool, Name: jsonvalue.Text(v.Raw, "custom.name")}
	case "allowed_tools":
		return AllowedMode(jsonvalue.Get(v.Raw, "allowed_tools"))
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
