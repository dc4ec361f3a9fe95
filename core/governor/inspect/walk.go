package inspect

import (
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// span is the content of a string in the body. If there is no string, end is 0.
type span struct {
	start, end uint32
	escaped    bool
}

// frame is an open object or array.
type frame struct {
	start  uint32
	array  bool
	member member // the meaning of the field that contains it
	// Arrays only: the index of the first segment of the current text.
	run int
	// Objects only: the type, and the strings that depend on the type or on other fields.
	part                 part
	signed, id           bool
	unread, readable     bool // unread: it contains a file that cannot be read; readable: it contains a file that can be read
	noted                bool // its medium has been noted
	opaque               bool // it has encrypted content
	text, thinking, data span
}

// walker visits the texts of a body in order. It does not recurse, and it allocates nothing per value.
type walker struct {
	*inspector
	kind    Kind
	roles   bool    // system texts have their own rules
	section section // section of the current field of the body
	units   list[unit]
	pos     int
	depth   int
	member  member // meaning of the next value
	frames  [jsontext.MaxDepth]frame
	repeats []segment // texts that repeat others, which are checked first
	logs    []span    // log probabilities, which repeat texts and are also checked first
	decoded [6 * maxName]byte
}

func (w *walker) walk() {
	w.member = textMember
	for {
		w.space()
		if w.value() {
			continue
		}
		if w.after() {
			return
		}
	}
}

func (w *walker) peek() byte {
	if w.pos < len(w.body) {
		return w.body[w.pos]
	}
	return 0
}

func (w *walker) space() {
	for w.pos < len(w.body) {
		switch w.body[w.pos] {
		case ' ', '\n', '\r', '\t':
			w.pos++
		default:
			return
		}
	}
}

func (w *walker) top() *frame { return &w.frames[w.depth-1] }

// value reads a scalar or a document, or the start of an object or array. If it has read a start and a value follows
// inside, it returns true.
func (w *walker) value() (opened bool) {
	switch c := w.peek(); c {
	case '"':
		w.text(w.readString())
	case '{', '[':
		return w.open(c)
	default:
		w.scalar()
	}
	return false
}

// scalar skips a number or a literal. It notes numbers that can be token IDs.
func (w *walker) scalar() {
	c := w.peek()
	for w.pos < len(w.body) {
		switch w.body[w.pos] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			if (w.member == inputMember || w.member == tokensMember) && c >= '0' && c <= '9' {
				w.tokenID()
			}
			return
		}
		w.pos++
	}
}

// tokenID notes that the array contains token IDs.
func (w *walker) tokenID() {
	if w.depth > 0 && w.top().array && !w.top().unread {
		w.top().unread = true
		w.note("tokens", w.top().start)
	}
}

func (w *walker) readString() span {
	w.pos = min(w.pos+1, len(w.body))
	s := span{start: uint32(w.pos)}
	for {
		w.pos += plain(w.body[w.pos:])
		if w.peek() != '\\' {
			s.end = uint32(w.pos)
			w.pos = min(w.pos+1, len(w.body))
			return s
		}
		s.escaped = true
		w.pos = min(w.pos+2, len(w.body))
	}
}

// open starts an object or array, or reads a document as one text.
func (w *walker) open(c byte) (opened bool) {
	m := w.member
	switch {
	case m == ignoreMember:
		w.skip()
		return false
	case m == documentMember, m == argumentsMember, m == inputMember && c == '{' && (w.depth == 0 || !w.top().array):
		w.document()
		return false
	case m == logProbsMember:
		s := span{start: uint32(w.pos)}
		w.skip()
		s.end = uint32(w.pos)
		w.logs = append(w.logs, s)
		return false
	case w.depth == len(w.frames):
		w.pos = len(w.body) // deeper than a valid body can be
		return false
	}
	if m == skipMember || m == opaqueMember {
		m = textMember
	}
	if w.depth == 2 && c == '{' && w.section == messages {
		w.message()
	}
	w.frames[w.depth] = frame{start: uint32(w.pos), array: c == '[', member: m, run: w.segments.count}
	w.depth++
	w.pos++
	w.space()
	if w.peek() == c+2 { // in ASCII, ']' and '}' come two after '[' and '{'
		return false
	}
	if c == '{' {
		w.key()
		return true
	}
	w.member = m
	return true
}

// key reads a field's name and the colon after it.
func (w *walker) key() {
	s := w.readString()
	name := w.name(s)
	w.member = memberOf(name)
	if w.depth == 1 {
		w.enter(name, s)
	}
	if w.kind == ResponsesAnswer && w.depth == 1 && w.mode != restore {
		switch lookUp(echoes[:], name) {
		case 1:
			w.member = ignoreMember
		case 2:
			w.member = repeatMember
		}
	}
	w.space()
	w.pos++
}

// after reads the closing brackets after a value. It then reads a comma or reaches the end of the body.
func (w *walker) after() (done bool) {
	for {
		w.space()
		if w.depth == 0 || w.pos >= len(w.body) {
			return true
		}
		f := w.top()
		c := w.body[w.pos]
		w.pos++
		if c == ',' {
			w.space()
			if f.array {
				w.member = f.member
			} else {
				w.key()
			}
			return false
		}
		w.close(f)
	}
}

