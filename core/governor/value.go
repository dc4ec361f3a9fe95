package governor

import "bytes"

// wholeValue judges the value [from, to). If strict is set, a password is not accepted.
func (s *Scanner) wholeValue(v *view, from, to int, quote byte, subject context, strict bool) (next int, ok bool) {
	if end := denseEnd(v, from, quote); end >= to && end > 0 {
		return s.emit(v, ruleSecret, from, end)
	}
	if to-from < 6 || to-from >= maxValue {
		return 0, false
	}
	value := v.text[from:to]
	if to-from < 34 && value[0] == '0' && value[1]|0x20 == 'x' { // a number
		return 0, false
	}
	if isPath(value) || isExpression(value) || isMessageName(value) {
		return 0, false
	}
	rule := ID(rulePassword)
	if quote != 0 && v.at(to) == ' ' && isLetterByte(v.at(to+1)) && !isChosen(value) {
		strict = true // a sentence: "Passwort1 vergessen"
	}
	if strict || subject&aboutPassword == 0 || !isPassword(value) || quote == 0 && isMember(value) {
		rule = ruleSecret
		if !s.random(value, from, quote != 0, subject) {
			return 0, false
		}
	}
	if isPlaceholder(value) || isSample(value) || v.has(to, "..") || v.has(to, "…") {
		return 0, false
	}
	if quote == 0 && (v.at(to) == '(' || v.at(to) == '[') {
		return 0, false // code: a call or an index
	}
	return s.emit(v, rule, from, to)
}

// random reports whether a value at from is a secret other than a password. subject is the subject of the name before
// the value.
func (s *Scanner) random(value []byte, from int, quoted bool, subject context) bool {
	least := 15
	switch {
	case subject == 0 && isHash(value), subject&aboutSecret == 0 && bytes.IndexByte(value, '/') > 0 && bytes.IndexByte(value, '.') > 0:
		return false // the key of a cache or an object
	case subject&aboutSecret != 0 && changes(value)*2 > len(value) && isChosen(value):
		least = 8
	case subject&aboutHeader != 0 || s.since(aboutCommand, from) <= nearCommand || subject&aboutSecret != 0 && changes(value)*3 > len(value):
		least = 10
	case subject&aboutSecret == 0:
		least = 16
	}
	if subject&aboutSecret != 0 && isProductKey(value) {
		return true
	}
	if !isSecret(value, least, quoted) {
		return false
	}
	dot := bytes.LastIndexByte(value, '.') // a.b.c is code
	return dot < 0 || quoted || subject&aboutHeader != 0 || changes(value)*3 >= len(value) || isSecret(value[dot+1:], 20, false) || isSecret(value[:dot], 20, false)
}

// containsFold reports whether text contains a lowercase string. The case of the text does not matter.
func containsFold(text []byte, lower string) bool {
	for i := 0; i+len(lower) <= len(text); i++ {
		if equalFold(lower, text[i:i+len(lower)]) {
			return true
		}
	}
	return false
}

