package governor

// nearDocument is the maximum distance, in bytes, between a word for a document and its number: "passport number is".
const nearDocument = 28

// document looks for the number of a passport, an identity card, a driving license or a taxpayer. The number begins
// at the start of a word with digits. A word for the document must come before the number. If a passport number
// begins with a letter, the word may also come after it. Every authority has its own format, and few formats have
// check digits. Source for passports: ICAO 9303-3, section 4: at most nine characters.
func (s *Scanner) document(v *view, start, end int) (next int, ok bool) {
	near := 1 << 30
	if s.base+start-s.lastSeen <= nearDocument {
		near = s.since(aboutPassport|aboutDocument|aboutTax, start)
	}
	if near > nearDocument && (end-start < 7 || end-start > 9 || !isLetterByte(v.text[start])) {
		return 0, false // most words
	}
	if s.scratch.wrong == s.base+start+1 || v.has(start, "0x") {
		return 0, false
	}
	passport := s.since(aboutPassport, start) == near
	if near > nearDocument {
		passport = true
	} else if s.since(aboutArticle|aboutPhone|aboutBirth|aboutBank|aboutCard, start) < near {
		return 0, false
	}
	to, digits, letters := codeLength(v, start)
	if near <= nearDocument && digits+letters < 7 {
		s.forget(aboutDocument) // another number came first
	}
	if !v.closed(to) || digits+letters < 7 || to-start > maxIdentity || digits < 5 || letters > 9 || passport && (digits+letters > 10 || digits+letters == 10 && letters > 0) || isDateLike(v, start, to) {
		return 0, false
	}
	if near > nearDocument && !s.follows(v, aboutPassport, to) {
		return 0, false
	}
	rule := "personal.identity-document"
	if passport {
		rule = "personal.passport"
	}
	id, _ := Lookup(rule)
	return s.emit(v, id, start, to)
}

// codeLength reads a code made of groups of letters and digits. It returns the code's end, and the numbers of its
// letters and digits. There is at most one separator between groups. A group after a space begins with a digit or is
// a single capital.
func codeLength(v *view, i int) (end, digits, letters int) {
	for limit := i + 26; i < limit; i++ {
		switch b := v.at(i); {
		case isDigitByte(b):
			digits++
		case isLetterByte(b):
			letters++
		case oneOf(b, "-./") && isAlnum(v.at(i+1)), b == ' ' && letters < 3 && isDigitByte(v.at(i+1)):
		case b == ' ' && letters == 0 && digits >= 7 && class[v.at(i+1)]&isUpper != 0 && !isAlnum(v.at(i+2)) && v.at(i+2) != ' ': // 1282182 W
		default:
			return i, digits, letters
		}
	}
	return i, digits, letters
}

// isDateLike reports whether [start, end) has the groups of a date (2026-11-22 or 22.11.2026), of two years
// (2026-2027), or of a rejected social security number (911-89-1234).
func isDateLike(v *view, start, end int) bool {
	sign := func(i int) bool { return !isAlnum(v.at(start + i)) }
	return end-start == 10 && (sign(4) && sign(7) || sign(2) && sign(5)) || end-start == 11 && sign(3) && sign(6) || end-start == 9 && sign(4)
}
