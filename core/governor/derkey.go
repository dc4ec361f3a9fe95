package governor

// maxDER limits the size of a private key in DER. An RSA key of 8,192 bits takes 4.7 KB.
const maxDER = 6000

// minLine is the minimum length of a line of base64 that continues on the next line. Lines have 64 characters in PEM
// and 76 in MIME.
const minLine = 60

// derKey looks for a private key in DER, encoded in base64 without the header and footer of PEM. The base64 may have
// several lines. Its length must be the length that the key states. Source: RFC 8017, appendix A.1.2 (RSA), RFC 5915
// (SEC1), RFC 5958 (PKCS #8); X.690, section 8.1.3.
func (s *Scanner) derKey(v *view, start int) (next int, ok bool) {
	const first = 32
	for i := start; i < start+first; i++ {
		if value64(v.at(i)) > 63 {
			return 0, false
		}
	}
	var head [first * 3 / 4]byte
	decode64(head[:], v.text[start:start+first], 0)
	length := derLength(&head)
	if length == 0 {
		return 0, false
	}
	end, line := start, 0
	for left := (length*8 + 5) / 6; left > 0; {
		if value64(v.at(end)) < 64 {
			end, left, line = end+1, left-1, line+1
			continue
		}
		next := nextLine(v, end)
		if next == end || line < minLine {
			return 0, false
		}
		end, line = next, 0
	}
	for padding := 0; v.at(end) == '=' && padding < 2; padding++ {
		end++
	}
	if value64(v.at(end)) < 64 {
		return 0, false
	}
	return s.emit(v, rulePrivateKey, start, end)
}

// derLength returns the length, in bytes, of the private key that begins with head. If head is not the beginning of a
// private key, derLength returns 0.
func derLength(head *[24]byte) int {
	at, length := 2, int(head[1])
	switch head[1] {
	case 0x81:
		at, length = 3, int(head[2])
	case 0x82:
		at, length = 4, int(head[2])<<8|int(head[3])
	default:
		if length > 0x7f {
			return 0
		}
	}
	version, tag, size := head[at+2], head[at+3], head[at+4]
	switch {
	case head[0] != 0x30 || head[at] != 2 || head[at+1] != 1 || version > 1 || length > maxDER:
		return 0
	case tag == 0x30 && size < 0x80 && head[at+5] == 6: // PKCS #8: an algorithm
	case tag == 2 && version == 0 && (size == 0x81 || size == 0x82): // RSA: a modulus
	case tag == 4 && version == 1 && size >= 20 && size <= 66: // SEC1: a number with the size of the curve
	default:
		return 0
	}
	return at + length
}

// nextLine returns the end of the line break at i and the spaces after it. If there is no line break, nextLine
// returns i. A line break in a string may be escaped: \n.
func nextLine(v *view, i int) int {
	at := i
	for v.at(at) == '\\' && oneOf(v.at(at+1), "nr") && at < i+4 {
		at += 2
	}
	if at > i {
		return at
	}
	if v.at(at) == '\r' {
		at++
	}
	if v.at(at) != '\n' {
		return i
	}
	for at++; at < i+40 && oneOf(v.at(at), " \t"); at++ {
	}
	return at
}

// linesEnd returns the end of the base64 text whose first line is [start, end).
func linesEnd(v *view, start, end int) int {
	for from := start; end-from >= minLine && end < start+maxJWT; {
		next := nextLine(v, end)
		to := next
		for to < start+maxJWT && value64(v.at(to)) < 64 {
			to++
		}
		if next == end || to == next {
			break
		}
		from, end = next, to
	}
	for padding := 0; v.at(end) == '=' && padding < 2; padding++ {
		end++
	}
	return end
}
