package governor

import "bytes"

// mayName reports whether a part of a word without digits may be in the vocabulary, or whether the word has a
// detector of its own. It does not check a word that has only one part, because noted looks such a word up.
func mayName(word []byte, kinds uint16) bool {
	if kinds&(isJoint|isUpper) == 0 {
		return len(word) >= 2
	}
	if word[0] == '-' || class[word[0]]&isJoint != 0 && bytes.Contains(word, []byte("-----")) || kinds&(isLower|isJoint) == 0 && len(word) == 2 {
		return true // the dashes of a key, or two capitals that may begin a British insurance number written in groups
	}
	if isInitials(word) {
		return true
	}
	if kinds&isJoint == 0 && class[word[0]]&isUpper != 0 && !hasHump(word) {
		return len(word) >= 2
	}
	whole := 0
	for i := 0; i < len(word); {
		if !isLetterByte(word[i]) {
			i++
			continue
		}
		from := i
		i = part(word, i, len(word))
		if i-from >= 2 && isLikely(word[from:i]) || i == len(word) && i > from+len("key") && mayGlue(word[i-1]) && glued(word[from:]) != 0 {
			return true
		}
		if i < len(word) && isLetterByte(word[i]) {
			if whole <= i {
				whole = letterRun(word, i)
			}
			if isLikely(word[from:whole]) {
				return true
			}
		}
	}
	return false
}

// mayGlue reports whether a letter can end the name of a secret that is glued to another word.
func mayGlue(last byte) bool {
	const ends = 1<<('y'&31) | 1<<('n'&31) | 1<<('t'&31) | 1<<('d'&31) | 1<<('s'&31) | 1<<('w'&31)
	return uint32(ends)>>(last&31)&1 != 0
}

// noted records the subjects of a word of letters that only names subjects. It returns true if nothing else is to be
// done, because the word does not begin a phrase, a date or a secret. Most words of the vocabulary that occur in
// prose are like that.
func (s *Scanner) noted(text []byte, start, end int, kinds uint16) bool {
	if kinds&isJoint != 0 || kinds&isUpper != 0 && kinds&isLower != 0 && hasHump(text[start:end]) || end-start == 2 && kinds&isLower == 0 {
		return false
	}
	e, number := lookUp(text[start:end])
	if e == nil {
		return true
	}
	subject := e.subject | s.pairWith(e, number, start)
	shouted := kinds&isLower == 0 && end < len(text) && text[end] == ' '
	if shouted && isShouted(text[start:end]) {
		return false
	}
	if subject == aboutKey && end < len(text) && !oneOf(text[end], "=:\"\\") && !shouted && !(text[end] == ' ' && (end+1 == len(text) || oneOf(text[end+1], "=:"))) {
		s.lastPair, s.pairEnd = number+1, s.base+end
		return true
	}
	if e.phrases != 0 && mayContinue(text, end, e.phrases) || subject&(aboutSecret|aboutBirth|aboutKey) != 0 {
		return false
	}
	if subject == 0 && !e.pair {
		return e.phrases != 0
	}
	if e.pair {
		s.lastPair, s.pairEnd = number+1, s.base+end
	}
	s.note(subject, end)
	return true
}

// pairWith returns the subject that the word at start and the word before it name together.
func (s *Scanner) pairWith(e *entry, number, start int) context {
	if s.lastPair == 0 || !e.pair || s.base+start-s.pairEnd > 3 {
		return 0
	}
	return pairSubject(s.lastPair-1, number)
}

// glued returns the subject of a word that ends with the name of a secret: mytoken, SLAPIKEY. It returns 0 for other
// words.
//
//go:noinline
func glued(word []byte) context {
	if len(word) < 3 {
		return 0
	}
	switch uint16(word[len(word)-2]|0x20)<<8 | uint16(word[len(word)-1]|0x20) {
	case 'e'<<8 | 'y', 'e'<<8 | 'n', 'e'<<8 | 't', 'r'<<8 | 'd', 'w'<<8 | 'd', 's'<<8 | 's', 'p'<<8 | 'w':
	default:
		return 0
	}
	for i := range gluedNames {
		name := &gluedNames[i]
		if n := len(word) - len(name.word); n > 0 && equalFold(name.word, word[n:]) {
			return name.subject
		}
	}
	return 0
}

// gluedNames lists the ends of words that name secrets.
var gluedNames = [...]struct {
	word    string
	subject context
}{
	{"apikey", aboutSecret}, {"secretkey", aboutSecret}, {"accesskey", aboutSecret}, {"privatekey", aboutSecret}, {"key", aboutKey},
	{"token", aboutSecret}, {"secret", aboutSecret}, {"password", aboutSecret | aboutPassword}, {"pwd", aboutSecret | aboutPassword},
	{"passwd", aboutSecret | aboutPassword}, {"pass", aboutKey}, {"pw", aboutSecret | aboutPassword},
}

// letterRun returns the end of the run of letters at i.
func letterRun(text []byte, i int) int {
	for i < len(text) && isLetterByte(text[i]) {
		i++
	}
	return i
}

// hasHump reports whether a word has several parts: apiKey, APIKey.
func hasHump(word []byte) bool {
	for i := 1; i < len(word); i++ {
		if class[word[i]]&isUpper != 0 && class[word[i-1]]&isLower != 0 {
			return true
		}
		if i > 2 && class[word[i]]&isLower != 0 && class[word[i-1]]&class[word[i-2]]&isUpper != 0 {
			return true
		}
	}
	return false
}

// isInitials reports whether a word is three letters with periods: D.O.B.
func isInitials(word []byte) bool {
	return (len(word) == 5 || len(word) == 6) && word[1] == '.' && word[3] == '.'
}

