package inspect

import "github.com/postern-ai/postern/core/governor"

// token is an element of log probabilities: {"token","logprob","bytes":[…]|null,"top_logprobs":[{"token",…}]}.
// Source: OpenAI's API reference, "The chat completion object" and "The response object".
type token struct {
	text       span
	bytes, top span // the values
	blanked    bool
}

// logProbs handles log probabilities, whose tokens repeat a text: {"content":[…],"refusal":[…]}, or the array.
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

// pass skips any value and returns its place.
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

// tokens handles one array: the tokens' texts are one text.
func (w *walker) tokens() {
	var all []token
	var segments []segment
	for w.pos++; w.pos < len(w.body) && w.peek() != ']'; {
		if w.peek() != '{' {
			w.pos++
			continue
		}
		one := w.token()
		if one.text.end != 0 {
			all, segments = append(all, one), append(segments, one.text.segment())
		}
	}
	w.pos++
	if len(segments) > 0 {
		w.at.tokens = all
		w.inspector.text(segments)
		w.at.tokens = nil
	}
}

// token reads one element.
func (w *walker) token() (one token) {
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
		value := w.pass()
		switch {
		case isToken && isString:
			one.text = value
		case isBytes && !isString:
			one.bytes = value
		case isTop && !isString:
			one.top = value
		}
	}
	w.pos++
	return one
}

func equalText(a []byte, b string) bool { return len(a) == len(b) && equal(a, b) }

// blank removes what repeats the text of the tokens that a replaced place overlaps: their bytes and alternatives.
func (m *mapper) blank(f governor.Finding) {
	for i := m.index; i < len(m.tokens) && int(m.segments[i].pos) < f.End; i++ {
		t := &m.tokens[i]
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
