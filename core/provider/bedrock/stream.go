package bedrock

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// The kinds of open block, in wire.State.Block.
const (
	otherBlock  = iota
	toolBlock   // a tool call without arguments so far
	argsBlock   // a tool call with arguments
	serverBlock // a tool call that Bedrock runs itself
)

// Stream parses the payload of one message. name is its event type or exception type. Blocks do not overlap. Only
// tool call blocks have a start:
//
//	messageStart {"role"}, contentBlockStart {"contentBlockIndex","start":{"toolUse":{"toolUseId","name"}}},
//	contentBlockDelta {"contentBlockIndex","delta":{"text"}|{"toolUse":{"input":"…"}}|{"reasoningContent":
//	{"text"}|{"signature"}|{"redactedContent"}}}, contentBlockStop {"contentBlockIndex"},
//	messageStop {"stopReason","additionalModelResponseFields"}, metadata {"usage","metrics"}
//
// metadata is the last event. Exceptions have the form throttlingException {"message"}. Payloads also have a padding
// field "p" of random length. Unknown events are ignored.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if strings.HasSuffix(name, "Exception") || strings.HasSuffix(name, "Error") {
		return append(out, errorDelta(name, root)), true
	}
	if !root.IsObject() {
		return out, false
	}
	switch name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
		if !s.Started {
			s.Started = true
			out = append(out, chat.Delta{Kind: chat.DeltaStart})
		}
		return event(s, name, root, out), true
	}
	return out, name != ""
}

func errorDelta(name string, root gjson.Result) chat.Delta {
	text := jsonvalue.Text(root.Raw, "message")
	if text == "" {
		text = jsonvalue.Text(root.Raw, "originalMessage")
	}
	return chat.Delta{Kind: chat.DeltaError, Name: jsontext.Escape(name), Text: text}
}

func event(s *wire.State, name string, root gjson.Result, out []chat.Delta) []chat.Delta {
	switch name {
	case "contentBlockStart":
		return blockStart(s, jsonvalue.Get(root.Raw, "start.toolUse"), blockStop(s, out))
	case "contentBlockDelta":
		return blockDelta(s, jsonvalue.Get(root.Raw, "delta"), out)
	case "contentBlockStop":
		return blockStop(s, out)
	case "messageStop":
		out = blockStop(s, out)
		if finish := finishOf(jsonvalue.String(root.Raw, "stopReason")); finish != chat.FinishNone {
			sequence := jsonvalue.Text(root.Raw, "additionalModelResponseFields.stop_sequence")
			out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: finish, Text: sequence})
		}
	case "metadata":
		if u := usage(jsonvalue.Get(root.Raw, "usage")); u.Reported {
			out = append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
		}
		out = append(out, chat.Delta{Kind: chat.DeltaEnd})
	}
	return out
}

func blockStart(s *wire.State, tool gjson.Result, out []chat.Delta) []chat.Delta {
	switch {
	case !tool.IsObject():
		return out
	case jsonvalue.String(tool.Raw, "type") == serverTool:
		s.Block = serverBlock
		return out
	}
	s.Block = toolBlock
	s.Tools++
	return append(out, chat.Delta{
		Kind: chat.DeltaTool, Index: s.Tools - 1, ID: jsonvalue.Text(tool.Raw, "toolUseId"), Name: jsonvalue.Text(tool.Raw, "name"),
	})
}

func blockDelta(s *wire.State, delta gjson.Result, out []chat.Delta) []chat.Delta {
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			out = textDelta(out, chat.DeltaText, value)
		case "toolUse":
			out = argsDelta(s, out, jsonvalue.Get(value.Raw, "input"))
		case "reasoningContent":
			out = textDelta(out, chat.DeltaThinking, jsonvalue.Get(value.Raw, "text"))
			out = textDelta(out, chat.DeltaSignature, jsonvalue.Get(value.Raw, "signature"))
			out = textDelta(out, chat.DeltaRedacted, jsonvalue.Get(value.Raw, "redactedContent"))
		}
		return true
	})
	return out
}

func argsDelta(s *wire.State, out []chat.Delta, v gjson.Result) []chat.Delta {
	text := wire.Text(v)
	if text == "" || s.Block != toolBlock && s.Block != argsBlock {
		return out
	}
	s.Block = argsBlock
	return append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: text})
}

// blockStop ends a block. If a tool call has no arguments, there are no pieces, and blockStop sends an empty object.
func blockStop(s *wire.State, out []chat.Delta) []chat.Delta {
	if s.Block == toolBlock {
		out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: "{}"})
	}
	s.Block = otherBlock
	return out
}

func textDelta(out []chat.Delta, kind chat.DeltaKind, v gjson.Result) []chat.Delta {
	if text := wire.Text(v); text != "" {
		out = append(out, chat.Delta{Kind: kind, Text: text})
	}
	return out
}
