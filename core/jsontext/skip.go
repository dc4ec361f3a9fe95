package jsontext

// The functions of this file find places in a text that has passed Check. at is the index of a value's first byte, unless they say
// otherwise.

// StringEnd returns the index behind a string's closing quote.
func StringEnd(text string, at int) int {
	for at++; ; at += 2 { // over a backslash and the byte that it escapes
		at += plainLength(text[at:])
		for text[at] >= 0x80 {
			at++
			at += plainLength(text[at:])
		}
		if text[at] == '"' {
			return at + 1
		}
	}
}

// ValueEnd returns the index behind a value.
func ValueEnd(text string, at int) int {
	switch text[at] {
	case '"':
		return StringEnd(text, at)
	case '{', '[':
		return bracketsEnd(text, at)
	}
	for at < len(text) && text[at] != ',' && text[at] != '}' && text[at] != ']' && text[at] > ' ' {
		at++
	}
	return at
}

func bracketsEnd(text string, at int) int {
	for depth := 0; ; {
		switch text[at] {
		case '"':
			at = StringEnd(text, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}

// SkipSpace returns the index of the first byte from at onward that is no white space.
func SkipSpace(text string, at int) int {
	for at < len(text) && text[at] <= ' ' {
		at++
	}
	return at
}
