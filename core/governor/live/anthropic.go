package live

import (
	"strconv"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

// block is an event about a content block, with the positions of its fields.
type block struct {
	kind        string
	index       uint64
	delta, body span // "delta", "content_block"
	message     span
}

func (p *passed) anthropic() {
	var b block
	top := enter(p.data, root(p.data), '{')
	for name, v, ok := top.member(); ok; name, v, ok = top.member() {
		switch string(name) {
		case "type":
			b.kind = string(text(p.data, v))
		case "index":
			b.index = number(p.data[v.from:v.to])
		case "delta":
			b.delta = v
		case "content_block":
			b.body = v
		case "message":
			b.message = v
		}
	}
	switch b.kind {
	case "content_block_start":
		p.flushAll(func(c *channel) bool { return c.place == b.index })
		p.blockStart(&b)
	case "content_block_delta":
		p.blockDelta(&b)
	case "content_block_stop":
		p.flushAll(func(c *channel) bool { return c.place == b.index })
	case "message_delta", "message_stop":
		p.flushAll(func(*channel) bool { return true })
	}
}

// blockStart checks the texts at the start of a block. These are usually empty, but some blocks arrive complete.
func (p *passed) blockStart(b *block) {
	members := enter(p.data, b.body, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "text", "thinking":
			p.blockText(b, string(name), v)
		case "input":
			p.input(b, v)
		case "content":
			p.strings(&channel{kind: chat.DeltaText, place: b.index}, v, "")
		}
	}
}

func (p *passed) blockText(b *block, name string, v span) {
	if name == "text" {
		p.piece(&channel{kind: chat.DeltaText, place: b.index}, v, false)
	} else {
		p.piece(&channel{kind: chat.DeltaThinking, place: b.index, signed: true}, v, false)
	}
}

// input checks the input of a tool call that arrives complete.
func (p *passed) input(b *block, v span) {
	p.met++
	raw := p.data[v.from:v.to]
	c := channel{kind: chat.DeltaArgs, place: b.index}
	send, store := p.stream.whole(p.guard, &c, raw, document)
	if p.stream.ended() {
		return
	}
	if !same(send, raw) {
		p.edit(v, send)
	}
	for i := range p.deltas {
		if d := &p.deltas[i]; d.Kind == chat.DeltaArgs && !p.done[i] {
			d.Text, p.done[i] = jsontext.Escape(string(store)), true
			return
		}
	}
}

func (p *passed) blockDelta(b *block) {
	members := enter(p.data, b.delta, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "text", "thinking":
			p.blockText(b, string(name), v)
		case "partial_json":
			p.piece(&channel{kind: chat.DeltaArgs, place: b.index}, v, false)
		case "signature":
			p.flushAll(func(c *channel) bool { return c.place == b.index && c.kind == chat.DeltaThinking })
		default: // a citation, or a type that this build does not know
			p.strings(&channel{kind: chat.DeltaText, place: b.index}, v, string(name))
		}
	}
}

// anthropicTail returns a delta event with the rest of a text.
func anthropicTail(c *channel, tail []byte) sse.Event {
	data := `{"type":"content_block_delta","index":` + strconv.FormatUint(c.place, 10) + `,"delta":{"type":"`
	switch c.kind {
	case chat.DeltaThinking:
		data += `thinking_delta","thinking":"`
	case chat.DeltaArgs:
		data += `input_json_delta","partial_json":"`
	default:
		data += `text_delta","text":"`
	}
	return sse.Event{Name: "content_block_delta", Data: []byte(data + string(tail) + `"}}`)}
}