// isShouted reports whether the last part of a word, in capitals, names a secret: acme PRIVATE …
func isShouted(part []byte) bool { return string(part) == "PRIVATE" || string(part) == "ACCESS" }

// dashed looks for a secret in the word [start, end) after a dash. The part before the dash either names a secret in
// capitals or ends with the name of a secret: acmeKEY-…, acmetoken-…. The secret may also follow an encoded equal
// sign, as in a URL inside a URL: token%3D….
func (s *Scanner) dashed(v *view, start, end int) (next int, ok bool) {
	text := v.text
	for i := start; i < end-minDashed; {
		if !isLetterByte(text[i]) {
			i++
			continue
		}
		from := i
		i = part(text, i, end)
		if i >= end-minDashed || !oneOf(text[i], "-.%") {
			continue
		}
		whole := text[from:i]
		named := isShouted(whole) || glued(whole) != 0
		value, to := i+1, end
		if text[i] == '%' {
			if text[i+1] != '3' || text[i+2]|0x20 != 'd' {
				continue
			}
			value, to = i+3, v.run(i+3, end-i-3, isLower|isUpper|isDigit)
		}
		if e, _ := lookUp(whole); e != nil && (to < end || class[whole[len(whole)-1]]&isUpper != 0 || text[i] == '-') {
			named = e.subject&aboutSecret != 0 || e.subject&aboutKey != 0 && class[whole[len(whole)-1]]&isUpper != 0 && (!isHash(text[value:to]) || isUUID(text[value:to]))
		}
		if !named {
			continue
		}
		if v.run(value, maxValue, isLower|isUpper) < v.run(value, maxValue, isLower|isUpper|isDigit) && isSecret(text[value:to], minDashed, false) && !isPlaceholder(text[value:to]) {
			return s.emit(v, ruleSecret, value, to)
		}
		return 0, false // only one try, because a word of many names would take quadratic time
	}
	return 0, false
}

// minDashed is the minimum length of a secret after a dash. The parts of generated names are shorter.
const minDashed = 20

// name records the subjects that a word's parts name. After a word about a secret or a birth, it looks for the value.
func (s *Scanner) name(v *view, start, end int, kinds uint16) (next int) {
	all, opening := s.noteParts(v.text, start, end)
	if opening != 0 && (kinds&(isDigit|isJoint) != 0 || mayContinue(v.text, end, opening)) {
		if at, ok := s.phrase(v, start, opening); ok {
			return at
		}
	}
	if all&aboutBirth != 0 {
		if at, ok := s.birthDate(v, end); ok {
			return at
		}
	}
	if all&(aboutSecret|aboutKey) != 0 {
		if at, ok := s.named(v, start, end, all); ok {
			return at
		}
	}
	if kinds&isDigit != 0 && end-start > minDashed+len("key") && end < start+maxWord {
		if at, ok := s.dashed(v, start, end); ok {
			return at
		}
	}
	return end
}

// noteParts records the subjects of a word's parts. It returns all of them, and the injection phrases that begin with
// one of the parts.
func (s *Scanner) noteParts(text []byte, start, end int) (all context, opening uint32) {
	if isInitials(text[start:end]) {
		return s.noteInitials(text, start, end), 0
	}
	for i := start; i < end; {
		if !isLetterByte(text[i]) {
			i++
			continue
		}
		from := behindDefinition(text[:end], start, i)
		i = part(text, from, end)
		e, number := lookUp(text[from:i])
		if whole := letterRun(text[:end], i); whole > i {
			if w, n := lookUp(text[from:whole]); w != nil {
				e, number, i = w, n, whole // IdNr
			}
		}
		if e == nil {
			all |= s.noteGlued(text, from, i, end)
			continue
		}
		if i == end && isShouted(text[from:i]) {
			all |= aboutKey
		}
		subject := e.subject | s.pairWith(e, number, from)
		if e.pair {
			s.lastPair, s.pairEnd = number+1, s.base+i
		}
		s.note(subject, i)
		all |= subject
		opening |= e.phrases
	}
	return all, opening
}

// noteGlued records the subject of a word's last part if the part ends with the name of a secret: acmetoken=. The
// part is [from, i), and the word ends at end.
func (s *Scanner) noteGlued(text []byte, from, i, end int) (subject context) {
	if i == end && i > from+len("key") && i < len(text) && oneOf(text[i], "=:\" ,") {
		subject = glued(text[from:i])
	}
	s.note(subject&aboutSecret, i)
	return subject
}

// behindDefinition returns the start of the name at i in a word that begins at start. If the word is an option that
// defines a Java property (-Dsonar.login=…), the name starts after the D. Otherwise, it starts at i.
func behindDefinition(text []byte, start, i int) int {
	if i == start && i > 0 && text[i] == 'D' && text[i-1] == '-' && i+1 < len(text) && isLetterByte(text[i+1]) {
		return i + 1
	}
	return i
}

// noteInitials records the subject of a word whose letters have periods between them.
func (s *Scanner) noteInitials(text []byte, start, end int) context {
	letters := &s.scratch.text
	letters[0], letters[1], letters[2] = text[start], text[start+2], text[start+4]
	e, _ := lookUp(letters[:3])
	if e == nil {
		return 0
	}
	s.note(e.subject, end)
	return e.subject
}

// part returns the end of the part of a word that begins at i: a run of letters, up to a change from lower to upper case
// or before the last of several uppercase letters (APIKey).
func part(text []byte, i, end int) int {
	capitals := 0 // in a row before i
	if text[i]-'A' < 26 {
		capitals = 1
	}
	for i++; i < end; i++ {
		switch b := text[i]; {
		case b-'a' < 26:
			if capitals >= 2 {
				return i - 1
			}
			capitals = 0
		case b-'A' < 26 && capitals > 0:
			capitals++
		default:
			return i
		}
	}
	return i
}
