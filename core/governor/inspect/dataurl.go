package inspect

import "strings"

// encodedText is the level of text in base64. Such text can be read, but not rewritten.
const encodedText = 3

// fileData handles the data: URL of a file part, such as data:text/plain;base64,…. If the file is a text file,
// fileData checks its content. If it cannot read the URL, it returns false.
func (w *walker) fileData(s span) bool {
	one := s.segment()
	c := newCursor(w.body, &one)
	head := w.decoded[:0]
	for c.at < c.end && len(head) < maxName {
		unit := c.step()
		if unit == ',' {
			break
		}
		head = appendUnit(head, unit)
	}
	media, isURL := strings.CutPrefix(string(head), "data:")
	media, isBase64 := strings.CutSuffix(media, ";base64")
	if !isURL || !isBase64 || !isTextType(media) {
		return false
	}
	one.level, one.escaped, one.fixed = encodedText, true, true
	w.one(one)
	return true
}

// isTextType reports whether files of a media type are UTF-8 text.
func isTextType(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	return strings.HasPrefix(media, "text/") || media == "application/json" || media == "application/xml"
}

// decodeBase64 appends the text that a data: URL contains. It skips bytes outside the base64 alphabet.
func (c *cursor) decodeBase64(dst []byte) []byte {
	c.level = 1
	for c.at < c.end && c.step() != ',' {
	}
	bits, have := uint32(0), 0
	for c.at < c.end {
		value, ok := sextet(c.step())
		if !ok {
			continue
		}
		bits = bits<<6 | value
		if have += 6; have >= 8 {
			have -= 8
			dst = append(dst, byte(bits>>have))
		}
	}
	return dst
}

func sextet(unit rune) (value uint32, ok bool) {
	switch {
	case unit >= 'A' && unit <= 'Z':
		return uint32(unit - 'A'), true
	case unit >= 'a' && unit <= 'z':
		return uint32(unit-'a') + 26, true
	case unit >= '0' && unit <= '9':
		return uint32(unit-'0') + 52, true
	case unit == '+' || unit == '-':
		return 62, true
	case unit == '/' || unit == '_':
		return 63, true
	}
	return 0, false
}
