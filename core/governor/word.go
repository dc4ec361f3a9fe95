package governor

// examine does the same as word, but never waits.
func (s *Scanner) examine(v *view, start, end int, kinds uint16) (next int) {
	if kinds&isDigit == 0 && v.at(end) == '"' && isCount(v, end+1) {
		return end // "prompt_tokens":812 does not name anything
	}
	for start < end && class[v.text[start]]&isJoint != 0 && v.text[start] != '+' {
		if v.text[start] == '-' {
			if at, ok := s.userOption(v, start, end); ok {
				return at
			}
			if at, ok := s.loginOption(v, start, end); ok {
				return at
			}
			if at, ok := s.privateKey(v, start); ok {
				return at
			}
		}
		start++
	}
	start = behindColor(v, start, end)
	if start == end {
		return end
	}
	if at, ok := s.value(v, start, end, kinds); ok {
		return at
	}
	if kinds&isUpper != 0 && kinds&isLower == 0 && v.at(start-1) == '[' && v.at(end) == ']' {
		return end // a placeholder of an earlier redaction does not name anything
	}
	return s.name(v, start, end, kinds)
}

// behindColor skips the end of a terminal sequence that sets a color (ESC [ 3 2 m). The word that begins at start may
// have this end as its first characters. If it has not, behindColor returns start.
func behindColor(v *view, start, end int) int {
	if before := v.at(start - 1); before != '[' && before != ';' {
		return start
	}
	if at := v.run(start, 3, isDigit); at > start && at < end && v.text[at] == 'm' {
		return at + 1
	}
	return start
}

// value tries the detectors for values that may begin at the start of a word.
func (s *Scanner) value(v *view, start, end int, kinds uint16) (next int, ok bool) {
	after := v.at(end)
	if end-start >= minToken && v.text[start] == 'P' {
		if next, ok = s.puttyKey(v, start); ok {
			return next, true
		}
	}
	if end-start >= minToken && (end-start >= minLetters || kinds&isDigit != 0 || kinds&(isLower|isUpper) == isLower|isUpper) || class[after]&inToken != 0 && (end-start >= 3 || after == '$' || after == '/') {
		if next, ok = s.token(v, start, end, kinds); ok {
			return next, true
		}
	}
	if next, ok = s.joined(v, start, end, after); ok {
		return next, true
	}
	if kinds&isDigit != 0 {
		return s.numbers(v, start, end)
	}
	if isMACLength(v.text[start:end]) {
		return s.mac(v, start)
	}
	if end-start == 2 && after == ' ' && isDigitByte(v.at(end+1)) {
		if next, ok = s.iban(v, start); ok { // DE 89 3704
			return next, true
		}
		if next, ok = s.countryNumber(v, start); ok {
			return next, true
		}
		if next, ok = s.lettered(v, start, end); ok || kinds&isLower != 0 || s.base+start-s.lastSeen > nearDocument {
			return next, ok
		}
		return s.document(v, start, end) // passport AB 1234567
	}
	return 0, false
}

// joined tries the detectors for words before '@' and ':'.
func (s *Scanner) joined(v *view, start, end int, after byte) (next int, ok bool) {
	switch after {
	case '@':
		return s.email(v, start, end)
	case ':':
		if next, ok = s.passwordURL(v, start, end); ok {
			return next, true
		}
		return s.colonAddress(v, start, end)
	}
	return 0, false
}

// numbers tries the detectors for words with digits. Most such words are short numbers or names, and numbers rejects
// them early.
func (s *Scanner) numbers(v *view, start, end int) (next int, ok bool) {
	first := v.text[start]
	if first == '+' {
		return s.phone(v, start)
	}
	if isDigitByte(first) {
		if end-start == 8 && v.at(end) == ' ' && isDigitByte(v.at(end+1)) && v.at(end+2) == ' ' && isLetterByte(v.at(end+3)) {
			if next, ok = s.lettered(v, start, end); ok { // 12345678 9 ZZ1
				return next, true
			}
		}
		if next, ok = s.digits(v, start, end); ok {
			return next, true
		}
	}
	if isLetterByte(first) && isDigitByte(v.at(start+2)) {
		if next, ok = s.iban(v, start); ok {
			return next, true
		}
		if next, ok = s.countryNumber(v, start); ok {
			return next, true
		}
	}
	return s.mixedWord(v, start, end)
}

