// Package responses is OpenAI's Responses API for callers: POST /v1/responses. It is stateless: responses are
// not stored, and requests cannot refer to stored items.
// Source: OpenAI's API reference, "Create a model response", "The response object" and "Streaming events"
// (platform.openai.com/docs/api-reference/responses), and the types of its SDK, openai 7.55.
package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	openaiwire "github.com/postern-ai/postern/core/provider/openai"
	wire "github.com/postern-ai/postern/core/provider/responses"
)

// Family returns the Responses family.
func Family() api.Family {
	return api.Family{
		Dialect: chat.Responses, Members: chat.Responses, Parse: Parse, Answer: Answer, Stream: Stream, End: End, NeedsWhole: true,
		StreamError: StreamError, Error: Error,
	}
}

// stateful are the members that refer to stored state.
var stateful = []string{"previous_response_id", "conversation", "prompt"}

// Parse reads a body. Unknown members are kept in Extra and Members.
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	out := api.Parsed{Request: chat.Request{Dialect: chat.Responses}}
	out.Members = make([]byte, 0, len(root.Raw))
	r := &out.Request
	haveInput := false
	var instructions jsontext.Escaped
	root.ForEach(func(key, v gjson.Result) bool {
		name := key.String()
		if !p.Forwards("responses", name, &out) {
			return true
		}
		if own(p, r, name, v) {
			return !p.Full()
		}
		switch name {
		case "instructions":
			if v.Type != gjson.Null {
				instructions = p.Text(name, v)
			}
		case "input":
			haveInput = true
			r.Messages = input(p, v)
		default:
			refuseState(p, name, v)
			if !parameter(p, r, name, v) {
				r.Extra = append(r.Extra, chat.Member{Name: name, Value: v.Raw})
			}
		}
		out.Members = api.AppendMember(out.Members, key, v)
		return !p.Full()
	})
	p.Priced(r, wireName)
	if instructions != "" {
		words := chat.Message{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: instructions}}}
		r.Messages = append([]chat.Message{words}, r.Messages...)
	}
	if r.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveInput {
		p.Wrong("input", "is required")
	}
	return out
}

// own reads a member that Postern writes itself. It returns false for the others.
func own(p *api.Parser, r *chat.Request, name string, v gjson.Result) bool {
	switch name {
	case "model":
		r.Model = p.Model(v)
	case "stream":
		r.Stream = p.Bool(name, v) == "true"
	case "service_tier":
		p.Term(name, v)
	case "max_output_tokens":
		r.MaxTokens = p.Integer(name, v, 1, api.MaxTokens)
	case "max_tool_calls":
		r.MaxToolCalls = p.Integer(name, v, 1, maxToolCalls)
	default:
		return name == "store"
	}
	return true
}

// refuseState refuses members that need stored responses.
func refuseState(p *api.Parser, name string, v gjson.Result) {
	if name == "background" && p.Bool(name, v) == "true" {
		p.Wrong(name, "is not supported: responses are not stored; omit it or send false")
	}
	for _, s := range stateful {
		if name == s && v.Type != gjson.Null {
			p.Wrong(name, "is not supported: responses are not stored; "+api.StoreNothing)
		}
	}
}

