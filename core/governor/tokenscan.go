package governor

// minSpread is the minimum spread of a token's variable part. Random hexadecimal text of 32 bytes has a spread of
// about 11. If a prefix says what the token is, minKnownSpread is enough, unless the text repeats a byte or counts up
// or down.
const minSpread, minKnownSpread = 6, 4

// telling is the minimum length, in bytes, of a literal prefix that says what the token is.
const telling = len("SG.")

// masked is a number of equal letters in a row. So many show that a part of a token is hidden.
const masked = 6

// base64 tries the detectors for tokens and keys that are structured text in base64.
func (s *Scanner) base64(v *view, start int) (next int, ok bool) {
	if v.has(start, "eyJ") {
		if next, ok = s.jwt(v, start); ok {
			return next, true
		}
	}
	if v.has(start, "ZXlK") || v.has(start, "LS0tLS1CRUdJTi") {
		if next, ok = s.encoded(v, start); ok {
			return next, true
		}
	}
	if v.at(start) == 'M' && v.at(start+1)-'C' <= 'I'-'C' {
		if next, ok = s.derKey(v, start); ok {
			return next, true
		}
	}
	return 0, false
}

// token tries the token formats at the start of a word.
func (s *Scanner) token(v *view, start, end int, kinds uint16) (next int, ok bool) {
	switch v.text[start] {
	case 'e', 'Z', 'L', 'M':
		if next, ok = s.base64(v, start); ok {
			return next, true
		}
	}
	if kinds&isLower == 0 && end-start >= 20 && (v.has(start, "AKIA") || v.has(start, "ASIA") || v.has(start, "GOOG")) {
		s.note(aboutAWS, end) // the secret part of the key follows; Google's HMAC keys have the same form as AWS keys
	}
	next, known, ok := s.anchored(v, start)
	if ok {
		return next, true
	}
	after, long := v.at(end), end-start >= 20 && kinds&isDigit != 0
	if !long && after != ':' && after != '/' && after != '|' {
		return 0, false
	}
	from, to := 0, len(loose)
	if !long {
		from, to = looseBehind(after)
	}
	for i := from; i < to; i++ {
		l := &loose[i]
		if l.behind != after && l.behind > ' ' || int(l.least) > end-start || !l.fits(v, start, end) {
			continue
		}
		f := formatAt(int(l.at))
		if next, ok = s.tryFormat(v, start, "", &f); ok {
			return next, true
		}
	}
	if long && kinds&(isLower|isUpper) == isLower|isUpper {
		return s.prefixed(v, start, end, known)
	}
	return 0, false
}

// looseFormat is a format of formatText without a literal prefix of two bytes. at is its position in formatText.
// behind is the byte after the format's first word. If the format is only one word, behind is 0. If the format may
// contain slashes, behind is 1. literal is the first literal byte of the format, and offset is its offset. They are
// set only if all runs before that byte have a fixed length.
type looseFormat struct {
	at                      uint16
	behind, offset, literal byte
	least                   byte   // the minimum length of its first word, if the word begins with a run
	first, next             uint32 // the classes of its first byte, and of the byte after behind; 0 if they are not known
	nextLiteral             byte   // or that byte
}

// fits reports whether text may have the format. The format begins at start, and its first word ends at end. fits
// looks at some of the bytes, but not at bytes that have not arrived.
func (l *looseFormat) fits(v *view, start, end int) bool {
	if l.first != 0 && patternClass[v.text[start]]&l.first == 0 {
		return false
	}
	if i := start + int(l.offset); l.offset != 0 && i < len(v.text) && v.text[i] != l.literal {
		return false
	}
	if l.behind <= ' ' || end+1 >= len(v.text) {
		return true
	}
	next := v.text[end+1]
	return next == l.nextLiteral || patternClass[next]&l.next != 0
}

// looseBehind returns a range of formats in loose. The given byte may come after the first word of these formats.
func looseBehind(after byte) (from, to int) {
	switch after {
	case ':':
		return int(looseStarts[0]), int(looseStarts[1])
	case '|':
		return int(looseStarts[1]), int(looseStarts[2])
	}
	return int(looseStarts[2]), int(looseStarts[4]) // a slash, or a format that may contain slashes
}

// looseOrder lists the bytes after first words, in the order of loose. looseStarts says where the formats for each
// byte begin.
const looseOrder = ":|/\x01\x00"

