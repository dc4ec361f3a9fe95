// Package anthropic implements Anthropic's Messages API for callers: POST /v1/messages. Source: Anthropic's API
// reference, "Create a Message", "Streaming messages" and "Errors" (platform.claude.com/docs/en/api), and the types
// of its TypeScript SDK, @anthropic-ai/sdk 1.11.
package anthropic

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Family is the Messages API family.
var Family = api.Family{
	Dialect: chat.Anthropic, Members: chat.Anthropic, Parse: Parse,
	Answer: Answer, Stream: Stream, End: End, StreamError: StreamError, Error: Error,
	Models: &models,
}

type reader struct {
	*api.Parser
	out    api.Parsed
	system chat.Message
}

// Parse reads a body. Unknown blocks, tools and fields are not errors, because the API often gains new ones. Request
// has them as Foreign parts, Raw tools and Extra. Members has them unchanged.
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	r := parse(p, root)
	if r.out.Request.MaxTokens == 0 && !jsonvalue.Get(root.Raw, "max_tokens").Exists() {
		p.Wrong("max_tokens", "is required")
	}
	return r.out
}

// ParseCount reads the body of POST /v1/messages/count_tokens, where max_tokens is not required.
func ParseCount(p *api.Parser, root gjson.Result) api.Parsed { return parse(p, root).out }

func parse(p *api.Parser, root gjson.Result) *reader {
	r := &reader{Parser: p}
	r.out.Request.Dialect = chat.Anthropic
	model, messages := false, false
	root.ForEach(func(key, value gjson.Result) bool {
		if !p.Forwards("anthropic", key.Str, &r.out) {
			return !p.Full()
		}
		switch key.Str {
		case "model":
			model = true
			r.out.Request.Model = p.Model(value)
		case "stream":
			r.out.Request.Stream = p.Bool("stream", value) == "true"
		case "max_tokens":
			r.maxTokens(value)
		default:
			messages = messages || key.Str == "messages"
			if key.Str == "tools" {
				value.Raw = r.tools(value)
			} else {
				r.member(key.Str, value)
			}
			r.out.Members = api.AppendMember(r.out.Members, key, value)
		}
		return !p.Full()
	})
	p.Priced(&r.out.Request, "")
	if !model {
		p.Wrong("model", "is required")
	}
	if !messages {
		p.Wrong("messages", "is required")
	}
	if len(r.system.Parts) > 0 {
		r.out.Request.Messages = append([]chat.Message{r.system}, r.out.Request.Messages...)
	}
	r.out.Aliases = p.Flatten(&r.out.Request)
	return r
}

// maxTokens reads max_tokens. The field is required, so null is rejected. 0 is rejected too: it would only make
// Anthropic's API fill its prompt cache.
func (r *reader) maxTokens(v gjson.Result) {
	if v.Type == gjson.Null {
		r.Wrong("max_tokens", "is required")
		return
	}
	r.out.Request.MaxTokens = r.Integer("max_tokens", v, 1, api.MaxTokens)
}

func (r *reader) member(name string, v gjson.Result) {
	q := &r.out.Request
	switch name {
	case "messages":
		r.messages(v)
	case "system":
		if v.Type != gjson.Null && v.Raw != `""` {
			r.system = chat.Message{Role: chat.System, Parts: r.content(place{message: inSystem, block: -1, inner: -1}, v, chat.System)}
		}
	case "temperature":
		q.Temperature = r.Number(name, v, 0, 1)
	case "top_p":
		q.TopP = r.Number(name, v, 0, 1)
	case "top_k":
		if v.Type != gjson.Null {
			r.Integer(name, v, 0, 1<<31)
			q.TopK = v.Raw
		}
	case "stop_sequences":
		r.stop(v)
	case "metadata":
		r.metadata(v)
	case "tool_choice":
		r.toolChoice(v)
	case "thinking":
		r.thinking(v)
	case "output_config":
		r.outputConfig(v)
	case "thread":
		if v.Type != gjson.Null {
			r.Wrong(name, "is not supported: requests are stateless; send the whole conversation in messages")
		}
	default:
		r.priced(name, v)
		q.Extra = append(q.Extra, chat.Member{Name: name, Value: v.Raw})
	}
}

