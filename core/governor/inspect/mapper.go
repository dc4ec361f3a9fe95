package inspect

import "github.com/postern-ai/postern/core/governor"

// mapper finds the segments and the places in the body that the findings in a text belong to. It takes findings in
// order.
type mapper struct {
	in       *inspector
	first    int          // index of the text's first segment
	tokens   *list[token] // the tokens that contain the segments; nil outside log probabilities
	index    int          // index of the segment in which the last finding starts
	cursor   cursor
	cursorAt int // 1 + index of the cursor's segment
	key      int // 1 + offset in the body of the last string that was looked up
	isKey    bool
	numberAt int // 1 + offset in the body of the last number that was looked up
	stop     int // end of that number
	quoted   int // 1 + offset of the last number that became a string
}

// segment returns the segment that contains an offset of the text.
func (m *mapper) segment(pos int) *segment {
	for m.index+1 < m.in.segments.count && int(m.in.segments.at(m.index+1).pos) <= pos {
		m.index++
	}
	return m.in.segments.at(m.index)
}

// place moves the cursor to an offset of the text within segment i.
func (m *mapper) place(i, pos int) {
	s := m.in.segments.at(i)
	if m.cursorAt != i+1 {
		m.cursor, m.cursorAt = newCursor(m.in.body, s), i+1
	}
	if pos -= int(s.pos); !s.escaped && !s.document {
		m.cursor.at, m.cursor.pos = int(s.start)+pos, pos
		return
	}
	m.cursor.seek(pos)
}

// redact adds the edits that replace a finding with a placeholder. If the text cannot be rewritten there, redact
// returns false.
func (m *mapper) redact(f governor.Finding, text []byte) bool {
	s := m.in.segments.at(m.index)
	switch {
	case s.fixed || m.in.edits.count >= maxEdits:
		return false
	case s.document:
		return m.redactInDocument(f)
	}
	e := edit{rule: f.Rule, change: mark}
	if !m.within(m.index, f) {
		e.change, e.value = split, m.in.edits.value(string(text[f.Start:f.End]))
	}
	m.replace(f, e)
	return true
}

// within reports whether a finding ends in segment i.
func (m *mapper) within(i int, f governor.Finding) bool {
	return i+1 == m.in.segments.count || int(m.in.segments.at(i+1).pos) >= f.End
}

// replace adds an edit for a finding that begins in the current segment. It also adds edits that remove the rest of
// the finding from the next segments.
func (m *mapper) replace(f governor.Finding, e edit) {
	s := m.in.segments.at(m.index)
	m.place(m.index, f.Start)
	e.start, e.end, e.level = uint32(m.cursor.at), s.end, s.level
	if m.within(m.index, f) {
		m.place(m.index, f.End)
		e.end = uint32(m.cursor.at)
	}
	m.add(e)
	for i := m.index + 1; i < m.in.segments.count && int(m.in.segments.at(i).pos) < f.End; i++ {
		s := m.in.segments.at(i)
		e := edit{start: s.start, end: s.end, change: drop}
		if m.within(i, f) {
			m.place(i, f.End)
			e.end = uint32(m.cursor.at)
		}
		m.in.edits.add(e)
	}
	m.blank(f)
}

// add adds the edit for a placeholder or a restored value. It increases edits.size by at least the number of bytes
// that the edit adds.
func (m *mapper) add(e edit) {
	size := maxNumber
	if e.change == put {
		size = len(*m.in.edits.values.at(int(e.value)))
	} else {
		name, _, _ := m.in.check.Policy.Rule(e.rule)
		size += len(name)
	}
	m.in.edits.size += max(0, size-int(e.end-e.start))
	m.in.edits.add(e)
}

// maxNumber is the maximum length of a placeholder without its name.
const maxNumber = len(`[_65536]""`)

// redactInDocument does the same as redact for a document. It can redact a finding only within one string or one
// number. The string must not be a field name.
func (m *mapper) redactInDocument(f governor.Finding) bool {
	c := &m.cursor
	m.place(m.index, f.Start)
	start, inString, opened := c.at, c.inString, c.opened
	m.place(m.index, f.Start+1)
	number := c.number
	m.place(m.index, f.End)
	e := edit{start: uint32(start), end: uint32(c.at), rule: f.Rule, change: mark, level: uint8(c.level)}
	switch {
	case inString && c.inString && c.opened == opened:
		if m.name(opened) {
			return false
		}
	case !inString && !c.inString && number >= 0 && c.number == number:
		e.level--
		end := m.numberEnd(number)
		if int(e.start) == number && int(e.end) == end {
			e.change = quoted
			break
		}
		m.quote(number, end, e.level)
	default:
		return false
	}
	m.add(e)
	return true
}

// name reports whether the string at the cursor is a field name. A colon follows a field name.
func (m *mapper) name(opened int) bool {
	if m.key != opened+1 {
		c := m.cursor
		for c.inString && c.at < c.end {
			c.at += c.run(c.end - c.at)
			c.step()
		}
		unit := rune(' ')
		for (unit == ' ' || unit == '\n' || unit == '\t' || unit == '\r') && c.at < c.end {
			unit = c.step()
		}
		m.key, m.isKey = opened+1, unit == ':'
	}
	return m.isKey
}

// quote puts quotes around a number that contains a finding.
func (m *mapper) quote(number, end int, level uint8) {
	if m.quoted == number+1 {
		return
	}
	m.quoted = number + 1
	m.in.edits.size += 4
	m.in.edits.add(edit{start: uint32(number), end: uint32(number), change: quote, level: level})
	m.in.edits.add(edit{start: uint32(end), end: uint32(end), change: quote, level: level})
}

// numberEnd returns the end of a number. The cursor is in the number or directly after it.
func (m *mapper) numberEnd(number int) int {
	if m.numberAt == number+1 {
		return m.stop
	}
	c := m.cursor
	m.numberAt, m.stop = number+1, c.at
	for c.at < c.end {
		if c.step(); c.number != number {
			break
		}
		m.stop = c.at
	}
	return m.stop
}
