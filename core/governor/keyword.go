package governor

// Keywords searches for the words of all keyword lists at once. It uses an Aho–Corasick automaton in the encoded form
// that compileKeywords makes. A word that begins or ends with a letter or digit matches only if no letter, digit or
// underscore is next to it there. ASCII letters match in any case, unless the list requires the given case.
type Keywords struct {
	lists  []KeywordList
	rules  *Rules
	states int
	first  []byte // u16 per state, and one more: its first child; the children of a state are neighbors, in order of label
	fail   []byte // u16 per state: the state of its longest proper suffix
	label  []byte // per state: the byte that leads to the state
	depth  []byte // per state: the length of its text; endsWord is added if a word ends in the state or in a suffix of it
	ends   []byte // endSize bytes per word, sorted by state: state, list, index in the list
	root   [256]uint16
}

const (
	endsWord = 0x80
	endSize  = 5
)

// u16 returns the number at an index of a table. Outside the table, it returns 0.
func u16(table []byte, i int) int {
	if 2*i+1 >= len(table) {
		return 0
	}
	return int(table[2*i]) | int(table[2*i+1])<<8
}

// loadKeywords returns the search for the lists whose rules apply. If no list's rule applies, it returns nil.
func loadKeywords(s *Settings, r *Rules) *Keywords {
	applies := false
	for i := range s.Lists {
		applies = applies || r.Has(listRule(i))
	}
	if !applies {
		return nil
	}
	if s.automaton == nil {
		s.automaton = compileKeywords(s.Lists)
	}
	k := &Keywords{lists: s.Lists, rules: r, states: u16(s.automaton, 0)}
	n, rest := k.states, s.automaton[min(2, len(s.automaton)):]
	if n == 0 || len(rest) < 2*(n+1)+2*n+n+n {
		return nil
	}
	k.first, rest = rest[:2*(n+1)], rest[2*(n+1):]
	k.fail, rest = rest[:2*n], rest[2*n:]
	k.label, k.depth, k.ends = rest[:n], rest[n:2*n], rest[2*n:]
	for child := u16(k.first, 0); child < u16(k.first, 1) && child < n; child++ {
		b := k.label[child]
		k.root[b] = uint16(child)
		if class[b]&isLower != 0 {
			k.root[b&^0x20] = uint16(child)
		}
	}
	return k
}

func (k *Keywords) step(state int, b byte) int {
	b = fold(b)
	for state != 0 {
		at, end := u16(k.first, state), min(u16(k.first, state+1), k.states)
		for ; at < end && k.label[at] < b; at++ {
		}
		if at < end && k.label[at] == b {
			return at
		}
		state = k.suffix(state)
	}
	return int(k.root[b])
}

// suffix returns the state that a state's fail link leads to. The result is less deep and has a smaller number.
func (k *Keywords) suffix(state int) int {
	if next := u16(k.fail, state); next < state {
		return next
	}
	return 0
}

// length returns the length, in bytes, of the text that leads to a state.
func (k *Keywords) length(state int) int { return int(k.depth[state] &^ endsWord) }

// firstEnd returns the offset in ends of the first word that ends in a state. If no word ends there, the offset is
// that of the next state with a word.
func (k *Keywords) firstEnd(state int) int {
	low, high := 0, len(k.ends)/endSize
	for low < high {
		middle := (low + high) / 2
		if u16(k.ends[middle*endSize:], 0) < state {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low * endSize
}

// matches looks for a list with a word that ends in a state and matches text. It returns the rule of the first such
// list. If the list requires the given case, the case must be the same. If a list's rule exempts the text, the list
// does not count.
func (s *Scanner) matches(k *Keywords, state int, text []byte) (rule ID, ok bool) {
	for at := k.firstEnd(state); at+endSize <= len(k.ends) && u16(k.ends[at:], 0) == state; at += endSize {
		list, word := int(k.ends[at+2]), u16(k.ends[at+3:], 0)
		if list >= len(k.lists) || word >= len(k.lists[list].Words) || !k.rules.Has(listRule(list)) {
			continue
		}
		if l := &k.lists[list]; l.MatchCase && l.Words[word] != string(text) {
			continue
		}
		if k.rules.exempts {
			if exempt, _ := s.exempt(listRule(list), text); exempt {
				continue
			}
		}
		return listRule(list), true
	}
	return 0, false
}

// keywordState is the automaton's position in the text. It also holds the keyword that ends before the position but
// may still become longer.
type keywordState struct {
	read       int // offset of the next byte to read, in the whole text
	state      int
	start, end int // of the pending keyword; if there is none, end is 0
	rule       ID  // of the pending keyword
}

// hold returns the offset before which no new keyword can begin.
func (s *Scanner) hold(k *Keywords) int {
	w := &s.keywords
	hold := max(w.read-k.length(w.state), s.base)
	if w.end > 0 {
		hold = min(hold, w.start)
	}
	return hold
}

// feed searches v for keywords up to the index to. If keywords overlap, the leftmost wins, then the longest. If flush
// is set, a keyword cannot extend past to.
func (s *Scanner) feed(k *Keywords, v *view, to int, flush bool) {
	w := &s.keywords
	for {
		for w.read < s.base+to {
			if w.state == 0 && w.end == 0 {
				w.read = s.base + k.skip(v.text[:to], w.read-s.base)
				if w.read == s.base+to {
					break
				}
			}
			w.state = k.step(w.state, v.at(w.read-s.base))
			w.read++
			if w.end > 0 && w.read-k.length(w.state) > w.start {
				s.flushKeyword(v)
				continue
			}
			if k.depth[w.state]&endsWord != 0 {
				s.matchKeyword(k, v)
			}
		}
		if !flush || w.end == 0 {
			return
		}
		s.flushKeyword(v)
	}
}

// skip returns the index of the first byte from i on that can begin a keyword.
func (k *Keywords) skip(text []byte, i int) int {
	for i < len(text) && k.root[text[i]] == 0 {
		i++
	}
	return i
}

// matchKeyword looks for a keyword that ends at the reading position. If there is one, it becomes the pending
// keyword.
func (s *Scanner) matchKeyword(k *Keywords, v *view) {
	w := &s.keywords
	for out := w.state; out != 0 && k.depth[out]&endsWord != 0; out = k.suffix(out) {
		from := w.read - k.length(out)
		i, j := from-s.base, w.read-s.base
		if w.end > 0 && from > w.start || i < 0 || i >= j {
			return // shorter suffixes begin even later
		}
		if isWordByte(v.at(i)) && isWordByte(v.at(i-1)) || isWordByte(v.at(j-1)) && isWordByte(v.at(j)) {
			continue
		}
		rule, ok := s.matches(k, out, v.text[i:j])
		if ok && !s.rules.inPlaceholder(v, i, j) {
			w.start, w.end, w.rule = from, w.read, rule
			return
		}
	}
}

// flushKeyword turns the pending keyword into a finding. The search continues at the finding's end.
func (s *Scanner) flushKeyword(v *view) {
	w := &s.keywords
	s.placeCustom(v, w.start)
	s.found = append(s.found, Finding{w.rule, w.start, w.end})
	s.customAt = w.end
	w.read, w.state, w.end = w.end, 0, 0
}

func isWordByte(b byte) bool { return isAlnum(b) || b == '_' }

func fold(b byte) byte {
	if class[b]&isUpper != 0 {
		return b | 0x20
	}
	return b
}
