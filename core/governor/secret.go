package governor

import "bytes"

// privateKey looks for a PEM or PGP private key block at five dashes. The block ends with its END line. If there is
// no END line, the block ends where the text stops being ASCII, or after maxPrivateKey bytes. Source: RFC 7468 (PEM),
// RFC 9580 section 6.2 (PGP), openssh PROTOCOL.key.
func (s *Scanner) privateKey(v *view, start int) (next int, ok bool) {
	if !v.has(start, "-----BEGIN ") {
		return 0, false
	}
	i := start + len("-----BEGIN ")
	label := i
	for label < i+60 && (isAlnum(v.at(label)) || v.at(label) == ' ') {
		label++
	}
	if !v.has(label, "-----") || !bytes.Contains(v.text[i:label], []byte("PRIVATE KEY")) {
		return 0, false
	}
	label += len("-----")
	if !keyBody(v, label) {
		return 0, false
	}
	return s.emit(v, rulePrivateKey, start, keyEnd(v, label, start+maxPrivateKey))
}

// puttyKey looks for a private key in PuTTY's format. The key ends with its message authentication code. Source:
// https://tartarus.org/~simon/putty-snapshots/htmldoc/AppendixC.html
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

// keyEnd returns the end of a key whose base64 begins at i. The key ends after its END line, where the text stops
// being ASCII, or at the index most, whichever comes first.
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

// keyBody reports whether the 512 bytes at i contain 16 base64 characters in a row. The row must come before the next
// dashes.
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

// passwordURL looks for the password in a URL, or for a token in the place of the user's name. The URL's scheme is
// the word [start, end). Source: RFC 3986, section 3.2.1.
func (s *Scanner) passwordURL(v *view, start, end int) (next int, ok bool) {
	if !v.has(end, "://") || !isLetterByte(v.text[start]) {
		return 0, false
	}
	colon, user, quote := 0, end+3, v.at(start-1)
	for i := user; i < user+maxURLPassword; i++ {
		switch b := v.at(i); {
		case b == ':' && colon == 0:
			colon = i
		case b == '@' && (colon == 0 || isOnlyUser(v.text[colon+1:i])):
			if next, ok = s.secretUser(v, user, colon, i); ok || colon > 0 {
				return next, ok
			}
		case b == '@': // if an at sign comes before the colon, it is part of the user's name
			i = lastSign(v, i)
			if isWeak(v.text[user:colon], v.text[colon+1:i]) || isTemplate(v.text[colon+1:i]) || class[v.at(i+1)]&inWord == 0 && v.at(i+1) != '[' {
				return 0, false
			}
			return s.emit(v, rulePasswordURL, colon+1, i)
		case b <= ' ' || b == '/' || b == '?' || b == '"' || b == '<' || b == '>' || b == '`' || b == '\\' || b == '\'' && b == quote:
			return 0, false
		}
	}
	return 0, false
}

// lastSign returns the index of the at sign before the host. If the at sign at i is part of the password, that is a
// later one. Otherwise, it is i.
func lastSign(v *view, i int) int {
	for at, end := i+1, i+maxIndent; at < end; at++ {
		b := v.at(at)
		if b == '@' {
			return at
		}
		if !isAlnum(b) && !oneOf(b, "._-!$%^*+=~") {
			break
		}
	}
	return i
}

// secretUser looks for a secret in the place of a URL's user name. The user name ends at the colon. If there is no
// colon, it ends at the at sign before the host. Source:
// https://github.blog/engineering/easier-builds-and-deployments-using-git-over-https-and-oauth/
func (s *Scanner) secretUser(v *view, user, colon, at int) (next int, ok bool) {
	least := 20
	if colon == 0 {
		colon, least = at, minUserToken
	}
	name := v.text[user:colon]
	if class[v.at(at+1)]&inWord == 0 || len(name) < least || isPlaceholder(name) || !isSecret(name, least, false) {
		return 0, false
	}
	if next, ok = s.token(v, user, v.run(user, maxWord, inWord), isDigit|isLower); ok {
		return next, true
	}
	return s.emit(v, rulePasswordURL, user, colon)
}

// minUserToken is the minimum length, in bytes, of a token in the place of a URL's user name and password. Shorter
// values are public keys, such as Sentry's.
const minUserToken = 36

// isTemplate reports whether a URL's password is part of a regular expression, or a template that is filled in later:
// #{password}.
func isTemplate(password []byte) bool {
	return bytes.Contains(password, []byte(".*")) || bytes.Contains(password, []byte("#{")) || bytes.Contains(password, []byte(")("))
}

