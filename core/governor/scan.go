package governor

import "math/bits"

// Bounds of the scan, in bytes.
const (
	maxWord       = 1024  // of a word that is looked at; the rest of a longer word is skipped
	maxPrivateKey = 16384 // an RSA key of 16,384 bits has 12.7 KB
	maxJWT        = 8192
	maxURLPassword,
	maxValue = 256, 256
	maxEmail    = 320
	maxPhone    = 32
	maxDate     = 32
	maxIdentity = 26
	maxPhrase   = 200
	// nearBefore and nearAfter are the distances within which a word gives a candidate its context.
	nearBefore = 64
	nearAfter  = 40
)

// Scanner finds findings in one text that arrives in pieces. Its zero value, with rules set by NewScanner, is the
// state before the first byte. Its results do not depend on how the text is cut.
//
// Findings come in order and never overlap. Candidates are tried at each place from left to right; at one place
// specific token formats come before other secrets, secrets before personal data, and the first detector that accepts
// decides. The scan continues at the finding's end.
type Scanner struct {
	rules    *Rules
	base     int // offset of the next byte to decide, in the whole text
	tail     [tailLength]byte
	wordAt   int  // offset of the next word to look at; after base only while a keyword may continue
	inLong   bool // inside a word that is longer than maxWord
	seen     [subjects]int
	lastPair *entry // of the word before, if it may begin a pair
	pairEnd  int
	valueEnd int // offset of the end of the last value behind a secret's name
	nested   int // names inside of it that were looked behind
	keywords keywordState
	found    []Finding
	scratch  *scratch
}

// scratch is memory for candidates, so that they allocate nothing.
type scratch struct {
	number number
	phone  phoneNumber
	text   [24]byte
	header [maxHeader]byte
}

// NewScanner begins a text.
func NewScanner(rules *Rules) *Scanner {
	return &Scanner{rules: rules, scratch: &scratch{}}
}

// Scan appends the findings in a whole text.
func Scan(text []byte, rules *Rules, found []Finding) []Finding {
	s := Scanner{rules: rules, found: found, scratch: &scratch{}}
	s.run(text, true)
	return s.found
}

// Next continues the text. window is what has not been decided yet: the rest of the last window, then the new bytes.
// It appends the findings that lie in the first done bytes of window; later bytes cannot change these. Findings' offsets
// count from the text's first byte. The bytes from done on must begin the next window. With final set the text ends
// and done is len(window).
func (s *Scanner) Next(window []byte, final bool, found []Finding) (all []Finding, done int) {
	s.found = found
	done = s.run(window, final)
	all, s.found = s.found, nil
	return all, done
}

// Offset is the number of bytes decided so far.
func (s *Scanner) Offset() int { return s.base }

// run decides as much of text as it can and returns its length.
func (s *Scanner) run(text []byte, final bool) (done int) {
	v := view{text: text, tail: s.tail}
	s.wordAt = s.base + s.words(&v, s.wordAt-s.base, final)
	done = s.wordAt
	if k := s.rules.keywords; k != nil && s.rules.Has(ruleKeyword) {
		to := s.wordAt - s.base
		if !final {
			to = min(to, len(text)-1) // whether a keyword ends depends on the next byte
		}
		s.feed(k, &v, to, final)
		if !final {
			done = min(done, s.hold(k))
		}
	}
	done -= s.base
	for i := range s.tail {
		s.tail[i] = v.at(done - tailLength + i)
	}
	s.base += done
	return done
}

