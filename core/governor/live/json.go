package live

// The functions in this file walk through JSON that jsontext.Check has accepted.

// cursor walks through the fields of an object or the elements of an array.
type cursor struct {
	data []byte
	at   int
}

// enter returns a cursor for the content of an object or array. If the value is neither, the cursor is empty.
func enter(data []byte, v span, open byte) cursor {
	if v.to == 0 || data[v.from] != open {
		return cursor{data, len(data)}
	}
	return cursor{data, v.from + 1}
}

// root returns the position of the outermost value.
func root(data []byte) span { return span{blank(data, 0), len(data)} }

// member returns the name of an object's next field and the position of the field's value.
func (c *cursor) member() (name []byte, v span, ok bool) {
	name, ok = c.name()
	if !ok {
		return nil, v, false
	}
	v.from = c.at
	v.to = valueEnd(c.data, v.from)
	c.at = v.to
	return name, v, true
}

// name returns the name of the next field and leaves the cursor at the field's value. The caller must move the cursor
// past the value.
func (c *cursor) name() (name []byte, ok bool) {
	c.at = blank(c.data, c.at)
	if c.at >= len(c.data) || c.data[c.at] != '"' {
		return nil, false
	}
	end := stringEnd(c.data, c.at)
	name = canonical(c.data[c.at+1 : end-1])
	c.at = blank(c.data, end)
	return name, true
}

// element returns the position of the next element of an array.
func (c *cursor) element() (v span, ok bool) {
	c.at = blank(c.data, c.at)
	if c.at >= len(c.data) || c.data[c.at] == ']' {
		return v, false
	}
	v.from = c.at
	v.to = valueEnd(c.data, v.from)
	c.at = v.to
	return v, true
}

// span is the position of a value. If there is no value, span is zero.
type span struct{ from, to int }

// blank skips white space, commas and colons. It returns the index of the next other byte.
func blank(data []byte, i int) int {
	for i < len(data) && (data[i] <= ' ' || data[i] == ',' || data[i] == ':') {
		i++
	}
	return i
}

func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(data)
}

func valueEnd(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			if i++; depth == 0 && i < len(data) && data[i] > ' ' {
				continue
			}
			if depth > 0 {
				continue
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// number returns the value of a JSON number that is an index. It returns 0 for other values, and for an index that has
// more than itemShift bits: in a channel's place, it would change the text or the item that the place names.
func number(data []byte) (n uint64) {
	for _, b := range data {
		if b < '0' || b > '9' {
			return 0
		}
		if n = n*10 + uint64(b-'0'); n >= 1<<itemShift {
			return 0
		}
	}
	return n
}

// isString reports whether a value is a string. It returns the position of the string's content.
func isString(data []byte, v span) (inside span, ok bool) {
	if v.to-v.from < 2 || data[v.from] != '"' {
		return span{}, false
	}
	return span{v.from + 1, v.to - 1}, true
}

// text returns the content of a string. For other values, it returns nil.
func text(data []byte, v span) []byte {
	inside, _ := isString(data, v)
	return data[inside.from:inside.to]
}
