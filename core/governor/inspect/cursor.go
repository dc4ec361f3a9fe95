package inspect

import "unicode/utf8"

// cursor reads a text in its escaped form and maps offsets in the decoded text to offsets in the body.
//
// A text is decoded at one of three levels, unless it is in base64 (see encodedText). Level 0 is plain text. Level 1
// is the content of a JSON string. Level 2 is for a JSON document inside a string, such as a tool call's arguments in
// OpenAI's dialect. It is the content of a string in that document.
//
// The decoded form of a document is its JSON without the escapes in its strings. It includes names, because they give
// context to the values beside them, and numbers, because they are part of the text. It also includes quotes and
// punctuation. Only the commas between values become semicolons, because detectors would read digits with a comma
// between them as one number.
type cursor struct {
	raw      []byte
	at       int // offset of the next byte in the body
	end      int
	pos      int // offset of the next byte in the decoded text
	level    int // level of the text, or of the strings in a document
	document bool
	inString bool // the cursor is in a string of a document
	opened   int  // offset in the body of the last string's content
	number   int  // offset in the body of the number that contains the last byte; -1 outside numbers
}

func newCursor(body []byte, s *segment) cursor {
	return cursor{raw: body, at: int(s.start), end: int(s.end), level: int(s.level), document: s.document, number: -1}
}

// plain returns the number of bytes before the next quote or backslash, or len(b) if there is none. It compares eight
// bytes at a time.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(b)-n >= 8 {
		c := b[n : n+8 : n+8]
		w := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// Each zero byte sets its high bit. A borrow can set a wrong bit, but only above the first zero byte.
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

// run returns the number of unescaped bytes at the cursor. It reads at most limit bytes.
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

// decode appends the rest of the text to dst.
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

// seek moves to an offset in the decoded text. The offset must not be before the cursor.
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

// appendUnit appends a unit. A unit is a character or one raw byte of a non-ASCII character. A raw byte is stored as
// its complement.
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

// step reads the next unit and keeps track of the strings and numbers in a document.
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

// isNumber reports whether a character can be part of a JSON number. The letter e is one, even in a literal such as
// true. This does no harm, because literals contain no findings.
func isNumber(unit rune) bool {
	return unit >= '0' && unit <= '9' || unit == '-' || unit == '+' || unit == '.' || unit == 'e' || unit == 'E'
}

// unit reads one unit at the given level.
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

// escape reads the rest of an escape after its backslash. Only a document inside a string can have a malformed
// escape. If an escape is malformed, escape returns only the backslash.
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

// surrogate reads the second half of a surrogate pair. A lone surrogate becomes U+FFFD, as in Go's JSON packages.
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
