package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one event, identified by the type in its data. State.Tools counts the tool calls started.
func Stream(s *wire.State, _ string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !root.IsObject() {
		return out, false
	}
	switch root.Get("type").Str {
	case "response.created":
		if !s.Started {
			s.Started = true
			response := root.Get("response")
			out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: wire.Text(response.Get("id")), Model: wire.Text(response.Get("model"))})
		}
	case "response.output_item.added":
		out = itemAdded(s, root, out)
	case "response.output_text.delta":
		out = textDelta(out, chat.DeltaText, root)
	case "response.refusal.delta":
		out = textDelta(out, chat.DeltaRefusal, root)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		out = textDelta(out, chat.DeltaThinking, root)
	case "response.function_call_arguments.delta":
		if text := wire.Text(root.Get("delta")); text != "" && s.Tools > 0 {
			out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: text})
		}
	case "response.output_item.done":
		countCall(&s.Usage, root.Get("item"))
		if encrypted := wire.Text(root.Get("item.encrypted_content")); encrypted != "" {
			out = append(out, chat.Delta{Kind: chat.DeltaSignature, Text: Mark + encrypted})
		}
	case "response.completed", "response.incomplete":
		response := root.Get("response")
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: finishOf(response, s.Tools > 0)})
		if u := usage(response); u.Reported {
			if !response.Get("output.0").Exists() && !response.Get("tool_usage").Exists() { // only the items' own events have them
				u.Edit().Calls = s.Usage.Bought().Calls
			}
			out = append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
		}
		out = append(out, chat.Delta{Kind: chat.DeltaEnd})
	case "response.failed":
		e := root.Get("response.error")
		out = append(out, chat.Delta{Kind: chat.DeltaError, Name: wire.Text(e.Get("code")), Text: wire.Text(e.Get("message"))})
	case "error":
		e := root
		if nested := root.Get("error"); nested.IsObject() {
			e = nested
		}
		out = append(out, chat.Delta{Kind: chat.DeltaError, Name: wire.Text(e.Get("code")), Text: wire.Text(e.Get("message"))})
	}
	return out, true
}

// itemAdded starts a tool call. The API sends items one after the other.
func itemAdded(s *wire.State, root gjson.Result, out []chat.Delta) []chat.Delta {
	item := root.Get("item")
	if item.Get("type").Str != "function_call" {
		return out
	}
	s.Tools++
	out = append(out, chat.Delta{
		Kind: chat.DeltaTool, Index: s.Tools - 1, ID: wire.Text(item.Get("call_id")), Name: wire.Text(item.Get("name")),
	})
	if args := wire.Text(item.Get("arguments")); args != "" {
		out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: args})
	}
	return out
}

func textDelta(out []chat.Delta, kind chat.DeltaKind, root gjson.Result) []chat.Delta {
	if text := wire.Text(root.Get("delta")); text != "" {
		out = append(out, chat.Delta{Kind: kind, Text: text})
	}
	return out
}
