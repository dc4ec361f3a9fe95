package schema

import "github.com/tidwall/gjson"

// cursor walks the members of an object or the elements of an array in checked JSON. It needs no closure and little of
// the stack, which is small in WebAssembly.
type cursor struct {
	text string
	at   int
}

// open is a cursor in front of the first member of an object or array.
func open(raw string) cursor { return cursor{raw, 1} }

// member is the next member of an object: its name in quotes, and its value. ok is false at the end.
func (c *cursor) member() (name, value string, ok bool) {
	if name, ok = c.element(); !ok {
		return "", "", false
	}
	value, ok = c.element()
	return name, value, ok
}

// element is the next value. ok is false at the end.
func (c *cursor) element() (value string, ok bool) {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
			continue
		case ']', '}':
			return "", false
		}
		start := c.at
		c.at = end(c.text, start)
		return c.text[start:c.at], true
	}
	return "", false
}

// end is the end of the value at i.
func end(text string, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
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
	for i < len(text) && text[i] != ',' && text[i] != ']' && text[i] != '}' && text[i] > ' ' {
		i++
	}
	return i
}

// stringEnd is the end of the string whose quote is at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == '"' {
			return i + 1
		}
	}
	return i
}

// count is the number of values in an object (names and values) or an array.
func count(raw string) (n int) {
	for c := open(raw); ; n++ {
		if _, ok := c.element(); !ok {
			return n
		}
	}
}

// text is the content of a string in quotes.
func text(raw string) string { return gjson.Parse(raw).Str }

// sameText compares two strings in quotes.
func sameText(a, b string) bool { return a == b || text(a) == text(b) }

// find is the value of a member by name.
func find(object, name string) (value string, ok bool) {
	for c := open(object); ; {
		key, value, more := c.member()
		if !more {
			return "", false
		}
		if text(key) == name {
			return value, true
		}
	}
}

// number is the value of a number, as a float64.
func number(raw string) float64 { return gjson.Parse(raw).Num }
