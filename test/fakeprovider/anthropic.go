package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// anthropicWire speaks Anthropic's Messages API. Source: Anthropic's API reference, "Create a Message" and
// "Streaming messages" (platform.claude.com/docs/en/api), and the types of the npm package @anthropic-ai/sdk.
var anthropicWire = &wire{
	family: "anthropic", refuse: refuseAnthropic, prompt: anthropicPrompt, whole: anthropicWhole, events: anthropicEvents,
	otherOps: map[string]func(*request, *Behavior) raw{
		"count": func(*request, *Behavior) raw { return object("input_tokens", InputTokens) },
	},
	failure: anthropicFailure,
	streamError: func() []event {
		body, _ := anthropicFailure(&refusal{status: 529, message: "Overloaded"})
		return []event{{name: "error", data: body}}
	},
}

func anthropicPrompt(q *request) prompt {
	v := q.root
	p := prompt{model: v.Get("model").Str, stream: v.Get("stream").Bool()}
	for _, m := range v.Get("messages").Array() {
		p.anthropicMessage(m)
	}
	for _, t := range v.Get("tools").Array() {
		if t.Get("input_schema").Exists() {
			p.tools = append(p.tools, tool{name: t.Get("name").Str, schema: t.Get("input_schema")})
		}
	}
	choice := v.Get("tool_choice")
	p.toolChoice, p.forcedTool, p.oneCall = choice.Get("type").Str, choice.Get("name").Str, choice.Get("disable_parallel_tool_use").Bool()
	format := v.Get("output_config.format")
	if !format.Exists() {
		format = v.Get("output_format") // the name during the beta
	}
	p.json, p.schema = format.Get("type").Str == "json_schema", format.Get("schema")
	return p
}

func (p *prompt) anthropicMessage(m gjson.Result) {
	content := m.Get("content")
	fromUser := m.Get("role").Str == "user"
	p.startMessage(fromUser && !strings.Contains(content.Raw, `"tool_result"`))
	if !fromUser {
		return
	}
	if !content.IsArray() {
		p.addText(content.Str)
	}
	for _, block := range content.Array() {
		switch block.Get("type").Str {
		case "text":
			p.addText(block.Get("text").Str)
		case "tool_result":
			p.addResult(chatText(block.Get("content")))
		case "image":
			p.anthropicSource("an image", block.Get("source"))
		case "document":
			p.anthropicSource("a file", block.Get("source"))
		}
	}
}

func (p *prompt) anthropicSource(noun string, source gjson.Result) {
	if source.Get("type").Str == "url" {
		p.addMediaURL(noun, source.Get("url").Str)
		return
	}
	p.addMedia(noun, source.Get("media_type").Str, source.Get("data").Str)
}

func anthropicStop(finish string) string {
	return map[string]string{"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "filter": "refusal"}[finish]
}

// anthropicUsage excludes cached and written tokens from input_tokens.
func anthropicUsage(a *answer, output int, details bool) any {
	return only(a.hasUsage, object("input_tokens", a.uncachedInput()-a.written(), "cache_creation_input_tokens", a.written(),
		"cache_read_input_tokens", a.cached,
		"cache_creation", only(details, object("ephemeral_5m_input_tokens", a.written()-a.hour, "ephemeral_1h_input_tokens", a.hour)),
		"output_tokens", output, "output_tokens_details", only(a.reasoning > 0, object("thinking_tokens", a.reasoning)),
		"service_tier", only(details, "standard")))
}

func anthropicWhole(a *answer) raw {
	var content []raw
	if len(a.thinking) > 0 {
		content = append(content, object("type", "thinking", "thinking", a.fullThinking(), "signature", signature))
	}
	if len(a.text) > 0 {
		content = append(content, object("type", "text", "text", a.fullText()))
	}
	for i, c := range a.calls {
		content = append(content, object("type", "tool_use", "id", c.id("toolu_", i), "name", c.name, "input", raw(c.args)))
	}
	return object("model", a.model, "id", a.id("msg_"), "type", "message", "role", "assistant", "content", array(content...),
		"stop_reason", anthropicStop(a.finish), "stop_sequence", nil, "usage", anthropicUsage(a, a.output(), true))
}

// anthropicStream collects events and numbers the content blocks.
type anthropicStream struct {
	events []event
	block  int
}

func (s *anthropicStream) add(kind eventKind, name string, pairs ...any) {
	s.events = append(s.events, event{name: name, kind: kind, data: object(append([]any{"type", name}, pairs...)...)})
}

func (s *anthropicStream) start(kind eventKind, block raw) {
	s.add(kind, "content_block_start", "index", s.block, "content_block", block)
}

func (s *anthropicStream) delta(kind eventKind, deltaType, member, piece string) {
	s.add(kind, "content_block_delta", "index", s.block, "delta", object("type", deltaType, member, piece))
}

func (s *anthropicStream) stop() {
	s.add(middle, "content_block_stop", "index", s.block)
	s.block++
}

func anthropicEvents(a *answer) []event {
	s := &anthropicStream{}
	s.add(opening, "message_start", "message", object("model", a.model, "id", a.id("msg_"), "type", "message", "role", "assistant",
		"content", raw("[]"), "stop_reason", nil, "stop_sequence", nil, "usage", anthropicUsage(a, 1, true)))
	s.thinking(a)
	s.text(a)
	for i, c := range a.calls {
		s.call(i, c)
	}
	s.add(middle, "message_delta", "delta", object("stop_reason", anthropicStop(a.finish), "stop_sequence", nil),
		"usage", anthropicUsage(a, a.output(), false))
	s.add(endMark, "message_stop")
	return s.events
}

func (s *anthropicStream) thinking(a *answer) {
	if len(a.thinking) == 0 {
		return
	}
	s.start(middle, object("type", "thinking", "thinking", "", "signature", ""))
	for _, piece := range a.thinking {
		s.delta(middle, "thinking_delta", "thinking", piece)
	}
	s.delta(middle, "signature_delta", "signature", signature)
	s.stop()
}

func (s *anthropicStream) text(a *answer) {
	if len(a.text) == 0 {
		return
	}
	s.start(opening, object("type", "text", "text", ""))
	s.add(opening, "ping")
	for _, piece := range a.text {
		s.delta(text, "text_delta", "text", piece)
	}
	s.stop()
}

func (s *anthropicStream) call(n int, c call) {
	s.start(middle, object("type", "tool_use", "id", c.id("toolu_", n), "name", c.name, "input", raw("{}")))
	s.delta(middle, "input_json_delta", "partial_json", "")
	s.add(middle, "ping")
	for _, piece := range pieces(c.args, 8) {
		s.delta(middle, "input_json_delta", "partial_json", piece)
	}
	s.stop()
}

var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	408: "timeout_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error",
	502: "api_error", 503: "api_error", 529: "overloaded_error",
}

// anthropicFailure returns {"type":"error","error":{"type","message"},"request_id"}.
func anthropicFailure(f *refusal) (raw, map[string]string) {
	kind := anthropicErrors[f.status]
	if kind == "" {
		kind = "api_error"
	}
	return object("type", "error", "error", object("type", kind, "message", f.message), "request_id", "req_fake"), nil
}
