package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// bedrockWire speaks Amazon Bedrock's Converse, and InvokeModel for Titan and Cohere embeddings. Source: Amazon
// Bedrock API reference, "Converse", "ConverseStream" and "InvokeModel"
// (docs.aws.amazon.com/bedrock/latest/APIReference), "Amazon Titan Text Embeddings" and "Cohere Embed" of its user
// guide, and the types of the npm package @aws-sdk/client-bedrock-runtime.
var bedrockWire = &wire{
	family: "bedrock", framing: eventStream, refuse: refuseBedrock, prompt: bedrockPrompt, whole: bedrockWhole,
	events: bedrockEvents, otherOps: map[string]func(*request, *Behavior) raw{"embed": bedrockEmbed}, failure: bedrockFailure,
	streamError: func() []event {
		return []event{{name: "modelStreamErrorException", fail: true, data: object("message", "The model failed.",
			"originalStatusCode", 500, "originalMessage", "Internal server error")}}
	},
}

func bedrockPrompt(q *request) prompt {
	v := q.root
	p := prompt{model: q.model, stream: q.method == "converse-stream"}
	for _, m := range v.Get("messages").Array() {
		p.bedrockMessage(m)
	}
	for _, t := range v.Get("toolConfig.tools").Array() {
		if spec := t.Get("toolSpec"); spec.Exists() {
			p.tools = append(p.tools, tool{name: spec.Get("name").Str, schema: spec.Get("inputSchema.json")})
		}
	}
	choice := v.Get("toolConfig.toolChoice")
	if p.forcedTool = choice.Get("tool.name").Str; p.forcedTool != "" {
		p.toolChoice = "tool"
	}
	format := v.Get("outputConfig.textFormat")
	if p.json = format.Get("type").Str == "json_schema"; p.json {
		p.schema = gjson.Parse(format.Get("structure.jsonSchema.schema").Str)
	}
	return p
}

func (p *prompt) bedrockMessage(m gjson.Result) {
	content, fromUser := m.Get("content"), m.Get("role").Str == "user"
	p.startMessage(fromUser && !strings.Contains(content.Raw, `"toolResult"`))
	if !fromUser {
		return
	}
	for _, block := range content.Array() {
		block.ForEach(func(key, v gjson.Result) bool {
			switch key.Str {
			case "text":
				p.addText(v.Str)
			case "image":
				p.addMedia("an image", "image/"+v.Get("format").Str, v.Get("source.bytes").Str)
			case "document":
				p.addMedia("a file", v.Get("format").Str, v.Get("source.bytes").Str)
			case "toolResult":
				p.addResult(bedrockResult(v.Get("content")))
			}
			return true
		})
	}
}

func bedrockResult(content gjson.Result) (text string) {
	for _, block := range content.Array() {
		text += block.Get("text").Str + block.Get("json").Raw
	}
	return text
}

