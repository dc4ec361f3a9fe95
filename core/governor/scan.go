package governor

// Bounds of the scan, in bytes.
const (
	maxWord       = 1024  // maximum number of bytes of a word that are examined; the rest of the word is skipped
	maxPrivateKey = 16384 // an RSA key of 16,384 bits takes 12.7 KB
	maxJWT        = 8192
	maxURLPassword,
	maxValue = 256, 256
	maxEmail    = 320
	maxPhone    = 32
	maxDate     = 32
	maxIdentity = 26
	maxPhrase   = 200
	// nearBefore and nearAfter are maximum distances in bytes: of a word before a candidate, and of a word after it.
	// The word gives context to the candidate.
	nearBefore = 64
	nearAfter  = 40
	// nearCommand is the maximum distance, in bytes, from a program's name to its options.
	nearCommand = 512
)

// Scanner finds findings in one text, which may arrive in pieces. A new scanner is in the state before the first
// byte. The results do not depend on how the text is cut.
//
// Findings are in order and never overlap. Candidates are tried at each place from left to right. At each place,
// specific token formats come first, then other secrets, then personal data. The first detector that accepts a
// candidate decides. The scan continues at the finding's end.
type Scanner struct {
	rules    *Rules
	base     int // offset in the whole text of the next byte to decide
	tail     [tailLength]byte
	wordAt   int  // offset of the next word to look at; it differs from base only while a keyword may continue
	inLong   bool // inside a word that is longer than maxWord
	seen     [subjects]int
	recorded context // the subjects that seen may have
	lastSeen int     // the latest of seen
	lastPair int     // 1 + the number of the previous word, if it may begin a pair
	pairEnd  int
	valueEnd int // offset of the end of the last value after a secret's name
	nested   int // number of names inside that value for which a value was looked for
	keywords keywordState
	customAt int               // offset of the next byte at which a match of a pattern may begin
	settled  *[MaxPatterns]int // for each program, the end of its last exempted match; nil before the first one
	machine  *machine
	whole    *wholeMatch // nil before the first use
	edge     int         // end of the last text that is exempted only from its own rule; no word crosses the edge
	found    []Finding
	scratch  *scratch
}

// scratch is memory for candidates, so detectors need not allocate any. A scanner for a short piece of a stream
// usually has no candidates and needs no scratch.
type scratch struct {
	number number
	phone  phoneNumber
	text   [24]byte
	header *[768]byte // the decoded start of a JSON Web Token; nil before the first one
	ahead  ahead
	wrong  int // 1 + the offset of the last number with wrong check digits for the identifier named before it; 0 if there is none
}

// NewScanner returns a scanner for a new text.
func NewScanner(rules *Rules) *Scanner {
	return &Scanner{rules: rules}
}

// Scan appends the findings in a complete text.
func Scan(text []byte, rules *Rules, found []Finding) []Finding {
	s := Scanner{rules: rules, found: found}
	s.run(text, true)
	return s.found
}

// Next scans the next part of the text. window is the text that has not been decided yet: the rest of the last
// window, then the new bytes. Next decides the first done bytes of window and appends the findings in them. Later
// bytes cannot change those findings. Offsets of findings count from the text's first byte. The next window must
// begin with the bytes from done on. If final is set, the text ends with window, and done is len(window).
func (s *Scanner) Next(window []byte, final bool, found []Finding) (all []Finding, done int) {
	s.found = found
	done = s.run(window, final)
	all, s.found = s.found, nil
	return all, done
}

// Offset returns the number of bytes decided so far.
func (s *Scanner) Offset() int { return s.base }

// run decides as much of text as possible. It returns the number of decided bytes.
func (s *Scanner) run(text []byte, final bool) (done int) {
	v := view{text: text, tail: s.tail}
	s.wordAt = s.base + s.words(&v, s.wordAt-s.base, final)
	done = s.wordAt
	if s.rules.keywords != nil || s.rules.patterns != nil {
		done = s.runOwn(&v, final)
	}
	done -= s.base
	for i := range s.tail {
		s.tail[i] = v.at(done - tailLength + i)
	}
	s.base += done
	return done
}

