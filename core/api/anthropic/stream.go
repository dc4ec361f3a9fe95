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
	// ended is no block: message_delta was begun, and waits for the usage.
	ended
)

// refused, in api.State.Flags, says that the model declined. The bits below it say which blocks are calls.
const refused = 1 << 63

// Stream writes one delta: message_start, and content_block_start, _delta and _stop for each block. Blocks
// come one after the other, so that a delta of another kind ends the open block. api.State.Index is the
// number of the open block, or of the next.
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
		tool(b, s, d)
	case chat.DeltaArgs:
		args(b, s, d)
	case chat.DeltaFinish:
		finish(b, s, d)
	}
	return b.B
}

const emptyThinking = `{"type":"thinking","thinking":"","signature":""}`

// event begins an event, whose data is an object that has its type already.
func event(b *jsontext.Builder, name string) {
	b.B = append(append(append(b.B, "event: "...), name...), "\ndata: "...)
	b.B = append(append(append(b.B, `{"type":"`...), name...), '"')
}

func endEvent(b *jsontext.Builder) { b.B = append(b.B, "}\n\n"...) }

// start writes message_start before anything else. How long the prompt is may not be known yet: then the
// estimate stands there, and the figures that count come at the end.
func start(b *jsontext.Builder, s *api.State, id jsontext.Spelled, isStart bool, m *api.Meta) {
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
	head(b, id, m)
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

// openBlock begins content_block_start up to the block itself, which follows.
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

// piece writes a piece of a block of that kind, which is begun if it is not open.
func piece(b *jsontext.Builder, s *api.State, kind uint64, empty, delta, member string, text jsontext.Spelled) {
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

func blockDelta(b *jsontext.Builder, index uint64, delta, member string, text jsontext.Spelled) {
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

func tool(b *jsontext.Builder, s *api.State, d *chat.Delta) {
	openBlock(b, s, toolBlock)
	b.Open('{')
	toolUse(b, d.ID, d.Name, "")
	b.Close('}')
	endEvent(b)
	s.Tools++
	if s.Index < 63 {
		s.Flags |= 1 << s.Index
	}
}

// args writes a piece of a call's arguments. Providers whose calls take turns are rare, and here a block that
// has ended does not open again; such a piece is sent all the same, with the number of its block, by which
// Anthropic's SDKs gather pieces. One for a call that never began is dropped.
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

// blockOf is the number of the block of a call: the place of the bit that has so many set bits below it.
func blockOf(calls, index uint64) (uint64, bool) {
	for ; index > 0 && calls != 0; index-- {
		calls &= calls - 1
	}
	return uint64(bits.TrailingZeros64(calls)), calls != 0
}

// finish keeps the reason for End. A stop sequence cannot be kept, so that message_delta is begun with it;
// the event ends with the usage, in End.
func finish(b *jsontext.Builder, s *api.State, d *chat.Delta) {
	s.Finish = d.Finish
	if d.Finish != chat.FinishStopSeq || d.Text == "" {
		return
	}
	closeBlock(b, s)
	lastDelta(b, s, d.Text)
	s.Block = ended
}

// lastDelta writes message_delta up to the usage, which follows.
func lastDelta(b *jsontext.Builder, s *api.State, sequence jsontext.Spelled) {
	event(b, "message_delta")
	b.Key("delta")
	b.Open('{')
	ending(b, reason(s.Finish, s.Tools > 0, s.Flags&refused != 0), sequence)
	b.Close('}')
	b.Key("usage")
}

// End writes message_delta with the reason and the final figures, and message_stop.
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

// StreamError writes an error event. A message_delta that was begun is ended first.
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
