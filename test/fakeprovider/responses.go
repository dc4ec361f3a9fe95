package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// responsesWire speaks OpenAI's Responses API. Source: OpenAI's API reference, "Responses" and "Streaming
// events" (platform.openai.com/docs/api-reference/responses), and the types of the npm package openai 6.49.
var responsesWire = &wire{
	family: "responses", refuse: refuseResponses, prompt: responsesPrompt, whole: responsesWhole, events: responsesEvents, otherOps: responsesOps,
	failure:     func(f *refusal) (raw, map[string]string) { return openaiFailure(f), nil },
	streamError: responsesStreamError,
}

func responsesPrompt(q *request) prompt {
	v := q.root
	p := prompt{model: v.Get("model").Str, stream: v.Get("stream").Bool(), oneCall: v.Get("parallel_tool_calls").Raw == "false"}
	if input := v.Get("input"); input.IsArray() {
		for _, item := range input.Array() {
			p.responsesItem(item)
		}
	} else {
		p.addText(input.Str)
	}
	for _, t := range v.Get("tools").Array() {
		switch t.Get("type").Str {
		case "function":
			p.tools = append(p.tools, tool{name: t.Get("name").Str, schema: t.Get("parameters")})
		case "custom":
			p.custom = append(p.custom, tool{name: t.Get("name").Str, custom: true})
		}
	}
	switch choice := v.Get("tool_choice"); {
	case choice.IsObject():
		p.toolChoice, p.forcedTool = "tool", choice.Get("name").Str
	case choice.Str == "required":
		p.toolChoice = "any"
	default:
		p.toolChoice = choice.Str
	}
	p.encrypted = strings.Contains(v.Get("include").Raw, `"reasoning.encrypted_content"`)
	format := v.Get("text.format")
	p.json = format.Get("type").Str == "json_object" || format.Get("type").Str == "json_schema"
	p.schema = format.Get("schema")
	return p
}

func (p *prompt) responsesItem(item gjson.Result) {
	switch item.Get("type").Str {
	case "function_call_output", "custom_tool_call_output":
		p.addResult(chatText(item.Get("output")))
		return
	case "", "message":
	default:
		p.startMessage(false)
		return
	}
	p.startMessage(item.Get("role").Str == "user")
	if item.Get("role").Str != "user" {
		return
	}
	content := item.Get("content")
	if !content.IsArray() {
		p.addText(content.Str)
	}
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "input_text":
			p.addText(part.Get("text").Str)
		case "input_image":
			p.addMediaURL("an image", part.Get("image_url").Str)
		case "input_file":
			p.addMediaURL("a file", part.Get("file_data").Str+part.Get("file_url").Str)
		}
	}
}

func responsesOutput(a *answer) (items []raw) {
	if len(a.thinking) > 0 {
		items = append(items, responsesReasoning(a, a.fullThinking()))
	}
	if len(a.text) > 0 {
		items = append(items, responsesMessage(a, "completed", array(outputText(a.fullText()))))
	}
	for i, c := range a.calls {
		items = append(items, responsesCall(i, c, c.args, "completed"))
	}
	return items
}

func responsesReasoning(a *answer, thoughts string) raw {
	summary := raw("[]")
	if thoughts != "" {
		summary = array(object("type", "summary_text", "text", thoughts))
	}
	return object("id", a.id("rs_"), "type", "reasoning", "summary", summary, "encrypted_content", only(a.encrypted, signature))
}

func responsesMessage(a *answer, status string, content raw) raw {
	return object("id", a.id("msg_"), "type", "message", "status", status, "content", content, "role", "assistant")
}

func outputText(text string) raw {
	return object("type", "output_text", "annotations", raw("[]"), "logprobs", raw("[]"), "text", text)
}

func responsesCall(n int, c call, args, status string) raw {
	if c.custom {
		return object("id", c.id("ctc_", n), "type", "custom_tool_call", "status", status, "call_id", c.id("call_", n),
			"name", c.name, "input", args)
	}
	return object("id", c.id("fc_", n), "type", "function_call", "status", status, "arguments", args,
		"call_id", c.id("call_", n), "name", c.name)
}

func responsesUsage(a *answer) raw {
	return object("input_tokens", a.input(), "input_tokens_details", object("cached_tokens", a.cached),
		"output_tokens", a.output(), "output_tokens_details", object("reasoning_tokens", a.reasoning),
		"total_tokens", a.input()+a.output())
}

func responsesObject(a *answer, status string, output []raw) raw {
	var usageObject, incomplete, failed any
	if status == "completed" || status == "incomplete" {
		usageObject = only(a.hasUsage, responsesUsage(a))
	}
	if status == "incomplete" {
		reason := "max_output_tokens"
		if a.finish == "filter" {
			reason = "content_filter"
		}
		incomplete = object("reason", reason)
	}
	if status == "failed" {
		failed = object("code", "server_error", "message", "The server had an error while processing your request.")
	}
	return object("id", a.id("resp_"), "object", "response", "created_at", created, "status", status, "background", false,
		"error", failed, "incomplete_details", incomplete, "instructions", nil, "max_output_tokens", nil, "model", a.model,
		"output", array(output...), "parallel_tool_calls", !a.oneCall, "previous_response_id", nil,
		"reasoning", object("effort", nil, "summary", nil), "service_tier", "default", "store", true, "temperature", 1.0,
		"text", object("format", object("type", "text")), "tool_choice", "auto", "tools", raw("[]"), "top_p", 1.0,
		"truncation", "disabled", "usage", usageObject, "user", nil, "metadata", raw("{}"))
}

