package bedrock

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a Converse response, which has neither an ID nor the model's name:
//
//	{"output":{"message":{"role":"assistant","content":[{"text"},{"reasoningContent":{"reasoningText":{"text",
//	 "signature"}}},{"reasoningContent":{"redactedContent"}},{"toolUse":{"toolUseId","name","input":{…}}},
//	 {"citationsContent":{"content":[{"text"}]}}]}},"stopReason","usage":{…},"additionalModelResponseFields"}
func Response(root gjson.Result) (r chat.Response, ok bool) {
	content := jsonvalue.Get(root.Raw, "output.message.content")
	if !content.IsArray() {
		return r, false
	}
	a := chat.Answer{Finish: finishOf(jsonvalue.String(root.Raw, "stopReason"))}
	content.ForEach(func(_, v gjson.Result) bool {
		a.Parts = blockPart(a.Parts, v)
		return true
	})
	r.Choices = []chat.Answer{a}
	r.StopSequence = jsonvalue.Text(root.Raw, "additionalModelResponseFields.stop_sequence")
	r.Usage = usage(jsonvalue.Get(root.Raw, "usage"))
	return r, true
}

func blockPart(parts []chat.Part, v gjson.Result) []chat.Part {
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			parts = addText(parts, value)
		case "citationsContent":
			jsonvalue.Get(value.Raw, "content").ForEach(func(_, cited gjson.Result) bool {
				parts = addText(parts, jsonvalue.Get(cited.Raw, "text"))
				return true
			})
		case "reasoningContent":
			parts = reasoningPart(parts, value)
		case "toolUse":
			if jsonvalue.String(value.Raw, "type") != serverTool {
				parts = append(parts, chat.Part{
					Kind: chat.ToolCall, ID: jsonvalue.Text(value.Raw, "toolUseId"), Name: jsonvalue.Text(value.Raw, "name"), Args: openai.Arguments(jsonvalue.Get(value.Raw, "input")),
				})
			}
		}
		return true
	})
	return parts
}

// serverTool is the type of a tool call that Bedrock runs itself.
const serverTool = "server_tool_use"

func reasoningPart(parts []chat.Part, v gjson.Result) []chat.Part {
	if data := jsonvalue.Text(v.Raw, "redactedContent"); data != "" {
		return append(parts, chat.Part{Kind: chat.Redacted, Data: data})
	}
	text := jsonvalue.Get(v.Raw, "reasoningText")
	p := chat.Part{Kind: chat.Thinking, Text: jsonvalue.Text(text.Raw, "text"), Signature: jsonvalue.Text(text.Raw, "signature")}
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
// "cacheDetails":[{"ttl":"1h","inputTokens"}]}. inputTokens excludes tokens read from or written to the cache (User
// Guide, "Prompt caching"). cacheDetails has the written tokens by TTL.
func usage(v gjson.Result) chat.Usage {
	written := wire.Count(jsonvalue.Get(v.Raw, "cacheWriteInputTokens"))
	u := chat.Usage{
		CachedInput: wire.Count(jsonvalue.Get(v.Raw, "cacheReadInputTokens")), Output: wire.Count(jsonvalue.Get(v.Raw, "outputTokens")),
		Reported: jsonvalue.Get(v.Raw, "inputTokens").Type == gjson.Number,
	}
	u.Input = wire.Count(jsonvalue.Get(v.Raw, "inputTokens")) + u.CachedInput + written
	jsonvalue.Get(v.Raw, "cacheDetails").ForEach(func(_, detail gjson.Result) bool {
		if jsonvalue.String(detail.Raw, "ttl") == "1h" {
			u.CacheWrite1h = wire.Count(jsonvalue.Get(detail.Raw, "inputTokens"))
		}
		return true
	})
	u.CacheWrite1h = wire.Within(u.CacheWrite1h, written)
	u.CacheWrite = written - u.CacheWrite1h
	wire.Unknown(&u, v, " inputTokens outputTokens totalTokens cacheReadInputTokens cacheWriteInputTokens cacheDetails "+
		"cacheReadInputTokenCount cacheWriteInputTokenCount serverToolUsage ")
	return u
}
