package inspect

import "github.com/postern-ai/postern/core/governor"

// token is an element of log probabilities: {"token","logprob","bytes":[…]|null,"top_logprobs":[{"token",…}]}.
// Source: OpenAI's API reference, "The chat completion object" and "The response object".
type token struct {
	bytes, top value
	blanked    bool
}

// value is the position of a field's value in the body. If the field is missing, end is 0.
type value struct{ start, end uint32 }

// logProbs checks log probabilities. Their tokens repeat a text. They have the form {"content":[…],"refusal":[…]}, or
// are only an array.
func (w *walker) logProbs(s span) {
	w.pos, w.depth = int(s.start), 0
	if w.peek() == '[' {
		w.tokens()
		return
	}
	for w.pos++; w.pos < int(s.end); {
		w.space()
		if w.peek() != '"' {
			w.pos++
			continue
		}
		w.readString()
		for w.space(); w.peek() == ':'; w.pos++ {
		}
		w.space()
		if w.peek() == '[' {
			w.tokens()
		} else {
			w.pass()
		}
	}
}

// pass skips a value of any kind and returns its position.
func (w *walker) pass() span {
	s := span{start: uint32(w.pos)}
	switch w.peek() {
	case '"':
		s = w.readString()
	case '{', '[':
		w.skip()
		s.end = uint32(w.pos)
	default:
		w.member = textMember
		w.scalar()
		s.end = uint32(w.pos)
	}
	return s
}

// tokens checks one array. Its tokens together form one text.
func (w *walker) tokens() {
	all := &list[token]{}
	from := w.segments.count
	for w.pos++; w.pos < len(w.body) && w.peek() != ']'; {
		if w.peek() != '{' {
			w.pos++
			continue
		}
		if one, text := w.token(); text.end != 0 {
			all.push(one)
			w.segments.push(text.segment())
		}
	}
	w.pos++
	w.at.tokens = all
	w.inspector.text(from)
	w.at.tokens = nil
}

func (w *walker) token() (one token, text span) {
	for w.pos++; w.pos < len(w.body) && w.peek() != '}'; {
		if w.peek() != '"' {
			w.pos++
			continue
		}
		name := w.name(w.readString())
		isToken, isBytes, isTop := equalText(name, "token"), equalText(name, "bytes"), equalText(name, "top_logprobs")
		for w.space(); w.peek() == ':'; w.pos++ {
		}
		w.space()
		isString := w.peek() == '"'
		s := w.pass()
		switch {
		case isToken && isString:
			text = s
		case isBytes && !isString:
			one.bytes = value{s.start, s.end}
		case isTop && !isString:
			one.top = value{s.start, s.end}
		}
	}
	w.pos++
	return one, text
}

func equalText(a []byte, b string) bool { return len(a) == len(b) && equal(a, b) }

// blank clears the bytes and alternatives of every token that overlaps a replaced finding, because they repeat the
// finding's text.
func (m *mapper) blank(f governor.Finding) {
	if m.tokens == nil {
		return
	}
	for i := m.index; i < m.in.segments.count && int(m.in.segments.at(i).pos) < f.End; i++ {
		t := m.tokens.at(i - m.first)
		if t.blanked {
			continue
		}
		t.blanked = true
		if t.bytes.end != 0 {
			m.in.edits.add(edit{start: t.bytes.start, end: t.bytes.end, change: raw, value: m.in.edits.value("null")})
		}
		if t.top.end != 0 {
			m.in.edits.add(edit{start: t.top.start, end: t.top.end, change: raw, value: m.in.edits.value("[]")})
		}
	}
}
