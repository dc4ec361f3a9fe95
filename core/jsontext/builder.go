package jsontext

import "strconv"

// Spelled is the inside of a JSON string as it stands between its quotes, escapes and all. What comes from
// one JSON text and goes into another is carried so: never unescaped, never escaped again.
type Spelled string

// Inside is the Spelled of a checked JSON string with its quotes; of anything else it is empty.
func Inside(raw string) Spelled {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return Spelled(raw[1 : len(raw)-1])
}

// Plain is what a Spelled stands for.
func (s Spelled) Plain() string {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			return string(Unescape(make([]byte, 0, len(s)), []byte(s)))
		}
	}
	return string(s)
}

// Spell is how a plain text is written.
func Spell(plain string) Spelled {
	if plainPrefix(plain) == len(plain) {
		return Spelled(plain)
	}
	quoted := AppendString(make([]byte, 0, len(plain)+16), plain)
	return Spelled(quoted[1 : len(quoted)-1])
}

// Builder writes JSON into B. It puts the commas: before a value or a key, unless something was just opened
// or a key awaits its value.
type Builder struct{ B []byte }

// Open starts an object or an array: '{' or '['.
//
//go:noinline
func (b *Builder) Open(c byte) {
	b.comma()
	b.B = append(b.B, c)
}

// Close ends it: '}' or ']'.
func (b *Builder) Close(c byte) { b.B = append(b.B, c) }

// Key writes a member's name, plain ASCII, and its colon.
//
//go:noinline
func (b *Builder) Key(name string) {
	b.comma()
	b.B = append(append(append(b.B, '"'), name...), '"', ':')
}

// KeyText writes a member's name that is any text, such as a caller's.
//
//go:noinline
func (b *Builder) KeyText(name string) {
	b.comma()
	b.B = append(AppendString(b.B, name), ':')
}

// Raw writes a value that is JSON already.
//
//go:noinline
func (b *Builder) Raw(json string) {
	b.comma()
	b.B = append(b.B, json...)
}

// Text writes a string that is spelled already.
//
//go:noinline
func (b *Builder) Text(text Spelled) {
	b.comma()
	b.B = append(append(append(b.B, '"'), text...), '"')
}

// String writes a plain text.
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

// Member writes a name and a value that is JSON already; nothing if the value is empty.
//
//go:noinline
func (b *Builder) Member(name, json string) {
	if json != "" {
		b.Key(name)
		b.Raw(json)
	}
}

// TextMember writes a name and a string that is spelled already; nothing if it is empty.
//
//go:noinline
func (b *Builder) TextMember(name string, text Spelled) {
	if text != "" {
		b.Key(name)
		b.Text(text)
	}
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
