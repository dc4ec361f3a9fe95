package governor

import "bytes"

// mayName reports whether a word without digits needs a closer look. It does if one of its parts may be in the
// vocabulary, or if there is a detector for such words. If the word has only one part, mayName does not look for it
// in the vocabulary, because noted does.
func mayName(word []byte, kinds uint16) bool {
	if kinds&(isJoint|isUpper) == 0 {
		return len(word) >= 2
	}
	if word[0] == '-' || class[word[0]]&isJoint != 0 && bytes.Contains(word, []byte("-----")) || kinds&(isLower|isJoint) == 0 && len(word) == 2 {
		return true // the dashes of a key, or two capitals that may begin a British insurance number in groups
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

// mayGlue reports whether a name of a secret can end with a letter, if the name is glued to another word.
func mayGlue(last byte) bool {
	const ends = 1<<('y'&31) | 1<<('n'&31) | 1<<('t'&31) | 1<<('d'&31) | 1<<('s'&31) | 1<<('w'&31)
	return uint32(ends)>>(last&31)&1 != 0
}

// noted handles a word of letters that only names subjects: it records the subjects and returns true. If the word
// begins a phrase, a date or a secret, noted returns false. Most words of the vocabulary that occur in prose only
// name subjects.
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

// maxPairGap is the maximum distance, in bytes, between the two words of a pair.
const maxPairGap = 3

// pairWith returns the subject that the word at start names together with the word before it.
func (s *Scanner) pairWith(e *entry, number, start int) context {
	if s.lastPair == 0 || !e.pair || s.base+start-s.pairEnd > maxPairGap {
		return 0
	}
	return pairSubject(s.lastPair-1, number)
}

// glued returns the subject of a word that ends with the name of a secret: mytoken, SLAPIKEY. For other words, it
// returns 0.
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

// gluedNames lists the names of secrets that glued looks for.
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

// hasHump reports whether a word has several parts, as apiKey and APIKey do.
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

// isShouted reports whether the last part of a word names a secret in capitals: acme PRIVATE …
func isShouted(part []byte) bool { return string(part) == "PRIVATE" || string(part) == "ACCESS" }

// dashed looks for a secret after a dash in the word [start, end). The part before the dash names a secret in
// capitals, or it ends with the name of a secret: acmeKEY-…, acmetoken-…. Instead of a dash, an encoded equal sign
// may come before the secret, as in a URL inside a URL: token%3D….
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
		return 0, false // only one try: with many names in a word, more would take quadratic time
	}
	return 0, false
}

// minDashed is the minimum length of a secret after a dash, in bytes. The parts of generated names are shorter.
const minDashed = 20

// name records the subjects that the parts of a word name. If a subject is a secret or a birth, name looks for the
// value after the word.
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

// noteParts records the subjects of a word's parts and returns all of them. It also returns the injection phrases
// that begin with one of the parts.
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

// noteGlued looks at the last part of a word: acmetoken=. If the part ends with the name of a secret, noteGlued
// records the secret's subject. The part is [from, i), and the word ends at end.
func (s *Scanner) noteGlued(text []byte, from, i, end int) (subject context) {
	if i == end && i > from+len("key") && i < len(text) && oneOf(text[i], "=:\" ,") {
		subject = glued(text[from:i])
	}
	s.note(subject&aboutSecret, i)
	return subject
}

// behindDefinition returns the start of the name at i. The word begins at start. If the word is an option that
// defines a Java property (-Dsonar.login=…), the name starts after the D. Otherwise, the name starts at i.
func behindDefinition(text []byte, start, i int) int {
	if i == start && i > 0 && text[i] == 'D' && text[i-1] == '-' && i+1 < len(text) && isLetterByte(text[i+1]) {
		return i + 1
	}
	return i
}

// noteInitials records the subject of a word that has periods between its letters.
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

// part returns the end of the part of a word that begins at i. A part is a run of letters. It ends before a capital
// that follows a lowercase letter. If several capitals come before a lowercase letter, it ends before the last of
// them (APIKey).
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
