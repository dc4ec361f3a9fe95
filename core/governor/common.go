package governor

import "math/bits"

// skipCommon finds the first word or separator in the text that needs a closer look. It returns where the word or
// separator begins, how far the word has been read, and the classes of the bytes read. The loop in skipCommon
// determines the cost of ordinary text: one or two tests per eight letters and one lookup per word. Other words cost
// more, because they take function calls.
//
//go:noinline
func (s *Scanner) skipCommon(text []byte, from int) (start, end int, kinds uint16) {
	for {
		i := from + separators(text[from:])
		if i+1 >= len(text) {
			return from, from, 0
		}
		t := text[i:]
		first := class[t[0]]
		if first&opens != 0 {
			if mayOpen(t[0], t[1]) {
				return i, i, 0
			}
			from = i + 1
			continue
		}
		n := 0
		if len(t) > margin {
			w := eight(t) | 0x20 // the first letter may be a capital
			n = lowerCase(w)
			if n == 8 {
				n += lowerCase(eight(t[8:]))
			}
			c := class[t[n]]
			if n > 0 && n < minToken && c&(inWord|isEnding|isEqual) == 0 && t[n+1] != '=' {
				if h := hashOf(uint32(w), t[n/2], t[n-1], n); likely[h>>5]>>(h&31)&1 != 0 && n > 1 && isLikelyInside(t[:n]) {
					if kinds = first | inWord | isLower; !s.passes(text, i, i+n, kinds) {
						return i, i + n, kinds
					}
				}
				from = i + n
				continue
			}
			if (c|first)&(isJoint|isUpper) != 0 {
				switch length, kinds := plainParts(t); {
				case length > 0:
					from = i + length
					continue
				case kinds != 0:
					return i, i, kinds
				}
			}
		}
		end, kinds, common := readCommon(text, i, n)
		if !common {
			return i, end, kinds
		}
		from = end
	}
}

// passes reports whether a word that may be in the vocabulary needs no closer look. It records the subjects that the
// word names.
//
//go:noinline
func (s *Scanner) passes(text []byte, start, end int, kinds uint16) bool {
	return !(end-start == 2 && s.isPair(text, start)) && s.noted(text, start, end, kinds)
}

// margin is the number of bytes that must follow the start of a word, so that the loops need not look for the end of
// the text.
const margin = 32

// readCommon reads the word at i, up to minToken bytes. The caller knows that the first n bytes are lowercase
// letters, or that the first is a capital and the others are lowercase letters. If the word needs no closer look,
// common is set.
func readCommon(text []byte, i, n int) (end int, kinds uint16, common bool) {
	first := class[text[i]]
	if end = i + 1; n > 1 {
		end, kinds = i+min(n, minToken), inWord|isLower
	}
	for ; end < min(len(text), i+minToken) && class[text[end]]&inWord != 0; end++ {
		kinds |= class[text[end]]
	}
	if end == len(text) {
		return end, kinds | first, false
	}
	after := class[text[end]]
	if text[end] == ' ' && (end+1 == len(text) || text[end+1] == '=') {
		after |= isEqual
	}
	return end, kinds | first, isCommon(text[i:end], kinds, after)
}

// eight reads eight bytes as a little-endian integer.
func eight(c []byte) uint64 {
	return uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
		uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
}

// lowerCase counts the letters from a to z at the start of w. The lowest byte of w comes first.
func lowerCase(w uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	low := w &^ highs
	// The high bit is set for each byte that is not from a to z.
	others := (w | ^(low + ones*(0x80-'a')) | (low + ones*(0x7f-'z'))) & highs
	return bits.TrailingZeros64(others) >> 3
}

// separators returns the number of bytes before the first byte that belongs to a word or may begin a finding.
func separators(text []byte) int {
	for i, b := range text {
		if class[b]&(inWord|opens) != 0 {
			return i
		}
	}
	return len(text)
}

// isCommon reports whether a word is like most words. A common word is in lower case, perhaps with a capital, dots or
// dashes, and it is not in the vocabulary. A short number is common too if no other group of digits can follow it.
// The number may have a point or dash in it. kinds holds the classes of all bytes of the word except the first. The
// parameter after holds the classes of the byte that follows the word.
func isCommon(word []byte, kinds, after uint16) bool {
	if class[word[0]]&(isLower|isUpper) == 0 {
		return len(word) < 6 && kinds&^(inWord|isDigit|isHex|isJoint) == 0 && class[word[0]]&isDigit != 0 && after&(joinsDigits|inToken|isEnding) == 0
	}
	if len(word) >= minToken || after&isEnding != 0 {
		return false
	}
	switch kinds &^ isHex {
	case 0:
		return true
	case inWord | isLower:
		if after&isEqual != 0 && mayGlue(word[len(word)-1]) && glued(word) != 0 {
			return false
		}
		return !isLikely(word)
	case inWord | isLower | isJoint:
		return after&inToken == 0 && !hasLikely(word) && !isInitials(word)
	}
	return false
}

// hasLikely reports whether a run of letters in a word may be in the vocabulary.
func hasLikely(word []byte) bool {
	from := 0
	for i, b := range word {
		if class[b]&isJoint == 0 {
			continue
		}
		if i-from >= 2 && isLikely(word[from:i]) {
			return true
		}
		from = i + 1
	}
	return len(word)-from >= 2 && isLikely(word[from:])
}

// mayOpen reports whether something that needs a closer look may begin with a separator and the byte after it: a
// phone number, an IPv6 address, a mark of a chat template, or a word in another script.
func mayOpen(separator, next byte) bool {
	switch separator {
	case '(':
		return next == '+' || isDigitByte(next)
	case ':':
		return next == ':'
	case '<':
		return next == '|' || next == '<'
	case '[':
		return next == 'I' || next == 'S' || next == '/'
	}
	return mayBeForeign(separator, next)
}

// readWord reads the word at the start of text. It returns the word's length and the classes of its bytes.
func readWord(text []byte) (length int, kinds uint16) {
	for i, b := range text {
		c := class[b]
		if c&inWord == 0 {
			return i, kinds
		}
		kinds |= c
	}
	return len(text), kinds
}
