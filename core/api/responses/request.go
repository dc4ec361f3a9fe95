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
	items := reader{Parser: p, tools: toolReader{Parser: p}}
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
			r.Messages = items.input(v)
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
	r.Tools = append(r.Tools, items.tools.all...)
	if choice := jsonvalue.Get(root.Raw, "tool_choice"); jsonvalue.Get(choice.Raw, "type").Str == "allowed_tools" {
		openai.Allow(r.Tools, jsonvalue.Get(choice.Raw, "tools"), func(t gjson.Result) gjson.Result { return jsonvalue.Get(t.Raw, "name") })
	}
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
	if !p.Native {
		out.Aliases = r.Flatten()
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
		if verbosity := jsonvalue.Get(v.Raw, "verbosity"); verbosity.Type != gjson.Null {
			r.Extra = append(r.Extra, chat.Member{Name: chat.Verbosity, Value: verbosity.Raw})
		}
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
	case "include":
		return includesThinking(v)
	default:
		return v.Type == gjson.Null
	}
	return true
}

// includesThinking reports whether include asks for nothing but what other dialects return by themselves, or by a parameter: encrypted reasoning, of
// which all that have it send it, and log probabilities, which top_logprobs asks for.
func includesThinking(v gjson.Result) (only bool) {
	only = true
	api.Each(v, func(name gjson.Result) {
		only = only && (name.Str == "reasoning.encrypted_content" || name.Str == "message.output_text.logprobs")
	})
	return only
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

func tools(p *api.Parser, v gjson.Result) []chat.Tool {
	if v.Type != gjson.Null && !v.IsArray() {
		p.WrongType("tools", "an array", v)
		return nil
	}
	r := toolReader{Parser: p}
	r.list("tools", v, "")
	return r.all
}

// reader reads the items of a conversation.
type reader struct {
	*api.Parser
	tools toolReader // that items add
}

// input reads a string or a list of items.
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
		if role == 0 { // an item that is no message
			return !p.Full()
		}
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

func (p *reader) item(index int, v gjson.Result) (chat.Role, []chat.Part) {
	kind := jsonvalue.Get(v.Raw, "type").Str
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
	if kind != "mcp_list_tools" { // it lists a server's tools, and declares none
		p.tools.list(field+".tools", jsonvalue.Get(v.Raw, "tools"), "")
	}
	if kind == "additional_tools" {
		return 0, nil
	}
	for i := range clients {
		switch c := &clients[i]; kind {
		case c.call:
			return chat.Assistant, []chat.Part{p.call(field, c, v)}
		case c.result:
			return chat.ToolRole, []chat.Part{p.result(field, c, v)}
		}
	}
	p.NoteOwn(field+".type", jsonvalue.Get(v.Raw, "type"))
	return chat.Assistant, []chat.Part{{Kind: chat.Own, Name: "input." + inside(jsonvalue.Get(v.Raw, "type"))}}
}

// call reads a tool call as one of the function that stands for the tool.
func (p *reader) call(field string, c *client, v gjson.Result) chat.Part {
	part := chat.Part{
		Kind: chat.ToolCall, ID: p.Text(field+".call_id", callID(v)), Name: jsontext.Escaped(c.name), Space: inside(jsonvalue.Get(v.Raw, "namespace")),
	}
	switch c.kind {
	case chat.Function:
		part.Name, part.Args = inside(jsonvalue.Get(v.Raw, "name")), openaiwire.Arguments(jsonvalue.Get(v.Raw, "arguments"))
	case chat.Custom:
		part.Name, part.Args = inside(jsonvalue.Get(v.Raw, "name")), chat.InputArgs(inside(jsonvalue.Get(v.Raw, "input")))
	case chat.ApplyPatch:
		part.Args = `{"operation":` + orEmpty(jsonvalue.Get(v.Raw, "operation")) + `}`
	case chat.ToolSearch:
		part.Args = openaiwire.Arguments(jsonvalue.Get(v.Raw, "arguments"))
	default:
		part.Args = orEmpty(jsonvalue.Get(v.Raw, "action"))
	}
	return part
}

func orEmpty(v gjson.Result) string {
	if !v.IsObject() {
		return "{}"
	}
	return v.Raw
}

// callID is the ID of a call. The result of a local shell call has it as its own.
func callID(v gjson.Result) gjson.Result {
	if id := jsonvalue.Get(v.Raw, "call_id"); id.Type == gjson.String {
		return id
	}
	return jsonvalue.Get(v.Raw, "id")
}

// result reads the result of a tool call: its output, as JSON if it is neither a text nor parts.
func (p *reader) result(field string, c *client, v gjson.Result) chat.Part {
	part := chat.Part{Kind: chat.ToolResult, ID: p.Text(field+".call_id", callID(v))}
	output, name := jsonvalue.Get(v.Raw, "output"), ".output"
	switch c.kind {
	case chat.Shell, chat.ToolSearch:
		if c.kind == chat.ToolSearch {
			output = jsonvalue.Get(v.Raw, "tools")
		}
		part.Parts = []chat.Part{{Kind: chat.Text, Text: jsontext.Escape(output.Raw)}}
	case chat.ApplyPatch:
		status := inside(jsonvalue.Get(v.Raw, "status"))
		if part.Failed = status == "failed"; output.Type == gjson.String {
			status = inside(output)
		}
		part.Parts = []chat.Part{{Kind: chat.Text, Text: status}}
	default:
		part.Parts = content(p.Parser, field+name, output)
	}
	return part
}

// Marks of thinking that other providers have signed, in encrypted_content. OpenAI's own has no colon.
const (
	signedMark   = "anthropic:"
	redactedMark = "anthropic-redacted:"
)

func reasoning(v gjson.Result) []chat.Part {
	part := chat.Part{Kind: chat.Thinking}
	api.Each(jsonvalue.Get(v.Raw, "summary"), func(s gjson.Result) {
		part.Text += inside(jsonvalue.Get(s.Raw, "text"))
	})
	if part.Text == "" {
		api.Each(jsonvalue.Get(v.Raw, "content"), func(s gjson.Result) {
			part.Text += inside(jsonvalue.Get(s.Raw, "text"))
		})
	}
	encrypted := string(inside(jsonvalue.Get(v.Raw, "encrypted_content")))
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

// encrypted is what reasoning reads.
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
