package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a response:
//
//	{"id","created_at","model","status":"completed"|"incomplete"|"failed","incomplete_details":{"reason"},
//	 "output":[{"type":"message","content":[{"type":"output_text","text"}|{"type":"refusal","refusal"}]},
//	  {"type":"function_call","call_id","namespace","name","arguments"}, and other calls (see Call),
//	  {"type":"reasoning","summary":[{"text"}],"encrypted_content"}],"usage":{…}}
func Response(root gjson.Result) (r chat.Response, ok bool) {
	output := jsonvalue.Get(root.Raw, "output")
	if !output.IsArray() || jsonvalue.String(root.Raw, "status") == "failed" {
		return r, false
	}
	r = chat.Response{ID: jsonvalue.Text(root.Raw, "id"), Model: jsonvalue.Text(root.Raw, "model"), Created: wire.Index(jsonvalue.Get(root.Raw, "created_at"))}
	var a chat.Answer
	output.ForEach(func(_, item gjson.Result) bool {
		a.Parts = append(a.Parts, itemParts(item)...)
		return true
	})
	a.Finish = finishOf(root, hasCalls(a.Parts))
	r.Choices = []chat.Answer{a}
	r.Usage = usage(root)
	return r, true
}

func hasCalls(parts []chat.Part) bool {
	for i := range parts {
		if parts[i].Kind == chat.ToolCall {
			return true
		}
	}
	return false
}

func itemParts(item gjson.Result) (parts []chat.Part) {
	switch jsonvalue.String(item.Raw, "type") {
	case "message":
		forEach(jsonvalue.Get(item.Raw, "content"), func(c gjson.Result) {
			switch jsonvalue.String(c.Raw, "type") {
			case "output_text":
				parts = append(parts, chat.Part{Kind: chat.Text, Text: jsonvalue.Text(c.Raw, "text")})
			case "refusal":
				parts = append(parts, chat.Part{Kind: chat.Refusal, Text: jsonvalue.Text(c.Raw, "refusal")})
			}
		})
	case "reasoning":
		p := chat.Part{Kind: chat.Thinking}
		forEach(jsonvalue.Get(item.Raw, "summary"), func(c gjson.Result) { p.Text += jsonvalue.Text(c.Raw, "text") })
		if encrypted := jsonvalue.Text(item.Raw, "encrypted_content"); encrypted != "" {
			p.Signature = Mark + encrypted
		}
		if p.Text != "" || p.Signature != "" {
			parts = append(parts, p)
		}
	default:
		if p, ok := ownCall(item); ok {
			parts = append(parts, p)
		}
	}
	return parts
}

// forEach calls f for each element of an array. gjson's ForEach would also call f for a value that is not an array.
func forEach(v gjson.Result, f func(gjson.Result)) {
	if v.IsArray() {
		v.ForEach(func(_, element gjson.Result) bool { f(element); return true })
	}
}

// finishOf maps status and incomplete_details. If the response has tool calls, calls is true.
func finishOf(root gjson.Result, calls bool) chat.Finish {
	switch jsonvalue.String(root.Raw, "incomplete_details.reason") {
	case "max_output_tokens":
		return chat.FinishLength
	case "content_filter":
		return chat.FinishFilter
	}
	switch {
	case jsonvalue.String(root.Raw, "status") == "incomplete":
		return chat.FinishLength
	case calls:
		return chat.FinishTools
	}
	return chat.FinishStop
}

// usage parses {"input_tokens","input_tokens_details":{"cached_tokens","cache_write_tokens"},"output_tokens",
// "output_tokens_details":{"reasoning_tokens"}}, and all other fields that affect the cost: service_tier, output, and
// "tool_usage":{"web_search":{"num_requests"}}. num_requests is the number of searches for which OpenAI charges.
func usage(root gjson.Result) chat.Usage {
	v := jsonvalue.Get(root.Raw, "usage")
	u := chat.Usage{
		Input: wire.Count(jsonvalue.Get(v.Raw, "input_tokens")), Output: wire.Count(jsonvalue.Get(v.Raw, "output_tokens")),
		CachedInput: wire.Count(jsonvalue.Get(v.Raw, "input_tokens_details.cached_tokens")),
		CacheWrite:  wire.Count(jsonvalue.Get(v.Raw, "input_tokens_details.cache_write_tokens")),
		Reasoning:   wire.Count(jsonvalue.Get(v.Raw, "output_tokens_details.reasoning_tokens")),
		Reported:    jsonvalue.Get(v.Raw, "input_tokens").Type == gjson.Number,
	}
	u.CachedInput = wire.Within(u.CachedInput, u.Input)
	u.CacheWrite = wire.Within(u.CacheWrite, u.Input-u.CachedInput)
	wire.Names(&u, chat.TierMember, jsonvalue.Get(root.Raw, "service_tier"))
	forEach(jsonvalue.Get(root.Raw, "output"), func(item gjson.Result) { countCall(&u, item) })
	wire.SetCalls(&u, chat.Searches, jsonvalue.Get(root.Raw, "tool_usage.web_search.num_requests"))
	wire.Unknown(&u, v, knownUsage)
	return u
}

const knownUsage = " input_tokens output_tokens total_tokens input_tokens_details input_tokens_details. output_tokens_details " +
	"output_tokens_details. input_tokens_details.cached_tokens input_tokens_details.cache_write_tokens " +
	"input_tokens_details.cache_write_tokens_details output_tokens_details.reasoning_tokens "

// countCall counts an item that is a provider tool call with a price. Opening a page and searching in it are free.
// All code in a response runs in one container.
func countCall(u *chat.Usage, item gjson.Result) {
	switch jsonvalue.String(item.Raw, "type") {
	case "web_search_call":
		if action := jsonvalue.String(item.Raw, "action.type"); action == "" || action == "search" {
			wire.AddCalls(u, chat.Searches, 1)
		}
	case "file_search_call":
		wire.AddCalls(u, chat.FileSearches, 1)
	case "image_generation_call":
		wire.AddCalls(u, chat.Images, 1)
	case "code_interpreter_call", "shell_call_output":
		u.Edit().Calls[chat.Containers] = 1
	}
}
