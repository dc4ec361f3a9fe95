package inspect

import "unicode/utf8"

// cursor reads a text as its body spells it, and relates the decoded text's offsets to the body's.
//
// A text is decoded at one of three levels: 0, as it is written; 1, the content of a JSON string; 2, the content of a
// string in a document that is itself in a string, such as a tool call's arguments in OpenAI's dialect. A document's
// decoded form is its JSON with the escapes of its strings resolved, quotes and punctuation included: names give the
// values beside them their context, and numbers are part of the text. Only the commas between values are semicolons
// there: to detectors, digits with a comma between are one number.
type cursor struct {
	raw      []byte
	at       int // offset of the next byte, in the body
	end      int
	pos      int // offset of the next byte, in the decoded text
	level    int // of the text; of a document: of its strings
	document bool
	inString bool // a document's string
	opened   int  // offset of the last string's content, in the body
	number   int  // offset of the number that the last byte was part of, in the body; -1: it was not
}

// newCursor begins a segment.
func newCursor(body []byte, s *segment) cursor {
	return cursor{raw: body, at: int(s.start), end: int(s.end), level: int(s.level), document: s.document, number: -1}
}

// plain is the number of bytes up to the next quote or backslash, at most len(b). It looks at eight bytes at a time.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(b)-n >= 8 {
		c := b[n : n+8 : n+8]
		w := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// A high bit is set for each zero byte. Borrows set further bits only above the first one.
		if ((quote-ones)&^quote|(backslash-ones)&^backslash)&highs != 0 {
			break
		}
		n += 8
	}
	for n < len(b) && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// run is the number of bytes at the cursor that stand for themselves, at most limit: it looks no further.
func (c *cursor) run(limit int) int {
	limit = min(limit, c.end-c.at)
	switch {
	case c.document && !c.inString:
		return 0
	case c.level == 0:
		return limit
	}
	return plain(c.raw[c.at : c.at+limit])
}

// decode appends the rest of the text.
func (c *cursor) decode(dst []byte) []byte {
	for c.at < c.end {
		if n := c.run(c.end - c.at); n > 0 {
			dst = append(dst, c.raw[c.at:c.at+n]...)
			c.at += n
			continue
		}
		dst = appendUnit(dst, c.step())
	}
	return dst
}

// seek moves to an offset of the decoded text, which must not be before the cursor.
func (c *cursor) seek(to int) {
	for c.pos < to && c.at < c.end {
		if n := c.run(to - c.pos); n > 0 {
			c.at += n
			c.pos += n
			continue
		}
		c.pos += unitLength(c.step())
	}
}

// A unit is a character, or one byte of a character that is not escaped, as its complement.
func appendUnit(dst []byte, unit rune) []byte {
	if unit < 0 {
		return append(dst, byte(^unit))
	}
	return utf8.AppendRune(dst, unit)
}

func unitLength(unit rune) int {
	if unit < 0 {
		return 1
	}
	return utf8.RuneLen(unit)
}

// step reads the next unit and keeps track of a document's strings and numbers.
func (c *cursor) step() rune {
	if !c.document {
		return c.unit(c.level)
	}
	start := c.at
	unit := c.unit(c.level - 1)
	switch {
	case unit == '"':
		c.inString, c.opened = !c.inString, c.at
		if !c.inString {
			c.opened = start
		}
	case c.inString:
		if unit == '\\' {
			unit = c.escape(c.level - 1)
		}
		return unit
	case isNumber(unit):
		if c.number < 0 {
			c.number = start
		}
		return unit
	case unit == ',':
		unit = ';'
	}
	c.number = -1
	return unit
}

// isNumber reports whether a character may be part of a JSON number. Letters of literals are not, except that e is:
// no finding lies in a literal.
func isNumber(unit rune) bool {
	return unit >= '0' && unit <= '9' || unit == '-' || unit == '+' || unit == '.' || unit == 'e' || unit == 'E'
}

// unit reads one unit at a level.
func (c *cursor) unit(level int) rune {
	if level == 2 {
		unit := c.unit(1)
		if unit == '\\' {
			return c.escape(1)
		}
		return unit
	}
	if c.at >= c.end {
		return utf8.RuneError
	}
	b := c.raw[c.at]
	c.at++
	switch {
	case b >= utf8.RuneSelf:
		return ^rune(b)
	case b == '\\' && level == 1:
		return c.escape(0)
	}
	return rune(b)
}

// escape reads what follows a backslash that was read at a level. Of a malformed escape, which only a document inside
// of a string can have, it reads no more than the backslash.
func (c *cursor) escape(level int) rune {
	at := c.at
	switch unit := c.unit(level); unit {
	case '"', '\\', '/':
		return unit
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		if r, ok := c.hex(level); ok {
			return c.surrogate(level, r)
		}
	}
	c.at = at
	return '\\'
}

// surrogate completes a pair of surrogates. A lone one is U+FFFD, as for every other reader of JSON in Go.
func (c *cursor) surrogate(level int, r rune) rune {
	if r < 0xD800 || r >= 0xE000 {
		return r
	}
	at := c.at
	if r < 0xDC00 && c.at < c.end && c.unit(level) == '\\' && c.unit(level) == 'u' {
		if low, ok := c.hex(level); ok && low >= 0xDC00 && low < 0xE000 {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
		}
	}
	c.at = at
	return utf8.RuneError
}

// hex reads four hexadecimal digits.
func (c *cursor) hex(level int) (r rune, ok bool) {
	for range 4 {
		digit := c.unit(level)
		switch {
		case digit >= '0' && digit <= '9':
			digit -= '0'
		case digit >= 'a' && digit <= 'f':
			digit -= 'a' - 10
		case digit >= 'A' && digit <= 'F':
			digit -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | digit
	}
	return r, true
}