// words walks from word to word. This loop decides the cost of ordinary text: a word of letters only costs one table
// look-up per byte and one per word.
func (s *Scanner) words(v *view, i int, final bool) int {
	text := v.text
	n := len(text)
	for {
		for i < n && class[text[i]]&inWord == 0 {
			s.inLong = false
			if class[text[i]]&opens != 0 {
				end, wait := s.punctuation(v, i, final)
				if wait {
					return i
				}
				i = end
				continue
			}
			i++
		}
		start := i
		limit := min(n, start+maxWord)
		kinds := uint16(0)
		for i < limit {
			c := class[text[i]]
			if c&inWord == 0 {
				break
			}
			kinds |= c
			i++
		}
		if i == n && !final && i-start < maxWord {
			return start
		}
		if i == start {
			return i
		}
		plain := kinds&isDigit == 0 && i-start < minToken && (i == n || class[text[i]]&isEnding == 0 && (class[text[i]]&inToken == 0 || kinds&isJoint == 0))
		if s.inLong || plain && (!mayName(text[start:i], kinds) || s.noted(text, start, i, kinds)) {
			s.inLong = i-start == maxWord
			continue
		}
		end, wait := s.word(v, start, i, kinds, final)
		if wait {
			return start
		}
		s.inLong = i-start == maxWord && end == i
		i = end
	}
}

// minToken is the length from which a word of letters only may be a token.
const minToken = 15

// mayName reports whether a part of a word without digits may be in the vocabulary, or the word has a detector of its own.
func mayName(word []byte, kinds uint16) bool {
	if kinds&(isJoint|isUpper) == 0 {
		return len(word) >= 2 && isLikely(word)
	}
	if word[0] == '-' || kinds&(isLower|isJoint) == 0 && len(word) == 2 {
		return true // a key's dashes; a British insurance number in groups begins with two letters
	}
	if kinds&isJoint == 0 && !hasHump(word) {
		return len(word) >= 2 && isLikely(word)
	}
	for i := 0; i < len(word); {
		if !isLetterByte(word[i]) {
			i++
			continue
		}
		from := i
		i = part(word, i, len(word))
		if i-from >= 2 && isLikely(word[from:i]) {
			return true
		}
		if i < len(word) && isLetterByte(word[i]) {
			if whole := letterRun(word, i); isLikely(word[from:whole]) {
				return true
			}
		}
	}
	return false
}

// noted records the subjects of a word of letters that only names subjects. It reports whether that was all: the word
// begins no pair, phrase, date or secret. Most hits in prose are such words.
func (s *Scanner) noted(text []byte, start, end int, kinds uint16) bool {
	if kinds&isJoint != 0 || kinds&isUpper != 0 && kinds&isLower != 0 && hasHump(text[start:end]) || end-start == 2 && kinds&isLower == 0 {
		return false
	}
	e := lookUp(text[start:end])
	if e == nil {
		return true
	}
	if e.pair || e.phrases != 0 || e.subject == 0 || e.subject&(aboutSecret|aboutBirth) != 0 {
		return false
	}
	s.note(e.subject, end)
	return true
}

// letterRun is the end of the run of letters at i.
func letterRun(text []byte, i int) int {
	for i < len(text) && isLetterByte(text[i]) {
		i++
	}
	return i
}

// hasHump reports whether an uppercase letter follows a lowercase one, as in apiKey.
func hasHump(word []byte) bool {
	for i := 1; i < len(word); i++ {
		if class[word[i]]&isUpper != 0 && class[word[i-1]]&isLower != 0 {
			return true
		}
	}
	return false
}

// word looks closer at the word [start, end). It returns where the scan continues, or wait if that depends on bytes
// that have not arrived.
func (s *Scanner) word(v *view, start, end int, kinds uint16, final bool) (next int, wait bool) {
	v.past = false
	found := len(s.found)
	if final {
		next = s.examine(v, start, end, kinds)
	} else {
		saved := *s
		next = s.examine(v, start, end, kinds)
		if v.past {
			all := s.found[:found]
			*s = saved
			s.found = all
			return start, true
		}
	}
	if len(s.found) > found {
		s.place(v)
	}
	return next, false
}

// examine is word without the waiting.
func (s *Scanner) examine(v *view, start, end int, kinds uint16) (next int) {
	for start < end && class[v.text[start]]&isJoint != 0 && v.text[start] != '+' {
		if v.text[start] == '-' {
			if at, ok := s.privateKey(v, start); ok {
				return at
			}
		}
		start++
	}
	if start == end {
		return end
	}
	if v.at(start-1) == '[' && v.at(end) == ']' && kinds&isLower == 0 {
		return end // a placeholder of a redaction names nothing
	}
	if at, ok := s.value(v, start, end, kinds); ok {
		return at
	}
	return s.name(v, start, end)
}