// anchored tries the formats that begin with two literal bytes. known is the length of the longest literal prefix of
// a format at start. If no prefix is longer than two bytes, known is 0.
func (s *Scanner) anchored(v *view, start int) (next, known int, ok bool) {
	bucket := bucketOf(v.at(start), v.at(start+1))
	for at := int(formatStarts[bucket]); at < int(formatStarts[bucket+1]); {
		this := at
		at += formatHead + int(formatText[at])
		if third := formatText[this+formatHead+2]; third != '{' && third != v.at(start+2) {
			continue
		}
		f := formatAt(this)
		prefix := literalPrefix(f.pattern)
		if !v.has(start, prefix) {
			continue
		}
		if next, ok = s.tryFormat(v, start, prefix, &f); ok {
			return next, known, true
		}
		if len(prefix) >= len("r8_") {
			known = max(known, len(prefix))
		}
	}
	return 0, known, false
}

// tryFormat tries one format. The format's literal prefix is at start. The rest of the token must look random.
func (s *Scanner) tryFormat(v *view, start int, prefix string, f *oneFormat) (next int, ok bool) {
	if f.near != 0 && (s.since(f.near, start) > nearBefore || f.near != aboutSecret && v.at(start-1) == '/') {
		return 0, false
	}
	if f.pattern[:4] == "sig=" {
		return s.sharedSignature(v, start, f)
	}
	if f.pattern[:4] == "{t3}" && v.at(start+3) == 'Q' && oneOf(v.at(start-1), "._~-") {
		start-- // the token may begin with a joint, unlike a word
	}
	end := tokenEnd(v, start, f.pattern)
	if end < 0 && f.check == ofGitHub {
		end, _ = match(v, start, f.pattern) // the checksum shows where the token ends
	}
	if end < 0 {
		return 0, false
	}
	token := v.text[start:end]
	if !f.check.accepts(token) {
		return 0, false
	}
	body := token[len(prefix):]
	if !looksRandom(body, len(prefix), f.near) || isSample(token) || isSequence(body) || isMasked(body) {
		return 0, false
	}
	if len(prefix) < 3 && f.near != aboutVendor && f.near != aboutHeroku && runs(body) {
		return 0, false
	}
	return s.emit(v, f.rule, start, end)
}

// looksRandom reports whether the body of a token is more than a placeholder. It looks at the spread of the body and
// at the length of the prefix before it.
func looksRandom(body []byte, prefix int, near context) bool {
	switch n := spread(body); {
	case n >= minSpread:
		return true
	case near == aboutVendor:
		return n >= minSpread-1
	default:
		return prefix >= telling && n >= minKnownSpread && !runs(body)
	}
}

// isMasked reports whether a part of a token is hidden by a run of one letter: sk-…xxxxxxxx. A run of A hides
// nothing, because A is zero in base64.
func isMasked(body []byte) bool {
	row := 1
	for i := 1; i < len(body) && row < masked; i++ {
		if row++; body[i] != body[i-1] || body[i] == 'A' || !isLetterByte(body[i]) {
			row = 1
		}
	}
	return row >= masked
}

// tokenEnd returns the end of a token at start that a pattern describes. If there is no token, or if the text
// continues the token, it returns -1.
func tokenEnd(v *view, start int, pattern string) int {
	end, last := match(v, start, pattern)
	if end < 0 || patternClass[v.at(end)]&last != 0 && (v.at(end) != '.' || isAlnum(v.at(end+1))) {
		return -1
	}
	if !v.closed(end) && (len(literalPrefix(pattern)) < len("shpat_") || last != classBit('x') && last != classBit('A')) {
		return -1 // before another letter, only a run of the class x or A may end
	}
	for v.text[end-1] == '.' && last != classBit('h') {
		end-- // the end of a sentence
	}
	return end
}

// sharedSignature looks for an Azure shared access signature. The finding is only the value of the signature.
func (s *Scanner) sharedSignature(v *view, start int, f *oneFormat) (next int, ok bool) {
	end, _ := match(v, start, f.pattern)
	if end < 0 || !v.has(end-3, "%3D") && v.at(end) != '=' || spread(v.text[start+4:end]) < minSpread {
		return 0, false
	}
	return s.emit(v, f.rule, start+len("sig="), end)
}
