package fakeprovider

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// cohereWire speaks version 2 of Cohere's API. Source: Cohere's API reference, "Chat (V2)", "Chat with Streaming
// (V2)" and "Embed (V2)" (docs.cohere.com/reference), and the types of the npm package cohere-ai.
var cohereWire = &wire{
	family: "cohere", refuse: refuseCohere, prompt: coherePrompt, whole: cohereWhole, events: cohereEvents,
	otherOps: map[string]func(*request, *Behavior) raw{"embed": cohereEmbed}, failure: cohereFailure,
	streamError: func() []event {
		return []event{
			{name: "message-end", data: object("type", "message-end", "delta", object("error", "internal server error", "finish_reason", "ERROR"))},
			{data: []byte("[DONE]")},
		}
	},
}

func coherePrompt(q *request) prompt {
	v := q.root
	p := prompt{model: v.Get("model").Str, stream: v.Get("stream").Bool()}
	for _, m := range v.Get("messages").Array() {
		if m.Get("role").Str == "tool" {
			p.addResult(cohereResult(m.Get("content")))
			continue
		}
		p.chatMessage(m)
	}
	for _, t := range v.Get("tools").Array() {
		p.tools = append(p.tools, tool{name: t.Get("function.name").Str, schema: t.Get("function.parameters")})
	}
	switch v.Get("tool_choice").Str {
	case "NONE":
		p.toolChoice = "none"
	case "REQUIRED":
		p.toolChoice = "any"
	}
	format := v.Get("response_format")
	p.json, p.schema = format.Get("type").Str == "json_object", format.Get("json_schema")
	return p
}

// cohereResult returns the text of a tool result, which can be a string, or a list of texts and documents.
func cohereResult(content gjson.Result) string {
	if !content.IsArray() {
		return content.Str
	}
	text := ""
	for _, part := range content.Array() {
		text += part.Get("text").Str
		if data := part.Get("document.data"); data.Type == gjson.String {
			text += data.Str
		} else {
			text += data.Raw
		}
	}
	return text
}

func cohereFinish(finish string) string {
	return map[string]string{"stop": "COMPLETE", "tools": "TOOL_CALL", "length": "MAX_TOKENS", "filter": "ERROR_TOXIC"}[finish]
}

func cohereUsage(a *answer) any {
	tokens := object("input_tokens", InputTokens, "output_tokens", OutputTokens)
	return only(a.hasUsage, object("billed_units", tokens, "tokens", tokens, "cached_tokens", a.cached))
}

// coherePlan precedes tool calls. Models that think have no plan.
const coherePlan = "I will use a tool."

func (a *answer) cohereHasPlan() bool { return len(a.calls) > 0 && len(a.thinking) == 0 }

func cohereCall(n int, c call, args string) raw {
	return object("id", c.name+"_"+strconv.Itoa(n+1), "type", "function", "function", object("name", c.name, "arguments", args))
}

func cohereWhole(a *answer) raw {
	var content, calls []raw
	if len(a.thinking) > 0 {
		content = append(content, object("type", "thinking", "thinking", a.fullThinking()))
	}
	if len(a.text) > 0 {
		content = append(content, object("type", "text", "text", a.fullText()))
	}
	for i, c := range a.calls {
		calls = append(calls, cohereCall(i, c, c.args))
	}
	return object("id", "c14c80c3-18eb-4519-9460-6c92edd8cfb4", "finish_reason", cohereFinish(a.finish), "message",
		object("role", "assistant", "tool_plan", only(a.cohereHasPlan(), coherePlan), "tool_calls", only(len(calls) > 0, calls),
			"content", only(len(content) > 0, content)), "usage", cohereUsage(a))
}

// cohereStream collects events and numbers the content blocks.
type cohereStream struct {
	events []event
	block  int
}

func (s *cohereStream) add(kind eventKind, name string, pairs ...any) {
	s.events = append(s.events, event{name: name, kind: kind, data: object(append([]any{"type", name}, pairs...)...)})
}

