package live

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

// Event checks an event of a passed-through stream. The event's data must be valid according to jsontext.Check. The
// caller gets the returned events instead. They contain the held-back text that ends here, and then the event itself.
// In the event, only texts are rewritten. All other bytes are unchanged. deltas are the deltas of the event, and
// Event modifies them. store is their checked form for the cache. If the response is blocked, both results are empty.
func (s *Stream) Event(g *Guard, dialect chat.Dialect, e *sse.Event, deltas []chat.Delta) (events []sse.Event, store []chat.Delta) {
	if s.ended() {
		return nil, nil
	}
	p := passed{stream: s, guard: g, dialect: dialect, data: e.Data, named: e.Name != "", deltas: deltas, done: make([]bool, len(deltas))}
	if !p.repeats() {
		p.walk()
		p.remember()
	}
	s.checkHeld()
	if s.ended() {
		return nil, nil
	}
	store = p.stored()
	if s.ended() {
		return nil, nil
	}
	return append(p.before, sse.Event{Name: e.Name, Data: p.rewritten()}), store
}

func (p *passed) walk() {
	switch p.dialect {
	case chat.OpenAI:
		p.openAI()
	case chat.Responses:
		p.responses()
	case chat.Anthropic:
		p.anthropic()
	}
}

type passed struct {
	stream  *Stream
	guard   *Guard
	dialect chat.Dialect
	named   bool // events have names
	data    []byte
	edits   []edit
	before  []sse.Event  // events with text that was held back
	early   []chat.Delta // the held-back text as deltas, for the cache
	deltas  []chat.Delta // deltas of the event itself, for the cache
	done    []bool       // for each delta: whether its text has been checked
	met     int          // number of places so far that may need an edit: texts, ends of texts, and others
	frame   frame        // frame of the first piece of text
}

type edit struct {
	span
	with []byte
}

// stored returns the checked deltas. If the text of a delta is not in a known place of the event, stored checks the
// delta itself.
func (p *passed) stored() []chat.Delta {
	n := 0
	for i := range p.deltas {
		d := &p.deltas[i]
		switch d.Kind {
		case chat.DeltaText, chat.DeltaRefusal, chat.DeltaThinking, chat.DeltaArgs:
			if !p.done[i] {
				p.loose(d)
			}
			if d.Text == "" {
				continue
			}
		case chat.DeltaLogProbs:
			if p.edited() {
				continue
			}
		}
		if n != i {
			p.deltas[n] = *d
		}
		n++
	}
	if len(p.early) == 0 {
		return p.deltas[:n]
	}
	return append(p.early, p.deltas[:n]...)
}

func (p *passed) edited() bool { return len(p.edits) > 0 }

// edit replaces the data at a place.
func (p *passed) edit(at span, with []byte) {
	i := len(p.edits)
	for i > 0 && p.edits[i-1].from > at.from {
		i--
	}
	p.edits = append(p.edits, edit{})
	copy(p.edits[i+1:], p.edits[i:])
	p.edits[i] = edit{at, with}
}

func (p *passed) rewritten() []byte {
	if !p.edited() {
		return p.data
	}
	out := make([]byte, 0, len(p.data)+64)
	done := 0
	for _, e := range p.edits {
		out = append(append(out, p.data[done:e.from]...), e.with...)
		done = e.to
	}
	return append(out, p.data[done:]...)
}

// piece checks the string at v, which is a piece of a channel's text. If all text so far was sent unchanged, piece
// returns true. In that case, fields that repeat the text can be sent as well.
func (p *passed) piece(want *channel, v span, final bool) (exact bool) {
	inside, ok := isString(p.data, v)
	if !ok || p.stream.ended() {
		return true
	}
	p.note(want, inside, final)
	c := p.stream.open(want)
	if c == nil {
		return false
	}
	raw := p.data[inside.from:inside.to]
	delta := p.match(c, raw)
	waited := c.waits()
	send, store := p.stream.feed(p.guard, c, raw, final)
	if delta >= 0 {
		p.deltas[delta].Text = jsontext.Escaped(store)
	}
	exact = same(send, raw)
	if !exact {
		p.edit(inside, send)
	}
	exact = exact && !waited && !c.waits()
	if final {
		p.stream.close(c)
	}
	return exact
}

// note counts a piece of text, and saves the frame of the first one.
func (p *passed) note(c *channel, v span, final bool) {
	if p.met++; p.frame.head != nil || final {
		return
	}
	f := &p.frame
	f.head, f.tail = p.data[:v.from:v.from], p.data[v.to:]
	f.kind, f.choice, f.index, f.place, f.signed = c.kind, c.choice, c.index, c.place, c.signed
}

// match returns the index of the first delta of the same kind with the same text. If there is none, it returns -1.
func (p *passed) match(c *channel, raw []byte) int {
	for i := range p.deltas {
		if d := &p.deltas[i]; !p.done[i] && d.Kind == c.kind && len(raw) > 0 && sameText(raw, string(d.Text)) {
			p.done[i] = true
			c.choice, c.index, c.stored = d.Choice, d.Index, true
			return i
		}
	}
	return -1
}

// flush ends a channel. It puts held-back text into an event of its own, which is sent before the current one.
func (p *passed) flush(c *channel) {
	if c.waits() {
		send, store := p.stream.feed(p.guard, c, nil, true)
		if len(send) > 0 {
			p.before = append(p.before, p.tailEvent(c, send))
		}
		if c.stored && len(store) > 0 {
			p.early = append(p.early, chat.Delta{Kind: c.kind, Choice: c.choice, Index: c.index, Text: jsontext.Escaped(store)})
		}
	}
	p.stream.close(c)
}

func (p *passed) flushAll(which func(*channel) bool) {
	p.met++
	s := p.stream
	for i := 0; i < len(s.channels) && !s.ended(); {
		if c := &s.channels[i]; which(c) {
			p.flush(c)
		} else {
			i++
		}
	}
}

// tailEvent returns an event with a channel's held-back text. The event has the same form as the channel's other
// events.
func (p *passed) tailEvent(c *channel, tail []byte) sse.Event {
	var e sse.Event
	switch p.dialect {
	case chat.OpenAI:
		e.Data = p.openAITail(c, tail)
	case chat.Responses:
		e = p.responsesTail(c, tail)
	default:
		e = anthropicTail(c, tail)
	}
	if !p.named {
		e.Name = ""
	}
	return e
}
