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
	if from < 0 {
		return 0, false
	}
	if isPublic(v.text, start, end) {
		s.forget(aboutSecret)
		return 0, false
	}
	if subject&aboutHeader != 0 {
		if from, ok = s.scheme(v, from); ok {
			return from, true
		}
		if from < 0 {
			return 0, false
		}
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
	if to-from < 6 || to-from >= maxValue || isPlaceholder(v.text[from:to]) || isSample(v.text[from:to]) || v.has(to, "..") || v.has(to, "…") {
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
	least := 15
	if s.since(aboutCommand, from) <= nearCommand {
		least = 10
	}
	if isSecret(value, least, quoted) && (quoted || !bytes.ContainsRune(value, '.')) { // a.b.c is code
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
		if word-at == minToken-1 {
			if next, ok = s.token(v, at, word, kinds); ok {
				return next, true
			}
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
	if spaced == ' ' {
		i = behindType(v, i)
	}
	switch b := v.at(i); {
	case b == '>' && v.at(i+1) == '@': // a blank to fill in, as in user:<password>@host
		return -1, 0
	case b == '>' && v.at(start-1) == '<': // the name of an element; its text may begin on the next line
		for end := i + maxIndent; i < end && oneOf(v.at(i+1), "\n\r\t "); i++ {
		}
		i++
	case b == ':' && v.at(i+1) == ':' && v.at(i+2) != '=' && v.at(i+2) != ':': // a path in code
		return -1, 0
	case b == ':' || b == '=' || b == '>' || (b == '.' || b == '?') && v.at(i+1) == '=':
		for i++; v.at(i) == '=' || v.at(i) == '>' || v.at(i) == ':'; i++ {
		}
	case b == ',' && isArgument(v, start, i): // setProperty("token", "…")
		if i = v.spaces(i + 1); !oneOf(v.at(i), "\"'`") {
			return -1, 0
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

// behindType is the end of a type's or attribute's name between a name and its value, or i: var token string = "…",
// <add key="token" value="…">.
func behindType(v *view, i int) int {
	switch {
	case v.has(i, "string "):
		return i + len("string ")
	case v.has(i, "value="):
		return i + len("value")
	}
	return i
}

// maxIndent bounds the white space between an element's name and its text.
const maxIndent = 32

// isArgument reports whether the name at start is the first argument of a call, in quotes that end before i.
func isArgument(v *view, start, i int) bool {
	open, quote := v.at(start-2), v.at(start-1)
	if v.text[start] == '\'' { // it is of the word
		open, quote = quote, '\''
	}
	return open == '(' && oneOf(quote, "\"'`") && v.at(i-1) == quote
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

// isSecret reports whether a value looks random: a UUID, or letters and digits that change often. A quoted value may
// contain signs.
func isSecret(value []byte, least int, quoted bool) bool {
	if isUUID(value) {
		return spread(value) >= minSpread
	}
	if len(value) < least || runs(value) {
		return false
	}
	kinds, hash := uint16(0), uint16(isHex)
	for _, b := range value {
		hash &= class[b]
		if !isAlnum(b) && !oneOf(b, "_-.+/=~") && (!quoted || !oneOf(b, "!#$%&*@^")) {
			return false
		}
		kinds |= class[b]
	}
	if n := spread(value); n < minSpread || n < 8 && hash == 0 { // sixteen digits do not differ more
		return false
	}
	return kinds&isDigit != 0 && kinds&(isLower|isUpper) != 0 && (changes(value)*4+4 >= len(value) || hash != 0 && len(value) >= 32 || isUnpronounceable(value))
}

// isUUID reports whether a value has the form of a UUID, in any case.
func isUUID(value []byte) bool {
	if len(value) != 36 {
		return false
	}
	for i, b := range value {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if b != '-' {
				return false
			}
		} else if class[b]&isHex == 0 {
			return false
		}
	}
	return true
}

// isUnpronounceable reports whether a long value in one case has as many rare letters as random text with few digits: a
// quarter of all are one of these, and about one in twenty of English text.
func isUnpronounceable(value []byte) bool {
	letters, rare, kinds := 0, 0, uint16(0)
	for _, b := range value {
		kinds |= class[b] & (isLower | isUpper)
		if isLetterByte(b) {
			letters++
			if oneOf(b|0x20, "jkqvwxz") {
				rare++
			}
		}
	}
	return len(value) >= 20 && kinds != isLower|isUpper && rare*8 >= letters
}
