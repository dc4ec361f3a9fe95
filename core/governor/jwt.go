package governor

import "bytes"

// jwt looks for a JSON Web Token, signed or encrypted. The token has three or five parts of base64url. The first part
// is a JSON object with the field "alg". Source: RFC 7515, RFC 7516.
func (s *Scanner) jwt(v *view, start int) (next int, ok bool) {
	end, firstEnd, parts := jwtParts(v, start)
	if end == start+maxJWT || parts < 3 || firstEnd-start < 12 || firstEnd-start > maxHeader {
		return 0, false
	}
	for end > start && v.text[end-1] == '.' && parts > 3 {
		end-- // the end of a sentence
		parts--
	}
	if s.scratch.header == nil {
		s.scratch.header = new([768]byte)
	}
	header := s.scratch.header
	n, ok := decode64(header[:], v.text[start:firstEnd], 0)
	if !ok || !isObject(header[:n]) || !bytes.Contains(header[:n], []byte(`"alg"`)) {
		return 0, false
	}
	if parts == 3 && !areClaims(v.text[firstEnd+1:end], header) {
		return 0, false
	}
	if isSample(v.text[start:end]) {
		return 0, false
	}
	return s.emit(v, ruleJWT, start, end)
}

// minOpaque is the minimum length, in bytes, of a token's second part that is not JSON. Such a part may be
// compressed.
const minOpaque = 40

// areClaims reports whether text, up to its dot, is a JSON object or has at least minOpaque bytes. buffer is memory
// for decoding.
func areClaims(text []byte, buffer *[768]byte) bool {
	if !bytes.HasPrefix(text, []byte("eyJ")) && bytes.IndexByte(text, '.') >= minOpaque {
		return true
	}
	n, ok := decode64(buffer[:], text, '.')
	return ok && isObject(buffer[:n])
}

// isObject reports whether decoded text begins and ends like a JSON object. If the text is long, only its beginning
// is decoded, so its end is not checked.
func isObject(text []byte) bool {
	cut := len(text) == 768
	text = bytes.TrimSpace(text)
	return len(text) >= 2 && text[0] == '{' && (cut || text[len(text)-1] == '}') && isText(text)
}

// encoded looks for a JSON Web Token or a private key that is encoded in base64 once more, as in a Kubernetes secret.
func (s *Scanner) encoded(v *view, start int) (next int, ok bool) {
	end := start
	for end < start+maxJWT && value64(v.at(end)) < 64 {
		end++
	}
	if end == start+maxJWT {
		return 0, false
	}
	if s.scratch.header == nil {
		s.scratch.header = new([768]byte)
	}
	header := s.scratch.header
	n, _ := decode64(header[:], v.text[start:end], 0)
	if header[0] == '-' {
		if !bytes.Contains(header[:n], []byte("PRIVATE KEY-----")) {
			return 0, false
		}
		return s.emit(v, rulePrivateKey, start, linesEnd(v, start, end))
	}
	n, _ = decode64(header[:], header[:n], '.')
	if n < 12 || header[0] != '{' || !bytes.Contains(header[:n], []byte(`"alg"`)) {
		return 0, false
	}
	if !isText(header[:n]) {
		return 0, false
	}
	for v.at(end) == '=' && end < start+maxJWT {
		end++
	}
	return s.emit(v, ruleJWT, start, end)
}

// isText reports whether JSON contains no control characters except white space.
func isText(json []byte) bool {
	for _, b := range json {
		if b < ' ' && !oneOf(b, "\n\r\t") || b == 0x7f {
			return false
		}
	}
	return true
}

// jwtParts reads up to five parts of base64url. Dots separate the parts.
func jwtParts(v *view, start int) (end, firstEnd, parts int) {
	parts = 1
	for end = start; end < start+maxJWT; end++ {
		b := v.at(end)
		if b == '.' && parts < 5 && end > start {
			if parts == 1 {
				firstEnd = end
			}
			parts++
			continue
		}
		if !isAlnum(b) && b != '-' && b != '_' {
			break
		}
	}
	return end, firstEnd, parts
}

// maxHeader limits the length of a token's first part, in bytes. Only the first kilobyte of that part is searched for
// "alg".
const maxHeader = 4096

// decode64 decodes base64 or base64url without padding. It ends at the byte stop, or if out is full.
func decode64(out, text []byte, stop byte) (n int, ok bool) {
	acc, filled := uint32(0), 0
	for _, b := range text {
		v := value64(b)
		if b == stop || v > 63 {
			return n, b == stop
		}
		acc = acc<<6 | v
		if filled += 6; filled >= 8 {
			filled -= 8
			if n == len(out) {
				return n, true
			}
			out[n] = byte(acc >> filled)
			n++
		}
	}
	return n, true
}

// value64 returns the value of a base64 or base64url character. For other bytes, it returns 64.
func value64(b byte) uint32 {
	switch {
	case b >= 'A' && b <= 'Z':
		return uint32(b - 'A')
	case b >= 'a' && b <= 'z':
		return uint32(b-'a') + 26
	case isDigitByte(b):
		return uint32(b-'0') + 52
	case b == '+' || b == '-':
		return 62
	case b == '/' || b == '_':
		return 63
	}
	return 64
}
