package governor

// minSpread is the least spread of a token's variable part: random hexadecimal text of 32 bytes has about 11.
const minSpread = 6

// token tries the token formats at a word's start.
func (s *Scanner) token(v *view, start, end int, kinds uint16) (next int, ok bool) {
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
	next, known, ok := s.anchored(v, start)
	if ok {
		return next, true
	}
	after, long := v.at(end), end-start >= 20 && kinds&isDigit != 0
	if !long && after != ':' && after != '/' && after != '|' {
		return 0, false
	}
	for i := range loose {
		l := &loose[i]
		if l.behind != after && (l.behind > ' ' || !long && (l.behind == 0 || after != '/')) || int(l.least) > end-start || !l.fits(v, start) {
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

// looseFormat is a format of formatText without a literal prefix of two bytes: where it is, the byte behind its first word (0 if
// it is one word, 1 if it may contain slashes), and its first literal byte if runs of fixed length are before it.
type looseFormat struct {
	at                      uint16
	behind, offset, literal byte
	least                   byte // the least length of its first word, if a run begins it
}

// fits reports whether the first literal byte may be at its place. It looks at no byte that has not arrived.
func (l *looseFormat) fits(v *view, start int) bool {
	i := start + int(l.offset)
	return l.offset == 0 || i >= len(v.text) || v.text[i] == l.literal
}

// anchored tries the formats that begin with two literal bytes. known is set if a literal prefix of one is at start.
func (s *Scanner) anchored(v *view, start int) (next int, known, ok bool) {
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
			return next, true, true
		}
		known = known || len(prefix) >= len("r8_")
	}
	return 0, known, false
}

// tryFormat tries one format whose literal prefix is at start. A format without a checksum needs a body that looks random.
func (s *Scanner) tryFormat(v *view, start int, prefix string, f *oneFormat) (next int, ok bool) {
	if f.near != 0 && (s.since(f.near, start) > nearBefore || f.near != aboutSecret && v.at(start-1) == '/') {
		return 0, false
	}
	if f.pattern[:4] == "sig=" {
		return s.sharedSignature(v, start, f)
	}
	if f.pattern[:4] == "{t3}" && v.at(start+3) == 'Q' && oneOf(v.at(start-1), "._~-") {
		start-- // a joint begins the token, but no word
	}
	end := tokenEnd(v, start, f.pattern)
	if end < 0 {
		return 0, false
	}
	token := v.text[start:end]
	if !f.check.accepts(token) {
		return 0, false
	}
	body := token[len(prefix):]
	if n := spread(body); n < minSpread && (f.near != aboutVendor || n < minSpread-1) || isSample(token) || isSequence(body) {
		return 0, false
	}
	if len(prefix) < 3 && f.near != aboutVendor && f.near != aboutHeroku && runs(body) {
		return 0, false
	}
	return s.emit(v, f.rule, start, end)
}

// tokenEnd is the end of a token at start that a pattern describes and that the text does not continue, or -1.
func tokenEnd(v *view, start int, pattern string) int {
	end, last := match(v, start, pattern)
	if end < 0 || !v.closed(end) || patternClass[v.at(end)]&last != 0 && (v.at(end) != '.' || isAlnum(v.at(end+1))) {
		return -1
	}
	for v.text[end-1] == '.' && last != classBit('h') {
		end-- // the end of a sentence
	}
	return end
}

// sharedSignature is the signature of an Azure shared access signature: the finding is its value.
func (s *Scanner) sharedSignature(v *view, start int, f *oneFormat) (next int, ok bool) {
	end, _ := match(v, start, f.pattern)
	if end < 0 || !v.has(end-3, "%3D") && v.at(end) != '=' || spread(v.text[start+4:end]) < minSpread {
		return 0, false
	}
	return s.emit(v, f.rule, start+len("sig="), end)
}
