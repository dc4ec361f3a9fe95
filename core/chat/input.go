package chat

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// InputReader reads the text of a custom tool from the arguments of the function that stands for it, {"input":"…"}, piece by piece.
// What it returns is the inside of a JSON string, as the member's value is spelled. Arguments that do not begin with an object are the text
// themselves. It starts at zero.
type InputReader struct {
	Index   uint64 // of the call
	at      inputState
	matched uint64 // bytes of the member's name that are equal to "input"; above its length: it has another
	depth   uint64 // of brackets within another member's value; missing digits of an escape within the text
	quoted  bool   // within a string of another member's value
	escaped bool   // the last byte was a backslash
	held    jsontext.Escaped
}

type inputState uint8

const (
	inputStart inputState = iota // before the object
	inputKey                     // before a member's name
	inputName                    // within it
	inputColon                   // behind it
	inputValue                   // within another member's value
	inputText                    // within the text
	inputDone                    // behind the text
	inputBare                    // the arguments are not an object: all is text
)

// inputMember is the only member of the function that stands for a custom tool.
const inputMember = "input"

// Fields lists the fields for serialization.
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

// found reports whether the arguments have a text, or are it.
func (r *InputReader) found() bool {
	return r.at == inputText || r.at == inputDone || r.at == inputBare
}

// Read appends the text that a piece of the arguments completes. A piece is the inside of a JSON string; escapes of the text
// that a piece splits wait for the next one.
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

// plainByte returns the byte that a unit stands for; 'x' for a character that is no JSON syntax.
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

// unit reads one byte of the arguments. unit is how it is spelled.
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

// value skips the value of another member.
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

// text appends a byte of the text: as it is, if it is part of an escape, else as it is spelled in the piece. A backslash that begins no valid
// escape is escaped itself.
func (r *InputReader) text(dst []byte, c byte, unit jsontext.Escaped) []byte {
	switch {
	case r.depth > 0: // digits of \uXXXX that are missing
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

// complete returns the length of the text without an escape at its end that is not whole: a part of one, or the first half of a surrogate pair.
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

// Unwrapped returns the arguments that a model wrote and that Object has made an object.
func Unwrapped(args string) string {
	if strings.HasPrefix(args, `{"_invalid":`) && jsontext.Check([]byte(args)) == jsontext.OK {
		if wrote := jsonvalue.Get(args, "_invalid").String(); Object(wrote) == args {
			return wrote
		}
	}
	return args
}

// Input returns the text of a custom tool from a call's complete arguments. Arguments without the text are handed over as they are.
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

// InputArgs returns the arguments of the function that stands for a custom tool.
func InputArgs(text jsontext.Escaped) string { return `{"` + inputMember + `":"` + string(text) + `"}` }
