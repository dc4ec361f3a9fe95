package openai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a chat completion:
//
//	{"id","created","model","choices":[{"index","message":{"content":"…"|null,"refusal","reasoning_content",
//	 "tool_calls":[{"id","type":"function","function":{"name","arguments"}}]},"logprobs","finish_reason"}],
//	 "usage":{"prompt_tokens","completion_tokens",…}}
//
// DeepSeek introduced reasoning_content, and other providers adopted it. OpenRouter and Groq use the name reasoning.
func Response(root gjson.Result) (r chat.Response, ok bool) {
	r = chat.Response{ID: jsonvalue.Text(root.Raw, "id"), Model: jsonvalue.Text(root.Raw, "model"), Created: wire.Index(jsonvalue.Get(root.Raw, "created"))}
	jsonvalue.Get(root.Raw, "choices").ForEach(func(_, v gjson.Result) bool {
		var a chat.Answer
		if a, ok = answer(v); ok {
			r.Choices = append(r.Choices, a)
		}
		return ok
	})
	r.Usage = usage(jsonvalue.Get(root.Raw, "usage"))
	wire.Names(&r.Usage, chat.TierMember, jsonvalue.Get(root.Raw, "service_tier"))
	return r, ok
}

func answer(v gjson.Result) (a chat.Answer, ok bool) {
	message := jsonvalue.Get(v.Raw, "message")
	if !message.IsObject() {
		return a, false
	}
	if !validContent(jsonvalue.Get(message.Raw, "content")) {
		return a, false
	}
	message.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			a.Parts = append(a.Parts, contentParts(value)...)
		case "refusal":
			a.Parts = addText(a.Parts, chat.Refusal, value)
		case "reasoning_content", "reasoning":
			// Thinking is the first part, in whatever order the fields are. If both names are present, it occurs
			// once.
			if len(a.Parts) == 0 || a.Parts[0].Kind != chat.Thinking {
				a.Parts = append(addText(nil, chat.Thinking, value), a.Parts...)
			}
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				if call.IsObject() { // ForEach also visits null
					a.Parts = append(a.Parts, ToolCall(call))
				}
				return true
			})
		}
		return true
	})
	a.Finish = finishOf(jsonvalue.String(v.Raw, "finish_reason"))
	if logs := jsonvalue.Get(v.Raw, "logprobs"); logs.IsObject() {
		a.LogProbs = logs.Raw
	}
	// If a choice has no content, it is invalid unless its finish reason is abnormal. Invalid choices must not be
	// cached.
	hasContent := len(a.Parts) > 0 || jsonvalue.Get(message.Raw, "content").Type == gjson.String
	return a, hasContent || a.Finish != chat.FinishNone && a.Finish != chat.FinishStop
}

func validContent(content gjson.Result) bool {
	if content.IsArray() {
		first := jsonvalue.Get(content.Raw, "0")
		return !first.Exists() || first.IsObject()
	}
	return content.Type == gjson.String || content.Type == gjson.Null
}

// contentParts parses a string or Mistral's array of chunks.
func contentParts(v gjson.Result) (parts []chat.Part) {
	if !v.IsArray() {
		return addText(nil, chat.Text, v)
	}
	v.ForEach(func(_, chunk gjson.Result) bool {
		switch jsonvalue.String(chunk.Raw, "type") {
		case "text":
			parts = addText(parts, chat.Text, jsonvalue.Get(chunk.Raw, "text"))
		case "thinking":
			jsonvalue.Get(chunk.Raw, "thinking").ForEach(func(_, t gjson.Result) bool {
				parts = addText(parts, chat.Thinking, jsonvalue.Get(t.Raw, "text"))
				return true
			})
		}
		return true
	})
	return parts
}

func addText(parts []chat.Part, kind chat.PartKind, v gjson.Result) []chat.Part {
	if text := wire.Text(v); text != "" {
		parts = append(parts, chat.Part{Kind: kind, Text: text})
	}
	return parts
}

// ToolCall parses {"id","function":{"name","arguments"}}.
func ToolCall(v gjson.Result) chat.Part {
	f := jsonvalue.Get(v.Raw, "function")
	p := chat.Part{Kind: chat.ToolCall, ID: jsonvalue.Text(v.Raw, "id"), Args: Arguments(jsonvalue.Get(f.Raw, "arguments"))}
	if custom := jsonvalue.Get(v.Raw, "custom"); custom.IsObject() {
		f, p.Args = custom, chat.InputArgs(jsonvalue.Text(custom.Raw, "input"))
	}
	p.Name = jsonvalue.Text(f.Raw, "name")
	return p
}