// named looks for a value after the name of a secret.
func (s *Scanner) named(v *view, start, end int, subject context) (next int, ok bool) {
	for v.at(end-1) == '\'' {
		end--
	}
	switch {
	case equalFold("kty", v.text[start:end]), equalFold("crv", v.text[start:end]):
		return s.jsonWebKey(v, end)
	case subject&aboutPassword == 0 && namesCode(v, end):
		if isPublic(v.text, start, end) {
			s.forget(aboutSecret)
		}
		return 0, false
	case v.at(end) == '/' && subject&aboutSecret != 0 && v.run(start, end-start, isLower) == end:
		return s.segment(v, end+1)
	}
	return s.assignment(v, start, end, subject)
}

// assignment looks for the value after the name of a secret. Examples: name = value, "name": "value", name is value,
// <name>value, --name value, Bearer value. It tries specific detectors on the value first.
func (s *Scanner) assignment(v *view, start, end int, subject context) (next int, ok bool) {
	after := v.at(end)
	by := equalFold("by", v.text[start:end])
	secure := isSecureString(v.text[start:end])
	spaced := after == ' ' && (secure || isOption(v, start) || s.since(aboutLogin, start) <= nearBefore || by || subject&aboutPassword != 0 && notedPassword(v, start, end))
	if after == ' ' && !spaced && v.at(start-1) != '<' && isProse(v, end+1) || endsName(v, end) {
		return 0, false
	}
	behind := behindName(v, end, secure)
	from, quote := connector(v, start, behind, spaced)
	loose := from < 0
	if loose {
		if from, quote = unconnected(v, start, end); from < 0 {
			return 0, false
		}
		loose = quote == 0 || subject&aboutPassword == 0 || !isChosen(v.text[from:valueEnd(v, from, quote)])
	}
	if isPublic(v.text, start, end) {
		s.forget(aboutSecret)
		return 0, false
	}
	short := subject&aboutSecret == 0 && end-start <= len("pass") && !oneOf(v.at(start-1), "?&")
	if short {
		subject &= aboutPassword
	}
	doubtful := (short || by) && quote == 0 || behind > end && !secure || oneOf(after, "()") || v.has(behind, " - ") || v.has(behind, " | ")
	if doubtful && subject&aboutPassword != 0 && !isChosen(v.text[from:valueEnd(v, from, quote)]) {
		return 0, false // PASS: …
	}
	if next, ok = s.scheme(v, from, subject); ok || next < 0 {
		return next, ok
	}
	if s.base+start >= s.valueEnd {
		s.nested = 0
	} else if s.nested++; s.nested > maxNested {
		return 0, false
	}
	return s.inWords(v, next, quote, subject, loose, oneOf(v.at(start-1), "?&"))
}

// namesCode reports whether the value of a JSON field is a name in code: "maxTokensField": "max_tokens". The quote at
// i ends the name of the field. Letters of such a value have one case, and no list continues after it.
func namesCode(v *view, i int) bool {
	if v.at(i) != '"' || v.at(i+1) != ':' {
		return false
	}
	from := v.spaces(i + 2)
	if v.at(from) != '"' {
		return false
	}
	from++
	to := v.run(from, minLetters, isLower|isJoint)
	if to == from {
		to = v.run(from, minLetters-1, isUpper|isJoint)
	}
	return to > from && v.at(to) == '"' && (v.at(to+1) != ',' || v.at(to+2) != ' ')
}

// endsName reports whether the byte after a name shows that the name belongs to code and gets no value there.
func endsName(v *view, end int) bool {
	after := v.at(end)
	return after == ';' || after == '{' || after == '}' || after == '/' || (after == ')' || after == '(' && !isQuote(v.at(end+1))) && asserted(v, end) < 0
}

// isCount reports whether a colon and a number are at i, and the number is too short to be a secret:
// "prompt_tokens":812.
func isCount(v *view, i int) bool {
	if v.at(i) != ':' {
		return false
	}
	if i++; v.at(i) == ' ' {
		i++
	}
	to := v.run(i, 6, isDigit)
	return to > i && to < i+6 && (v.at(to) == ',' || v.at(to) == '}')
}

// behindName skips text between a name and the characters that connect the name with its value. The name ends at i.
// If there is no such text, behindName returns i.
func behindName(v *view, i int, secure bool) int {
	if secure {
		return behindOptions(v, i)
	}
	return behindWords(v, i)
}

// isSecureString reports whether a name ends in SecureString, like PowerShell's command ConvertTo-SecureString.
func isSecureString(name []byte) bool {
	n := len(name) - len("securestring")
	return n > 0 && equalFold("securestring", name[n:])
}

