package live

import "github.com/postern-ai/postern/core/chat"

// frame is an event with one piece of text, but without that text. Most events of a stream have the same frame as the
// event before them and differ only in the text, so they need no walk. A frame is kept only within a step.
type frame struct {
	head, tail    []byte // the event's data before and after the text; if nil, there is no frame yet
	kind          chat.DeltaKind
	choice        uint64
	index, place  uint64
	signed, turns bool // turns: the piece ends the choice's texts of other kinds
}

// remember keeps the frame of an event for the next event. It does so only if the event contains exactly one piece of
// text.
func (p *passed) remember() {
	want := 1
	if p.frame.turns {
		want = 2
	}
	if p.frame.head != nil && p.met == want && p.dialect != chat.Responses { // events of the Responses API are numbered
		p.stream.frame = p.frame
	}
}

// repeats checks an event with the same frame as the event before. If the frame differs, it returns false.
func (p *passed) repeats() bool {
	f := &p.stream.frame
	from, to := len(f.head), len(p.data)-len(f.tail)
	if from == 0 || from >= to || !same(p.data[to:], f.tail) || !same(p.data[:from], f.head) {
		return false
	}
	for i := from; i < to; i++ { // the text must be one string without unescaped quotes
		switch p.data[i] {
		case '"':
			return false
		case '\\':
			if i++; i == to {
				return false
			}
		}
	}
	if f.turns {
		p.turn(f.choice, f.kind)
	}
	want := channel{kind: f.kind, choice: f.choice, index: f.index, place: f.place, signed: f.signed}
	p.piece(&want, span{from - 1, to + 1}, false)
	return true
}

// same reports whether two texts are equal. It compares eight bytes at a time. It does not use bytes.Equal, because
// TinyGo copies both arguments.
func same(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	n := 0
	for len(a)-n >= 8 {
		if eight(a[n:]) != eight(b[n:]) {
			return false
		}
		n += 8
	}
	for n < len(a) {
		if a[n] != b[n] {
			return false
		}
		n++
	}
	return true
}

func eight(b []byte) uint64 {
	b = b[:8:8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// sameText does the same as same for a delta's text.
func sameText(text []byte, s string) bool {
	if len(text) != len(s) {
		return false
	}
	for i, b := range text {
		if b != s[i] {
			return false
		}
	}
	return true
}