// parameter reads a generation parameter or tool setting. It returns false for members that only a target of
// this dialect can use.
func parameter(p *api.Parser, r *chat.Request, name string, v gjson.Result) bool {
	switch name {
	case "temperature":
		r.Temperature = p.Number(name, v, 0, 2)
	case "top_p":
		r.TopP = p.Number(name, v, 0, 1)
	case "top_logprobs":
		if r.TopLogProbs = p.Number(name, v, 0, 20); v.Num > 0 {
			r.LogProbs = "true"
		}
	case "user":
		if v.Type != gjson.Null {
			r.User = p.Text(name, v)
		}
	case "parallel_tool_calls":
		r.ParallelTools = p.Bool(name, v)
	case "tools":
		r.Tools = tools(p, v)
	case "tool_choice":
		r.ToolChoice = toolChoice(p, v)
	case "text":
		r.Format = format(p, jsonvalue.Get(v.Raw, "format"))
	case "reasoning":
		r.Reasoning.Effort = jsonvalue.Get(v.Raw, "effort").Str
		summary := jsonvalue.Get(v.Raw, "summary").Str
		r.Reasoning.Visible = summary != "" && summary != "none"
	case "prompt_cache_options":
		p.Term(openai.CacheTTL, jsonvalue.Get(v.Raw, "ttl"))
		return v.Type == gjson.Null
	case "context_management":
		r.Compacts = jsonvalue.Get(v.Raw, "0").Exists()
		return v.Type == gjson.Null
	case "include", "truncation", "metadata", "prompt_cache_key", "safety_identifier":
		// No other dialect has an equivalent. For other dialects, include is dropped without a warning.
		return v.Type == gjson.Null || name == "include"
	default:
		return v.Type == gjson.Null
	}
	return true
}

func format(p *api.Parser, v gjson.Result) (f chat.Format) {
	switch kind := jsonvalue.Get(v.Raw, "type"); kind.Str {
	case "json_object":
		f.Kind = chat.FormatJSON
	case "json_schema":
		f = chat.Format{Kind: chat.FormatSchema, Name: inside(jsonvalue.Get(v.Raw, "name")), Description: inside(jsonvalue.Get(v.Raw, "description"))}
		f.Schema = p.Object("text.format.schema", jsonvalue.Get(v.Raw, "schema"))
		f.Strict = p.Bool("text.format.strict", jsonvalue.Get(v.Raw, "strict"))
	case "", "text":
	default:
		p.WrongValue("text.format.type", "text, json_object or json_schema", kind)
	}
	return f
}

func inside(v gjson.Result) jsontext.Escaped {
	if v.Type != gjson.String {
		return ""
	}
	return jsontext.Inside(v.Raw)
}

func tools(p *api.Parser, v gjson.Result) (all []chat.Tool) {
	if v.Type == gjson.Null {
		return nil
	}
	if !v.IsArray() {
		p.WrongType("tools", "an array", v)
		return nil
	}
	v.ForEach(func(_, t gjson.Result) bool {
		if !p.CountElement("tools") {
			return false
		}
		if kind := jsonvalue.Get(t.Raw, "type"); kind.Str != "function" {
			p.NoteForeign(api.At("tools", len(all), ".type"), kind)
			use(p, api.At("tools", len(all), ""), t)
			all = append(all, chat.Tool{Raw: t.Raw})
			return true
		}
		tool := chat.Tool{Name: inside(jsonvalue.Get(t.Raw, "name")), Description: inside(jsonvalue.Get(t.Raw, "description"))}
		if tool.Name == "" {
			p.Wrong(api.At("tools", len(all), ".name"), "is required")
		}
		tool.Schema = p.Object(api.At("tools", len(all), ".parameters"), jsonvalue.Get(t.Raw, "parameters"))
		tool.Strict = p.Bool(api.At("tools", len(all), ".strict"), jsonvalue.Get(t.Raw, "strict"))
		all = append(all, tool)
		return !p.Full()
	})
	return all
}

func toolChoice(p *api.Parser, v gjson.Result) chat.ToolChoice {
	if name := jsonvalue.Get(v.Raw, "name"); v.IsObject() && jsonvalue.Get(v.Raw, "type").Str == "function" && name.Type == gjson.String {
		return chat.ToolChoice{Choice: chat.ChoiceTool, Name: inside(name)}
	}
	switch {
	case v.Type == gjson.Null || v.IsObject():
	case v.Str == "auto":
		return chat.ToolChoice{Choice: chat.ChoiceAuto}
	case v.Str == "none":
		return chat.ToolChoice{Choice: chat.ChoiceNone}
	case v.Str == "required":
		return chat.ToolChoice{Choice: chat.ChoiceAny}
	default:
		p.WrongValue("tool_choice", "auto, none, required or a tool", v)
	}
	return chat.ToolChoice{}
}

