package governor

import "errors"

// stateFormat is the first byte of a scanner's state.
const stateFormat = 1

// MaxState limits the length of a state, in bytes.
const MaxState = 1 + tailLength + 13*5 + 4*subjects + 4*(MaxPatterns+1)

var errState = errors.New("governor: malformed scanner state")

// AppendState appends the scanner's state between two calls of Next. The state contains the last 8 decided bytes of
// the text, so treat it like the text. Words that are too far away to give context are not in the state.
func (s *Scanner) AppendState(dst []byte) []byte {
	dst = append(dst, stateFormat)
	dst = append(dst, s.tail[:]...)
	flags := 0
	if s.inLong {
		flags = 1
	}
	k := &s.keywords
	pending := 0
	if k.end > 0 {
		pending = k.start - s.base + maxAhead
	}
	for _, n := range [...]int{
		s.base, s.wordAt - s.base, flags, s.lastPair, min(s.base-s.pairEnd+maxAhead, 2*maxAhead), max(0, s.valueEnd-s.base), s.nested,
		k.read - s.base + maxAhead, k.state, pending, max(0, k.end-k.start), int(k.rule), s.customAt - s.base,
	} {
		dst = appendNumber(dst, max(n, 0))
	}
	for bit, at := range s.seen {
		if distance := s.base - at + maxAhead; at > 0 && distance <= reach(bit)+maxAhead {
			dst = appendNumber(append(dst, byte(bit)), distance)
		}
	}
	if s.settled != nil {
		for n, at := range s.settled {
			if at > s.customAt {
				dst = appendNumber(append(dst, byte(settledBit+n)), at-s.base)
			}
		}
	}
	if s.edge > s.base {
		dst = appendNumber(append(dst, settledBit+MaxPatterns), s.edge-s.base)
	}
	return dst
}

// settledBit is added to a program's number, because a subject may have the same number. The edge has the number
// after that of the last program.
const settledBit = 128

// reach returns the maximum distance, in bytes, of a word about a subject that gives context to a candidate. bit is
// the subject's bit.
func reach(bit int) int {
	if aboutCommand>>bit == 1 {
		return nearCommand
	}
	return nearBefore
}

// maxAhead is added to distances, so they are never negative. A word may lie after the next byte to decide: an
// unfinished keyword may hold back words that have been examined, up to this many bytes.
const maxAhead = maxKeyword + maxPrivateKey

// Resume returns the scanner with a state that AppendState wrote. rules must be the same as before.
func Resume(state []byte, rules *Rules) (*Scanner, error) {
	s := NewScanner(rules)
	if len(state) < 1+tailLength || state[0] != stateFormat {
		return nil, errState
	}
	copy(s.tail[:], state[1:])
	n, state, ok := readNumbers(state[1+tailLength:])
	if !ok {
		return nil, errState
	}
	s.base, s.wordAt, s.inLong = n[0], n[0]+n[1], n[2] == 1
	if n[3] > len(wordText) || n[0] > 1<<30 || n[1] > maxAhead || n[12] > maxAhead {
		return nil, errState
	}
	s.lastPair = n[3]
	s.pairEnd, s.valueEnd, s.nested = n[0]-n[4]+maxAhead, n[0]+n[5], n[6]
	s.keywords = keywordState{read: n[0] + n[7] - maxAhead, state: n[8]}
	s.customAt = n[0] + n[12]
	if n[9] > 0 {
		s.keywords.start = n[0] + n[9] - maxAhead
		s.keywords.end, s.keywords.rule = s.keywords.start+n[10], ID(n[11])
	}
	if k := rules.keywords; k != nil && n[8] >= k.states {
		return nil, errState
	}
	return s, s.resumeContext(state)
}

// readNumbers reads the numbers that are in every state.
func readNumbers(state []byte) (n [13]int, rest []byte, ok bool) {
	for i := range n {
		if n[i], state, ok = readNumber(state); !ok {
			return n, nil, false
		}
	}
	return n, state, true
}

// resumeContext reads the rest of a state: the words that give context, the ends of exempted matches, and the edge.
func (s *Scanner) resumeContext(state []byte) error {
	for len(state) > 0 {
		bit := state[0]
		distance, rest, ok := readNumber(state[1:])
		switch n := int(bit) - settledBit; {
		case !ok || distance > 2*maxAhead:
			return errState
		case int(bit) < len(s.seen):
			s.seen[bit] = s.base - distance + maxAhead
			s.lastSeen = max(s.lastSeen, s.seen[bit])
		case n >= 0 && n < MaxPatterns:
			if s.settled == nil {
				s.settled = &[MaxPatterns]int{}
			}
			s.settled[n] = s.base + distance
		case n == MaxPatterns:
			s.edge = s.base + distance
		default:
			return errState
		}
		state = rest
	}
	return nil
}

// appendNumber appends a number in groups of seven bits. The lowest group comes first.
func appendNumber(dst []byte, n int) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

func readNumber(data []byte) (n int, rest []byte, ok bool) {
	for i, b := range data {
		if i == 8 {
			break
		}
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 {
			return n, data[i+1:], true
		}
	}
	return 0, nil, false
}
