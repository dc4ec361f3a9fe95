package governor

import "math/bits"

// note records that a word names a subject. The word ends at i. Most words name no subject, so the call to record is
// seldom needed.
func (s *Scanner) note(subject context, i int) {
	if subject != 0 {
		s.record(subject, i)
	}
}

// record does the same as note if there is at least one subject.
func (s *Scanner) record(subject context, i int) {
	if subject&aboutID != 0 && s.continuesArticle(i) {
		subject = aboutArticle
	}
	s.recorded |= subject
	for ; subject != 0; subject &= subject - 1 {
		s.seen[bits.TrailingZeros64(uint64(subject))] = s.base + i
		s.lastSeen = s.base + i
	}
}

// continuesArticle reports whether a word is part of the name of an item's number, as in "ISIN identification
// number". The word ends at i.
func (s *Scanner) continuesArticle(i int) bool {
	switch s.since(aboutArticle, i) {
	case len(" number"), len(" identification"), len(" (identification"):
		return true
	}
	return false
}

func (s *Scanner) forget(subject context) {
	for ; subject != 0; subject &= subject - 1 {
		s.seen[bits.TrailingZeros64(uint64(subject))] = 0
	}
}

// since returns the distance from the last word about one of the subjects to i. If there is no such word, it returns
// a large number.
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

// subjectsBefore returns the subjects of the words before i, within nearBefore bytes. If one of the words is in
// aboutArticle, only the words after it count.
func (s *Scanner) subjectsBefore(i int) (subjects context) {
	article := s.seen[bits.TrailingZeros64(uint64(aboutArticle))]
	from := max(s.base+i-nearBefore, article+1)
	if s.lastSeen < from {
		return 0
	}
	for left := s.recorded; left != 0; left &= left - 1 {
		if s.seen[bits.TrailingZeros64(uint64(left))] >= from {
			subjects |= left & -left
		}
	}
	return subjects
}

// exactly returns the subjects of identifiers that a word shortly before i names. A word does not count if it also
// stands for other numbers. Such a word has one of the general subjects at the same place.
func (s *Scanner) exactly(i int) (subjects context) {
	since := func(subject context) int { return s.since(subject, i) }
	for named := s.subjectsBefore(i) & identifiers; named != 0; named &= named - 1 {
		one := named & -named
		at := since(one)
		if at < since(aboutPhone) && at != since(aboutID) && at != since(aboutTax) && at != since(aboutDocument) {
			subjects |= one
		}
	}
	return subjects
}

// about reports whether a word about one of the subjects is near [start, end). If the last such word before start is
// near, it counts unless a word in aboutArticle came later. Otherwise, a word after end counts if it is in the same
// clause.
func (s *Scanner) about(v *view, subject context, start, end int) bool {
	before := s.since(subject, start)
	if before <= nearBefore {
		return before <= s.since(aboutArticle, start)
	}
	return s.follows(v, subject, end)
}

// isArticle reports whether a number sign or a word in aboutArticle is just before i: "order 4111…".
func (s *Scanner) isArticle(v *view, i int) bool {
	return v.at(i-1) == '#' || s.since(aboutArticle, i) <= 24
}

// follows reports whether a word about one of the subjects comes after i, in the same clause and within nearAfter
// bytes.
func (s *Scanner) follows(v *view, subject context, i int) bool {
	return s.subjectsAfter(v, i)&subject != 0
}

// subjectsAfter returns the subjects of the words after i, in the same clause and within nearAfter bytes.
func (s *Scanner) subjectsAfter(v *view, i int) context {
	ahead := &s.scratch.ahead
	if ahead.at != s.base+i+1 {
		ahead.subjects, ahead.at = clause(v, i), s.base+i+1
	}
	return ahead.subjects
}

// ahead keeps the subjects of a clause, because several detectors ask about the same place.
type ahead struct {
	at       int // 1 + the offset of the clause; 0 if there is none
	subjects context
}

// clauseEnds is a set of bits. It has the bytes below 64 that end a clause.
const clauseEnds = uint64(1<<'.' | 1<<',' | 1<<';' | 1<<':' | 1<<'\n' | 1<<0 | 1<<'!' | 1<<'?' | 1<<'=' | 1<<'"')

// clause returns the subjects of the words from i to the end of the clause. It reads at most nearAfter bytes.
func clause(v *view, i int) (subjects context) {
	var word [24]byte
	n := 0
	last := 0 // 1 + the number of the word before; 0 if that word is not in the vocabulary
	for end := i + nearAfter; i < end; i++ {
		b := v.at(i)
		if b == 0xef || b == 0xe3 && v.at(i+1) == 0x80 {
			return subjects // Chinese or Japanese punctuation
		}
		if b >= 0xc0 && mayBeForeign(b, v.at(i+1)) {
			for j := range foreignWords {
				if foreignEnd(v, i, foreignWords[j].words) >= 0 {
					subjects |= foreignWords[j].subject
				}
			}
		}
		if isLetterByte(b) && n < len(word) {
			word[n] = b | 0x20
			n++
			continue
		}
		if n > 0 {
			e, number := lookUp(word[:n])
			n = 0
			if e != nil {
				subjects |= e.subject
				if last != 0 {
					subjects |= pairSubject(last-1, number)
				}
			}
			if last = 0; e != nil {
				last = number + 1
			}
		}
		if b < 64 && clauseEnds>>b&1 != 0 || b == '|' || b == '[' {
			return subjects
		}
	}
	return subjects
}