// Arguments returns the arguments of a tool call as a JSON object. They are JSON inside a string. Invalid arguments
// become {"_invalid":"…"}, so callers need not check the result.
func Arguments(v gjson.Result) string {
	text := v.Raw
	if v.Type == gjson.String {
		text = jsontext.Inside(v.Raw).Plain()
	}
	if text == "" || text == "null" {
		return "{}"
	}
	if jsontext.Check([]byte(text)) != jsontext.OK || !gjson.Parse(text).IsObject() {
		return `{"_invalid":` + string(jsontext.AppendString(nil, text)) + `}`
	}
	return text
}

func finishOf(reason string) chat.Finish {
	switch reason {
	case "stop", "eos", "stop_sequence":
		return chat.FinishStop
	case "length", "model_length", "max_tokens":
		return chat.FinishLength
	case "tool_calls", "function_call":
		return chat.FinishTools
	case "content_filter":
		return chat.FinishFilter
	case "error", "insufficient_system_resource", "abort": // the second is from DeepSeek, the third from vLLM and SGLang
		return chat.FinishError
	case "":
		return chat.FinishNone
	}
	return chat.FinishStop
}

// usage parses {"prompt_tokens","completion_tokens","prompt_tokens_details":{"cached_tokens",
// "cache_write_tokens"},"completion_tokens_details":{"reasoning_tokens"}}. prompt_tokens includes tokens read
// from and written to the cache. DeepSeek has prompt_cache_hit_tokens instead of cached_tokens.
func usage(v gjson.Result) chat.Usage {
	u := chat.Usage{
		Input: wire.Count(jsonvalue.Get(v.Raw, "prompt_tokens")), Output: wire.Count(jsonvalue.Get(v.Raw, "completion_tokens")),
		CachedInput: wire.Count(jsonvalue.Get(v.Raw, "prompt_tokens_details.cached_tokens")),
		CacheWrite:  wire.Count(jsonvalue.Get(v.Raw, "prompt_tokens_details.cache_write_tokens")),
		Reasoning:   wire.Count(jsonvalue.Get(v.Raw, "completion_tokens_details.reasoning_tokens")),
		Reported:    jsonvalue.Get(v.Raw, "prompt_tokens").Type == gjson.Number,
	}
	if hit := jsonvalue.Get(v.Raw, "prompt_cache_hit_tokens"); hit.Exists() {
		u.CachedInput = wire.Count(hit)
	}
	// xAI's completion_tokens do not include reasoning. Its total_tokens shows this.
	if total := wire.Count(jsonvalue.Get(v.Raw, "total_tokens")); u.Reasoning > 0 && total == u.Input+u.Output+u.Reasoning {
		u.Output += u.Reasoning
	}
	u.CachedInput = wire.Within(u.CachedInput, u.Input)
	u.CacheWrite = wire.Within(u.CacheWrite, u.Input-u.CachedInput)
	wire.Unknown(&u, v, knownUsage)
	return u
}

// knownUsage has the fields of OpenAI's usage. It also has fields of DeepSeek, Groq, Mistral, OpenRouter and
// Perplexity that do not affect the cost.
const knownUsage = " prompt_tokens completion_tokens total_tokens prompt_tokens_details prompt_tokens_details. completion_tokens_details " +
	"completion_tokens_details. prompt_tokens_details.cached_tokens prompt_tokens_details.cache_write_tokens prompt_tokens_details.text_tokens " +
	"prompt_tokens_details.image_tokens prompt_tokens_details.audio_tokens completion_tokens_details.reasoning_tokens " +
	"completion_tokens_details.text_tokens completion_tokens_details.audio_tokens completion_tokens_details.accepted_prediction_tokens " +
	"completion_tokens_details.rejected_prediction_tokens prompt_cache_hit_tokens prompt_cache_miss_tokens queue_time prompt_time " +
	"completion_time total_time cost cost_details is_byok search_context_size num_cached_tokens prompt_token_details prompt_audio_seconds "

// EmbedResponse parses {"data":[{"index","embedding":[…]}],"usage":{"prompt_tokens"}}.
func EmbedResponse(root gjson.Result) (e wire.Embedding, ok bool) {
	e.Vectors, ok = wire.Vectors(jsonvalue.Get(root.Raw, "data").Raw, "embedding")
	e.Usage = usage(jsonvalue.Get(root.Raw, "usage"))
	return e, ok
}
