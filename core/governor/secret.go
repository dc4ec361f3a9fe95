package governor

import "bytes"

// privateKey looks for a PEM or PGP private key block at five dashes. It ends with its END line; without one, where
// the text stops being base64, or at maxPrivateKey.
// Source: RFC 7468 (PEM), RFC 9580 section 6.2 (PGP), openssh PROTOCOL.key.
func (s *Scanner) privateKey(v *view, start int) (next int, ok bool) {
	if !v.has(start, "-----BEGIN ") {
		return 0, false
	}
	i := start + len("-----BEGIN ")
	label := v.run(i, 40, inWord)
	for v.at(label) == ' ' && label < i+60 && !v.has(label-5, "-----") {
		label = v.run(label+1, 40, inWord)
	}
	if label > len(v.text) || !bytes.Contains(v.text[i:label], []byte("PRIVATE KEY")) || !v.has(label-5, "-----") {
		return 0, false
	}
	if !keyBody(v, label) {
		return 0, false
	}
	return s.emit(v, rulePrivateKey, start, keyEnd(v, label, start+maxPrivateKey))
}

// puttyKey looks for a private key in PuTTY's format, up to its message authentication code.
// Source: https://tartarus.org/~simon/putty-snapshots/htmldoc/AppendixC.html
func (s *Scanner) puttyKey(v *view, start int) (next int, ok bool) {
	if !v.has(start, "PuTTY-User-Key-File-") {
		return 0, false
	}
	for i := start; i < start+maxPrivateKey-100; i++ {
		switch b := v.at(i); {
		case b == 'P' && v.has(i, "Private-MAC: "):
			i += len("Private-MAC: ")
			return s.emit(v, rulePrivateKey, start, v.run(i, 64, isHex))
		case b == 0 || b >= 0x80:
			return 0, false
		}
	}
	return 0, false
}

// keyEnd is the end of a key whose base64 begins at i: behind its END line, or where the text stops being ASCII.
func keyEnd(v *view, i, most int) int {
	for ; i < most; i++ {
		b := v.at(i)
		if b == '-' && v.has(i, "-----END ") {
			i += len("-----END ")
			for label := i + 40; i < label && (class[v.at(i)]&isUpper != 0 || v.at(i) == ' '); i++ {
			}
			return min(v.run(i, 5, isJoint), most)
		}
		if b == 0 || b >= 0x80 || b < ' ' && b != '\n' && b != '\r' && b != '\t' {
			break
		}
	}
	return i
}

// keyBody reports whether 16 characters of base64 in a row come within 512 bytes of i, before the next dashes.
func keyBody(v *view, i int) bool {
	row := 0
	for end := i + 512; i < end && row < 16; i++ {
		b := v.at(i)
		if isAlnum(b) || b == '+' || b == '/' || b == '=' {
			row++
			continue
		}
		if b == 0 || b == '-' && v.has(i, "-----") {
			return false
		}
		row = 0
	}
	return row >= 16
}

// jwt looks for a JSON Web Token, signed or encrypted: three or five parts of base64url, the first a JSON object with
// the member "alg". Source: RFC 7515, RFC 7516.
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
	if !ok || header[0] != '{' || !bytes.Contains(header[:n], []byte(`"alg"`)) {
		return 0, false
	}
	return s.emit(v, ruleJWT, start, end)
}

// jwtParts reads up to five parts of base64url with dots between them.
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

// maxHeader bounds the first part of a token. Only its first kilobyte is searched for "alg".
const maxHeader = 4096

// decode64 decodes base64 or base64url without padding, up to the byte stop, as far as out has room.
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

// value64 is the value of a character of base64 or base64url, or 64.
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

