package live

import (
	"bytes"
	"unicode/utf8"
)

// form is how a text is encoded in an event.
type form uint8

const (
	plain     form = iota // the content of a JSON string
	arguments             // JSON text inside a JSON string
	document              // JSON text
)

// lexer is the position in JSON text. It determines the class of the next character.
type lexer struct {
	depth    uint64 // open brackets
	inString bool
	drop     bool // the rest of a redacted number or literal outside strings is dropped
	ended    bool // the last character has ended the outermost value
}

// class is the class of a character in JSON text. In plain text, every character is content.
type class uint8

const (
	content   class = iota // inside a string
	structure              // quotes, brackets, commas, colons and white space
	scalar                 // a number, true, false or null
)

// walker reads an escaped text character by character. If a piece ends inside an escape, walker leaves the escape for
// the next piece, unless the text is final.
type walker struct {
	raw   []byte
	form  form
	final bool
	lex   lexer
	at    int // start of the next character
	from  int // start of the last character
	class class
	rune  rune
	size  int // length of the last character in UTF-8
}

// next reads a character. At the end and at an unfinished escape, it returns false.
func (w *walker) next() bool {
	r, end := w.unit(w.at)
	if end == 0 {
		return false
	}
	w.class = content
	if w.form != plain {
		if r, end = w.json(r, end); end == 0 {
			return false
		}
	}
	w.from, w.at, w.rune, w.size = w.at, end, r, utf8.RuneLen(r)
	return true
}

// json reads a character of JSON text. The character begins with the unit r and ends at end.
func (w *walker) json(r rune, end int) (rune, int) {
	w.lex.ended = false
	switch {
	case w.lex.inString && r == '\\':
		return w.escape(end)
	case w.lex.inString && r == '"':
		w.lex.inString = false
		w.class = structure
	case w.lex.inString:
	default:
		w.outside(r)
	}
	return r, end
}

// outside classifies a character outside strings.
func (w *walker) outside(r rune) {
	w.class = structure
	switch {
	case r == '"':
		w.lex.inString = true
	case r == '{' || r == '[':
		w.lex.depth++
	case (r == '}' || r == ']') && w.lex.depth > 0:
		w.lex.depth--
		w.lex.ended = w.lex.depth == 0
	case isScalar(r):
		w.class = scalar
	}
}

// isScalar reports whether a character outside strings belongs to a number or a literal.
func isScalar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '+' || r == '.'
}

// escape reads an escape of a JSON string inside the text. end is the index after the backslash.
func (w *walker) escape(end int) (rune, int) {
	r, after := w.unit(end)
	if after == 0 {
		if w.final && end >= len(w.raw) {
			return '\\', end
		}
		return 0, 0
	}
	switch r {
	case 'b':
		return '\b', after
	case 'f':
		return '\f', after
	case 'n':
		return '\n', after
	case 'r':
		return '\r', after
	case 't':
		return '\t', after
	case 'u':
		return w.unicode(after)
	}
	return r, after
}

// unicode reads the digits of a \u escape inside the text. If they are a high surrogate, it also reads the low
// surrogate after it.
func (w *walker) unicode(at int) (rune, int) {
	r, end, more := w.digits(at)
	if more {
		return 0, 0
	}
	if !isHigh(r) {
		return valid(r), end
	}
	i := end
	for _, want := range [...]rune{'\\', 'u'} {
		c, after := w.unit(i)
		if after == 0 && !w.final {
			return 0, 0
		}
		if after == 0 || c != want {
			return utf8.RuneError, end
		}
		i = after
	}
	low, after, more := w.digits(i)
	if more {
		return 0, 0
	}
	if low < 0xDC00 || low >= 0xE000 {
		return utf8.RuneError, end
	}
	return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), after
}

// digits reads up to four hexadecimal digits. If some have not arrived yet, more is set.
func (w *walker) digits(at int) (r rune, end int, more bool) {
	for range 4 {
		c, after := w.unit(at)
		if after == 0 && !w.final {
			return 0, 0, true
		}
		d := hexDigit(c)
		if after == 0 || d < 0 {
			return utf8.RuneError, at, false
		}
		r, at = r<<4|d, after
	}
	return r, at, false
}

// unit reads one character of the JSON string that contains the text. If the character has not fully arrived, end is
// 0.
func (w *walker) unit(at int) (r rune, end int) {
	if at >= len(w.raw) {
		return 0, 0
	}
	c := w.raw[at]
	if c >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(w.raw[at:])
		return r, at + size
	}
	if c != '\\' || w.form == document {
		return rune(c), at + 1
	}
	if at+1 == len(w.raw) {
		return w.cut(at)
	}
	switch c = w.raw[at+1]; c {
	case 'b':
		return '\b', at + 2
	case 'f':
		return '\f', at + 2
	case 'n':
		return '\n', at + 2
	case 'r':
		return '\r', at + 2
	case 't':
		return '\t', at + 2
	case 'u':
		return w.surrogates(at)
	}
	return rune(c), at + 2
}

// cut returns the result for an escape without its end. If the text is final, that is U+FFFD for the rest of the
// text. Otherwise, nothing is read yet.
func (w *walker) cut(at int) (rune, int) {
	if w.final {
		return utf8.RuneError, len(w.raw)
	}
	return 0, 0
}

// surrogates reads a \u escape. If it is a high surrogate, surrogates also reads the second escape of the pair.
func (w *walker) surrogates(at int) (rune, int) {
	r, ok := hex4(w.raw[at+2:])
	if !ok {
		return w.cut(at)
	}
	end := at + 6
	if !isHigh(r) {
		return valid(r), end
	}
	rest := w.raw[end:]
	if len(rest) < 6 && !w.final && (len(rest) == 0 || rest[0] == '\\' && (len(rest) == 1 || rest[1] == 'u')) {
		return 0, 0
	}
	if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
		if low, ok := hex4(rest[2:]); ok && low >= 0xDC00 && low < 0xE000 {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), end + 6
		}
	}
	return utf8.RuneError, end
}

func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }

// valid returns r. If r is a lone surrogate, valid returns U+FFFD.
func valid(r rune) rune {
	if r >= 0xD800 && r < 0xE000 {
		return utf8.RuneError
	}
	return r
}

func hexDigit(c rune) rune {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return -1
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		d := hexDigit(rune(c))
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

// decode returns the decoded form of raw. It leaves out an unfinished escape at the end of raw. If raw has no
// escapes, the result shares memory with raw. lex is the position before raw, and after is the position after it.
func decode(raw []byte, f form, lex lexer, final bool) (text []byte, after lexer) {
	if f == plain && bytes.IndexByte(raw, '\\') < 0 {
		return raw, lex
	}
	w := walker{raw: raw, form: f, final: final, lex: lex}
	text = make([]byte, 0, len(raw)+8)
	for {
		if f == plain {
			n := bytes.IndexByte(raw[w.at:], '\\')
			if n < 0 {
				return append(text, raw[w.at:]...), lex
			}
			text = append(text, raw[w.at:w.at+n]...)
			w.at += n
		}
		if !w.next() {
			return text, w.lex
		}
		text = utf8.AppendRune(text, w.rune)
	}
}
