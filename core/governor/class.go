package governor

// Classes of a byte, as bits. A word is a run of inWord bytes. It may contain an email address's local part, a token
// with dashes, or a dotted number. Bytes beyond ASCII separate words.
const (
	inWord      = 1 << iota
	isLower     // a-z
	isUpper     // A-Z
	isDigit     // 0-9
	isJoint     // . _ % + - ' ~
	isHex       // 0-9 a-f A-F
	opens       // a separator that may begin a finding: ( : < [
	isEnding    // the word before it needs a closer look: @ :
	joinsDigits // a separator between groups of digits: space ( )
	inToken     // a token may continue with it after a word: / : = $
	isEqual     // =
	isOdd       // a word that isCommon rejects
	isNamed     // a word that names rejects
)

func isDigitByte(b byte) bool  { return b-'0' < 10 }
func isLetterByte(b byte) bool { return b|0x20-'a' < 26 }
func isAlnum(b byte) bool      { return class[b]&(isLower|isUpper|isDigit) != 0 }

// view is the text that a detector may read. It records whether the detector read past its end. If the detector did,
// its result depends on bytes that have not arrived. Such a result counts only if the text has ended.
type view struct {
	text []byte
	tail [tailLength]byte // the last bytes before text, in order; zeros where there are none
	past bool             // a byte past the end was read
}

const tailLength = 8

// at returns the byte at an index. Past the end of the text, it returns 0. Indexes down to -tailLength are bytes
// before the text.
func (v *view) at(i int) byte {
	if uint(i) < uint(len(v.text)) {
		return v.text[i]
	}
	return v.outside(i)
}

// outside returns the byte at an index that is not in text. It is a separate function to keep at small, because at is
// inlined in hundreds of places.
//
//go:noinline
func (v *view) outside(i int) byte {
	if i < 0 {
		if i < -tailLength {
			return 0
		}
		return v.tail[tailLength+i]
	}
	v.past = true
	return 0
}

// run returns the end of the run of bytes at i that have one of the classes. It reads at most limit bytes.
func (v *view) run(i, limit int, classes uint16) int {
	for end := i + limit; i < end && class[v.at(i)]&classes != 0; i++ {
	}
	return i
}

func (v *view) has(i int, s string) bool {
	for j := range len(s) {
		if v.at(i+j) != s[j] {
			return false
		}
	}
	return true
}

// closed reports whether a finding can end before i. A finding cannot end there if a letter, digit or underscore
// follows.
func (v *view) closed(i int) bool {
	b := v.at(i)
	return !isAlnum(b) && b != '_'
}

// isPlain reports whether a word cannot be a finding. Such a word has no digits and is too short for a token, and the
// byte after it does not make it part of a finding.
func isPlain(text []byte, start, end int, kinds uint16) bool {
	if kinds&isDigit != 0 || end-start >= minToken && (end-start >= minLetters || kinds&(isLower|isUpper) == isLower|isUpper || class[text[start+2]]&isJoint != 0) {
		return false // two letters and a joint may begin a MAC address
	}
	if end == len(text) {
		return true
	}
	if text[end] == ':' && end+1 < len(text) && text[end+1] <= ' ' {
		return true // no address or token continues with a colon and white space
	}
	after := class[text[end]]
	return after&isEnding == 0 && (after&inToken == 0 || kinds&isJoint == 0)
}
