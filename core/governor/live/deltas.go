package live

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

// Deltas checks the deltas of a translated stream. send is for the caller. store is for the cache and has
// placeholders instead of the caller's values. If the response is blocked, both end early.
func (s *Stream) Deltas(g *Guard, in []chat.Delta) (send, store []chat.Delta) {
	o := output{stream: s, guard: g}
	for i := range in {
		if s.ended() {
			break
		}
		o.delta(&in[i])
	}
	s.checkHeld()
	return o.send, o.store
}

// End ends the stream and returns the rest of its texts. Call End after the last event, but not if the stream was
// interrupted. If events are passed through, dialect is the caller's dialect, and the rest for the caller is in
// events. Otherwise, dialect is 0, and the rest is in send.
func (s *Stream) End(g *Guard, dialect chat.Dialect) (events []sse.Event, send, store []chat.Delta) {
	if dialect == 0 {
		o := output{stream: s, guard: g}
		o.finish(func(*channel) bool { return true })
		return nil, o.send, o.store
	}
	p := passed{stream: s, guard: g, dialect: dialect, named: true}
	p.flushAll(func(*channel) bool { return true })
	if dialect == chat.Responses {
		p.number(0)
	}
	if dialect == chat.OpenAI {
		for i := range p.before {
			p.before[i].Name = ""
		}
	}
	return p.before, nil, p.early
}

// output holds the deltas that one step sends and stores.
type output struct {
	stream      *Stream
	guard       *Guard
	send, store []chat.Delta
	altered     bool // a text was changed or held back
}

func (o *output) delta(d *chat.Delta) {
	switch d.Kind {
	case chat.DeltaText, chat.DeltaRefusal, chat.DeltaThinking:
		o.turn(d.Choice, d.Kind)
		o.text(d)
		return
	case chat.DeltaArgs:
		o.text(d)
		return
	case chat.DeltaSignature:
		if o.sign(d) {
			return
		}
	case chat.DeltaRedacted, chat.DeltaTool:
		o.turn(d.Choice, d.Kind)
	case chat.DeltaLogProbs:
		if o.altered || o.stream.waits(d.Choice) {
			return // log probabilities repeat the whole text, including held-back text
		}
	case chat.DeltaFinish:
		o.finish(func(c *channel) bool { return c.choice == d.Choice })
	case chat.DeltaEnd:
		o.finish(func(*channel) bool { return true })
	}
	if !o.stream.ended() {
		o.both(d)
	}
}

func (o *output) both(d *chat.Delta) {
	o.send = append(o.send, *d)
	o.store = append(o.store, *d)
}

func (o *output) text(d *chat.Delta) {
	c := o.stream.open(&channel{kind: d.Kind, choice: d.Choice, index: d.Index, place: d.Index})
	if c == nil {
		return
	}
	if d.Text == "" {
		o.both(d)
		return
	}
	send, store := o.stream.feed(o.guard, c, []byte(d.Text), false)
	o.altered = o.altered || !sameText(send, string(d.Text))
	o.pieces(c, send, store)
}

// pieces appends deltas with the decided text of a channel.
func (o *output) pieces(c *channel, send, store []byte) {
	d := chat.Delta{Kind: c.kind, Choice: c.choice, Index: c.index}
	if len(send) > 0 {
		d.Text = jsontext.Escaped(send)
		o.send = append(o.send, d)
	}
	if len(store) > 0 {
		d.Text = jsontext.Escaped(store)
		o.store = append(o.store, d)
	}
}

// flush ends a channel and outputs the text that it held back.
func (o *output) flush(c *channel) {
	if c.waits() {
		send, store := o.stream.feed(o.guard, c, nil, true)
		o.pieces(c, send, store)
	}
	o.stream.close(c)
}

// turn ends the texts of other kinds in the choice, because the next part of the response begins. Tool calls may
// continue, because they can be parallel.
func (o *output) turn(choice uint64, kind chat.DeltaKind) {
	o.finish(func(c *channel) bool { return c.choice == choice && c.kind != kind && c.kind != chat.DeltaArgs })
}

// finish ends the channels that match.
func (o *output) finish(which func(*channel) bool) {
	s := o.stream
	for i := 0; i < len(s.channels) && !s.ended(); {
		if c := &s.channels[i]; which(c) {
			o.flush(c)
		} else {
			i++
		}
	}
}

// sign ends a thinking text. If the text has changed, sign returns true, and the signature must be left out.
func (o *output) sign(d *chat.Delta) (dropped bool) {
	changed := false
	for i := range o.stream.channels {
		if c := &o.stream.channels[i]; c.choice == d.Choice && c.kind == chat.DeltaThinking {
			if c.waits() {
				send, store := o.stream.feed(o.guard, c, nil, true)
				o.pieces(c, send, store)
			}
			changed = c.changed
			o.stream.close(c)
			break
		}
	}
	return changed
}
