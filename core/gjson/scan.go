package gjson

import "math/bits"

// cursor iterates over the members of an object or the elements of an array.
type cursor struct {
	text   string
	at     int
	object bool
}

// open begins at the first byte of an object or an array.
func open(raw string) cursor { return cursor{raw, 1, raw[0] == '{'} }

// next returns the next key, with its quotes, and value.
//
//go:noinline
func (c *cursor) next() (key string, v Result, ok bool) {
	c.skip(',')
	if c.object {
		start := c.at
		if start >= len(c.text) || c.text[start] != '"' {
			return "", Result{}, false
		}
		c.at = skipString(c.text, start)
		key = c.text[start:c.at]
		c.skip(':')
	}
	v, c.at = value(c.text, c.at)
	return key, v, v.Raw != ""
}

// skip skips space and a separator.
func (c *cursor) skip(separator byte) {
	c.at = skipSpace(c.text, c.at)
	if c.at < len(c.text) && c.text[c.at] == separator {
		c.at = skipSpace(c.text, c.at+1)
	}
}

func skipSpace(text string, i int) int {
	for i < len(text) && text[i] <= ' ' {
		i++
	}
	return i
}

// value reads the value that starts at i. It does not exist if none starts there.
func value(text string, i int) (v Result, end int) {
	if i >= len(text) {
		return Result{}, i
	}
	switch c := text[i]; {
	case c == '"':
		end = skipString(text, i)
		return Result{text[i:end], String}, end
	case c == '{' || c == '[':
		end = skipNested(text, i)
		return Result{text[i:end], JSON}, end
	case c == '-' || c >= '0' && c <= '9':
		end = skipScalar(text, i)
		return Result{text[i:end], Number}, end
	case c == 't':
		end = skipScalar(text, i)
		return Result{text[i:end], True}, end
	case c == 'f':
		end = skipScalar(text, i)
		return Result{text[i:end], False}, end
	case c == 'n':
		end = skipScalar(text, i)
		return Result{text[i:end], Null}, end
	}
	return Result{}, i
}

func skipScalar(text string, i int) int {
	for i < len(text) && text[i] > ' ' && text[i] != ',' && text[i] != ']' && text[i] != '}' {
		i++
	}
	return i
}

// skipNested returns the index after the object or array that starts at i.
func skipNested(text string, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			break
		}
	}
	return i
}

// skipString returns the index after the string that starts at i.
//
//go:noinline
func skipString(text string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i++
	for i < len(text) {
		for len(text)-i >= 8 {
			c := text[i : i+8]
			w := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
				uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
			quote, backslash := w^(ones*'"'), w^(ones*'\\')
			// The lowest high bit is that of the first quote or backslash; those above it may be set by borrows.
			found := ((quote-ones)&^quote | (backslash-ones)&^backslash) & highs
			if found != 0 {
				i += bits.TrailingZeros64(found) >> 3
				break
			}
			i += 8
		}
		for i < len(text) && text[i] != '"' && text[i] != '\\' {
			i++
		}
		if i < len(text) && text[i] == '"' {
			return i + 1
		}
		i += 2
	}
	return len(text)
}