// input reads a string or a list of items.
func input(p *api.Parser, v gjson.Result) (messages []chat.Message) {
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
		role, parts := readItem(p, index, item)
		index++
		// Consecutive assistant items are one message.
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

func readItem(p *api.Parser, index int, v gjson.Result) (chat.Role, []chat.Part) {
	kind := jsonvalue.Get(v.Raw, "type").Str
	switch {
	case !v.IsObject():
		p.WrongType(api.At("input", index, ""), "an object", v)
	case kind == "message" || kind == "" && jsonvalue.Get(v.Raw, "role").Exists():
		return message(p, index, v)
	case kind == "function_call":
		return chat.Assistant, []chat.Part{{
			Kind: chat.ToolCall, ID: p.Text(api.At("input", index, ".call_id"), jsonvalue.Get(v.Raw, "call_id")), Name: inside(jsonvalue.Get(v.Raw, "name")),
			Args: openaiwire.Arguments(jsonvalue.Get(v.Raw, "arguments")),
		}}
	case kind == "function_call_output":
		return chat.ToolRole, []chat.Part{{
			Kind: chat.ToolResult, ID: p.Text(api.At("input", index, ".call_id"), jsonvalue.Get(v.Raw, "call_id")),
			Parts: content(p, api.At("input", index, ".output"), jsonvalue.Get(v.Raw, "output")),
		}}
	case kind == "reasoning":
		return chat.Assistant, reasoning(v)
	case kind == "item_reference":
		p.Wrong(api.At("input", index, ""), "is an item_reference, which is not supported: items are not stored; send the item itself")
	}
	p.NoteForeign(api.At("input", index, ".type"), jsonvalue.Get(v.Raw, "type"))
	uses(p, api.At("input", index, ""), v)
	return chat.Assistant, []chat.Part{{Kind: chat.Foreign}}
}

func reasoning(v gjson.Result) []chat.Part {
	part := chat.Part{Kind: chat.Thinking}
	if summary := jsonvalue.Get(v.Raw, "summary"); summary.IsArray() {
		summary.ForEach(func(_, s gjson.Result) bool {
			part.Text += inside(jsonvalue.Get(s.Raw, "text"))
			return true
		})
	}
	if encrypted := inside(jsonvalue.Get(v.Raw, "encrypted_content")); encrypted != "" {
		part.Signature = wire.Mark + encrypted
	}
	return []chat.Part{part}
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
	switch jsonvalue.Get(v.Raw, "type").Str {
	case "input_text", "output_text", "text":
		return chat.Part{Kind: chat.Text, Text: inside(jsonvalue.Get(v.Raw, "text"))}
	case "refusal":
		return chat.Part{Kind: chat.Refusal, Text: inside(jsonvalue.Get(v.Raw, "refusal"))}
	case "input_image":
		p = chat.Part{Kind: chat.Image, Detail: inside(jsonvalue.Get(v.Raw, "detail"))}
		address(&p, inside(jsonvalue.Get(v.Raw, "image_url")))
	case "input_file":
		p = chat.Part{Kind: chat.File, Name: inside(jsonvalue.Get(v.Raw, "filename")), URL: inside(jsonvalue.Get(v.Raw, "file_url"))}
		if data := inside(jsonvalue.Get(v.Raw, "file_data")); data != "" {
			address(&p, data)
		}
	}
	if p.URL == "" && p.Data == "" {
		return chat.Part{Kind: chat.Foreign} // a stored file or an unknown type
	}
	return p
}

// address sets Media and Data from a data URL, or URL from any other.
func address(p *chat.Part, url jsontext.Escaped) {
	media, data, ok := strings.Cut(strings.TrimPrefix(string(url), "data:"), ";base64,")
	if !ok || !strings.HasPrefix(string(url), "data:") {
		p.URL = url
		return
	}
	p.Media, p.Data = jsontext.Escaped(media), jsontext.Escaped(data)
}
