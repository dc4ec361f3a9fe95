// Package responses implements OpenAI's Responses API for callers: POST /v1/responses. It is stateless, which means
// that responses are not stored and requests cannot refer to stored items. Source: OpenAI's API reference, "Create a
// model response", "The response object" and "Streaming events" (platform.openai.com/docs/api-reference/responses),
// and the types of its SDK, openai 7.55.
package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Family returns the Responses family.
func Family() api.Family {
	return api.Family{
		Dialect: chat.Responses, Members: chat.Responses, Parse: Parse, Answer: Answer, Stream: Stream, End: End, NeedsWhole: true,
		StreamError: StreamError, Error: Error,
	}
}

// stateful lists the fields that refer to stored state.
var stateful = []string{"previous_response_id", "conversation", "prompt"}

// Parse reads a body. It keeps unknown fields in Extra and Members.
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
	allow(r, jsonvalue.Get(root.Raw, "tool_choice"))
	instruct(r, instructions)
	if r.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveInput {
		p.Wrong("input", "is required")
	}
	out.Aliases = p.Flatten(r)
	return out
}

// instruct puts instructions before the conversation.
func instruct(r *chat.Request, instructions jsontext.Escaped) {
	if instructions != "" {
		words := chat.Message{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: instructions}}}
		r.Messages = append([]chat.Message{words}, r.Messages...)
	}
}

func allow(r *chat.Request, choice gjson.Result) {
	if jsonvalue.String(choice.Raw, "type") == "allowed_tools" {
		openai.Allow(r.Tools, jsonvalue.Get(choice.Raw, "tools"), func(t gjson.Result) gjson.Result { return jsonvalue.Get(t.Raw, "name") })
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
	case "max_output_tokens":
		r.MaxTokens = p.Integer(name, v, 1, api.MaxTokens)
	case "max_tool_calls":
		r.MaxToolCalls = p.Integer(name, v, 1, maxToolCalls)
	default:
		return name == "store"
	}
	return true
}

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

// parameter reads a generation parameter or tool setting. It returns false for fields that only targets with this
// dialect can use.
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
		text(p, r, v)
	case "reasoning":
		r.Reasoning.Effort = jsonvalue.String(v.Raw, "effort")
		summary := jsonvalue.String(v.Raw, "summary")
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

func text(p *api.Parser, r *chat.Request, v gjson.Result) {
	r.Format = format(p, jsonvalue.Get(v.Raw, "format"))
	if verbosity := jsonvalue.Get(v.Raw, "verbosity"); verbosity.Type != gjson.Null {
		r.Extra = append(r.Extra, chat.Member{Name: chat.Verbosity, Value: verbosity.Raw})
	}
}

// includesThinking reports whether include asks only for data that other dialects return anyway. If a provider has
// encrypted reasoning, it always returns it. top_logprobs asks for log probabilities.
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
		f = chat.Format{Kind: chat.FormatSchema, Name: jsonvalue.Text(v.Raw, "name"), Description: jsonvalue.Text(v.Raw, "description")}
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
