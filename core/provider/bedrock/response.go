package bedrock

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a Converse response, which has neither an ID nor the model's name:
//
//	{"output":{"message":{"role":"assistant","content":[{"text"},{"reasoningContent":{"reasoningText":{"text",
//	 "signature"}}},{"reasoningContent":{"redactedContent"}},{"toolUse":{"toolUseId","name","input":{…}}},
//	 {"citationsContent":{"content":[{"text"}]}}]}},"stopReason","usage":{…},"additionalModelResponseFields"}
func Response(root gjson.Result) (r chat.Response, ok bool) {
	content := root.Get("output.message.content")
	if !content.IsArray() {
		return r, false
	}
	a := chat.Answer{Finish: finishOf(root.Get("stopReason").Str)}
	content.ForEach(func(_, v gjson.Result) bool {
		a.Parts = blockPart(a.Parts, v)
		return true
	})
	r.Choices = []chat.Answer{a}
	r.StopSequence = wire.Text(root.Get("additionalModelResponseFields.stop_sequence"))
	r.Usage = usage(root.Get("usage"))
	return r, true
}

func blockPart(parts []chat.Part, v gjson.Result) []chat.Part {
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			parts = addText(parts, value)
		case "citationsContent":
			value.Get("content").ForEach(func(_, cited gjson.Result) bool {
				parts = addText(parts, cited.Get("text"))
				return true
			})
		case "reasoningContent":
			parts = reasoningPart(parts, value)
		case "toolUse":
			if value.Get("type").Str != serverTool {
				parts = append(parts, chat.Part{
					Kind: chat.ToolCall, ID: wire.Text(value.Get("toolUseId")), Name: wire.Text(value.Get("name")), Args: input(value.Get("input")),
				})
			}
		}
		return true
	})
	return parts
}

// serverTool is the type of a tool call that Bedrock executes itself.
const serverTool = "server_tool_use"

func reasoningPart(parts []chat.Part, v gjson.Result) []chat.Part {
	if data := wire.Text(v.Get("redactedContent")); data != "" {
		return append(parts, chat.Part{Kind: chat.Redacted, Data: data})
	}
	text := v.Get("reasoningText")
	p := chat.Part{Kind: chat.Thinking, Text: wire.Text(text.Get("text")), Signature: wire.Text(text.Get("signature"))}
	if p.Text == "" && p.Signature == "" {
		return parts
	}
	return append(parts, p)
}

func addText(parts []chat.Part, v gjson.Result) []chat.Part {
	if text := wire.Text(v); text != "" {
		parts = append(parts, chat.Part{Kind: chat.Text, Text: text})
	}
	return parts
}

// input returns the arguments of a tool call, which must be an object.
func input(v gjson.Result) string {
	if !v.IsObject() {
		return "{}"
	}
	return v.Raw
}

// finishOf maps a stopReason.
func finishOf(reason string) chat.Finish {
	switch reason {
	case "":
		return chat.FinishNone
	case "tool_use":
		return chat.FinishTools
	case "max_tokens", "model_context_window_exceeded":
		return chat.FinishLength
	case "stop_sequence":
		return chat.FinishStopSeq
	case "guardrail_intervened", "content_filtered":
		return chat.FinishFilter
	case "malformed_model_output", "malformed_tool_use":
		return chat.FinishError
	}
	return chat.FinishStop
}

// usage parses {"inputTokens","outputTokens","totalTokens","cacheReadInputTokens","cacheWriteInputTokens",
// "cacheDetails":[{"ttl":"1h","inputTokens"}]}. inputTokens excludes tokens read from or written to the cache
// (User Guide, "Prompt caching"). cacheDetails breaks down the written tokens by TTL.
func usage(v gjson.Result) chat.Usage {
	written := wire.Count(v.Get("cacheWriteInputTokens"))
	u := chat.Usage{
		CachedInput: wire.Count(v.Get("cacheReadInputTokens")), Output: wire.Count(v.Get("outputTokens")),
		Reported: v.Get("inputTokens").Type == gjson.Number,
	}
	u.Input = wire.Count(v.Get("inputTokens")) + u.CachedInput + written
	v.Get("cacheDetails").ForEach(func(_, detail gjson.Result) bool {
		if detail.Get("ttl").Str == "1h" {
			u.CacheWrite1h = wire.Count(detail.Get("inputTokens"))
		}
		return true
	})
	u.CacheWrite1h = wire.Within(u.CacheWrite1h, written)
	u.CacheWrite = written - u.CacheWrite1h
	wire.Unknown(&u, v, " inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens cacheDetails "+
		"cacheReadInputTokenCount cacheWriteInputTokenCount serverToolUsage ")
	return u
}
