package governor

import (
	"errors"
	"math/bits"
)

// stateFormat is the first byte of a scanner's state.
const stateFormat = 2

// MaxState limits the length of a state, in bytes.
const MaxState = 2 + tailLength + 12*5 + 4*subjects + 4*(MaxPatterns+1)

var errState = errors.New("governor: malformed scanner state")

// Parts of a state that most states lack. A bit of the state's second byte says that the part is there.
const (
	stateInLong  = 1 << iota // nothing else
	stateWord                // the distance to the next word
	statePair                // the number of the last word, and the distance to its end
	stateValue               // the distance to the end of a value, and the number of names in it
	stateKeyword             // see appendKeywords
	stateCustom              // the distance to the next byte for patterns
	stateParts   = 1<<iota - 1
)

// AppendState appends the scanner's state between two calls of Next. The state contains the last 8 decided bytes of
// the text, so treat it like the text. The state only has what may change a later result: usually fewer than 20 bytes.
// For example, words that are too far away to give context are not in it.
func (s *Scanner) AppendState(dst []byte) []byte {
	parts := s.parts()
	dst = append(append(dst, stateFormat, parts), s.tail[:]...)
	dst = appendNumber(dst, s.base)
	if parts&stateWord != 0 {
		dst = appendNumber(dst, s.wordAt-s.base)
	}
	if parts&statePair != 0 {
		dst = appendSigned(appendNumber(dst, s.lastPair), s.wordAt-s.pairEnd)
	}
	if parts&stateValue != 0 {
		dst = appendNumber(appendNumber(dst, s.valueEnd-s.base), s.nested)
	}
	if parts&stateKeyword != 0 {
		dst = s.appendKeywords(dst)
	}
	if parts&stateCustom != 0 {
		dst = appendNumber(dst, s.customAt-s.base)
	}
	return s.appendContext(dst)
}

// parts returns the parts that the scanner's state needs.
func (s *Scanner) parts() (parts byte) {
	if s.inLong {
		parts |= stateInLong
	}
	if s.wordAt != s.base {
		parts |= stateWord
	}
	if s.lastPair != 0 && s.wordAt-s.pairEnd <= maxPairGap {
		parts |= statePair
	}
	if s.valueEnd > s.base {
		parts |= stateValue
	}
	if s.rules.keywords != nil {
		parts |= stateKeyword
	}
	if s.customAt > s.base {
		parts |= stateCustom
	}
	return parts
}

// appendKeywords appends the position of the search for keywords, and the pending keyword: its rule, start and length.
// If there is none, its length is 0.
func (s *Scanner) appendKeywords(dst []byte) []byte {
	k := &s.keywords
	dst = appendNumber(appendSigned(dst, k.read-s.base), k.state)
	if k.end == 0 {
		return appendNumber(dst, 0)
	}
	return appendSigned(appendNumber(appendNumber(dst, k.end-k.start), int(k.rule)), k.start-s.base)
}

// appendContext appends the words that give context, the ends of exempted matches, and the edge.
func (s *Scanner) appendContext(dst []byte) []byte {
	for left := s.recorded; left != 0; left &= left - 1 {
		bit := bits.TrailingZeros64(uint64(left))
		if at := s.seen[bit]; at > 0 && s.base-at <= reach(bit) {
			dst = appendSigned(append(dst, byte(bit)), s.base-at)
		}
	}
	if s.settled != nil {
		for n, at := range s.settled {
			if at > s.customAt {
				dst = appendSigned(append(dst, byte(settledBit+n)), at-s.base)
			}
		}
	}
	if s.edge > s.base {
		dst = appendSigned(append(dst, settledBit+MaxPatterns), s.edge-s.base)
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

// maxAhead is the maximum distance, in bytes, of an offset in a state from the next byte to decide. An offset may lie
// after that byte: an unfinished keyword may hold back words that have been examined, up to this many bytes.
const maxAhead = maxKeyword + maxPrivateKey

// Resume returns the scanner with a state that AppendState wrote. rules must be the same as before.
func Resume(state []byte, rules *Rules) (*Scanner, error) {
	s := NewScanner(rules)
	if len(state) < 2+tailLength || state[0] != stateFormat || state[1]&^stateParts != 0 {
		return nil, errState
	}
	parts := state[1]
	copy(s.tail[:], state[2:])
	r := stateReader{left: state[2+tailLength:]}
	s.base = r.number(1 << 30)
	s.inLong, s.wordAt, s.customAt = parts&stateInLong != 0, s.base, s.base
	if parts&stateWord != 0 {
		s.wordAt += r.number(maxAhead)
	}
	if parts&statePair != 0 {
		s.lastPair = r.number(len(wordText))
		s.pairEnd = s.wordAt - r.signed()
	}
	if parts&stateValue != 0 {
		s.valueEnd, s.nested = s.base+r.number(maxAhead), r.number(maxAhead)
	}
	if parts&stateKeyword != 0 {
		s.resumeKeywords(&r)
	}
	if parts&stateCustom != 0 {
		s.customAt += r.number(maxAhead)
	}
	s.resumeContext(&r)
	if r.failed {
		return nil, errState
	}
	return s, nil
}

func (s *Scanner) resumeKeywords(r *stateReader) {
	k := s.rules.keywords
	if k == nil {
		r.failed = true
		return
	}
	s.keywords = keywordState{read: s.base + r.signed(), state: r.number(k.states - 1)}
	if length := r.number(maxAhead); length > 0 {
		s.keywords.rule = ID(r.number(MaxRules - 1))
		s.keywords.start = s.base + r.signed()
		s.keywords.end = s.keywords.start + length
	}
}

// resumeContext reads what appendContext wrote.
func (s *Scanner) resumeContext(r *stateReader) {
	for len(r.left) > 0 && !r.failed {
		bit := int(r.left[0])
		r.left = r.left[1:]
		distance := r.signed()
		switch n := bit - settledBit; {
		case bit < len(s.seen):
			s.recorded |= 1 << bit
			s.seen[bit] = s.base - distance
			s.lastSeen = max(s.lastSeen, s.seen[bit])
		case n >= 0 && n < MaxPatterns:
			if s.settled == nil {
				s.settled = &[MaxPatterns]int{}
			}
			s.settled[n] = s.base + distance
		case n == MaxPatterns:
			s.edge = s.base + distance
		default:
			r.failed = true
		}
	}
}

// appendNumber appends a number in groups of seven bits. The lowest group comes first.
func appendNumber(dst []byte, n int) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// appendSigned appends a number that may be negative. Its lowest bit is the sign.
func appendSigned(dst []byte, n int) []byte {
	if n < 0 {
		return appendNumber(dst, -2*n-1)
	}
	return appendNumber(dst, 2*n)
}

// stateReader reads the numbers of a state.
type stateReader struct {
	left   []byte
	failed bool
}

// number reads a number from 0 to most.
func (r *stateReader) number(most int) (n int) {
	for i, b := range r.left {
		if i == 5 {
			break
		}
		if n |= int(b&0x7f) << (7 * i); b < 0x80 {
			r.left = r.left[i+1:]
			r.failed = r.failed || n < 0 || n > most
			return n
		}
	}
	r.left, r.failed = nil, true
	return 0
}

// signed reads a number that appendSigned wrote.
func (r *stateReader) signed() int {
	n := r.number(2 * maxAhead)
	if n&1 != 0 {
		return -(n + 1) / 2
	}
	return n / 2
}