// segment looks for a secret in the segment of a path after the name of a secret: /token/….
func (s *Scanner) segment(v *view, from int) (next int, ok bool) {
	to := v.run(from, maxValue, inWord)
	value := v.text[from:to]
	if to < from+20 || value[1] == 'x' || !isChosen(value) || !isSecret(value, 20, false) {
		return 0, false
	}
	return s.emit(v, ruleSecret, from, to)
}

// notedPassword reports whether a space and a password follow the name [start, end), and the password does not look
// like a word: password Zk4wQr9T.
func notedPassword(v *view, start, end int) bool {
	return v.run(start, end-start, isLower|isUpper) == end && isAlnum(v.at(end+1)) && isChosen(v.text[end+1:valueEnd(v, end+1, 0)])
}

// unconnected looks for a value that nothing connects with the name [start, end). It returns the start of the value,
// and the value's quote. If there is no such value, the start is -1.
func unconnected(v *view, start, end int) (from int, quote byte) {
	switch after := v.at(end); {
	case v.at(start-1) == '$': // a variable
	case after == ' ' || after == '\n' && end-start <= len("access_token") && v.run(start, end-start, isLower|isUpper) == end:
		return looseValue(v, end+1), 0
	case isQuote(after):
		return listed(v, end+1)
	}
	return -1, 0
}

// listed looks for a value after its name in a list: ["--token", "…"]. The name's quote ends before i. It returns the
// start of the value, and the value's quote. If there is no such value, the start is -1.
func listed(v *view, i int) (from int, quote byte) {
	if i = v.spaces(i); v.at(i) != ',' {
		return -1, 0
	}
	if i = v.blanks(i + 1); !isQuote(v.at(i)) {
		return -1, 0
	}
	return opened(v, i)
}

// looseValue returns the start of a value at i, if only a space or line break separates the value from its name:
// token …, | token | … |. If there is no such value, it returns -1.
func looseValue(v *view, i int) int {
	if v.at(i) == '|' {
		i = v.spaces(i + 1)
	}
	if v.run(i, minToken, inWord) < i+minToken {
		return -1
	}
	return i
}

// inWords looks for a secret in the words of a value: "Bearer …". If the value is a parameter of a URL, query is set.
// Only the first word can be a password. A value in braces and a loose value cannot be a password.
func (s *Scanner) inWords(v *view, from int, quote byte, subject context, loose, query bool) (next int, ok bool) {
	strict := loose
	if v.at(from) == '{' {
		from, strict = from+1, true
	}
	for range maxWords {
		if next, ok = s.specific(v, from, subject); ok {
			return next, true
		}
		to := valueEnd(v, from, quote)
		if query {
			if end := bytes.IndexByte(v.text[from:to], '&'); end >= 0 {
				to = from + end
			}
		}
		if to > from && strict && quote != 0 && v.at(from-1) == '{' && v.at(to-1) == '}' {
			to-- // a placeholder, or a UUID in braces
		}
		s.valueEnd = max(s.valueEnd, s.base+to)
		if next, ok = s.wholeValue(v, from, to, quote, subject, strict); ok {
			return next, true
		}
		switch strict = true; {
		case loose:
			return 0, false
		case v.at(to) == ' ' && isLetterByte(v.at(from)) && to-from <= 20:
			from = to + 1
		case isQuote(v.at(to)) && v.at(to+1) == ',' && v.at(to+2) == ' ' && isQuote(v.at(to+3)):
			redacted := v.at(from) == '['
			if from, quote = to+4, v.at(to+3); !redacted && isChosen(v.text[from:valueEnd(v, from, quote)]) {
				strict, subject = false, subject|aboutPassword // auth=("user", "…")
			}
		default:
			return 0, false
		}
	}
	return 0, false
}

// isProse reports whether the word at i is part of a sentence: it is no value, and it is no sign that a value
// follows. Such a word often follows the name of a secret.
func isProse(v *view, i int) bool {
	first := v.at(i)
	return isLetterByte(first) && !oneOf(first, "fistvV") && v.run(i, minToken, inWord) < i+minToken
}

// maxWords is the maximum number of words that are examined in a value: "Bearer …".
const maxWords = 3

// specific tries the specific detectors on the value at from. A name comes before the value.
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
		s.note(subject, at) // formats that need this context match now
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

// maxNested limits the number of names inside a rejected value for which a value is looked for. Without a limit,
// a=b=c=… would take quadratic time.
const maxNested = 4
