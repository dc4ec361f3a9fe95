package jsontext

import (
	"bytes"
	"unicode/utf8"
)

// AppendString appends a plain string as a JSON string. Invalid UTF-8 becomes U+FFFD. U+2028 and U+2029 are escaped
// so that the JSON is also valid in JavaScript source. "<", ">" and "&" are not escaped.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		n := plainPrefix(s[i:])
		dst = append(dst, s[i:i+n]...)
		if i += n; i == len(s) {
			break
		}
		if c := s[i]; c < utf8.RuneSelf {
			dst = appendEscape(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			dst = append(dst, "\uFFFD"...)
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, `\u202`...)
			dst = append(dst, byte('8'+r-'\u2028'))
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return append(dst, '"')
}

func plainPrefix(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] < utf8.RuneSelf && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hexDigits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Unescape appends the unescaped content of a checked JSON string. A lone surrogate becomes U+FFFD. A string that was
// not checked ends at its first incomplete escape.
func Unescape(dst, inside []byte) []byte {
	for len(inside) > 0 {
		n := bytes.IndexByte(inside, '\\')
		if n < 0 {
			return append(dst, inside...)
		}
		dst, inside = append(dst, inside[:n]...), inside[n:]
		var r rune
		r, inside = nextRune(inside)
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// nextRune decodes the first character of a checked JSON string's content and returns the rest.
func nextRune(inside []byte) (rune, []byte) {
	c := inside[0]
	if c != '\\' {
		if c < utf8.RuneSelf {
			return rune(c), inside[1:]
		}
		r, size := utf8.DecodeRune(inside)
		return r, inside[size:]
	}
	if len(inside) == 1 {
		return utf8.RuneError, nil
	}
	c, inside = inside[1], inside[2:]
	switch c {
	case 'b':
		return '\b', inside
	case 'f':
		return '\f', inside
	case 'n':
		return '\n', inside
	case 'r':
		return '\r', inside
	case 't':
		return '\t', inside
	case 'u':
		return nextUnit(inside)
	}
	return rune(c), inside
}

// nextUnit decodes the four digits of a \u escape and, for a high surrogate, also the low surrogate that follows.
func nextUnit(inside []byte) (rune, []byte) {
	r, ok := hex4(inside)
	if !ok {
		return utf8.RuneError, nil
	}
	inside = inside[4:]
	if r >= 0xD800 && r < 0xDC00 && len(inside) >= 6 && inside[0] == '\\' && inside[1] == 'u' {
		if low, _ := hex4(inside[2:]); low >= 0xDC00 && low < 0xE000 {
			return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), inside[6:]
		}
	}
	if r >= 0xD800 && r < 0xE000 {
		r = utf8.RuneError
	}
	return r, inside
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
