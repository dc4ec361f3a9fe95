package cohere

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// argsGiven, in wire.State.Flags, is set once the open tool call has any arguments.
const argsGiven = 1

// Stream parses one event. The event's type is also its name:
//
//	message-start    {"id","delta":{"message":{"role"}}}
//	content-start    {"index","delta":{"message":{"content":{"type":"text"|"thinking","text"|"thinking"}}}}
//	content-delta    {"index","delta":{"message":{"content":{"text"|"thinking"}}},"logprobs":{…}}
//	tool-plan-delta  {"delta":{"message":{"tool_plan"}}}
//	tool-call-start  {"index","delta":{"message":{"tool_calls":{"id","function":{"name","arguments"}}}}}
//	tool-call-delta  {"index","delta":{"message":{"tool_calls":{"function":{"arguments"}}}}}
//	tool-call-end    {"index"}
//	message-end      {"id","delta":{"finish_reason","usage":{…},"error"}}
//
// Other events (content-end, citation-start, citation-end, debug) are ignored. If message-end does not report a
// failure, it is the end marker.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !root.IsObject() {
		return out, false
	}
	kind := jsonvalue.String(root.Raw, "type")
	if kind == "" {
		kind = name
	}
	if kind == "" {
		return failure(root, out)
	}
	if !s.Started {
		s.Started = true
		out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: jsonvalue.Text(root.Raw, "id")})
	}
	delta := jsonvalue.Get(root.Raw, "delta")
	message := jsonvalue.Get(delta.Raw, "message")
	switch kind {
	case "content-start", "content-delta":
		out = contentDeltas(jsonvalue.Get(message.Raw, "content"), out)
		if logs := logProbs(jsonvalue.Get(root.Raw, "logprobs")); logs != "" {
			out = append(out, chat.Delta{Kind: chat.DeltaLogProbs, JSON: logs})
		}
	case "tool-plan-delta":
		out = text(chat.DeltaThinking, jsonvalue.Get(message.Raw, "tool_plan"), out)
	case "tool-call-start":
		out = toolStart(s, jsonvalue.Get(message.Raw, "tool_calls"), out)
	case "tool-call-delta":
		out = arguments(s, jsonvalue.Get(message.Raw, "tool_calls"), out)
	case "tool-call-end":
		out = toolEnd(s, out)
	case "message-end":
		out = end(delta, out)
	}
	return out, true
}

// failure parses {"message"}. This error has no type and ends a stream.
func failure(root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	message := jsonvalue.Text(root.Raw, "message")
	if message == "" {
		return out, false
	}
	return append(out, chat.Delta{Kind: chat.DeltaError, Text: message}), true
}

func text(kind chat.DeltaKind, v gjson.Result, out []chat.Delta) []chat.Delta {
	if t := wire.Text(v); t != "" {
		out = append(out, chat.Delta{Kind: kind, Text: t})
	}
	return out
}

func contentDeltas(v gjson.Result, out []chat.Delta) []chat.Delta {
	out = text(chat.DeltaThinking, jsonvalue.Get(v.Raw, "thinking"), out)
	return text(chat.DeltaText, jsonvalue.Get(v.Raw, "text"), out)
}

// toolStart starts a tool call. Calls follow one another. An event's index can be missing, so calls are counted here.
func toolStart(s *wire.State, call gjson.Result, out []chat.Delta) []chat.Delta {
	out = append(out, chat.Delta{
		Kind: chat.DeltaTool, Index: s.Tools, ID: jsonvalue.Text(call.Raw, "id"), Name: jsonvalue.Text(call.Raw, "function.name"),
	})
	s.Tools++
	s.Flags &^= argsGiven
	return arguments(s, call, out)
}

func arguments(s *wire.State, call gjson.Result, out []chat.Delta) []chat.Delta {
	piece := jsonvalue.Text(call.Raw, "function.arguments")
	if piece == "" || s.Tools == 0 {
		return out
	}
	s.Flags |= argsGiven
	return append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: piece})
}

// toolEnd ends a tool call. If the call has no arguments, toolEnd sends an empty object.
func toolEnd(s *wire.State, out []chat.Delta) []chat.Delta {
	if s.Tools == 0 || s.Flags&argsGiven != 0 {
		return out
	}
	s.Flags |= argsGiven
	return append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: "{}"})
}

func end(delta gjson.Result, out []chat.Delta) []chat.Delta {
	if u := usage(jsonvalue.Get(delta.Raw, "usage")); u.Reported {
		out = append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
	}
	reason, message := jsonvalue.Get(delta.Raw, "finish_reason"), jsonvalue.Text(delta.Raw, "error")
	finish := finishOf(reason.Str)
	if finish == chat.FinishError || message != "" {
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: wire.Text(reason), Text: message})
	}
	if finish != chat.FinishNone {
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: finish})
	}
	return append(out, chat.Delta{Kind: chat.DeltaEnd})
}
