package live

import (
	"strconv"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Places of channels in OpenAI's chunks. A place distinguishes channels of the same choice and kind. The place of a
// function call in "tool_calls" is its index.
const (
	placeContent   = iota
	placeReasoning // "reasoning", which may repeat the text of "reasoning_content"
	placeDetails   // "reasoning_details"
	placeLegacy    // "function_call", "text"
	placeAudio     // "audio"
	placeCustom    = 1 << 32
)

// choice is a choice in a chunk, with the positions of its fields.
type choice struct {
	index                          uint64
	delta, message, text, logProbs span
	finish                         bool
}

// openAI checks a chunk: {"choices":[{"index","delta":{…},"logprobs","finish_reason"}]}.
func (p *passed) openAI() {
	top := enter(p.data, root(p.data), '{')
	for name, ok := top.name(); ok; name, ok = top.name() {
		if string(name) != "choices" || p.data[top.at] != '[' {
			top.at = valueEnd(p.data, top.at)
			continue
		}
		// Each element is walked only once. Finding its end first would take a second pass.
		for top.at = blank(p.data, top.at+1); p.data[top.at] != ']'; top.at = blank(p.data, top.at) {
			if p.data[top.at] == '{' {
				top.at = p.openAIChoice(top.at)
			} else {
				top.at = valueEnd(p.data, top.at)
			}
		}
		top.at++
	}
}

// openAIChoice checks the choice at an offset and returns its end.
func (p *passed) openAIChoice(at int) (end int) {
	var c choice
	members := cursor{p.data, at + 1}
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "index":
			c.index = number(p.data[v.from:v.to])
		case "delta":
			c.delta = v
		case "message":
			c.message = v
		case "text":
			c.text = v
		case "logprobs":
			c.logProbs = v
		case "finish_reason":
			c.finish = p.data[v.from] == '"'
		}
	}
	exact := p.openAIDelta(&c, c.delta)
	if inside, ok := isString(p.data, c.text); ok && inside.to > inside.from {
		exact = p.choicePiece(&c, chat.DeltaText, placeLegacy, c.text) && exact
	}
	if c.message.to > 0 {
		p.openAIMessage(&c)
	}
	if c.finish {
		p.flushAll(func(open *channel) bool { return open.choice == c.index })
	}
	if c.logProbs.to > 0 && p.data[c.logProbs.from] == '{' {
		if p.met++; !exact || p.stream.waits(c.index) {
			p.edit(c.logProbs, []byte("null"))
		}
	}
	return members.at + 1
}

// openAIDelta checks the texts of a delta. If the content and refusals were sent unchanged, it returns true.
func (p *passed) openAIDelta(c *choice, v span) (exact bool) {
	exact = true
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "content":
			if p.data[v.from] == '[' {
				exact = p.contentChunks(c, v) && exact
			} else {
				exact = p.choicePiece(c, chat.DeltaText, placeContent, v) && exact
			}
		case "refusal":
			exact = p.choicePiece(c, chat.DeltaRefusal, placeContent, v) && exact
		case "reasoning_content":
			p.choicePiece(c, chat.DeltaThinking, placeContent, v)
		case "reasoning":
			p.choicePiece(c, chat.DeltaThinking, placeReasoning, v)
		case "reasoning_details":
			list := enter(p.data, v, '[')
			for one, ok := list.element(); ok; one, ok = list.element() {
				p.namedPieces(c, chat.DeltaThinking, placeDetails, one)
			}
		case "function_call":
			p.toolPieces(c, placeCustom+placeLegacy, v)
		case "audio":
			p.namedPieces(c, chat.DeltaText, placeAudio, v)
		case "tool_calls":
			list := enter(p.data, v, '[')
			for one, ok := list.element(); ok; one, ok = list.element() {
				p.toolCall(c, one)
			}
		case "role":
		default: // a field that this build does not know
			p.strings(&channel{kind: chat.DeltaText, choice: c.index}, v, string(name))
		}
	}
	return exact
}

// choicePiece checks a piece of a choice's text. The piece ends the choice's texts of other kinds.
func (p *passed) choicePiece(c *choice, kind chat.DeltaKind, place uint64, v span) bool {
	inside, ok := isString(p.data, v)
	if !ok || inside.from == inside.to {
		return true
	}
	p.turn(c.index, kind)
	if p.frame.head == nil {
		p.frame.turns = true
	}
	return p.piece(&channel{kind: kind, choice: c.index, place: place}, v, c.finish)
}

func (p *passed) turn(index uint64, kind chat.DeltaKind) {
	p.met++
	for i := range p.stream.channels {
		if c := &p.stream.channels[i]; c.choice == index && c.kind != kind && c.kind != chat.DeltaArgs {
			p.flushAll(func(c *channel) bool { return c.choice == index && c.kind != kind && c.kind != chat.DeltaArgs })
			return
		}
	}
}

// contentChunks checks content that is an array: {"type":"text","text"} and
// {"type":"thinking","thinking":[{"text"}]}.
func (p *passed) contentChunks(c *choice, v span) (exact bool) {
	exact = true
	list := enter(p.data, v, '[')
	for one, ok := list.element(); ok; one, ok = list.element() {
		members := enter(p.data, one, '{')
		for name, v, ok := members.member(); ok; name, v, ok = members.member() {
			switch string(name) {
			case "text":
				exact = p.choicePiece(c, chat.DeltaText, placeContent, v) && exact
			case "thinking":
				thoughts := enter(p.data, v, '[')
				for one, ok := thoughts.element(); ok; one, ok = thoughts.element() {
					p.namedPieces(c, chat.DeltaThinking, placeContent, one)
				}
			}
		}
	}
	return exact
}

