package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Stream parses one event. The event's type is in its data. State.Tools is the number of tool calls started. If
// pieces of the open item were counted as DeltaOther, State.Flags is 1.
func Stream(s *wire.State, _ string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !root.IsObject() {
		return out, false
	}
	switch jsonvalue.String(root.Raw, "type") {
	case "response.created":
		if !s.Started {
			s.Started = true
			response := jsonvalue.Get(root.Raw, "response")
			out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: jsonvalue.Text(response.Raw, "id"), Model: jsonvalue.Text(response.Raw, "model")})
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
		if text := jsonvalue.Text(root.Raw, "delta"); text != "" && s.Tools > 0 {
			out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: text})
		}
	case "response.output_item.done":
		countCall(&s.Usage, jsonvalue.Get(root.Raw, "item"))
		out = itemDone(s, jsonvalue.Get(root.Raw, "item"), out)
		if encrypted := jsonvalue.Text(root.Raw, "item.encrypted_content"); encrypted != "" {
			out = append(out, chat.Delta{Kind: chat.DeltaSignature, Text: Mark + encrypted})
		}
	case "response.completed", "response.incomplete":
		response := jsonvalue.Get(root.Raw, "response")
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: finishOf(response, s.Tools > 0)})
		if u := usage(response); u.Reported {
			if !jsonvalue.Get(response.Raw, "output.0").Exists() && !jsonvalue.Get(response.Raw, "tool_usage").Exists() { // then only the items' own events list the calls
				u.Edit().Calls = s.Usage.Bought().Calls
			}
			out = append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
		}
		out = append(out, chat.Delta{Kind: chat.DeltaEnd})
	case "response.failed":
		e := jsonvalue.Get(root.Raw, "response.error")
		out = append(out, chat.Delta{Kind: chat.DeltaError, Name: jsonvalue.Text(e.Raw, "code"), Text: jsonvalue.Text(e.Raw, "message")})
	case "error":
		e := root
		if nested := jsonvalue.Get(root.Raw, "error"); nested.IsObject() {
			e = nested
		}
		out = append(out, chat.Delta{Kind: chat.DeltaError, Name: jsonvalue.Text(e.Raw, "code"), Text: jsonvalue.Text(e.Raw, "message")})
	default: // the inputs of custom tools and of the provider's own tools
		if strings.HasSuffix(jsonvalue.String(root.Raw, "type"), ".delta") {
			out, s.Flags = wire.Other(out, jsonvalue.Get(root.Raw, "delta")), 1
		}
	}
	return out, true
}

// itemAdded starts a tool call. The API sends items one after another.
func itemAdded(s *wire.State, root gjson.Result, out []chat.Delta) []chat.Delta {
	item := jsonvalue.Get(root.Raw, "item")
	s.Flags = 0
	if jsonvalue.String(item.Raw, "type") != "function_call" {
		return out
	}
	s.Tools++
	out = append(out, chat.Delta{
		Kind: chat.DeltaTool, Index: s.Tools - 1, ID: jsonvalue.Text(item.Raw, "call_id"), Name: jsonvalue.Text(item.Raw, "name"),
		Model: jsonvalue.Text(item.Raw, "namespace"),
	})
	if args := jsonvalue.Text(item.Raw, "arguments"); args != "" {
		out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: args})
	}
	return out
}

// itemDone reads a call of a tool that is not a function. If the call had pieces, they are already counted.
func itemDone(s *wire.State, item gjson.Result, out []chat.Delta) []chat.Delta {
	p, ok := ownCall(item)
	if !ok || jsonvalue.String(item.Raw, "type") == "function_call" {
		return out
	}
	s.Tools++
	d := chat.Delta{Kind: chat.DeltaTool, Index: s.Tools - 1, ID: p.ID, Name: p.Name, Model: p.Space}
	if s.Flags != 0 {
		d.JSON = chat.Counted
	}
	args := d
	args.Kind, args.Text = chat.DeltaArgs, jsontext.Escape(p.Args)
	return append(out, d, args)
}

func textDelta(out []chat.Delta, kind chat.DeltaKind, root gjson.Result) []chat.Delta {
	if text := jsonvalue.Text(root.Raw, "delta"); text != "" {
		out = append(out, chat.Delta{Kind: kind, Text: text})
	}
	return out
}
