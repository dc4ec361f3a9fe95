// Package jsontext validates untrusted JSON before gjson reads it, and writes JSON.
//
// gjson's validator accepts invalid UTF-8 and recurses without limit. For duplicate keys, gjson returns the first
// value and other parsers return the last. A provider could therefore see a different value from the one that Postern
// checked. Check rejects all of this in one pass without recursion.
package jsontext

import (
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of arrays and objects.
const MaxDepth = 100

// Problem is the reason why a text is rejected, or OK.
type Problem uint8

const (
	OK Problem = iota
	Syntax
	BadUTF8
	TooDeep
	DuplicateKey
)

// String returns the error message for the caller.
func (p Problem) String() string {
	switch p {
	case BadUTF8:
		return "must be valid UTF-8"
	case TooDeep:
		return "must not nest deeper than 100 levels"
	case DuplicateKey:
		return "must not have duplicate keys in an object"
	}
	return "must be valid JSON"
}

// Finding is the first problem in a text. It is the zero value for a valid text.
type Finding struct {
	Problem Problem
	At      int     // the byte offset of the problem, or the text's length if it ends too early
	Key     Escaped // for DuplicateKey, the key that an object has twice
}

// Message returns the error message for the caller, which includes the position for Syntax and BadUTF8. quote
// prepares a key for an error message.
func (f *Finding) Message(quote func(string) string) string {
	switch f.Problem {
	case TooDeep:
		return f.Problem.String()
	case DuplicateKey:
		return "must not have the key " + quote(f.Key.Plain()) + " twice in one object"
	}
	return f.Problem.String() + "; the error is at byte " + strconv.Itoa(f.At)
}

type scanner struct {
	data  []byte
	at    int
	kinds [MaxDepth]byte // '{' or '[' for each open level
	first [MaxDepth]int  // where each open level's keys start in keys
	depth int
	keys  []span
	twice span // the duplicate key
}

// span is the position of a key without its quotes.
type span struct{ start, end int }

// Check returns OK if data is one JSON value that every parser reads in the same way. Otherwise, it returns the first
// problem.
func Check(data []byte) Problem {
	s := scanner{data: data}
	return s.check()
}

// Examine is like Check, but also returns the position of the problem.
func Examine(data []byte) Finding {
	s := scanner{data: data}
	f := Finding{Problem: s.check()}
	switch f.Problem {
	case OK:
	case DuplicateKey:
		f.At, f.Key = s.twice.start-1, Escaped(data[s.twice.start:s.twice.end])
	default:
		f.At = s.at
	}
	return f
}

func (s *scanner) check() Problem {
	for {
		s.space()
		opened, p := s.value()
		if p != OK {
			return p
		}
		if opened {
			continue
		}
		if done, p := s.after(); p != OK || done {
			return p
		}
	}
}

func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return
		}
	}
}

// value reads a scalar or the start of an array or object. opened means that a value comes next: an element, or the
// value of a field whose key has been read.
func (s *scanner) value() (opened bool, p Problem) {
	switch c := s.peek(); {
	case c == '"':
		return false, s.text()
	case c == '{' || c == '[':
		return s.open(c)
	case c == '-' || c >= '0' && c <= '9':
		return false, s.number()
	case c == 't':
		return false, s.word("true")
	case c == 'f':
		return false, s.word("false")
	case c == 'n':
		return false, s.word("null")
	}
	return false, Syntax
}

func (s *scanner) open(c byte) (opened bool, p Problem) {
	if s.depth == MaxDepth {
		return false, TooDeep
	}
	s.kinds[s.depth] = c
	s.first[s.depth] = len(s.keys)
	s.depth++
	s.at++
	s.space()
	if s.peek() == c+2 { // ']' and '}' come two code points after '[' and '{'
		s.at++
		s.depth--
		return false, OK
	}
	if c == '{' {
		return true, s.key()
	}
	return true, OK
}

func (s *scanner) key() Problem {
	start := s.at + 1
	if s.peek() != '"' {
		return Syntax
	}
	if p := s.text(); p != OK {
		return p
	}
	if s.keys == nil {
		s.keys = make([]span, 0, 16) // enough for most texts
	}
	s.keys = append(s.keys, span{start, s.at - 1})
	s.space()
	if s.peek() != ':' {
		return Syntax
	}
	s.at++
	return OK
}

