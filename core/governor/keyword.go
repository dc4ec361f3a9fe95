package governor

import "errors"

// Bounds of keyword lists.
const (
	maxKeyword  = 128       // bytes of one keyword
	maxKeywords = 1000      // in all lists
	maxStates   = 16 * 1024 // bytes of all keywords
)

// Keywords is an Aho–Corasick automaton for the operator's keywords. ASCII letters match in any case. A keyword that
// begins or ends with a letter or digit matches only where no letter, digit or underscore continues it.
type Keywords struct {
	letter [256]uint8 // the column of a byte; 0 for bytes in no keyword
	width  int
	next   []uint16 // state*width + column
	length []uint8  // of the longest keyword that ends in a state; 0 for none
	back   []uint16 // the longest proper suffix state that ends a keyword; 0 for none
	depth  []uint8
}

var (
	errKeywordLength = errors.New("a keyword must have 2 to 128 bytes")
	errKeywordCount  = errors.New("keywords: at most 1000 with 16384 bytes in all")
)

// NewKeywords compiles keywords.
func NewKeywords(list []string) (*Keywords, error) {
	k := &Keywords{width: 1}
	total := 0
	for _, word := range list {
		if len(word) < 2 || len(word) > maxKeyword {
			return nil, errKeywordLength
		}
		total += len(word)
		k.addLetters(word)
	}
	if len(list) > maxKeywords || total >= maxStates || k.width > 255 {
		return nil, errKeywordCount
	}
	for b := 'A'; b <= 'Z'; b++ {
		k.letter[b] = k.letter[b|0x20]
	}
	k.build(list, total+1)
	return k, nil
}

// addLetters gives each byte of a word a column.
func (k *Keywords) addLetters(word string) {
	for i := range len(word) {
		if b := fold(word[i]); k.letter[b] == 0 {
			k.letter[b] = uint8(min(k.width, 255))
			k.width++
		}
	}
}

func fold(b byte) byte {
	if class[b]&isUpper != 0 {
		return b | 0x20
	}
	return b
}

// build fills the automaton: the trie, then its links.
func (k *Keywords) build(list []string, states int) {
	k.next = make([]uint16, states*k.width)
	k.length, k.depth = make([]uint8, states), make([]uint8, states)
	k.back = make([]uint16, states)
	used := 1
	for _, word := range list {
		state := 0
		for i := range len(word) {
			cell := state*k.width + int(k.letter[word[i]])
			if k.next[cell] == 0 {
				k.next[cell] = uint16(used)
				k.depth[used] = uint8(i + 1)
				used++
			}
			state = int(k.next[cell])
		}
		k.length[state] = uint8(len(word))
	}
	k.link(used)
}

// link makes the trie of used states an automaton: failure links in order of depth.
func (k *Keywords) link(used int) {
	fail, queue := make([]uint16, used), make([]uint16, 0, used)
	for column := 1; column < k.width; column++ {
		if child := k.next[column]; child != 0 {
			queue = append(queue, child)
		}
	}
	for at := 0; at < len(queue); at++ {
		state := int(queue[at])
		if f := fail[state]; k.length[f] != 0 {
			k.back[state] = f
		} else {
			k.back[state] = k.back[f]
		}
		for column := 1; column < k.width; column++ {
			cell := state*k.width + column
			target := k.next[int(fail[state])*k.width+column]
			if child := k.next[cell]; child != 0 {
				fail[child] = target
				queue = append(queue, child)
			} else {
				k.next[cell] = target
			}
		}
	}
}

// keywordState is the automaton's position in the text, and the keyword that ends before it and may become longer.
type keywordState struct {
	read       int // offset of the next byte to read, in the whole text
	state      int
	start, end int // of the pending keyword; end is 0 if there is none
}

// hold is the offset up to which no keyword can begin any more.
func (s *Scanner) hold(k *Keywords) int {
	w := &s.keywords
	hold := w.read - int(k.depth[w.state])
	if w.end > 0 {
		hold = min(hold, w.start)
	}
	return hold
}

// feed searches keywords up to the index to of v. The leftmost of overlapping keywords wins, of those with the same
// start the longest. With flush set no keyword may cross to.
func (s *Scanner) feed(k *Keywords, v *view, to int, flush bool) {
	w := &s.keywords
	for {
		for w.read < s.base+to {
			w.state = int(k.next[w.state*k.width+int(k.letter[v.at(w.read-s.base)])])
			w.read++
			if w.end > 0 && w.read-int(k.depth[w.state]) > w.start {
				s.flushKeyword()
				continue
			}
			if k.length[w.state]|uint8(k.back[w.state])|uint8(k.back[w.state]>>8) != 0 {
				s.matchKeyword(k, v)
			}
		}
		if !flush || w.end == 0 {
			return
		}
		s.flushKeyword()
	}
}

// matchKeyword makes a keyword that ends at the reading position the pending one.
func (s *Scanner) matchKeyword(k *Keywords, v *view) {
	w := &s.keywords
	for out := w.state; out != 0; out = int(k.back[out]) {
		length := int(k.length[out])
		from := w.read - length
		if length == 0 || w.end > 0 && from > w.start {
			continue
		}
		i, j := from-s.base, w.read-s.base
		if isWordByte(v.at(i)) && isWordByte(v.at(i-1)) || isWordByte(v.at(j-1)) && isWordByte(v.at(j)) {
			continue
		}
		w.start, w.end = from, w.read
		return
	}
}

// flushKeyword makes the pending keyword a finding and searches on from its end.
func (s *Scanner) flushKeyword() {
	w := &s.keywords
	s.found = append(s.found, Finding{ruleKeyword, w.start, w.end})
	w.read, w.state, w.end = w.end, 0, 0
}

// place puts keywords before the last finding, which a detector has added, and resumes after it.
func (s *Scanner) place(v *view) {
	k := s.rules.keywords
	if k == nil || !s.rules.Has(ruleKeyword) {
		return
	}
	last := s.found[len(s.found)-1]
	s.found = s.found[:len(s.found)-1]
	s.feed(k, v, last.Start-s.base, true)
	s.found = append(s.found, last)
	s.keywords = keywordState{read: last.End}
}

func isWordByte(b byte) bool { return isAlnum(b) || b == '_' }
