package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// dialect describes how providers with chat completions differ.
type dialect struct {
	family   string
	azure    bool // no model in the body, filter results, the status as error code
	mistral  bool // 422 for unknown fields; thinking as content chunks; usage with the finish reason
	workers  bool // Workers AI: choices in a stream have no index; errors are a list
	deepseek bool // prompt_cache_hit_tokens
}

var (
	openaiWire   = newChatWire(&dialect{family: "openai"})
	azureWire    = newChatWire(&dialect{family: "azure", azure: true})
	mistralWire  = newChatWire(&dialect{family: "mistral", mistral: true})
	workersWire  = newChatWire(&dialect{family: "workersai", workers: true})
	deepseekWire = newChatWire(&dialect{family: "deepseek", deepseek: true})
)

// chatWire selects the dialect by the path.
func chatWire(path string) *wire {
	switch {
	case strings.Contains(path, "/ai/v1/"):
		return workersWire
	case strings.Contains(path, "/openai/deployments/"), strings.Contains(path, "/openai/v1/") && !strings.Contains(path, "/groq/"):
		return azureWire
	case strings.Contains(path, "/mistral/"):
		return mistralWire
	case strings.Contains(path, "/deepseek/"):
		return deepseekWire
	}
	return openaiWire
}

func newChatWire(d *dialect) *wire {
	return &wire{
		family: d.family, refuse: d.refuse, prompt: chatPrompt, whole: d.whole, events: d.events,
		otherOps: map[string]func(*request, *Behavior) raw{"embed": d.embed},
		failure:  d.failure, streamError: d.streamError,
	}
}

// chatPrompt parses a chat completion request. Source: OpenAI's API reference, "Create chat completion"
// (platform.openai.com/docs/api-reference/chat/create).
func chatPrompt(q *request) prompt {
	v := q.root
	p := prompt{
		model: v.Get("model").Str, stream: v.Get("stream").Bool(), includeUsage: v.Get("stream_options.include_usage").Bool(),
		choices: int(v.Get("n").Int()), oneCall: v.Get("parallel_tool_calls").Raw == "false",
	}
	if p.model == "" {
		p.model = "gpt-fake"
	}
	for _, m := range v.Get("messages").Array() {
		p.chatMessage(m)
	}
	for _, t := range v.Get("tools").Array() {
		if t.Get("type").Str == "function" {
			p.tools = append(p.tools, tool{name: t.Get("function.name").Str, schema: t.Get("function.parameters")})
		}
	}
	p.chatToolChoice(v.Get("tool_choice"))
	format := v.Get("response_format")
	p.json = format.Get("type").Str == "json_object" || format.Get("type").Str == "json_schema"
	p.schema = format.Get("json_schema.schema")
	return p
}

func (p *prompt) chatToolChoice(choice gjson.Result) {
	switch {
	case choice.IsObject():
		p.toolChoice, p.forcedTool = "tool", choice.Get("function.name").Str
	case choice.Str == "required" || choice.Str == "any":
		p.toolChoice = "any"
	default:
		p.toolChoice = choice.Str
	}
}

func (p *prompt) chatMessage(m gjson.Result) {
	role, content := m.Get("role").Str, m.Get("content")
	if role == "tool" {
		p.addResult(chatText(content))
		return
	}
	p.startMessage(role == "user")
	if role != "user" {
		return
	}
	if !content.IsArray() {
		p.addText(content.Str)
	}
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "text":
			p.addText(part.Get("text").Str)
		case "image_url":
			p.addMediaURL("an image", chatImage(part.Get("image_url")))
		case "input_audio":
			p.addMedia("a recording", "audio/"+part.Get("input_audio.format").Str, part.Get("input_audio.data").Str)
		case "file":
			p.addMediaURL("a file", part.Get("file.file_data").Str)
		}
	}
}

// chatImage returns an image's URL, from {"url"} or from Mistral's plain string.
func chatImage(v gjson.Result) string {
	if v.IsObject() {
		return v.Get("url").Str
	}
	return v.Str
}