// valueEnd returns the end of a value. A quoted value ends at its quote. Other values end at white space or
// punctuation. A value has at most maxValue bytes.
func valueEnd(v *view, from int, quote byte) int {
	i := from
	for ; i < from+maxValue; i++ {
		b := v.at(i)
		if b == '\\' && quote != 0 && v.at(from-2) != '\\' && v.at(i+1) > ' ' {
			i++
			continue
		}
		if b == '&' && quote != 0 && quote != '&' || b == '&' && quote == '&' && !v.has(i, "&quot;") {
			continue
		}
		if b == '&' && (v.has(i, "&lt;") || v.has(i, "&gt;") || v.has(i, "&quot;")) {
			break
		}
		if b <= ' ' || b >= 0x7f && (quote == 0 || b == 0x7f) || b == quote && quote != 0 || b == '"' || b == '`' && quote == 0 || b == '\\' {
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

// denseEnd returns the end of a value that must be random: it has 40 to 127 bytes, and signs, letters and digits
// change often. The value may contain spaces and brackets, like the keys of Django and WordPress. Without quotes, it
// ends at a space or at the end of the line. If there is no such value, denseEnd returns 0. Source:
// https://api.wordpress.org/secret-key/1.1/salt/, django.core.management.utils.get_random_secret_key.
func denseEnd(v *view, from int, quote byte) int {
	if quote == 0 && v.at(from-1) != '=' {
		return 0
	}
	signs, spaces, digits, letters, row := 0, 0, 0, 0, 0
	i := from
	for ; i < from+128; i++ {
		b := v.at(i)
		if b == quote && quote != 0 || b < ' ' || b >= 0x7f || oneOf(b, "\"\\") || quote == 0 && oneOf(b, " '`") {
			break
		}
		row++
		switch {
		case isLetterByte(b):
			letters++
		case isDigitByte(b):
			digits++
		case b == ' ':
			spaces++
			row = 0
		default:
			signs++
			row = 0
		}
		if row > 16 {
			return 0
		}
	}
	n := i - from
	for _, code := range [...]string{"{{", "${", "(?", "a-z", "0-9"} { // a template or a regular expression
		if bytes.Contains(v.text[from:i], []byte(code)) {
			return 0
		}
	}
	if n < 40 || n == 128 || quote != 0 && v.at(i) != quote || signs*6 < n || spaces*10 > n || digits < 2 || letters*3 < n || spread(v.text[from:i]) < 20 {
		return 0
	}
	return i
}

// isPath reports whether a value is a path or a URL.
func isPath(value []byte) bool {
	return value[0] == '/' && changes(value)*3 < len(value) || value[0] == '.' || value[0] == '~' || bytes.Contains(value, []byte("://")) || bytes.Contains(value, []byte(`:\`))
}

// isExpression reports whether a value is code after a string that ends with the name: "PWD="+cmd.Dir,
// 'Password=',parameters('….
func isExpression(value []byte) bool {
	if !oneOf(value[0], "+,&.)") {
		return false
	}
	call := bytes.IndexByte(value, '(')
	return isMember(value[1:]) || call > 1 && letterRun(value, 1) == call
}

// isMember reports whether a value is the name of a field in code: settings.password2.
func isMember(value []byte) bool {
	for _, b := range value {
		if !isAlnum(b) && b != '_' && b != '.' {
			return false
		}
	}
	dot := bytes.IndexByte(value, '.') + 1
	return isLetterByte(value[0]) && dot > 0 && dot < len(value) && isLetterByte(value[dot])
}

// isPassword reports whether a value looks like a password that a person chose. It has letters, and a digit or a
// symbol.
func isPassword(value []byte) bool {
	letters, others := false, false
	for _, b := range value {
		switch {
		case isLetterByte(b):
			letters = true
		case b < 0x80 && !oneOf(b, "._-/=:#,"):
			others = true
		}
	}
	return letters && others && !runs(value)
}

// isChosen reports whether a value looks like a password and like nothing else that people write after "pass". Such a
// value has letters, digits and signs. It may also have no signs, if capitals, lowercase letters and digits change
// often.
func isChosen(value []byte) bool {
	kinds, sign := uint16(0), false
	for _, b := range value {
		kinds |= class[b]
		sign = sign || oneOf(b, "!@#$%^&*?+=~")
	}
	letters := kinds & (isLower | isUpper)
	return kinds&isDigit != 0 && letters != 0 && (sign || letters == isLower|isUpper && changes(value)*3 > len(value))
}

// isSecret reports whether a value looks random. A value looks random if it is a UUID, if its letters and digits
// change often, or if at least twenty characters with four digits come after a prefix. A quoted value may contain
// signs.
func isSecret(value []byte, least int, quoted bool) bool {
	if isUUID(value) {
		return spread(value) >= minSpread
	}
	if len(value) < least || runs(value) && (len(value) < 15 || isSequence(value)) {
		return false
	}
	kinds, hash, digits := uint16(0), uint16(isHex), 0
	for i, b := range value {
		hash &= class[b]
		switch {
		case isDigitByte(b):
			digits++
		case isLetterByte(b):
		case i+20 < len(value) && oneOf(b, "_-:"):
			hash, digits = isHex, 0 // count only the part after a prefix
		default:
			digits = -len(value)
		}
		if !isAlnum(b) && !oneOf(b, "_-.+/=~%:!#*@^") && !quoted {
			return false
		}
		kinds |= class[b]
	}
	if n := spread(value); n < minSpread || n < 8 && hash == 0 { // hexadecimal text has at most sixteen different digits
		return false
	}
	if kinds&(isDigit|isLower|isUpper) == isLower|isUpper {
		return len(value) >= 20 && (changes(value)*3 >= len(value) || changes(value)*4 >= len(value) && isUnpronounceable(value))
	}
	return kinds&isDigit != 0 && kinds&(isLower|isUpper) != 0 && (changes(value)*4+4 >= len(value) || len(value) >= 32 && changes(value)*5 >= len(value) || len(value) >= 20 && (hash != 0 || digits >= 4 || kinds&(isLower|isUpper) != isLower|isUpper && isUnpronounceable(value)))
}

// isProductKey reports whether a value is a license key: groups of capitals and digits, as in ABCDE-FGHIJ-….
func isProductKey(value []byte) bool {
	group := bytes.IndexByte(value, '-')
	if group < 4 || group > 6 || len(value) < 4*group || (len(value)+1)%(group+1) != 0 {
		return false
	}
	letters := 0
	for i, b := range value {
		if i%(group+1) == group && b != '-' || i%(group+1) != group && class[b]&(isUpper|isDigit) == 0 {
			return false
		}
		if class[b]&isUpper != 0 {
			letters++
		}
	}
	return letters*3 >= len(value) && spread(value) >= minSpread
}

// isHash reports whether a value has only hexadecimal digits and dashes.
func isHash(value []byte) bool {
	for _, b := range value {
		if class[b]&isHex == 0 && b != '-' {
			return false
		}
	}
	return true
}

// isUUID reports whether a value has the form of a UUID, in upper or lower case.
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

// isUnpronounceable reports whether a value has as many rare letters as random text. It is for values with few
// digits. About a quarter of the letters in random text are rare, but only one in twenty in English.
func isUnpronounceable(value []byte) bool {
	letters, rare := 0, 0
	for _, b := range value {
		if isLetterByte(b) {
			letters++
			if oneOf(b|0x20, "jkqvwxz") {
				rare++
			}
		}
	}
	return rare*8 >= letters
}
