package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a message:
//
//	{"id","type":"message","role":"assistant","model","content":[{"type":"text","text"},{"type":"thinking",
//	 "thinking","signature"},{"type":"redacted_thinking","data"},{"type":"tool_use","id","name","input":{…}}],
//	 "stop_reason","stop_sequence":null|"…","usage":{…}}
//
// It ignores blocks from Anthropic's server tools.
func Response(root gjson.Result) (r chat.Response, ok bool) {
	var a chat.Answer
	var listed chat.Usage
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "id":
			r.ID = wire.Text(value)
		case "model":
			r.Model = wire.Text(value)
		case "content":
			ok = value.IsArray()
			value.ForEach(func(_, v gjson.Result) bool {
				a.Parts = blockPart(a.Parts, v)
				countCall(&listed, v)
				return true
			})
		case "stop_reason":
			a.Finish = FinishOf(value.Str)
		case "stop_sequence":
			r.StopSequence = wire.Text(value)
		case "usage":
			mergeUsage(&r.Usage, value)
			addCompaction(&r.Usage, value)
		}
		return true
	})
	if calls := &listed.Bought().Calls; *calls != (chat.Calls{}) {
		e := r.Usage.Edit()
		if e.Calls[chat.Containers] = calls[chat.Containers]; !jsonvalue.Get(root.Raw, "usage.server_tool_use").IsObject() {
			e.Calls[chat.Searches] = calls[chat.Searches]
		}
	}
	r.Choices = []chat.Answer{a}
	return r, ok && root.IsObject()
}

func blockPart(parts []chat.Part, v gjson.Result) []chat.Part {
	switch jsonvalue.String(v.Raw, "type") {
	case "text":
		if text := jsonvalue.Text(v.Raw, "text"); text != "" {
			parts = append(parts, chat.Part{Kind: chat.Text, Text: text})
		}
	case "thinking":
		parts = append(parts, chat.Part{Kind: chat.Thinking, Text: jsonvalue.Text(v.Raw, "thinking"), Signature: jsonvalue.Text(v.Raw, "signature")})
	case "redacted_thinking":
		parts = append(parts, chat.Part{Kind: chat.Redacted, Data: jsonvalue.Text(v.Raw, "data")})
	case "tool_use":
		parts = append(parts, chat.Part{
			Kind: chat.ToolCall, ID: jsonvalue.Text(v.Raw, "id"), Name: jsonvalue.Text(v.Raw, "name"), Args: openai.Arguments(jsonvalue.Get(v.Raw, "input")),
		})
	}
	return parts
}

func FinishOf(reason string) chat.Finish {
	switch reason {
	case "":
		return chat.FinishNone
	case "max_tokens", "model_context_window_exceeded":
		return chat.FinishLength
	case "stop_sequence":
		return chat.FinishStopSeq
	case "tool_use":
		return chat.FinishTools
	case "pause_turn":
		return chat.FinishPause
	case "refusal":
		return chat.FinishFilter
	}
	return chat.FinishStop
}

// mergeUsage copies the token counts that v has:
//
//	{"input_tokens","cache_read_input_tokens","cache_creation_input_tokens","output_tokens",
//	 "cache_creation":{"ephemeral_5m_input_tokens","ephemeral_1h_input_tokens"},
//	 "output_tokens_details":{"thinking_tokens"},"server_tool_use":{"web_search_requests"},"service_tier","speed","inference_geo"}
//
// In a stream, the counts are cumulative. The last event has only some of them. input_tokens excludes tokens read
// from or written to the cache.
func mergeUsage(u *chat.Usage, v gjson.Result) {
	uncached := u.Input - min(u.Input, u.CachedInput+u.CacheWrite+u.CacheWrite1h)
	write, hour := u.CacheWrite+u.CacheWrite1h, u.CacheWrite1h
	v.ForEach(func(key, value gjson.Result) bool {
		if value.Type == gjson.Null {
			return true
		}
		switch key.Str {
		case "input_tokens":
			uncached = wire.Count(value)
		case "cache_read_input_tokens":
			u.CachedInput = wire.Count(value)
		case "cache_creation_input_tokens":
			write = wire.Count(value)
		case "cache_creation":
			hour = wire.Count(jsonvalue.Get(value.Raw, "ephemeral_1h_input_tokens"))
		case "output_tokens":
			u.Output = wire.Count(value)
			u.Reported = u.Reported || value.Type == gjson.Number
		case "output_tokens_details":
			u.Reasoning = wire.Count(jsonvalue.Get(value.Raw, "thinking_tokens"))
		case "server_tool_use":
			wire.SetCalls(u, chat.Searches, jsonvalue.Get(value.Raw, "web_search_requests"))
		case "speed", "inference_geo":
			wire.Names(u, key.Str, value)
		case chat.TierMember:
			// The account has bought the capacity of Priority Tier in advance, so its tokens have no price of their
			// own.
			if value.Str != "priority" {
				wire.Names(u, key.Str, value)
			}
		}
		return true
	})
	wire.Unknown(u, v, knownUsage)
	u.CacheWrite1h = wire.Within(hour, write)
	u.CacheWrite = write - u.CacheWrite1h
	u.Input = uncached + u.CachedInput + write
	u.Reasoning = wire.Within(u.Reasoning, u.Output)
}