// skip skips an object or array. If the decoded text differs from the raw bytes, skip returns true.
func (w *walker) skip() (escaped bool) {
	depth := 0
	for w.pos < len(w.body) {
		switch w.body[w.pos] {
		case '"':
			s := w.readString()
			escaped = escaped || s.escaped
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			escaped = escaped || w.pos+1 < len(w.body) && isDigit(w.body[w.pos-1]) && isDigit(w.body[w.pos+1])
		}
		w.pos++
		if depth == 0 {
			break
		}
	}
	return escaped
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// document reads an object or array as one text.
func (w *walker) document() {
	start := w.pos
	escaped := w.skip()
	w.one(segment{start: uint32(start), end: uint32(w.pos), level: 1, escaped: escaped, document: true})
}

func (s span) segment() segment {
	return segment{start: s.start, end: s.end, level: 1, escaped: s.escaped}
}

// text handles a string according to the name of its field.
func (w *walker) text(s span) {
	inObject := w.depth > 0 && !w.top().array
	switch w.member {
	case skipMember, ignoreMember, mediumMember:
		return
	case opaqueMember:
		if inObject && s.end > s.start {
			w.top().opaque = true
		}
		return
	case fileDataMember:
		if inObject && w.fileData(s) {
			w.top().readable = true
		}
		return
	case idMember:
		if inObject {
			w.top().id = true
		}
		return
	case argumentsMember:
		w.arguments(s)
		return
	case urlMember:
		if w.depth > 0 && w.top().member.isMedium() {
			return
		}
	case repeatMember:
		w.repeats = append(w.repeats, s.segment())
		return
	}
	if inObject && w.defers(w.top(), s) {
		return
	}
	w.one(s.segment())
}

func (m member) isMedium() bool { return m >= mediumMember && m <= fileMember }

// defers handles strings whose meaning depends on other fields. It keeps such a string until the end of the object.
func (w *walker) defers(f *frame, s span) bool {
	switch w.member {
	case typeMember:
		f.part = part(lookUp(parts[:], w.name(s)))
	case partMember:
		f.text = s
	case thinkingMember:
		f.thinking = s
	case signatureMember:
		f.signed = f.signed || s.end > s.start
	case dataMember:
		if f.data.end != 0 {
			return false
		}
		f.data = s
	default:
		return false
	}
	return true
}

// arguments handles a string that contains JSON. If it does not begin with an object or array, it is plain text.
func (w *walker) arguments(s span) {
	one := s.segment()
	c := newCursor(w.body, &one)
	for c.at < c.end {
		switch c.step() {
		case ' ', '\n', '\r', '\t':
			continue
		case '{', '[':
			one.level, one.document, one.escaped = 2, true, true
		}
		break
	}
	w.one(one)
}

// close ends the innermost object or array.
func (w *walker) close(f *frame) {
	if f.array {
		w.flush(f)
		w.depth--
		return
	}
	w.finish(f)
	w.depth--
	if w.depth == 0 {
		return
	}
	if w.depth == 2 && w.dir == governor.System && w.section == messages {
		w.flush(w.top())
		w.turn(governor.Input)
	}
	parent := w.top()
	switch {
	case f.member == sourceMember && f.part != otherPart, f.part == base64Part:
		parent.unread = true
	case f.part == imagePart:
		w.note("image", f.start)
	case f.member == audioMember && (f.id || f.data.end != 0) && parent.part != audioPart, f.part == audioPart && !f.noted:
		parent.noted = true
		w.note("audio", f.start)
	case f.member == fileMember && f.readable:
		parent.readable = true
	case f.part == filePart && !f.readable, f.unread:
		w.note("file", f.start)
	case f.part == compactionPart && f.opaque: // a compacted conversation, which only its provider can read
		w.note("compaction", f.start)
	}
	if parent.array && f.text.end == 0 {
		w.flush(parent)
	}
}

// finish handles the strings that defers has kept until the end of an object.
func (w *walker) finish(f *frame) {
	if f.thinking.end != 0 {
		s := f.thinking.segment()
		s.fixed = f.signed
		w.one(s)
	}
	if f.data.end != 0 && !w.isEncoded(f) {
		w.one(f.data.segment())
	}
	if f.text.end == 0 {
		return
	}
	s := f.text.segment()
	s.fixed = f.signed
	if w.depth < 2 || !w.frames[w.depth-2].array {
		w.one(s)
		return
	}
	parent := &w.frames[w.depth-2]
	if s.fixed {
		w.flush(parent)
		w.one(s)
		return
	}
	w.segments.push(s)
}

// isEncoded reports whether the data in an object is encoded media or encrypted.
func (w *walker) isEncoded(f *frame) bool {
	switch f.part {
	case imagePart, audioPart, filePart, base64Part, opaquePart:
		return true
	}
	return f.member == audioMember
}

// flush handles the text that consists of an array's elements so far.
func (w *walker) flush(f *frame) { w.inspector.text(f.run) }