// runOwn searches for the operator's keywords and patterns before the next word. It returns the offset before which
// everything is decided.
func (s *Scanner) runOwn(v *view, final bool) (done int) {
	done = s.wordAt
	to := s.wordAt - s.base
	if !final {
		to = min(to, len(v.text)-1) // whether a keyword ends depends on the next byte
	}
	if k := s.rules.keywords; k != nil {
		s.feed(k, v, to, final)
		if !final {
			done = min(done, s.hold(k))
		}
	}
	if p := s.rules.patterns; p != nil {
		s.custom(p, v, min(to, done-s.base), final)
		if !final {
			done = min(done, s.customAt)
		}
	}
	return done
}

// place handles a finding that a detector has just added. It inserts matches of keywords and patterns before the
// finding. The search for more of them continues after the finding.
func (s *Scanner) place(v *view) {
	if s.rules.keywords == nil && s.rules.patterns == nil {
		return
	}
	last := s.found[len(s.found)-1]
	s.found = s.found[:len(s.found)-1]
	if k := s.rules.keywords; k != nil {
		s.feed(k, v, last.Start-s.base, true)
	}
	s.placeCustom(v, last.Start)
	s.found = append(s.found, last)
	s.keywords, s.customAt = keywordState{read: last.End}, last.End
}

// placeCustom inserts matches of patterns before an offset. No match may cross that offset.
func (s *Scanner) placeCustom(v *view, to int) {
	if p := s.rules.patterns; p != nil {
		s.custom(p, v, to-s.base, true)
	}
}

// words walks from word to word. It returns where the first undecided word begins.
func (s *Scanner) words(v *view, from int, final bool) int {
	text := v.text
	for from < len(text) {
		decided, read, kinds := from, 0, uint16(0)
		if !s.inLong && s.edge <= s.base+from {
			start, end, k := s.skipCommon(text, from)
			from, read, kinds = start, end-start, k
		}
		i := from + separators(text[from:])
		if i > from {
			s.inLong = false
		}
		if i == len(text) {
			if !final && i-3 >= decided && s.isPair(text, i-3) {
				return i - 3
			}
			return i
		}
		if isDigitByte(text[i]) && i-3 >= decided && s.isPair(text, i-3) {
			i, read, kinds = i-3, 0, 0
		}
		next, wait := i, false
		if class[text[i]]&opens != 0 {
			next, wait = s.punctuation(v, i, final)
			s.inLong = false
		} else {
			rest, more := readWord(text[i+read : s.limit(i, min(len(text), i+maxWord))])
			next, wait = s.unusual(v, i, i+read+rest, kinds|more, final)
		}
		if wait {
			return i
		}
		from = next
	}
	return from
}

// limit returns the maximum end of a word that begins at i. This is to, or the edge if the edge is inside the word.
func (s *Scanner) limit(i, to int) int {
	if edge := s.edge - s.base; edge > i {
		return min(to, edge)
	}
	return to
}

// isPair reports whether two letters and a space are at i, shortly after a word about British insurance numbers. Such
// a number may begin with two letters. If there is no such word nearby, only capitals may begin a number. Otherwise,
// every two-letter word at the end of a piece would be held back.
func (s *Scanner) isPair(text []byte, i int) bool {
	return text[i+2] == ' ' && isLetterByte(text[i]) && isLetterByte(text[i+1]) && (i == 0 || class[text[i-1]]&inWord == 0) && s.since(aboutBritain, i) <= nearBefore
}

// unusual looks at a word that skipCommon did not skip. The word is not in lower case, or may be in the vocabulary,
// or is at the end of the text.
//
//go:noinline
func (s *Scanner) unusual(v *view, start, end int, kinds uint16, final bool) (next int, wait bool) {
	if end == len(v.text) && !final && end-start < maxWord {
		return start, true
	}
	next = end
	if !s.inLong && (kinds&isNamed != 0 || !s.names(v.text, start, end, kinds)) {
		if next, wait = s.word(v, start, end, kinds&^(isOdd|isNamed), final); wait {
			return start, true
		}
	}
	s.inLong = end-start == maxWord && next == end
	return next, false
}

