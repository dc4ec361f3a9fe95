package anthropic

import (
	"math/bits"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Kinds of the open block, in api.State.Block.
const (
	noBlock = iota
	textBlock
	thinkingBlock
	toolBlock
	// ended means that message_delta has begun and still lacks its usage.
	ended
)

// refused is the bit of api.State.Flags for a model's refusal. If bit n below it is set, block n is a tool call.
const refused = 1 << 63

// Stream appends the events of one delta: message_start, and content_block_start, _delta and _stop for each block.
// Only one block is open at a time. A delta of another kind closes it. api.State.Index is the index of the open
// block, or of the next one.
func Stream(dst []byte, s *api.State, d *chat.Delta, m *api.Meta) []byte {
	if d.Choice > 0 || s.Block == ended || !d.Content() && d.Kind != chat.DeltaStart && d.Kind != chat.DeltaFinish {
		return dst
	}
	b := &jsontext.Builder{B: dst}
	start(b, s, d.ID, d.Kind == chat.DeltaStart, m)
	switch d.Kind {
	case chat.DeltaText, chat.DeltaRefusal:
		if d.Kind == chat.DeltaRefusal {
			s.Flags |= refused
		}
		piece(b, s, textBlock, `{"type":"text","text":""}`, "text_delta", "text", d.Text)
	case chat.DeltaThinking:
		piece(b, s, thinkingBlock, emptyThinking, "thinking_delta", "thinking", d.Text)
	case chat.DeltaSignature:
		piece(b, s, thinkingBlock, emptyThinking, "signature_delta", "signature", d.Text)
		if s.Block == thinkingBlock {
			closeBlock(b, s)
		}
	case chat.DeltaRedacted:
		openBlock(b, s, textBlock)
		redacted(b, d.Text)
		endEvent(b)
		closeBlock(b, s)
	case chat.DeltaTool:
		tool(b, s, d, m)
	case chat.DeltaArgs:
		args(b, s, d)
	case chat.DeltaFinish:
		finish(b, s, d)
	}
	return b.B
}

const emptyThinking = `{"type":"thinking","thinking":"","signature":""}`

func event(b *jsontext.Builder, name string) {
	b.B = append(append(append(b.B, "event: "...), name...), "\ndata: "...)
	b.B = append(append(append(b.B, `{"type":"`...), name...), '"')
}

func endEvent(b *jsontext.Builder) { b.B = append(b.B, "}\n\n"...) }

// start writes message_start once, before any other event. If the provider has not reported the prompt's size yet,
// the usage is an estimate. End writes the final figures.
func start(b *jsontext.Builder, s *api.State, id jsontext.Escaped, isStart bool, m *api.Meta) {
	if s.Started {
		return
	}
	s.Started = true
	if !isStart {
		id = ""
	}
	event(b, "message_start")
	b.Key("message")
	b.Open('{')
	messageHead(b, id, m)
	b.Member("content", "[]")
	b.Member("stop_reason", "null")
	b.Member("stop_sequence", "null")
	b.Key("usage")
	known := m.Usage
	known.Output, known.Reasoning = 0, 0
	usage(b, &known, true)
	b.Close('}')
	endEvent(b)
}

// openBlock closes any open block and writes content_block_start. The caller of openBlock then writes the block
// object.
func openBlock(b *jsontext.Builder, s *api.State, kind uint64) {
	closeBlock(b, s)
	s.Block = kind
	event(b, "content_block_start")
	count(b, "index", s.Index)
	b.Key("content_block")
}

func closeBlock(b *jsontext.Builder, s *api.State) {
	if s.Block == noBlock {
		return
	}
	event(b, "content_block_stop")
	count(b, "index", s.Index)
	endEvent(b)
	s.Block = noBlock
	s.Index++
}

// piece writes a piece of text. If no block of that kind is open, piece opens one first.
func piece(b *jsontext.Builder, s *api.State, kind uint64, empty, delta, member string, text jsontext.Escaped) {
	if text == "" {
		return
	}
	if s.Block != kind {
		openBlock(b, s, kind)
		b.Raw(empty)
		endEvent(b)
	}
	blockDelta(b, s.Index, delta, member, text)
}

func blockDelta(b *jsontext.Builder, index uint64, delta, member string, text jsontext.Escaped) {
	event(b, "content_block_delta")
	count(b, "index", index)
	b.Key("delta")
	b.Open('{')
	b.Key("type")
	b.String(delta)
	b.Key(member)
	b.Text(text)
	b.Close('}')
	endEvent(b)
}

func tool(b *jsontext.Builder, s *api.State, d *chat.Delta, m *api.Meta) {
	openBlock(b, s, toolBlock)
	b.Open('{')
	toolUse(b, d.ID, m.Aliases.Find(d.Name).Name, "")
	b.Close('}')
	endEvent(b)
	s.Tools++
	if s.Index < 63 {
		s.Flags |= 1 << s.Index
	}
}

// args writes a piece of a tool call's arguments. A closed block cannot be reopened. A late piece is therefore sent
// with its block's index, by which Anthropic's SDKs collect pieces. Few providers interleave calls. A piece for a
// call that never began is dropped.
func args(b *jsontext.Builder, s *api.State, d *chat.Delta) {
	if d.Text == "" || d.Index >= s.Tools {
		return
	}
	if s.Block == toolBlock && d.Index == s.Tools-1 {
		blockDelta(b, s.Index, "input_json_delta", "partial_json", d.Text)
		return
	}
	if index, ok := blockOf(s.Flags&^refused, d.Index); ok {
		blockDelta(b, index, "input_json_delta", "partial_json", d.Text)
	}
}

// blockOf returns the block index of the tool call with the given index. It is the position of the set bit that has
// index set bits below it.
func blockOf(calls, index uint64) (uint64, bool) {
	for ; index > 0 && calls != 0; index-- {
		calls &= calls - 1
	}
	return uint64(bits.TrailingZeros64(calls)), calls != 0
}

// finish stores the finish reason for End. State has no room for a stop sequence. If there is one, finish begins
// message_delta, and End adds the usage.
func finish(b *jsontext.Builder, s *api.State, d *chat.Delta) {
	s.Finish = d.Finish
	if d.Finish != chat.FinishStopSeq || d.Text == "" {
		return
	}
	closeBlock(b, s)
	lastDelta(b, s, d.Text)
	s.Block = ended
}

// lastDelta writes message_delta without the usage. The caller of lastDelta writes the usage.
func lastDelta(b *jsontext.Builder, s *api.State, sequence jsontext.Escaped) {
	event(b, "message_delta")
	b.Key("delta")
	b.Open('{')
	ending(b, reason(s.Finish, s.Tools > 0, s.Flags&refused != 0), sequence)
	b.Close('}')
	b.Key("usage")
}

// End appends message_delta with the stop reason and the final usage, and message_stop.
func End(dst []byte, s *api.State, _ *chat.Response, m *api.Meta) []byte {
	b := &jsontext.Builder{B: dst}
	start(b, s, "", false, m)
	if s.Block != ended {
		closeBlock(b, s)
		lastDelta(b, s, "")
	}
	usage(b, &m.Usage, false)
	endEvent(b)
	event(b, "message_stop")
	endEvent(b)
	return b.B
}

// StreamError appends an error event. If message_delta has begun, StreamError completes it first.
func StreamError(dst []byte, s *api.State, e *api.Error, m *api.Meta) []byte {
	b := &jsontext.Builder{B: dst}
	if s.Block == ended {
		usage(b, &m.Usage, false)
		endEvent(b)
		s.Block = noBlock
	}
	b.B = append(b.B, "event: error\ndata: "...)
	b.B = append(Error(b.B, e), "\n\n"...)
	return b.B
}