// after reads the closing brackets that follow a value, and then a comma or the end of the text.
func (s *scanner) after() (done bool, p Problem) {
	for {
		s.space()
		if s.depth == 0 {
			if s.at != len(s.data) {
				return false, Syntax
			}
			return true, OK
		}
		kind := s.kinds[s.depth-1]
		switch s.peek() {
		case ',':
			s.at++
			if kind == '[' {
				return false, OK
			}
			s.space()
			return false, s.key()
		case kind + 2:
			s.at++
			s.depth--
			if kind == '{' && s.duplicate(s.first[s.depth]) {
				return false, DuplicateKey
			}
			s.keys = s.keys[:s.first[s.depth]]
		default:
			return false, Syntax
		}
	}
}

func (s *scanner) word(w string) Problem {
	if len(s.data)-s.at < len(w) || string(s.data[s.at:s.at+len(w)]) != w {
		return Syntax
	}
	s.at += len(w)
	return OK
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

func (s *scanner) number() Problem {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return Syntax
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return Syntax
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return Syntax
		}
	}
	return OK
}

// text reads a string with its quotes.
func (s *scanner) text() Problem {
	s.at++
	for {
		s.at += plainLength(s.data[s.at:])
		if s.at == len(s.data) {
			return Syntax
		}
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return OK
		case c == '\\':
			if p := s.escape(); p != OK {
				return p
			}
		case c < 0x20:
			return Syntax
		default:
			n := multibyteLength(s.data[s.at:])
			if n == 0 {
				return BadUTF8
			}
			s.at += n
		}
	}
}

func (s *scanner) escape() Problem {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return OK
	case 'u':
		if len(s.data)-s.at < 5 {
			return Syntax
		}
		if _, ok := hex4(s.data[s.at+1:]); !ok {
			return Syntax
		}
		s.at += 5
		return OK
	}
	return Syntax
}

// plainLength returns the number of leading bytes that are printable ASCII except quote and backslash. It checks
// eight bytes at a time, because most of the time spent on a body is spent here.
func plainLength[T string | []byte](b T) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(b)-n >= 8 {
		c := b[n : n+8]
		w := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// A high bit is set for each byte that is not ASCII, below 0x20, a quote or a backslash. Borrows set
		// further bits only above the first such byte, so the lowest bit is exact.
		if found := (w | (w - ones*0x20) | (quote - ones) | (backslash - ones)) & highs; found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
		n += 8
	}
	for n < len(b) && b[n] >= 0x20 && b[n] < 0x80 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// multibyteLength returns the number of leading bytes that are characters beyond ASCII in valid UTF-8.
func multibyteLength(b []byte) int {
	n := 0
	for len(b)-n >= 2 {
		c, next := b[n], b[n+1]
		switch {
		case c < 0xC2 || next&0xC0 != 0x80:
			return n
		case c < 0xE0:
			n += 2
		case c < 0xF0:
			// After E0 and ED, the second byte is restricted, which excludes overlong encodings and surrogates.
			if len(b)-n < 3 || b[n+2]&0xC0 != 0x80 || c == 0xE0 && next < 0xA0 || c == 0xED && next >= 0xA0 {
				return n
			}
			n += 3
		default:
			_, size := utf8.DecodeRune(b[n:])
			if size == 1 {
				return n
			}
			n += size
		}
	}
	return n
}

// duplicate reports whether two of the keys from index first on are equal after unescaping. If so, it stores one of
// them in twice.
func (s *scanner) duplicate(first int) bool {
	keys := s.keys[first:]
	const few = 12
	if len(keys) <= few {
		for i := range keys {
			for j := range keys[:i] {
				if s.compare(keys[i], keys[j]) == 0 {
					s.twice = keys[i]
					return true
				}
			}
		}
		return false
	}
	slices.SortFunc(keys, s.compare)
	for i := 1; i < len(keys); i++ {
		if s.compare(keys[i-1], keys[i]) == 0 {
			s.twice = keys[i]
			return true
		}
	}
	return false
}

// compare orders keys by their unescaped text. It does not allocate, because sorting copies of a large body's keys
// would take hundreds of megabytes.
func (s *scanner) compare(a, b span) int {
	x, y := s.data[a.start:a.end], s.data[b.start:b.end]
	for len(x) > 0 && len(y) > 0 {
		var r, q rune
		r, x = nextRune(x)
		q, y = nextRune(y)
		if r != q {
			return int(r - q)
		}
	}
	return len(x) - len(y)
}