// namedPieces checks three fields of an object: "text", "summary" and "transcript".
func (p *passed) namedPieces(c *choice, kind chat.DeltaKind, place uint64, v span) {
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "text", "summary", "transcript":
			p.choicePiece(c, kind, place, v)
		}
	}
}

// toolCall checks a piece of a tool call: {"index","function":{"name","arguments"}} or {"index","custom":{"input"}}.
func (p *passed) toolCall(c *choice, v span) {
	index := uint64(0)
	var function, custom span
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "index":
			index = number(p.data[v.from:v.to])
		case "function":
			function = v
		case "custom":
			custom = v
		}
	}
	p.toolPieces(c, index, function)
	p.toolPieces(c, placeCustom+placeLegacy+1+index, custom)
}

// toolPieces checks the "arguments" or "input" of a call.
func (p *passed) toolPieces(c *choice, place uint64, v span) {
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "name":
			p.turn(c.index, chat.DeltaArgs)
		case "arguments":
			p.piece(&channel{kind: chat.DeltaArgs, choice: c.index, place: place, index: place}, v, c.finish)
		case "input":
			p.piece(&channel{kind: chat.DeltaText, choice: c.index, place: place}, v, c.finish)
		}
	}
}

// openAIMessage handles the complete message that some providers send with every chunk. Before the end of the stream,
// that message would contain text that is held back, so openAIMessage empties its texts.
func (p *passed) openAIMessage(c *choice) {
	p.met++
	members := enter(p.data, c.message, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "content", "refusal", "reasoning_content", "reasoning":
			inside, ok := isString(p.data, v)
			switch {
			case !ok:
			case c.finish:
				p.whole(&channel{kind: chat.DeltaText, choice: c.index}, v, plain)
			default:
				p.edit(inside, nil)
			}
		case "tool_calls":
			p.edit(v, []byte("null"))
		}
	}
}

// waits reports whether any text of a choice is held back.
func (s *Stream) waits(choice uint64) bool {
	for i := range s.channels {
		if c := &s.channels[i]; c.choice == choice && c.kind != chat.DeltaArgs && c.waits() {
			return true
		}
	}
	return false
}

// maxHead/4 limits the size, in bytes, of each field that a tail event copies from its chunk.
const maxHead = 1024

// openAITail returns a chunk with the rest of a text. The chunk also has the fields that are the same in all chunks.
func (p *passed) openAITail(c *channel, tail []byte) []byte {
	b := jsontext.Builder{B: append(make([]byte, 0, 256+len(tail)), '{')}
	top := enter(p.data, root(p.data), '{')
	for name, v, ok := top.member(); ok; name, v, ok = top.member() {
		switch string(name) {
		case "id", "object", "created", "model", "system_fingerprint", "service_tier", "provider":
			if v.to-v.from < maxHead/4 {
				b.Key(string(name))
				b.Raw(string(p.data[v.from:v.to]))
			}
		}
	}
	legacy := c.kind == chat.DeltaText && c.place == placeLegacy
	switch {
	case len(b.B) > 1:
	case legacy:
		b.Member("object", `"text_completion"`)
	default:
		b.Member("object", `"chat.completion.chunk"`)
	}
	b.Key("choices")
	b.Open('[')
	b.Open('{')
	b.Key("index")
	b.Uint(c.choice)
	if legacy {
		b.Key("text")
		b.Text(jsontext.Escaped(tail))
		b.B = append(b.B, `,"logprobs":null,"finish_reason":null}]}`...)
		return b.B
	}
	b.Key("delta")
	b.Open('{')
	openAIDelta(&b, c, jsontext.Escaped(tail))
	b.B = append(b.B, `},"finish_reason":null}]}`...)
	return b.B
}

func openAIDelta(b *jsontext.Builder, c *channel, tail jsontext.Escaped) {
	call := func(place uint64, kind, member string) {
		b.B = append(b.B, `"tool_calls":[{"index":`+strconv.FormatUint(place, 10)+`,"`+kind+`":{"`+member+`":"`+string(tail)+`"}}]`...)
	}
	switch {
	case c.kind == chat.DeltaArgs && c.place == placeCustom+placeLegacy:
		b.B = append(b.B, `"function_call":{"arguments":"`+string(tail)+`"}`...)
	case c.kind == chat.DeltaArgs:
		call(c.place, "function", "arguments")
	case c.place > placeCustom:
		call(c.place-placeCustom-placeLegacy-1, "custom", "input")
	case c.kind == chat.DeltaRefusal:
		b.TextMember("refusal", tail)
	case c.kind == chat.DeltaThinking && c.place == placeReasoning:
		b.TextMember("reasoning", tail)
	case c.kind == chat.DeltaThinking && c.place == placeDetails:
		b.B = append(b.B, `"reasoning_details":[{"type":"reasoning.text","text":"`+string(tail)+`"}]`...)
	case c.kind == chat.DeltaThinking:
		b.TextMember("reasoning_content", tail)
	case c.place == placeAudio:
		b.B = append(b.B, `"audio":{"transcript":"`+string(tail)+`"}`...)
	default:
		b.TextMember("content", tail)
	}
}