// mixedWord tries the detectors for words with letters and digits.
func (s *Scanner) mixedWord(v *view, start, end int) (next int, ok bool) {
	if isMACLength(v.text[start:end]) {
		if next, ok = s.mac(v, start); ok {
			return next, true
		}
	}
	if mayIdentify(v, start, end) {
		if next, ok = s.lettered(v, start, end); ok {
			return next, true
		}
	}
	if end-start >= 26 {
		return s.wallet(v, start, end)
	}
	return s.document(v, start, end)
}

// digits tries the detectors for words that begin with a digit.
func (s *Scanner) digits(v *view, start, end int) (next int, ok bool) {
	many := enough(v, start)
	if end-start >= 8 && end-start <= 10 && (v.has(end, " is ") || v.has(end, " was ")) {
		if at := date(v, start); at == end && s.follows(v, aboutBirth, end) { // 1985-01-01 is my birthday
			return s.emit(v, ruleBirthDate, start, end)
		}
	}
	if many || end-start >= 7 {
		if next, ok = s.dottedAddress(v, start); ok {
			return next, true
		}
	}
	if !many {
		return 0, false
	}
	if next, ok = s.numeric(v, start); ok {
		return next, true
	}
	if n := &s.scratch.number; n.count == 1 && v.at(n.ends[0]) != ' ' && v.at(n.ends[0]) != '(' && !s.about(v, aboutPhone|aboutCall, start, n.ends[0]) {
		return 0, false // without a word about phones nearby, a single group is not a phone number
	}
	return s.phone(v, start)
}

// isMACLength reports whether a word is as long as a MAC address with dashes or dots: aa-bb-cc-dd-ee-ff,
// 00e0.4c68.91b2. A period at the end of the word does not count.
func isMACLength(word []byte) bool {
	n := len(word)
	if n > 0 && word[n-1] == '.' {
		n--
	}
	return n == 14 || n == 17 || n == 19 || n == 23
}

// enough reports whether a row of at least six digits begins at i. There may be up to three separators between two
// digits.
func enough(v *view, i int) bool {
	digits, others := 0, 0
	for ; digits < 6; i++ {
		switch b := v.at(i); {
		case isDigitByte(b):
			digits++
			others = 0
		case b != ' ' && b != '-' && b != '.' && b != '/' && b != '(' && b != ')' || others == 3:
			return false
		default:
			others++
		}
	}
	return true
}

// mayIdentify reports whether the word [start, end) may have one of the layouts in letteredFormats. It looks only at
// the beginning.
func mayIdentify(v *view, start, end int) bool {
	if end-start < 7 { // 65 170839 J003
		return end-start == 2 && isDigitByte(v.at(start)) && v.at(end) == ' ' && isDigitByte(v.at(end+1)) && isDigitByte(v.at(end+6)) &&
			v.at(end+7) == ' ' && isLetterByte(v.at(end+8))
	}
	letters := v.run(start, 7, isLower|isUpper) - start
	digits := v.run(start+letters, 18, isDigit) - start - letters
	after := v.at(start + letters + digits)
	switch letters {
	case 0:
		if digits == 1 {
			return isLetterByte(after) && (end-start == 11 || end-start == 13) || after == '.' && end-start == 11
		}
		return digits == 2 && (isLetterByte(after) || after == '.') || digits >= 5 && (isLetterByte(after) || after == '-' || after == '+' || after == ' ' && digits <= 8)
	case 1:
		return digits >= 6 || digits == 0 && after == '-' || digits == 2
	case 2, 3, 4, 5:
		return digits >= 2 || letters == 2 && after == '-' || v.has(start, "GHA-")
	case 6:
		return true
	}
	return false
}
