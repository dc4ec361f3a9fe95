package jsontext

// Cursor walks the fields of an object or the elements of an array in text that has passed Check. It needs no closure
// and little stack space, which is scarce in WebAssembly. It does not decode anything.
type Cursor struct {
	text string
	at   int
}

// Open returns a cursor in front of the first field or element of raw.
func Open(raw string) Cursor { return Cursor{raw, 1} }

// At returns the index of the first byte that has not been read.
func (c *Cursor) At() int { return c.at }

// Member returns the name in quotes and the value of an object's next field. ok is false at the end.
func (c *Cursor) Member() (name, value string, ok bool) {
	if name, ok = c.Element(); !ok {
		return "", "", false
	}
	value, ok = c.Element()
	return name, value, ok
}

// Element returns the next value. ok is false at the end.
func (c *Cursor) Element() (value string, ok bool) {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
			continue
		case ']', '}':
			return "", false
		}
		start := c.at
		c.at = valueEnd(c.text, start)
		return c.text[start:c.at], true
	}
	return "", false
}

// valueEnd returns the end of the value at i.
func valueEnd(text string, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return bracketsEnd(text, i)
	}
	for i < len(text) && text[i] != ',' && text[i] != ']' && text[i] != '}' && text[i] > ' ' {
		i++
	}
	return i
}

func bracketsEnd(text string, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// stringEnd returns the end of the string whose quote is at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		if i += plainLength(text[i:]); i >= len(text) {
			break
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}
