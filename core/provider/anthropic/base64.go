package anthropic

import "unicode/utf8"

// decodeBase64 decodes the standard alphabet (RFC 4648, section 4) with or without padding. If s is invalid or empty,
// or if the result is not UTF-8, it returns false.
func decodeBase64(s string) (string, bool) {
	for len(s) > 0 && s[len(s)-1] == '=' {
		s = s[:len(s)-1]
	}
	out := make([]byte, 0, len(s)*3/4)
	var bits uint32
	have := 0
	for i := 0; i < len(s); i++ {
		v, ok := sextet(s[i])
		if !ok {
			return "", false
		}
		bits = bits<<6 | v
		if have += 6; have >= 8 {
			have -= 8
			out = append(out, byte(bits>>have))
		}
	}
	return string(out), utf8.Valid(out) && len(out) > 0
}

func sextet(c byte) (uint32, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint32(c - 'A'), true
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 26, true
	case c >= '0' && c <= '9':
		return uint32(c-'0') + 52, true
	case c == '+':
		return 62, true
	case c == '/':
		return 63, true
	}
	return 0, false
}