func (s *cohereStream) message(kind eventKind, name string, members ...any) {
	s.add(kind, name, "index", s.block, "delta", object("message", object(members...)))
}

func cohereEvents(a *answer) []event {
	s := &cohereStream{}
	s.add(opening, "message-start", "id", "c14c80c3-18eb-4519-9460-6c92edd8cfb4", "delta", object("message",
		object("role", "assistant", "content", raw("[]"), "tool_plan", "", "tool_calls", raw("[]"), "citations", raw("[]"))))
	s.content("thinking", middle, a.thinking)
	s.content("text", text, a.text)
	if a.cohereHasPlan() {
		for _, piece := range pieces(coherePlan, 7) {
			s.add(middle, "tool-plan-delta", "delta", object("message", object("tool_plan", piece)))
		}
	}
	for i, c := range a.calls {
		s.call(i, c)
	}
	s.add(middle, "message-end", "delta", object("finish_reason", cohereFinish(a.finish), "usage", cohereUsage(a)))
	return append(s.events, event{data: []byte("[DONE]"), kind: endMark})
}

func (s *cohereStream) content(contentType string, kind eventKind, list []string) {
	if len(list) == 0 {
		return
	}
	begin := opening
	if kind == middle {
		begin = middle
	}
	s.message(begin, "content-start", "content", object("type", contentType, contentType, ""))
	for _, piece := range list {
		s.message(kind, "content-delta", "content", object(contentType, piece))
	}
	s.add(middle, "content-end", "index", s.block)
	s.block++
}

func (s *cohereStream) call(n int, c call) {
	s.message(middle, "tool-call-start", "tool_calls", cohereCall(n, c, ""))
	for _, piece := range pieces(c.args, 8) {
		s.message(middle, "tool-call-delta", "tool_calls", object("function", object("arguments", piece)))
	}
	s.add(middle, "tool-call-end", "index", s.block)
	s.block++
}

func cohereEmbed(q *request, b *Behavior) raw {
	v := q.root
	return object("id", "emb-1", "embeddings", object("float", vectors(v.Get("texts"), int(v.Get("output_dimension").Int()))),
		"texts", raw(v.Get("texts").Raw), "meta", object("api_version", object("version", "2"),
			"billed_units", only(b.Kind != "no-usage", object("input_tokens", InputTokens))), "response_type", "embeddings_by_type")
}

// cohereFailure returns {"id","message"}.
func cohereFailure(f *refusal) (raw, map[string]string) {
	return object("id", "err-1", "message", f.message), nil
}

const (
	cohereMembers = "model messages stream tools strict_tools documents citation_options response_format safety_mode max_tokens " +
		"stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs tool_choice thinking priority"
	cohereEmbedV2 = "model input_type texts images inputs max_tokens output_dimension embedding_types truncate priority"
)

func refuseCohere(q *request) *refusal {
	v := q.root
	known := cohereMembers
	if q.op == "embed" {
		known = cohereEmbedV2
	}
	switch {
	case !q.bearer():
		return &refusal{status: 401, message: "no api key supplied"}
	case !v.IsObject():
		return bad("invalid request: the body is not JSON")
	case unknown(v, known) != "":
		return bad("unknown field: parameter '" + unknown(v, known) + "' is not a valid field")
	case v.Get("model").Str == "":
		return bad("model is required")
	case q.op == "embed":
		return refuseCohereEmbed(v)
	case len(v.Get("messages").Array()) == 0:
		return bad("invalid request: messages must have at least one element")
	}
	return refuseMessages(v.Get("messages"))
}

func refuseCohereEmbed(v gjson.Result) *refusal {
	n := len(v.Get("texts").Array())
	switch {
	case v.Get("input_type").Str == "":
		return bad("invalid request: valid input_type must be provided with the provided model")
	case n == 0 && !v.Get("images").Exists() && !v.Get("inputs").Exists():
		return bad("invalid request: texts, images or inputs must be set")
	case n > 96:
		return bad("invalid request: at most 96 texts can be embedded at once")
	}
	return nil
}