// passwordURL looks for the password of a URL whose scheme is the word [start, end). Source: RFC 3986, section 3.2.1.
func (s *Scanner) passwordURL(v *view, start, end int) (next int, ok bool) {
	if !v.has(end, "://") || !isLetterByte(v.text[start]) {
		return 0, false
	}
	colon := 0
	for i := end + 3; i < end+3+maxURLPassword; i++ {
		switch b := v.at(i); {
		case b == ':' && colon == 0:
			colon = i
		case b == '@':
			if colon == 0 || i == colon+1 || isPlaceholder(v.text[colon+1:i]) || isNameOfPassword(v.text[colon+1:i]) || class[v.at(i+1)]&inWord == 0 && v.at(i+1) != '[' {
				return 0, false
			}
			return s.emit(v, rulePasswordURL, colon+1, i)
		case b <= ' ' || b == '/' || b == '?' || b == '"' || b == '<' || b == '>' || b == '`' || b == '\\':
			return 0, false
		}
	}
	return 0, false
}

// isNameOfPassword reports whether a value only says that it is a password: user:pass@localhost.
func isNameOfPassword(value []byte) bool {
	for _, name := range [...]string{"pass", "password", "passwd", "pwd", "secret", "pw"} {
		if equalFold(name, value) {
			return true
		}
	}
	return false
}

// placeholders is parts of values in lower case that show that a value is none.
var placeholders = []string{"your", "example", "changeme", "placeholder", "redacted", "xxxx", "****", "....", "<", "${", "{{", "$(", "process.env", "insert", "dummy", "replace", "todo", "fake", "sample"}

// isPlaceholder reports whether a value stands for one that is filled in elsewhere.
func isPlaceholder(value []byte) bool {
	switch value[0] {
	case '$', '%', '<', '{', '[', '*':
		return true
	}
	for _, p := range placeholders {
		if containsFold(value, p) {
			return true
		}
	}
	return false
}

// containsFold reports whether text contains a string in lower case, in any case.
func containsFold(text []byte, lower string) bool {
	for i := 0; i+len(lower) <= len(text); i++ {
		if equalFold(lower, text[i:i+len(lower)]) {
			return true
		}
	}
	return false
}

// assignment looks behind a name of a secret for its value: name = value, "name": "value", name is value,
// <name>value, --name value, Bearer value. Specific detectors try the value first.
func (s *Scanner) assignment(v *view, start, end int, subject context) (next int, ok bool) {
	from, quote := connector(v, start, end)
	if from < 0 || isPublic(v.text, start, end) {
		return 0, false
	}
	if next, ok = s.specific(v, from, subject); ok {
		return next, true
	}
	if s.base+start >= s.valueEnd {
		s.nested = 0
	} else if s.nested++; s.nested > maxNested {
		return 0, false
	}
	to := valueEnd(v, from, quote)
	s.valueEnd = max(s.valueEnd, s.base+to)
	if to-from < 6 || to-from >= maxValue || isPlaceholder(v.text[from:to]) {
		return 0, false
	}
	if quote == 0 && (v.at(to) == '(' || v.at(to) == '[') {
		return 0, false // a call or an element: code
	}
	return s.judge(v, v.text[from:to], from, quote != 0, subject)
}

// judge decides whether a value at from is a password or another secret.
func (s *Scanner) judge(v *view, value []byte, from int, quoted bool, subject context) (next int, ok bool) {
	if isPath(value) || value[0] == '+' && bytes.IndexByte(value, '.') > 0 { // "PWD="+cmd.Dir

		return 0, false
	}
	if subject&aboutPassword != 0 && isPassword(value) {
		return s.emit(v, rulePassword, from, from+len(value))
	}
	if isSecret(value) && (quoted || !bytes.ContainsRune(value, '.')) { // a.b.c is code
		return s.emit(v, ruleSecret, from, from+len(value))
	}
	return 0, false
}

