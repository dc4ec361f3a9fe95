package openai

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one chat.completion.chunk:
//
//	{"id","model","choices":[{"index","delta":{"content","refusal","reasoning_content","tool_calls":[{"index",
//	 "id","function":{"name","arguments"}}]},"logprobs","finish_reason"}],"usage":null|{…}}
//
// The last chunk has the usage and no choices. Some providers send cumulative usage in every chunk. An error is
// {"error":{…}}.
func Stream(s *wire.State, _ string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !root.IsObject() {
		return out, false
	}
	before := len(out)
	failure := ""
	if !s.Started {
		s.Started = true
		out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: jsonvalue.Text(root.Raw, "id"), Model: jsonvalue.Text(root.Raw, "model")})
	}
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "error":
			if value.Type != gjson.Null {
				failure = value.Raw
			}
		case chat.TierMember:
			wire.Names(&s.Usage, chat.TierMember, value)
		case "choices":
			value.ForEach(func(_, choice gjson.Result) bool {
				out = choiceDeltas(s, choice, out)
				return true
			})
		case "usage":
			out = usageDelta(out, value)
		case "x_groq": // Groq's older location for usage
			out = usageDelta(out, jsonvalue.Get(value.Raw, "usage"))
		}
		return failure == ""
	})
	if failure != "" {
		return append(out[:before], chat.Delta{Kind: chat.DeltaError, Name: jsonvalue.Text(failure, "type"), Text: errorText(root)}), true
	}
	return nameTier(s, out), s.Flags != invalidCalls && len(s.Calls)+len(s.Held) <= maxCallBytes
}

// usageDelta reads the usage, which is null in all chunks but the last.
func usageDelta(out []chat.Delta, v gjson.Result) []chat.Delta {
	if v.IsObject() {
		if u := usage(v); u.Reported {
			return append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
		}
	}
	return out
}

// nameTier adds the tier to usage that was just read if the stream has already named the tier. The tier can also
// arrive after the usage.
func nameTier(s *wire.State, out []chat.Delta) []chat.Delta {
	if n := len(out) - 1; n >= 0 && s.Usage.Extras != nil && out[n].Kind == chat.DeltaUsage {
		out[n].Usage.Edit().Terms = s.Usage.Terms
	}
	return out
}

func choiceDeltas(s *wire.State, choice gjson.Result, out []chat.Delta) []chat.Delta {
	var index uint64
	var delta, logs gjson.Result
	finish := chat.FinishNone
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
			index = wire.Index(value)
		case "delta":
			delta = value
		case "finish_reason":
			finish = finishOf(value.Str)
		case "logprobs":
			logs = value
		}
		return true
	})
	thought := false
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			out = contentDeltas(out, index, value)
		case "refusal":
			out = textDelta(out, chat.DeltaRefusal, index, value)
		case "reasoning_content", "reasoning":
			if !thought { // some providers send both names
				before := len(out)
				out = textDelta(out, chat.DeltaThinking, index, value)
				thought = len(out) > before
			}
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				out = toolDeltas(s, out, index, call)
				return true
			})
		case "role":
		case "reasoning_details": // repeats the reasoning
			if !thought {
				out = wire.Other(out, value)
			}
		default:
			out = wire.Other(out, value)
		}
		return true
	})
	if logs.IsObject() {
		out = append(out, chat.Delta{Kind: chat.DeltaLogProbs, Choice: index, JSON: logs.Raw})
	}
	if finish != chat.FinishNone {
		if s.Held != "" { // its name will not arrive
			s.Flags = invalidCalls
		}
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Choice: index, Finish: finish})
	}
	return out
}

func contentDeltas(out []chat.Delta, index uint64, v gjson.Result) []chat.Delta {
	if v.IsObject() {
		return wire.Other(out, v)
	}
	if !v.IsArray() {
		return textDelta(out, chat.DeltaText, index, v)
	}
	for _, p := range contentParts(v) {
		kind := chat.DeltaText
		if p.Kind == chat.Thinking {
			kind = chat.DeltaThinking
		}
		out = append(out, chat.Delta{Kind: kind, Choice: index, Text: p.Text})
	}
	return out
}

func textDelta(out []chat.Delta, kind chat.DeltaKind, index uint64, v gjson.Result) []chat.Delta {
	if text := wire.Text(v); text != "" {
		out = append(out, chat.Delta{Kind: kind, Choice: index, Text: text})
	}
	return out
}
