package postgres

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// facts contains the known rows of an object. The spans are the ranges of keys in which all rows are known. Rows and
// spans are sorted. Spans neither overlap nor touch.
type facts struct {
	spans []span
	rows  []abi.Row
	bytes int // approximate size of the rows and spans in memory
}

// span is the range of keys from start up to, but not including, end.
type span struct{ start, end string }

// rowOverhead is the memory of a row or span in addition to its keys and value.
const rowOverhead = 64

// after returns the smallest key that is greater than the given one.
func after(key string) string { return key + "\x00" }

// endOf returns the end of a range, which may be a single key.
func endOf(g abi.Range) string {
	if g.End == "" {
		return after(g.Start)
	}
	return g.End
}

// limitOf returns the maximum number of rows of a range.
func limitOf(g abi.Range) uint64 {
	if g.End == "" {
		return 1
	}
	return g.Limit
}

// noRows returns the facts about an object without rows.
func noRows() *facts { return &facts{spans: []span{{"", "\xff"}}} }

// read returns a copy of the rows of a range. known is false if not all of them are known.
func (f *facts) read(g abi.Range) (rows []abi.Row, known bool) {
	end, limit := endOf(g), limitOf(g)
	if g.Start >= end || limit == 0 {
		return nil, true
	}
	at, found := slices.BinarySearchFunc(f.spans, g.Start, func(s span, key string) int {
		switch {
		case s.end <= key:
			return -1
		case s.start > key:
			return 1
		}
		return 0
	})
	if !found {
		return nil, false
	}
	first, last := f.index(g.Start), f.index(min(end, f.spans[at].end))
	if uint64(last-first) >= limit {
		return slices.Clone(f.rows[first : first+int(limit)]), true
	}
	return slices.Clone(f.rows[first:last]), end <= f.spans[at].end
}

// index returns the index of the first row whose key is not less than the given one.
func (f *facts) index(key string) int {
	i, _ := slices.BinarySearchFunc(f.rows, key, func(r abi.Row, key string) int { return strings.Compare(r.Key, key) })
	return i
}

// learn adds the result of a read. If the result reached the limit of the read, it says nothing about keys after its
// last row.
func (f *facts) learn(g abi.Range, rows []abi.Row) {
	end := endOf(g)
	if g.Start >= end || limitOf(g) == 0 {
		return
	}
	if uint64(len(rows)) >= limitOf(g) {
		end = after(rows[len(rows)-1].Key)
	}
	f.replace(span{g.Start, end}, rows)
}

// put and delete change the facts after a commit.
func (f *facts) put(row abi.Row) { f.replace(span{row.Key, after(row.Key)}, []abi.Row{row}) }

func (f *facts) delete(key string) { f.replace(span{key, after(key)}, nil) }

// replace makes rows the only rows of a span.
func (f *facts) replace(s span, rows []abi.Row) {
	first, last := f.index(s.start), f.index(s.end)
	for _, row := range f.rows[first:last] {
		f.bytes -= size(row)
	}
	for _, row := range rows {
		f.bytes += size(row)
	}
	f.rows = slices.Replace(f.rows, first, last, rows...)
	f.know(s)
}

func size(r abi.Row) int { return len(r.Key) + len(r.Value) + rowOverhead }

// know adds a span and merges it with the spans that it overlaps or touches.
func (f *facts) know(s span) {
	first, last := 0, len(f.spans)
	for first < last && f.spans[first].end < s.start {
		first++
	}
	for last > first && f.spans[last-1].start > s.end {
		last--
	}
	if first < last {
		s.start, s.end = min(s.start, f.spans[first].start), max(s.end, f.spans[last-1].end)
	}
	for _, old := range f.spans[first:last] {
		f.bytes -= old.size()
	}
	f.bytes += s.size()
	f.spans = slices.Replace(f.spans, first, last, s)
}

func (s span) size() int { return len(s.start) + len(s.end) + rowOverhead }