func (r *reader) priced(name string, v gjson.Result) {
	q := &r.out.Request
	switch name {
	case "service_tier", "speed", "inference_geo":
		r.Term(name, v)
	case "cache_control":
		q.Cache = r.Object(name, v)
	case "compaction":
		q.Compacts = q.Compacts || v.Type != gjson.Null
	case "context_management":
		api.Each(jsonvalue.Get(v.Raw, "edits"), func(edit gjson.Result) {
			q.Compacts = q.Compacts || strings.HasPrefix(jsonvalue.String(edit.Raw, "type"), "compact")
		})
	}
}

func (r *reader) stop(v gjson.Result) {
	if v.Type == gjson.Null {
		return
	}
	if !v.IsArray() {
		r.WrongType("stop_sequences", "an array of strings", v)
		return
	}
	i := 0
	v.ForEach(func(_, s gjson.Result) bool {
		if s.Type != gjson.String {
			r.WrongType(api.At("stop_sequences", i, ""), "a string", s)
		}
		r.out.Request.Stop = append(r.out.Request.Stop, jsontext.Inside(s.Raw))
		i++
		return !r.Full()
	})
}

func (r *reader) metadata(v gjson.Result) {
	if r.Object("metadata", v) == "" {
		return
	}
	if user := jsonvalue.Get(v.Raw, "user_id"); user.Exists() && user.Type != gjson.Null {
		r.out.Request.User = r.Text("metadata.user_id", user)
	}
}

// tools reads functions. A tool of any other type is a provider tool, which is kept as Raw. tools returns the list to
// forward. In that list, every tool with billed calls has a limit.
func (r *reader) tools(v gjson.Result) string {
	if v.Type == gjson.Null {
		return v.Raw
	}
	if !v.IsArray() {
		r.WrongType("tools", "an array", v)
		return v.Raw
	}
	list, changed := []byte{'['}, false
	i := 0
	v.ForEach(func(_, t gjson.Result) bool {
		tool := r.tool(i, t)
		r.out.Request.Tools = append(r.out.Request.Tools, tool)
		if i > 0 {
			list = append(list, ',')
		}
		if tool.Raw != "" && tool.Raw != t.Raw {
			changed, t.Raw = true, tool.Raw
		}
		list = append(list, t.Raw...)
		i++
		return !r.Full()
	})
	if !changed {
		return v.Raw
	}
	return string(append(list, ']'))
}

// provided records a provider tool and returns it with a limit on its calls.
func (r *reader) provided(i int, v gjson.Result, kind string) string {
	entry, impose := r.Use(wire, api.At("tools", i, ".max_uses"), chat.ToolName(kind), jsonvalue.Get(v.Raw, "max_uses"))
	if impose {
		return api.WithMember(v, entry.Limit, entry.Max)
	}
	return v.Raw
}

// declared records a provider tool that a block in the conversation declares. The block is forwarded unchanged, so a
// tool with billed calls must already have a limit.
func (r *reader) declared(field string, v gjson.Result) {
	if kind := jsonvalue.String(v.Raw, "type"); kind != "" && kind != "custom" {
		if entry, missing := r.Use(wire, field, chat.ToolName(kind), jsonvalue.Get(v.Raw, "max_uses")); missing {
			r.Wrong(field, "must have "+entry.Limit)
		}
	}
}

const wire = "anthropic"

func (r *reader) tool(i int, v gjson.Result) (t chat.Tool) {
	if !v.IsObject() {
		r.WrongType(api.At("tools", i, ""), "an object", v)
		return t
	}
	kind, name, schema := jsonvalue.Get(v.Raw, "type"), jsonvalue.Get(v.Raw, "name"), jsonvalue.Get(v.Raw, "input_schema")
	if kind.Type == gjson.String && kind.Str != "custom" {
		t.Raw = r.provided(i, v, kind.Str)
		if !clientTool(&t, v, chat.ToolName(kind.Str)) {
			r.NoteOwn(api.At("tools", i, ".type"), kind)
		}
		return t
	}
	if kind.Exists() && kind.Type != gjson.Null && kind.Type != gjson.String {
		r.WrongType(api.At("tools", i, ".type"), "a string", kind)
	}
	if t.Name = jsontext.Inside(name.Raw); t.Name == "" {
		r.WrongType(api.At("tools", i, ".name"), "a non-empty string", name)
	}
	if !schema.IsObject() {
		r.WrongType(api.At("tools", i, ".input_schema"), "an object", schema)
	}
	t.Schema = schema.Raw
	if d := jsonvalue.Get(v.Raw, "description"); d.Exists() && d.Type != gjson.Null {
		t.Description = r.Text(api.At("tools", i, ".description"), d)
	}
	t.Strict = r.Bool(api.At("tools", i, ".strict"), jsonvalue.Get(v.Raw, "strict"))
	t.Cache = r.Object(api.At("tools", i, ".cache_control"), jsonvalue.Get(v.Raw, "cache_control"))
	return t
}