func chatText(content gjson.Result) string {
	if !content.IsArray() {
		return content.Str
	}
	text := ""
	for _, part := range content.Array() {
		text += part.Get("text").Str
	}
	return text
}

func (d *dialect) finish(finish string) string {
	return map[string]string{"stop": "stop", "tools": "tool_calls", "length": "length", "filter": "content_filter"}[finish]
}

// callID returns a tool call's ID. Mistral's IDs have nine characters.
func (d *dialect) callID(c call, n int) string {
	if d.mistral {
		return id("fakecall", n)
	}
	return c.id("call_", n)
}

func (d *dialect) usage(a *answer) any {
	switch {
	case !a.hasUsage:
		return absent{}
	case d.mistral:
		return object("prompt_tokens", InputTokens, "completion_tokens", OutputTokens, "total_tokens", InputTokens+OutputTokens,
			"prompt_tokens_details", only(a.cached > 0, object("cached_tokens", a.cached)))
	}
	return object("prompt_tokens", a.input(), "completion_tokens", a.output(), "total_tokens", a.input()+a.output(),
		"prompt_cache_hit_tokens", only(d.deepseek, a.cached), "prompt_cache_miss_tokens", only(d.deepseek, a.uncachedInput()),
		"prompt_tokens_details", object("cached_tokens", a.cached, "audio_tokens", 0),
		"completion_tokens_details", object("reasoning_tokens", a.reasoning, "audio_tokens", 0,
			"accepted_prediction_tokens", 0, "rejected_prediction_tokens", 0))
}

// whole returns {"id","object":"chat.completion","created","model","choices":[…],"usage":{…}}.
func (d *dialect) whole(a *answer) raw {
	var choices []raw
	for i := range max(a.choices, 1) {
		choices = append(choices, object("index", i, "message", d.message(a), "logprobs", only(!d.mistral, nil),
			"finish_reason", d.finish(a.finish), "content_filter_results", only(d.azure, noFilter)))
	}
	return object("id", a.id("chatcmpl-"), "object", "chat.completion", "created", created, "model", a.model,
		"choices", choices, "prompt_filter_results", only(d.azure, promptFilter), "usage", d.usage(a),
		"service_tier", only(d.family == "openai", "default"), "system_fingerprint", only(!d.mistral, "fp_fake"))
}

func (d *dialect) message(a *answer) raw {
	var calls []raw
	for i, c := range a.calls {
		calls = append(calls, object("id", d.callID(c, i), "type", "function",
			"function", object("name", c.name, "arguments", c.args)))
	}
	var content any = orNull(a.fullText())
	if d.mistral && len(a.thinking) > 0 {
		content = []raw{thinkChunk(a.fullThinking()), object("type", "text", "text", a.fullText())}
	} else if d.mistral {
		content = a.fullText()
	}
	plain := !d.mistral
	return object("role", "assistant", "content", content,
		"reasoning_content", only(plain && len(a.thinking) > 0, a.fullThinking()),
		"refusal", only(plain, nil), "annotations", only(d.family == "openai", raw("[]")),
		"tool_calls", only(len(calls) > 0, calls))
}

// thinkChunk returns Mistral's format for thinking. Source: Mistral's documentation, "Reasoning"
// (docs.mistral.ai/capabilities/reasoning).
func thinkChunk(thoughts string) raw {
	return object("type", "thinking", "thinking", array(object("type", "text", "text", thoughts)))
}

// events returns chat.completion.chunk objects and [DONE]. Source: OpenAI's API reference, "The chat completion
// chunk object".
func (d *dialect) events(a *answer) (events []event) {
	if d.azure {
		events = append(events, event{data: azureFirst, kind: opening})
	}
	for i := range max(a.choices, 1) {
		events = append(events, d.choice(a, i)...)
	}
	if a.includeUsage && a.hasUsage && !d.mistral {
		events = append(events, d.chunk(a, usage, raw("[]"), d.usage(a)))
	}
	return append(events, event{data: []byte("[DONE]"), kind: endMark})
}