// names reports whether a word needs no closer look. Such a word may name subjects, but it does not begin a finding.
func (s *Scanner) names(text []byte, start, end int, kinds uint16) bool {
	if kinds&(isLower|isUpper) == 0 && s.isQuantity(text, start, end) {
		return true
	}
	if end-start == 2 && end < len(text) {
		if s.isPair(text, start) {
			return false
		}
		if after := text[end]; end+1 < len(text) && class[text[start]]&isUpper != 0 && class[after]&(inToken|isEnding) == 0 && (after != ' ' || !isDigitByte(text[end+1])) && !isLikely(text[start:end]) {
			return true // but not two letters before a number
		}
	}
	if end < len(text) && (class[text[end]]&(isEqual|isEnding) != 0 || text[end] == ' ' && (kinds&(isLower|isUpper) == isUpper || end+1 == len(text) || text[end+1] == '=')) && end-start > len("key") && mayGlue(text[end-1]) && glued(text[start:end]) != 0 {
		return false
	}
	return isPlain(text, start, end, kinds) && (!mayName(text[start:end], kinds) || s.noted(text, start, end, kinds))
}

// maxQuantity limits the length, in bytes, of a number that needs a word about it to be a finding: 1000000, 2026-06.
const maxQuantity = 7

// isQuantity reports whether a word of digits and joints cannot be a finding. The word is short, and another word or
// the end of a clause comes after it. No word that gives it a meaning is near.
func (s *Scanner) isQuantity(text []byte, start, end int) bool {
	return end < len(text) && end-start <= maxQuantity && isDigitByte(text[start]) && s.base+start-s.lastSeen > nearBefore &&
		(text[end] == ' ' && end-start < 6 && end+1 < len(text) && isLetterByte(text[end+1]) || oneOf(text[end], ",\n\"")) &&
		(end-start < maxQuantity || text[start+1] != '.' || text[start+3] != '.')
}

// minToken is the minimum length, in bytes, of a token with only letters.
const minToken = 15

// minLetters is the minimum length, in bytes, of a token with only letters of one case. A shorter word may still be
// the start of a token.
const minLetters = 20

// word examines the word [start, end). It returns where the scan continues. If that depends on bytes that have not
// arrived, wait is true.
func (s *Scanner) word(v *view, start, end int, kinds uint16, final bool) (next int, wait bool) {
	if s.scratch == nil {
		s.scratch = &scratch{}
	}
	v.past, s.scratch.ahead.at = false, 0
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
		return next, false
	}
	return s.limit(start, next), false
}

// punctuation examines a separator that may begin a finding.
//
//go:noinline
func (s *Scanner) punctuation(v *view, i int, final bool) (next int, wait bool) {
	if s.scratch == nil {
		s.scratch = &scratch{}
	}
	v.past, s.scratch.ahead.at = false, 0
	found, ok := len(s.found), false
	if final {
		next, ok = s.beginning(v, i)
	} else {
		saved := *s
		next, ok = s.beginning(v, i)
		if v.past {
			all := s.found[:found]
			*s = saved
			s.found = all
			return i, true
		}
	}
	if !ok {
		return i + 1, false
	}
	if len(s.found) > found { // if the text is exempted from every rule, there is no new finding
		s.place(v)
	}
	return next, false
}

// beginning does the same as punctuation, but never waits.
func (s *Scanner) beginning(v *view, i int) (next int, ok bool) {
	switch v.text[i] {
	case '(':
		return s.phone(v, i)
	case ':':
		return s.ipv6(v, i)
	case '<', '[':
		return s.delimiter(v, i)
	}
	return s.foreign(v, i)
}

// emit appends a finding. If the rule does not apply, or if the text is exempted from this rule only, ok is false. If
// the text is exempted from every rule, emit appends nothing, ok is true, and the text is searched for the operator's
// keywords and patterns.
func (s *Scanner) emit(v *view, rule ID, start, end int) (next int, ok bool) {
	if !s.rules.Has(rule) {
		return 0, false
	}
	if s.rules.exempts && start >= 0 && end <= len(v.text) {
		if exempt, every := s.exempt(rule, v.text[start:end]); exempt && !(rule == ruleEmail && continues(v, start, end)) {
			if !every {
				s.edge = max(s.edge, s.base+end)
			}
			return end, every
		}
	}
	s.found = append(s.found, Finding{rule, s.base + start, s.base + end})
	return end, true
}