func bedrockStop(finish string) string {
	return map[string]string{"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "filter": "guardrail_intervened"}[finish]
}

// bedrockUsage excludes cached tokens from inputTokens. The total includes them.
func bedrockUsage(a *answer) any {
	return only(a.hasUsage, object("inputTokens", a.uncachedInput(), "outputTokens", OutputTokens,
		"totalTokens", InputTokens+OutputTokens,
		"cacheReadInputTokens", only(a.cached > 0, a.cached), "cacheWriteInputTokens", only(a.cached > 0, 0)))
}

func bedrockWhole(a *answer) raw {
	var content []raw
	if len(a.thinking) > 0 {
		content = append(content, object("reasoningContent", object("reasoningText",
			object("text", a.fullThinking(), "signature", signature))))
	}
	if len(a.text) > 0 {
		content = append(content, object("text", a.fullText()))
	}
	for i, c := range a.calls {
		content = append(content, object("toolUse", object("toolUseId", id("tooluse_", i), "name", c.name, "input", raw(c.args))))
	}
	return object("metrics", object("latencyMs", 12), "output", object("message", object("content", array(content...), "role", "assistant")),
		"stopReason", bedrockStop(a.finish), "usage", bedrockUsage(a))
}

// bedrockStream collects events and numbers the content blocks. "p" is padding that hides an event's length.
type bedrockStream struct {
	events []event
	block  int
}

func (s *bedrockStream) add(kind eventKind, name string, pairs ...any) {
	s.events = append(s.events, event{name: name, kind: kind, data: object(append(pairs, "p", "abcdefgh")...)})
}

func (s *bedrockStream) delta(kind eventKind, delta raw) {
	s.add(kind, "contentBlockDelta", "contentBlockIndex", s.block, "delta", delta)
}

func (s *bedrockStream) stop() {
	s.add(middle, "contentBlockStop", "contentBlockIndex", s.block)
	s.block++
}

// bedrockEvents returns the events of ConverseStream. Only tool call blocks start with a contentBlockStart.
func bedrockEvents(a *answer) []event {
	s := &bedrockStream{}
	s.add(opening, "messageStart", "role", "assistant")
	if len(a.thinking) > 0 {
		for _, piece := range a.thinking {
			s.delta(middle, object("reasoningContent", object("text", piece)))
		}
		s.delta(middle, object("reasoningContent", object("signature", signature)))
		s.stop()
	}
	if len(a.text) > 0 {
		for _, piece := range a.text {
			s.delta(text, object("text", piece))
		}
		s.stop()
	}
	for i, c := range a.calls {
		s.call(i, c)
	}
	s.add(middle, "messageStop", "stopReason", bedrockStop(a.finish))
	s.add(usage, "metadata", "metrics", object("latencyMs", 12), "usage", bedrockUsage(a))
	return s.events
}

func (s *bedrockStream) call(n int, c call) {
	s.add(middle, "contentBlockStart", "contentBlockIndex", s.block,
		"start", object("toolUse", object("name", c.name, "toolUseId", id("tooluse_", n))))
	for _, piece := range pieces(c.args, 8) {
		s.delta(middle, object("toolUse", object("input", piece)))
	}
	s.stop()
}

// bedrockEmbed returns the response of an embedding model: one vector for Titan, one per text for Cohere.
func bedrockEmbed(q *request, b *Behavior) raw {
	v := q.root
	if !strings.Contains(q.model, "cohere") {
		vector := Vector(v.Get("inputText").Str, int(v.Get("dimensions").Int()))
		return object("embedding", vector, "embeddingsByType", object("float", vector),
			"inputTextTokenCount", only(b.Kind != "no-usage", InputTokens))
	}
	list := vectors(v.Get("texts"), int(v.Get("output_dimension").Int()))
	if v.Get("embedding_types").Exists() {
		return object("id", "emb-1", "texts", raw(v.Get("texts").Raw), "embeddings", object("float", list), "response_type", "embeddings_by_type")
	}
	return object("id", "emb-1", "texts", raw(v.Get("texts").Raw), "embeddings", list, "response_type", "embeddings_floats")
}

var bedrockErrors = map[int]string{
	400: "ValidationException", 401: "UnrecognizedClientException", 403: "AccessDeniedException", 404: "ResourceNotFoundException",
	408: "ModelTimeoutException", 413: "ValidationException", 422: "ValidationException", 424: "ModelErrorException",
	429: "ThrottlingException", 500: "InternalServerException", 502: "ServiceUnavailableException",
	503: "ServiceUnavailableException", 529: "ServiceUnavailableException",
}

// bedrockFailure returns {"message"}. The exception type is in a header.
func bedrockFailure(f *refusal) (raw, map[string]string) {
	kind := bedrockErrors[f.status]
	if f.kind != "" {
		kind = f.kind
	}
	return object("message", f.message), map[string]string{
		"X-Amzn-Errortype": kind + ":http://internal.amazon.com/coral/com.amazon.bedrock/",
	}
}