// chunk returns one object of the stream. If the request asks for usage, all chunks except the last have a null
// usage.
func (d *dialect) chunk(a *answer, kind eventKind, choices raw, usageObject any) event {
	return event{kind: kind, data: object("id", a.id("chatcmpl-"), "object", "chat.completion.chunk", "created", created,
		"model", a.model, "service_tier", only(d.family == "openai", "default"),
		"system_fingerprint", only(!d.mistral, "fp_fake"), "choices", choices, "usage", usageObject,
		"obfuscation", only(d.family == "openai", "x7Kq"))}
}

// piece returns a chunk with one choice.
func (d *dialect) piece(a *answer, kind eventKind, choice int, delta raw, finish string) event {
	var usageObject any = absent{}
	switch {
	case d.mistral && finish != "":
		usageObject = d.usage(a)
	case a.includeUsage && a.hasUsage && !d.mistral:
		usageObject = nil
	}
	return d.chunk(a, kind, array(object("index", only(!d.workers, choice), "delta", delta,
		"logprobs", only(!d.mistral && !d.workers, nil), "finish_reason", orNull(finish),
		"content_filter_results", only(d.azure, raw("{}")))), usageObject)
}

func (d *dialect) choice(a *answer, i int) (events []event) {
	var content any = ""
	if len(a.calls) > 0 {
		content = nil
	}
	events = append(events, d.piece(a, opening, i, object("role", "assistant", "content", content, "refusal", only(!d.mistral, nil)), ""))
	for _, piece := range a.thinking {
		delta := object("content", nil, "reasoning_content", piece)
		if d.mistral {
			delta = object("content", array(thinkChunk(piece)))
		}
		events = append(events, d.piece(a, middle, i, delta, ""))
	}
	for _, piece := range a.text {
		events = append(events, d.piece(a, text, i, object("content", piece), ""))
	}
	for n, c := range a.calls {
		events = append(events, d.callPieces(a, i, n, c)...)
	}
	if d.azure {
		events = append(events, event{data: azureOffsets})
	}
	last := raw("{}")
	if d.mistral || d.workers {
		last = object("content", "")
	}
	return append(events, d.piece(a, middle, i, last, d.finish(a.finish)))
}

// callPieces returns the chunks of a tool call: first its name, then its arguments in pieces. Mistral sends a
// call in one chunk.
func (d *dialect) callPieces(a *answer, choice, n int, c call) []event {
	function := object("name", c.name, "arguments", "")
	if d.mistral {
		function = object("name", c.name, "arguments", c.args)
	}
	first := object("index", n, "id", d.callID(c, n), "type", "function", "function", function)
	events := []event{d.piece(a, middle, choice, object("tool_calls", array(first)), "")}
	if d.mistral {
		return events
	}
	for _, piece := range pieces(c.args, 8) {
		next := object("index", n, "function", object("arguments", piece))
		events = append(events, d.piece(a, middle, choice, object("tool_calls", array(next)), ""))
	}
	return events
}

// embed returns {"object":"list","data":[{"object":"embedding","index","embedding"}],"model","usage"}. Source:
// OpenAI's API reference, "Create embeddings".
func (d *dialect) embed(q *request, b *Behavior) raw {
	var data []raw
	for i, vector := range vectors(q.root.Get("input"), int(q.root.Get("dimensions").Int())) {
		var value any = vector
		if q.root.Get("encoding_format").Str == "base64" {
			value = base64Floats(vector)
		}
		data = append(data, object("object", "embedding", "index", i, "embedding", value))
	}
	return object("object", "list", "data", data, "model", q.root.Get("model").Str,
		"usage", only(b.Kind != "no-usage", object("prompt_tokens", InputTokens, "total_tokens", InputTokens)))
}
