package anthropic

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Kinds of the open block, in wire.State.Block.
const (
	noBlock = iota
	toolBlock
	otherBlock
)

// The state of the open tool_use block's arguments, in wire.State.Flags.
const (
	noArgs    = iota
	someArgs  // pieces have arrived
	wholeArgs // content_block_start had all of the arguments
)

// Stream parses one event. Blocks do not overlap:
//
//	message_start {"message":{"id","model","usage"}}, content_block_start {"index","content_block"},
//	content_block_delta {"index","delta"}, content_block_stop {"index"},
//	message_delta {"delta":{"stop_reason","stop_sequence"},"usage"}, message_stop, ping, error {"error"}
//
// The API may add events at any time, so unknown events are ignored.
func Stream(s *wire.State, name string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if !root.IsObject() {
		return out, false
	}
	if kind := jsonvalue.Get(root.Raw, "type"); kind.Type == gjson.String {
		name = kind.Str
	}
	switch name {
	case "":
		return out, false
	case "error":
		e := jsonvalue.Get(root.Raw, "error")
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: jsonvalue.Text(e.Raw, "type"), Text: jsonvalue.Text(e.Raw, "message")}), true
	case "message_start":
		return messageStart(s, jsonvalue.Get(root.Raw, "message"), out)
	case "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop":
		if s.Started {
			return event(s, name, root, out), true
		}
		return out, false
	}
	return out, true
}

func messageStart(s *wire.State, message gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	if s.Started || !message.IsObject() {
		return out, false
	}
	s.Started = true
	out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: jsonvalue.Text(message.Raw, "id"), Model: jsonvalue.Text(message.Raw, "model")})
	return usage(s, jsonvalue.Get(message.Raw, "usage"), out, false), true
}

func event(s *wire.State, name string, root gjson.Result, out []chat.Delta) []chat.Delta {
	switch name {
	case "content_block_start":
		return blockStart(s, jsonvalue.Get(root.Raw, "content_block"), out)
	case "content_block_delta":
		return blockDelta(s, jsonvalue.Get(root.Raw, "delta"), out)
	case "content_block_stop":
		return blockStop(s, out)
	case "message_delta":
		return messageDelta(s, root, out)
	}
	return append(out, chat.Delta{Kind: chat.DeltaEnd})
}

// blockStart starts a block. Usually its text is empty and a tool call's input is {}.
func blockStart(s *wire.State, block gjson.Result, out []chat.Delta) []chat.Delta {
	out = blockStop(s, out)
	countCall(&s.Usage, block)
	s.Block = otherBlock
	switch jsonvalue.String(block.Raw, "type") {
	case "text":
		return textDelta(out, chat.DeltaText, jsonvalue.Get(block.Raw, "text"))
	case "thinking":
		out = textDelta(out, chat.DeltaThinking, jsonvalue.Get(block.Raw, "thinking"))
		return textDelta(out, chat.DeltaSignature, jsonvalue.Get(block.Raw, "signature"))
	case "redacted_thinking":
		return textDelta(out, chat.DeltaRedacted, jsonvalue.Get(block.Raw, "data"))
	case "tool_use":
		s.Block, s.Flags = toolBlock, noArgs
		s.Tools++
		out = append(out, chat.Delta{Kind: chat.DeltaTool, Index: s.Tools - 1, ID: jsonvalue.Text(block.Raw, "id"), Name: jsonvalue.Text(block.Raw, "name")})
		if args := openai.Arguments(jsonvalue.Get(block.Raw, "input")); strings.Contains(args, ":") { // not {}
			s.Flags = wholeArgs
			out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: jsontext.Escape(args)})
		}
	}
	return out
}

func blockDelta(s *wire.State, delta gjson.Result, out []chat.Delta) []chat.Delta {
	switch jsonvalue.String(delta.Raw, "type") {
	case "text_delta":
		return textDelta(out, chat.DeltaText, jsonvalue.Get(delta.Raw, "text"))
	case "thinking_delta":
		return textDelta(out, chat.DeltaThinking, jsonvalue.Get(delta.Raw, "thinking"))
	case "signature_delta":
		return textDelta(out, chat.DeltaSignature, jsonvalue.Get(delta.Raw, "signature"))
	case "input_json_delta":
		// Server tools also have these pieces.
		piece := jsonvalue.Text(delta.Raw, "partial_json")
		if s.Block == toolBlock && s.Flags != wholeArgs && piece != "" {
			s.Flags = someArgs
			return append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: piece})
		}
		if s.Block != toolBlock {
			return wire.Other(out, jsonvalue.Get(delta.Raw, "partial_json"))
		}
	case "citations_delta": // quotes from a source are not charged
	default:
		return wire.Other(out, delta)
	}
	return out
}

// blockStop ends a block. If a tool call has no arguments, there are no pieces, and blockStop sends an empty object.
func blockStop(s *wire.State, out []chat.Delta) []chat.Delta {
	if s.Block == toolBlock && s.Flags == noArgs {
		out = append(out, chat.Delta{Kind: chat.DeltaArgs, Index: s.Tools - 1, Text: "{}"})
	}
	s.Block, s.Flags = noBlock, noArgs
	return out
}

func messageDelta(s *wire.State, root gjson.Result, out []chat.Delta) []chat.Delta {
	out = blockStop(s, out)
	delta := jsonvalue.Get(root.Raw, "delta")
	if finish := FinishOf(jsonvalue.String(delta.Raw, "stop_reason")); finish != chat.FinishNone {
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: finish, Text: jsonvalue.Text(delta.Raw, "stop_sequence")})
	}
	return usage(s, jsonvalue.Get(root.Raw, "usage"), out, true)
}

// usage merges token counts. Earlier counts are incomplete, so only the last event's counts mark the usage as
// reported.
func usage(s *wire.State, v gjson.Result, out []chat.Delta, last bool) []chat.Delta {
	if !v.IsObject() {
		return out
	}
	mergeUsage(&s.Usage, v)
	s.Usage.Reported = s.Usage.Reported && last
	u := s.Usage
	addCompaction(&u, v)
	return append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: u})
}

func textDelta(out []chat.Delta, kind chat.DeltaKind, v gjson.Result) []chat.Delta {
	if text := wire.Text(v); text != "" {
		out = append(out, chat.Delta{Kind: kind, Text: text})
	}
	return out
}