func (r *reader) toolChoice(v gjson.Result) {
	if r.Object("tool_choice", v) == "" {
		return
	}
	choice := &r.out.Request.ToolChoice
	switch kind := jsonvalue.Get(v.Raw, "type"); kind.Str {
	case "auto":
		choice.Choice = chat.ChoiceAuto
	case "any":
		choice.Choice = chat.ChoiceAny
	case "none":
		choice.Choice = chat.ChoiceNone
	case "tool":
		choice.Choice = chat.ChoiceTool
		choice.Name = r.Text("tool_choice.name", jsonvalue.Get(v.Raw, "name"))
	default:
		r.WrongValue("tool_choice.type", "auto, any, tool or none", kind)
	}
	switch r.Bool("tool_choice.disable_parallel_tool_use", jsonvalue.Get(v.Raw, "disable_parallel_tool_use")) {
	case "true":
		r.out.Request.ParallelTools = "false"
	case "false":
		r.out.Request.ParallelTools = "true"
	}
}

// thinking reads {"type":"enabled","budget_tokens"}, {"type":"adaptive"} or {"type":"disabled"}, and display
// (summarized or omitted). Other types are passed on as an extra field.
func (r *reader) thinking(v gjson.Result) {
	if r.Object("thinking", v) == "" {
		return
	}
	q := &r.out.Request
	switch kind := jsonvalue.Get(v.Raw, "type"); {
	case kind.Type != gjson.String:
		r.WrongType("thinking.type", "a string", kind)
	case kind.Str == "enabled":
		budget := jsonvalue.Get(v.Raw, "budget_tokens")
		if !budget.Exists() {
			r.Wrong("thinking.budget_tokens", "is required")
		}
		q.Reasoning.Budget = r.Integer("thinking.budget_tokens", budget, 1024, api.MaxTokens)
	case kind.Str == "adaptive":
		q.Reasoning.Adaptive = true
	case kind.Str == "disabled":
		q.Reasoning.Off = true
	default:
		q.Extra = append(q.Extra, chat.Member{Name: "thinking", Value: v.Raw})
	}
	q.Reasoning.Visible = jsonvalue.String(v.Raw, "display") == "summarized"
}

// outputConfig reads {"effort","format":{"type":"json_schema","schema":{…}}}.
func (r *reader) outputConfig(v gjson.Result) {
	if r.Object("output_config", v) == "" {
		return
	}
	if effort := jsonvalue.Get(v.Raw, "effort"); effort.Exists() && effort.Type != gjson.Null {
		r.out.Request.Reasoning.Effort = r.Text("output_config.effort", effort).Plain()
	}
	format := jsonvalue.Get(v.Raw, "format")
	if r.Object("output_config.format", format) == "" || jsonvalue.String(format.Raw, "type") != "json_schema" {
		return
	}
	schema := jsonvalue.Get(format.Raw, "schema")
	if !schema.IsObject() {
		r.WrongType("output_config.format.schema", "an object", schema)
	}
	r.out.Request.Format = chat.Format{Kind: chat.FormatSchema, Schema: schema.Raw}
}

// inSystem is the value of place.message for the system prompt.
const inSystem = -1

// place is the position of a block, for error messages. The indexes are those of the message, of its block, and of
// the inner block of a tool result. block and inner are -1 if they do not apply.
type place struct{ message, block, inner int }

func (at place) name(rest string) string {
	name := "system"
	if at.message != inSystem {
		name = "messages[" + strconv.Itoa(at.message) + "]"
		if at.block >= 0 {
			name += ".content"
		}
	}
	if at.block >= 0 {
		name += "[" + strconv.Itoa(at.block) + "]"
	}
	if at.inner >= 0 {
		name += ".content[" + strconv.Itoa(at.inner) + "]"
	}
	return name + rest
}