// specific tries the specific detectors on the value at from behind a name.
func (s *Scanner) specific(v *view, from int, subject context) (next int, ok bool) {
	word := v.run(from, maxWord, inWord)
	at, kinds := from, uint16(0)
	for at < word && class[v.text[at]]&isJoint != 0 && v.text[at] != '+' {
		at++
	}
	for _, b := range v.text[at:word] {
		kinds |= class[b]
	}
	if at < word {
		s.note(subject, at) // a format that needs this context finds it
		if next, ok = s.value(v, at, word, kinds); ok {
			return next, true
		}
	}
	if v.at(from) == '/' { // base64 may begin with it
		return s.token(v, from, word, isDigit)
	}
	return 0, false
}

// maxNested bounds how many names inside of a rejected value are looked behind: a=b=c=… would cost its square.
const maxNested = 4

// connector is the start of the value behind a name that ends at i, and the quote it is in; -1 if there is none.
func connector(v *view, start, i int) (from int, quote byte) {
	option := v.has(start-2, "--")
	for oneOf(v.at(i), "\"'`]\\") {
		i++
	}
	spaced := v.at(i)
	i = v.spaces(i)
	switch b := v.at(i); {
	case b == '>' && v.at(i+1) == '@': // a blank to fill in, as in user:<password>@host
		return -1, 0
	case b == ':' || b == '=' || b == '>':
		i++
		for v.at(i) == '=' || v.at(i) == '>' {
			i++
		}
	case v.has(i, "is "):
		i += 2
	case spaced == ' ' && (option || equalFold("bearer", v.text[start:min(start+6, len(v.text))])):
	default:
		return -1, 0
	}
	i = v.spaces(i)
	for oneOf(v.at(i), "\"'`\\") {
		quote = v.at(i)
		i++
	}
	return i, quote
}

// spaces is the end of at most four spaces or tabs from i.
func (v *view) spaces(i int) int {
	for end := i + 4; i < end && (v.at(i) == ' ' || v.at(i) == '\t'); i++ {
	}
	return i
}

// valueEnd is the end of a value: of a quoted one its quote, of others white space or punctuation. It is at most
// maxValue bytes long.
func valueEnd(v *view, from int, quote byte) int {
	i := from
	for ; i < from+maxValue; i++ {
		b := v.at(i)
		if b <= ' ' || b >= 0x7f || b == quote && quote != 0 || b == '"' || b == '`' || b == '\\' {
			break
		}
		if quote == 0 && (b == ',' || b == ';' || b == '<' || b == '>' || b == '(' || b == ')' || b == '[' || b == ']' || b == '{' || b == '}' || b == '\'' || b == '|') {
			break
		}
	}
	for quote == 0 && i > from && (v.at(i-1) == '.' || v.at(i-1) == ':' || v.at(i-1) == '?') {
		i--
	}
	return i
}

// isPath reports whether a value is a path or a URL.
func isPath(value []byte) bool {
	return value[0] == '/' || value[0] == '.' || value[0] == '~' || bytes.Contains(value, []byte("://")) || bytes.Contains(value, []byte(`:\`))
}

// isPassword reports whether a value is like a password that a person chose: letters and a digit or symbol.
func isPassword(value []byte) bool {
	letters, others := false, false
	for _, b := range value {
		switch {
		case isLetterByte(b):
			letters = true
		case b != '.' && b != '_' && b != '-' && b != '/' && b != '=':
			others = true
		}
	}
	return letters && others && !runs(value)
}

// isSecret reports whether a value looks random: at least 16 bytes of letters and digits that change often.
func isSecret(value []byte) bool {
	if len(value) < 16 || spread(value) < 8 || runs(value) {
		return false
	}
	kinds := uint16(0)
	for _, b := range value {
		if !isAlnum(b) && b != '_' && b != '-' && b != '.' && b != '+' && b != '/' && b != '=' && b != '~' {
			return false
		}
		kinds |= class[b]
	}
	return kinds&isDigit != 0 && kinds&(isLower|isUpper) != 0 && changes(value)*4+4 >= len(value)
}