func responsesStatus(a *answer) string {
	if a.finish == "length" || a.finish == "filter" {
		return "incomplete"
	}
	return "completed"
}

func responsesWhole(a *answer) raw { return responsesObject(a, responsesStatus(a), responsesOutput(a)) }

// responsesStream collects and numbers events.
type responsesStream struct {
	events []event
	item   int // output_index
}

func (s *responsesStream) add(kind eventKind, name string, pairs ...any) {
	pairs = append([]any{"type", name, "sequence_number", len(s.events)}, pairs...)
	s.events = append(s.events, event{name: name, kind: kind, data: object(pairs...)})
}

func responsesEvents(a *answer) []event {
	s := &responsesStream{}
	s.add(opening, "response.created", "response", responsesObject(a, "in_progress", nil))
	s.add(opening, "response.in_progress", "response", responsesObject(a, "in_progress", nil))
	s.reasoning(a)
	s.message(a)
	for i, c := range a.calls {
		s.call(i, c)
	}
	status := responsesStatus(a)
	s.add(endMark, "response."+status, "response", responsesObject(a, status, responsesOutput(a)))
	return s.events
}

func (s *responsesStream) reasoning(a *answer) {
	if len(a.thinking) == 0 {
		return
	}
	part := func(text string) raw { return object("type", "summary_text", "text", text) }
	s.add(middle, "response.output_item.added", "output_index", s.item, "item", responsesReasoning(a, ""))
	s.add(middle, "response.reasoning_summary_part.added", "item_id", a.id("rs_"), "output_index", s.item, "summary_index", 0, "part", part(""))
	for _, piece := range a.thinking {
		s.add(middle, "response.reasoning_summary_text.delta", "item_id", a.id("rs_"), "output_index", s.item, "summary_index", 0, "delta", piece)
	}
	s.add(middle, "response.reasoning_summary_text.done", "item_id", a.id("rs_"), "output_index", s.item, "summary_index", 0, "text", a.fullThinking())
	s.add(middle, "response.reasoning_summary_part.done", "item_id", a.id("rs_"), "output_index", s.item, "summary_index", 0, "part", part(a.fullThinking()))
	s.add(middle, "response.output_item.done", "output_index", s.item, "item", responsesReasoning(a, a.fullThinking()))
	s.item++
}

func (s *responsesStream) message(a *answer) {
	if len(a.text) == 0 {
		return
	}
	s.add(opening, "response.output_item.added", "output_index", s.item, "item", responsesMessage(a, "in_progress", raw("[]")))
	s.add(opening, "response.content_part.added", "item_id", a.id("msg_"), "output_index", s.item, "content_index", 0, "part", outputText(""))
	for _, piece := range a.text {
		s.add(text, "response.output_text.delta", "item_id", a.id("msg_"), "output_index", s.item, "content_index", 0,
			"delta", piece, "logprobs", raw("[]"), "obfuscation", "x7Kq")
	}
	s.add(middle, "response.output_text.done", "item_id", a.id("msg_"), "output_index", s.item, "content_index", 0, "text", a.fullText(), "logprobs", raw("[]"))
	s.add(middle, "response.content_part.done", "item_id", a.id("msg_"), "output_index", s.item, "content_index", 0, "part", outputText(a.fullText()))
	s.add(middle, "response.output_item.done", "output_index", s.item, "item", responsesMessage(a, responsesStatus(a), array(outputText(a.fullText()))))
	s.item++
}

func (s *responsesStream) call(n int, c call) {
	item, kind, member := c.id("fc_", n), "response.function_call_arguments", "arguments"
	if c.custom {
		item, kind, member = c.id("ctc_", n), "response.custom_tool_call_input", "input"
	}
	s.add(middle, "response.output_item.added", "output_index", s.item, "item", responsesCall(n, c, "", "in_progress"))
	for _, piece := range pieces(c.args, 8) {
		s.add(middle, kind+".delta", "item_id", item, "output_index", s.item, "delta", piece, "obfuscation", "x7Kq")
	}
	s.add(middle, kind+".done", "item_id", item, "output_index", s.item, "name", only(!c.custom, c.name), member, c.args)
	s.add(middle, "response.output_item.done", "output_index", s.item, "item", responsesCall(n, c, c.args, "completed"))
	s.item++
}

// responsesStreamError returns an error event, then the failed response.
func responsesStreamError() []event {
	s := &responsesStream{}
	s.add(middle, "error", "code", "server_error", "message", "The server had an error while processing your request.", "param", nil)
	s.add(middle, "response.failed", "response", responsesObject(&answer{prompt: &prompt{}}, "failed", nil))
	return s.events
}
