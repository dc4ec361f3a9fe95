package live

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// whole checks a complete text in an event: the string at a position, or a JSON document. If the text is unchanged,
// it returns true.
func (p *passed) whole(c *channel, v span, f form) (exact bool) {
	p.met++
	inside := v
	if f != document {
		var ok bool
		if inside, ok = isString(p.data, v); !ok {
			return true
		}
	}
	if p.stream.ended() || inside.from == inside.to {
		return true
	}
	send, _ := p.stream.whole(p.guard, c, p.data[inside.from:inside.to], f)
	if exact = same(send, p.data[inside.from:inside.to]); !exact {
		p.edit(inside, send)
	}
	return exact
}

// whole checks a complete text. If a rule already had a finding, it is not counted again.
func (s *Stream) whole(g *Guard, c *channel, raw []byte, f form) (send, store []byte) {
	raw = canonical(raw)
	decoded, _ := decode(raw, f, lexer{}, true)
	spent := s.work >= governor.MaxWork
	g.rules().Work = &s.work
	found := governor.Scan(decoded, g.rules(), nil)
	if s.unsearched(g, c, spent); s.blocked {
		return nil, nil
	}
	for _, one := range found {
		if s.again(g, c, one, decoded[one.Start:one.End]); s.blocked {
			return nil, nil
		}
	}
	e := editor{guard: g, text: decoded, found: found}
	e.walker = walker{raw: raw, form: f, final: true}
	store = e.rewrite(len(decoded))
	store = append(store[:len(store):len(store)], raw[e.at:]...)
	send = store
	if r := g.redactor(); r != nil && !c.signed {
		send, _ = restore(r, store, f, lexer{})
	}
	return send, store
}

// again counts a finding in a text that may repeat others. If the finding's rule already has a finding, again does
// not count it.
func (s *Stream) again(g *Guard, c *channel, f governor.Finding, match []byte) {
	if !slices.Contains(s.seen, uint64(f.Rule)) {
		s.count(g, c, f, match)
		return
	}
	redacts := g.action(f.Rule) == governor.Redact
	s.blocked = s.blocked || redacts && c.signed
}

// loose checks a delta for the cache. Its text is not in a known place of the event. An example is the arguments {}
// of a tool call without arguments.
func (p *passed) loose(d *chat.Delta) {
	c := channel{kind: d.Kind, choice: d.Choice, index: d.Index}
	_, store := p.stream.whole(p.guard, &c, []byte(d.Text), c.form())
	d.Text = jsontext.Escaped(store)
}

// identifiers lists fields whose strings must not change, because they do not come from the model.
var identifiers = [...]string{
	"type", "id", "url", "file_id", "container_id", "tool_use_id", "encrypted_content", "encrypted_index", "encrypted_stdout",
	"data", "media_type", "signature", "status", "page_age", "error_code", "file_name", "filename",
	"call_id", "role", "model", "object", "phase", "execution", "result", "b64_json", // result is a generated image
}

func isIdentifier(name string) bool {
	for _, one := range identifiers {
		if one == name {
			return true
		}
	}
	return false
}

// strings checks every text in a value, such as the results of tools that the provider runs.
func (p *passed) strings(c *channel, v span, name string) {
	if v.to == 0 {
		return
	}
	switch p.data[v.from] {
	case '"':
		if !isIdentifier(name) {
			p.whole(c, v, plain)
		}
	case '[':
		list := enter(p.data, v, '[')
		for one, ok := list.element(); ok; one, ok = list.element() {
			p.strings(c, one, name)
		}
	case '{':
		members := enter(p.data, v, '{')
		for name, v, ok := members.member(); ok; name, v, ok = members.member() {
			p.strings(c, v, string(name))
		}
	}
}
