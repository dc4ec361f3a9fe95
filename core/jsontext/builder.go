package jsontext

import "strconv"

// Escaped is the content of a JSON string without its quotes, still escaped. Strings that move from one JSON document
// to another stay in this form, so they are never unescaped and escaped again.
type Escaped string

// Inside returns the content of a checked, quoted JSON string. For any other input, it returns "".
func Inside(raw string) Escaped {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return Escaped(raw[1 : len(raw)-1])
}

// Plain returns the unescaped text.
func (s Escaped) Plain() string {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			return string(Unescape(make([]byte, 0, len(s)), []byte(s)))
		}
	}
	return string(s)
}

// Escape escapes a plain string.
func Escape(plain string) Escaped {
	if plainPrefix(plain) == len(plain) {
		return Escaped(plain)
	}
	quoted := AppendString(make([]byte, 0, len(plain)+16), plain)
	return Escaped(quoted[1 : len(quoted)-1])
}

// Builder appends JSON to B. It adds a comma before a value or a key, except after an opening bracket and between a
// key and its value.
type Builder struct{ B []byte }

// Open begins an object or an array: '{' or '['.
//
//go:noinline
func (b *Builder) Open(c byte) {
	b.comma()
	b.B = append(b.B, c)
}

// Close ends an object or an array: '}' or ']'.
func (b *Builder) Close(c byte) { b.B = append(b.B, c) }

// Key writes a field name and its colon. The name must be ASCII and need no escapes.
//
//go:noinline
func (b *Builder) Key(name string) {
	b.comma()
	b.B = append(append(append(b.B, '"'), name...), '"', ':')
}

// KeyText writes a field name that may be any string, such as one that a caller chose.
//
//go:noinline
func (b *Builder) KeyText(name string) {
	b.comma()
	b.B = append(AppendString(b.B, name), ':')
}

// Raw writes a value that is already JSON.
//
//go:noinline
func (b *Builder) Raw(json string) {
	b.comma()
	b.B = append(b.B, json...)
}

// Text writes a string that is already escaped.
//
//go:noinline
func (b *Builder) Text(text Escaped) {
	b.comma()
	b.B = append(append(append(b.B, '"'), text...), '"')
}

// String writes a plain string as a JSON string.
//
//go:noinline
func (b *Builder) String(plain string) {
	b.comma()
	b.B = AppendString(b.B, plain)
}

// Uint writes a number.
//
//go:noinline
func (b *Builder) Uint(n uint64) {
	b.comma()
	b.B = strconv.AppendUint(b.B, n, 10)
}

// Bool writes true or false.
func (b *Builder) Bool(v bool) {
	b.comma()
	b.B = strconv.AppendBool(b.B, v)
}

// Member writes a name and a value that is already JSON. It writes nothing if the value is empty.
//
//go:noinline
func (b *Builder) Member(name, json string) {
	if json != "" {
		b.Key(name)
		b.Raw(json)
	}
}

// TextMember writes a name and a string that is already escaped. It writes nothing if the string is empty.
//
//go:noinline
func (b *Builder) TextMember(name string, text Escaped) {
	if text != "" {
		b.Key(name)
		b.Text(text)
	}
}

// StringMember writes a name and a plain string. It writes nothing if the string is empty.
//
//go:noinline
func (b *Builder) StringMember(name, plain string) {
	if plain != "" {
		b.Key(name)
		b.String(plain)
	}
}

// UintMember writes a name and a number.
//
//go:noinline
func (b *Builder) UintMember(name string, n uint64) {
	b.Key(name)
	b.Uint(n)
}

func (b *Builder) comma() {
	if n := len(b.B); n > 0 {
		switch b.B[n-1] {
		case '{', '[', ':', ',', '\n':
		default:
			b.B = append(b.B, ',')
		}
	}
}