// value tries the detectors of things that begin at a word's start.
func (s *Scanner) value(v *view, start, end int, kinds uint16) (next int, ok bool) {
	after := v.at(end)
	if end-start >= minToken || class[after]&inToken != 0 && end-start >= 3 {
		if next, ok = s.token(v, start, end, kinds); ok {
			return next, true
		}
	}
	switch after {
	case '@':
		if next, ok = s.email(v, start, end); ok {
			return next, true
		}
	case ':':
		if next, ok = s.passwordURL(v, start, end); ok {
			return next, true
		}
		if next, ok = s.colonAddress(v, start, end); ok {
			return next, true
		}
	}
	if kinds&isDigit != 0 {
		return s.numbers(v, start, end)
	}
	if end-start == 2 && after == ' ' && isDigitByte(v.at(end+1)) {
		return s.lettered(v, start, end)
	}
	return 0, false
}

// numbers tries the detectors of words with digits. Most such words are short numbers or names: they leave early.
func (s *Scanner) numbers(v *view, start, end int) (next int, ok bool) {
	first := v.text[start]
	if first == '+' {
		return s.phone(v, start)
	}
	if isDigitByte(first) {
		if enough(v, start) {
			if next, ok = s.dottedAddress(v, start); ok {
				return next, true
			}
			if next, ok = s.numeric(v, start); ok {
				return next, true
			}
			if next, ok = s.phone(v, start); ok {
				return next, true
			}
		} else if end-start >= 7 {
			if next, ok = s.dottedAddress(v, start); ok {
				return next, true
			}
		}
	}
	if end-start == 17 {
		if next, ok = s.mac(v, start, end); ok {
			return next, true
		}
	}
	if isLetterByte(first) && isDigitByte(v.at(start+2)) {
		if next, ok = s.iban(v, start); ok {
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
	return 0, false
}

// enough reports whether at least six digits follow with at most two other bytes between neighbors.
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

// mayIdentify reports whether the word [start, end) begins as an identifier with letters may: letters and digits in one
// of the layouts of letteredFormats.
func mayIdentify(v *view, start, end int) bool {
	if end-start < 7 {
		return false
	}
	letters := v.run(start, 7, isLower|isUpper) - start
	digits := v.run(start+letters, 18, isDigit) - start - letters
	after := v.at(start + letters + digits)
	switch letters {
	case 0:
		return digits == 2 && (isLetterByte(after) || after == '.') || digits >= 5 && (isLetterByte(after) || after == '-' || after == '+' || after == ' ' && digits == 8)
	case 1:
		return digits >= 6 || digits == 0 && after == '-' || digits == 2
	case 2, 4, 5:
		return digits >= 2
	case 6:
		return true
	}
	return false
}

// punctuation looks closer at a separator that may begin a finding.
func (s *Scanner) punctuation(v *view, i int, final bool) (next int, wait bool) {
	v.past = false
	found := len(s.found)
	next, ok := i+1, false
	switch v.text[i] {
	case '(':
		next, ok = s.phone(v, i)
	case ':':
		if v.at(i+1) == ':' && class[v.at(i+2)]&isHex != 0 && class[v.at(i-1)]&inWord == 0 {
			next, ok = s.ipv6(v, i)
		}
	default:
		next, ok = s.delimiter(v, i)
	}
	if v.past && !final {
		s.found = s.found[:found]
		return i, true
	}
	if !ok {
		return i + 1, false
	}
	s.place(v)
	return next, false
}

// emit appends a finding if its rule applies. ok is false if it does not.
func (s *Scanner) emit(rule ID, start, end int) (next int, ok bool) {
	if !s.rules.Has(rule) {
		return 0, false
	}
	s.found = append(s.found, Finding{rule, s.base + start, s.base + end})
	return end, true
}

// note records that a subject was named by a word that ends at i.
func (s *Scanner) note(subject context, i int) {
	for ; subject != 0; subject &= subject - 1 {
		s.seen[bits.TrailingZeros64(uint64(subject))] = s.base + i
	}
}

// since is the distance from the last word about one of the subjects to i, or a large number.
func (s *Scanner) since(subject context, i int) int {
	last := 0
	for ; subject != 0; subject &= subject - 1 {
		last = max(last, s.seen[bits.TrailingZeros64(uint64(subject))])
	}
	if last == 0 {
		return 1 << 30
	}
	return s.base + i - last
}

// about reports whether a word about one of the subjects is near [start, end): the last one before it, unless a word
// about articles came later; or one after it in the same clause.
func (s *Scanner) about(v *view, subject context, start, end int) bool {
	before := s.since(subject, start)
	if before <= nearBefore {
		return before <= s.since(aboutArticle, start)
	}
	return s.follows(v, subject, end)
}

// isArticle reports whether a word about articles is just before i: "order 4111…", or a number sign.
func (s *Scanner) isArticle(v *view, i int) bool {
	return v.at(i-1) == '#' || s.since(aboutArticle, i) <= 24
}

// follows reports whether a word about one of the subjects comes in the same clause within nearAfter bytes.
func (s *Scanner) follows(v *view, subject context, i int) bool {
	var word [24]byte
	n := 0
	var last *entry
	for end := i + nearAfter; i < end; i++ {
		b := v.at(i)
		if isLetterByte(b) && n < len(word) {
			word[n] = b | 0x20
			n++
			continue
		}
		if n > 0 {
			e := lookUp(word[:n])
			if e != nil && (e.subject&subject != 0 || last != nil && pairSubject(last, e)&subject != 0) {
				return true
			}
			last, n = e, 0
		}
		switch b {
		case '.', ',', ';', ':', '\n', 0, '!', '?', '=', '"', '|', '[':
			return false
		}
	}
	return false
}

// name records the subjects that a word's parts name. If they name a secret, it looks at the value behind the name.
func (s *Scanner) name(v *view, start, end int) (next int) {
	all, opening := context(0), uint32(0)
	for i := start; i < end; {
		if !isLetterByte(v.text[i]) {
			i++
			continue
		}
		from := i
		i = part(v.text, i, end)
		e := lookUp(v.text[from:i])
		if i < end && isLetterByte(v.text[i]) {
			whole := letterRun(v.text[:end], i)
			if w := lookUp(v.text[from:whole]); w != nil {
				e, i = w, whole // IdNr
			}
		}
		if e == nil {
			continue
		}
		subject := e.subject
		if s.lastPair != nil && e.pair && s.base+from-s.pairEnd <= 1 {
			subject |= pairSubject(s.lastPair, e)
		}
		if e.pair {
			s.lastPair, s.pairEnd = e, s.base+i
		}
		s.note(subject, i)
		all |= subject
		opening |= e.phrases
	}
	if opening != 0 {
		if at, ok := s.phrase(v, start, opening); ok {
			return at
		}
	}
	if all&aboutBirth != 0 {
		if at, ok := s.birthDate(v, end); ok {
			return at
		}
	}
	if all&aboutSecret != 0 && all&aboutPublic == 0 {
		if at, ok := s.assignment(v, start, end, all); ok {
			return at
		}
	}
	return end
}

// part is the end of the part of a word that begins at i: a run of letters, up to a change from lower to upper case
// or before the last of several uppercase letters (APIKey).
func part(text []byte, i, end int) int {
	from := i
	for i++; i < end && isLetterByte(text[i]); i++ {
		upper := class[text[i]]&isUpper != 0
		if upper && class[text[i-1]]&isLower != 0 {
			return i
		}
		if !upper && i-from >= 2 && class[text[i-1]]&isUpper != 0 && class[text[i-2]]&isUpper != 0 {
			return i - 1
		}
	}
	return i
}
