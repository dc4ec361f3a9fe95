package chat

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// InputReader reads a custom tool's input text, piece by piece. The text is in the arguments of the function that
// replaces the tool: {"input":"…"}. InputReader returns the inside of this JSON string and keeps its spelling. If the
// arguments do not begin with an object, they are the text. The zero value is ready to use.
type InputReader struct {
	Index   uint64 // of the call
	at      inputState
	matched uint64 // how many bytes of the field's name match inputMember; a value above the length of inputMember means a different name
	depth   uint64 // in another field's value: open brackets; in the text: missing digits of an escape
	quoted  bool   // in a string in another field's value
	escaped bool   // the last byte was a backslash
	held    jsontext.Escaped
}

type inputState uint8

const (
	inputStart inputState = iota // before the object
	inputKey                     // before a field's name
	inputName                    // within the name
	inputColon                   // after the name
	inputValue                   // in another field's value
	inputText                    // within the text
	inputDone                    // after the text
	inputBare                    // the arguments are not an object, so all of them are the text
)

// inputMember is the only parameter of the function that replaces a custom tool.
const inputMember = "input"

func (r *InputReader) Fields(f *abi.Fields) {
	f.Uint(&r.Index)
	abi.Enum(f, &r.at)
	f.Uint(&r.matched)
	f.Uint(&r.depth)
	f.Flags(&r.quoted, &r.escaped)
	held := string(r.held)
	f.String(&held)
	r.held = jsontext.Escaped(held)
}

// found reports whether the arguments contain the text or are the text.
func (r *InputReader) found() bool {
	return r.at == inputText || r.at == inputDone || r.at == inputBare
}

// Read appends the text that a piece of the arguments completes. A piece is the inside of a JSON string. If a piece
// ends within an escape, the escape waits for the next piece.
func (r *InputReader) Read(dst []byte, piece jsontext.Escaped) []byte {
	start := len(dst)
	dst = append(dst, r.held...)
	for len(piece) > 0 {
		size := unitLength(piece)
		dst = r.unit(dst, piece[:size])
		piece = piece[size:]
	}
	end := start + complete(dst[start:])
	r.held = jsontext.Escaped(dst[end:])
	return dst[:end]
}

// unitLength returns the length of the first byte or escape of an escaped text.
func unitLength(text jsontext.Escaped) int {
	size := 1
	if text[0] == '\\' {
		if size = 2; len(text) > 1 && text[1] == 'u' {
			size = 6
		}
	}
	return min(size, len(text))
}

// plainByte returns the byte that a unit stands for. For a character that is never JSON syntax, it returns 'x'.
func plainByte(unit jsontext.Escaped) byte {
	if len(unit) == 1 {
		return unit[0]
	}
	switch plain := unit.Plain(); {
	case len(plain) == 1:
		return plain[0]
	default:
		return 'x'
	}
}

// unit reads one byte of the arguments, spelled as in the piece.
func (r *InputReader) unit(dst []byte, unit jsontext.Escaped) []byte {
	c := plainByte(unit)
	space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
	switch r.at {
	case inputStart:
		switch {
		case c == '{':
			r.at = inputKey
		case !space:
			r.at = inputBare
			return append(dst, unit...)
		}
	case inputKey:
		if c == '"' {
			r.at, r.matched = inputName, 0
		}
	case inputName:
		r.name(c)
	case inputColon:
		switch {
		case c == ':' || space:
		case c == '"' && r.matched == uint64(len(inputMember)):
			r.at = inputText
		default:
			r.at = inputValue
			r.value(c)
		}
	case inputValue:
		r.value(c)
	case inputText:
		return r.text(dst, c, unit)
	case inputBare:
		return append(dst, unit...)
	}
	return dst
}

func (r *InputReader) name(c byte) {
	switch {
	case r.escaped:
		r.escaped = false
	case c == '\\':
		r.escaped, r.matched = true, uint64(len(inputMember))+1
	case c == '"':
		r.at = inputColon
	case r.matched < uint64(len(inputMember)) && inputMember[r.matched] == c:
		r.matched++
	default:
		r.matched = uint64(len(inputMember)) + 1
	}
}

// value skips the value of another field.
func (r *InputReader) value(c byte) {
	switch {
	case r.escaped:
		r.escaped = false
	case r.quoted:
		r.escaped, r.quoted = c == '\\', c != '"'
	case c == '"':
		r.quoted = true
	case c == '{' || c == '[':
		r.depth++
	case (c == '}' || c == ']') && r.depth > 0:
		r.depth--
	case r.depth == 0 && (c == ',' || c == '}'):
		r.at = inputKey
	}
}

// text appends a byte of the text, spelled as in the piece. Within an escape, it appends the byte itself. If a
// backslash does not begin a valid escape, text escapes the backslash.
func (r *InputReader) text(dst []byte, c byte, unit jsontext.Escaped) []byte {
	switch {
	case r.depth > 0: // digits of \uXXXX are missing
		if strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 {
			r.depth--
			return append(dst, c)
		}
		at := len(dst) - len(`\uXXXX`) + int(r.depth)
		digits := string(dst[at:])
		r.depth = 0
		return r.text(append(append(dst[:at], '\\'), digits...), c, unit)
	case r.escaped:
		r.escaped = false
		switch {
		case c == 'u':
			r.depth = 4
		case strings.IndexByte(`"\/bfnrt`, c) < 0:
			return append(append(dst, '\\'), unit...)
		}
		return append(dst, c)
	case c == '\\':
		r.escaped = true
		return append(dst, c)
	case c == '"':
		r.at = inputDone
		return dst
	}
	return append(dst, unit...)
}

// complete returns the length of the text without an incomplete escape at its end. Half a surrogate pair is
// incomplete too.
func complete(text []byte) int {
	end := 0
	for at := 0; at < len(text); {
		size := 1
		if text[at] == '\\' {
			if size = 2; at+1 < len(text) && text[at+1] == 'u' {
				size = 6
			}
		}
		if at+size > len(text) {
			break
		}
		at += size
		if size == 6 && isHighSurrogate(text[at-4:]) && at+6 > len(text) && strings.HasPrefix(`\uXXXX`, string(text[at:min(at+2, len(text))])) {
			break
		}
		end = at
	}
	return end
}

// isHighSurrogate reports whether four hexadecimal digits are D800 to DBFF.
func isHighSurrogate(digits []byte) bool {
	return digits[0]|0x20 == 'd' && (digits[1] == '8' || digits[1] == '9' || digits[1]|0x20 == 'a' || digits[1]|0x20 == 'b')
}

// Unwrapped returns the arguments as the model wrote them, even if Object has turned them into an object.
func Unwrapped(args string) string {
	if strings.HasPrefix(args, `{"_invalid":`) && jsontext.Check([]byte(args)) == jsontext.OK {
		if wrote := jsonvalue.Get(args, "_invalid").String(); Object(wrote) == args {
			return wrote
		}
	}
	return args
}

// Input returns a custom tool's input text from a call's complete arguments. If the arguments do not contain the
// text, Input returns them unchanged.
func Input(args string) jsontext.Escaped {
	args = Unwrapped(args)
	whole := jsontext.Escape(args)
	var r InputReader
	text := jsontext.Escaped(r.Read(nil, whole))
	if !r.found() {
		return whole
	}
	return text
}

// InputArgs returns the arguments of the function that replaces a custom tool.
func InputArgs(text jsontext.Escaped) string { return `{"` + inputMember + `":"` + string(text) + `"}` }
