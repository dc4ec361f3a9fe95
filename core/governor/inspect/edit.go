package inspect

import (
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// change says what replaces the bytes of an edit.
type change uint8

const (
	mark   change = iota // a placeholder for the decoded text
	quoted               // a placeholder in quotes: a number becomes a string
	split                // the placeholder for a value; later edits remove the rest of the finding
	drop                 // nothing: removes the rest of such a finding
	quote                // a quote: a number that contains a finding becomes a string
	put                  // with a value, escaped
	raw                  // with a value, not escaped
)

// edit replaces the bytes [start, end) of the body. It has only 16 bytes, because a body can have hundreds of
// thousands of edits.
type edit struct {
	start, end uint32
	value      uint32 // index in edits.values, for the changes split, put and raw
	rule       governor.ID
	change     change
	level      uint8 // level of escaping at the edit
}

type edits struct {
	list[edit]
	values   list[string]
	unsorted bool
	size     int // upper bound for the number of bytes that the edits add
}

// maxEdits limits the memory for edits, at 16 bytes each. A body of 4 MB can contain 300,000 card numbers.
const maxEdits = 400_000

func (e *edits) add(one edit) {
	e.unsorted = e.unsorted || e.count > 0 && less(&one, e.at(e.count-1))
	e.push(one)
}

// value stores a value and returns its index for use in an edit.
func (e *edits) value(text string) uint32 {
	e.values.push(text)
	return uint32(e.values.count - 1)
}

func less(a, b *edit) bool { return a.start < b.start || a.start == b.start && a.end < b.end }

// sort orders the edits by position. It uses heapsort, which allocates nothing.
func (e *edits) sort() {
	if !e.unsorted {
		return
	}
	for i := e.count/2 - 1; i >= 0; i-- {
		e.sink(i, e.count)
	}
	for n := e.count - 1; n > 0; n-- {
		first, last := e.at(0), e.at(n)
		*first, *last = *last, *first
		e.sink(0, n)
	}
	e.unsorted = false
}

func (e *edits) sink(i, n int) {
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && less(e.at(child), e.at(child+1)) {
			child++
		}
		if !less(e.at(i), e.at(child)) {
			return
		}
		a, b := e.at(i), e.at(child)
		*a, *b = *b, *a
		i = child
	}
}

// writer applies edits to a body, in order.
type writer struct {
	body     []byte
	edits    *edits
	next     int // index of the next edit
	policy   *governor.Policy
	redactor *governor.Redactor
	match    []byte
}

// rewrite applies the edits in the bytes [from, to) of the body and appends the result to dst.
func (w *writer) rewrite(dst []byte, from, to int) []byte {
	for ; w.next < w.edits.count; w.next++ {
		e := w.edits.at(w.next)
		if int(e.start) >= to {
			break
		}
		dst = append(dst, w.body[from:e.start]...)
		dst = w.apply(dst, e)
		from = int(e.end)
	}
	return append(dst, w.body[from:to]...)
}

func (w *writer) apply(dst []byte, e *edit) []byte {
	switch e.change {
	case mark:
		c := cursor{raw: w.body, at: int(e.start), end: int(e.end), level: int(e.level)}
		w.match = c.decode(w.match[:0])
		return w.placeholder(dst, e.rule)
	case split:
		w.match = append(w.match[:0], *w.edits.values.at(int(e.value))...)
		return w.placeholder(dst, e.rule)
	case quoted:
		c := cursor{raw: w.body, at: int(e.start), end: int(e.end), level: int(e.level)}
		w.match = c.decode(w.match[:0])
		return appendQuote(w.placeholder(appendQuote(dst, e.level), e.rule), e.level)
	case quote:
		return appendQuote(dst, e.level)
	case put:
		return appendEscaped(dst, *w.edits.values.at(int(e.value)), int(e.level))
	case raw:
		return append(dst, *w.edits.values.at(int(e.value))...)
	}
	return dst
}

func appendQuote(dst []byte, level uint8) []byte {
	if level == 1 {
		dst = append(dst, '\\')
	}
	return append(dst, '"')
}

func (w *writer) placeholder(dst []byte, rule governor.ID) []byte {
	return w.redactor.Replace(dst, w.policy, rule, w.match)
}

func appendEscaped(dst []byte, text string, level int) []byte {
	for range level {
		text = string(jsontext.Escape(text))
	}
	return append(dst, text...)
}
