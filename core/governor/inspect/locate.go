package inspect

import (
	"strconv"

	"github.com/postern-ai/postern/core/jsontext"
)

// level is an open object or array.
type level struct {
	array bool
	index int // index of the current element of an array
	key   span
}

// locator builds the paths of places in a body. It visits the places in the order of the body.
type locator struct {
	body   []byte
	pos    int
	depth  int
	levels [jsontext.MaxDepth]level
}

func (in *inspector) locate() {
	if len(in.places) == 0 {
		return
	}
	for i := 1; i < len(in.places); i++ { // few, and almost sorted
		for j := i; j > 0 && in.places[j].at < in.places[j-1].at; j-- {
			in.places[j], in.places[j-1] = in.places[j-1], in.places[j]
		}
	}
	l := &locator{body: in.body}
	path, last := "", -1
	for _, p := range in.places {
		if p.at < 0 {
			continue // the finding is about the whole body
		}
		if p.at != last {
			path, last = l.find(p.at), p.at
		}
		in.setPath(p, path)
	}
}

func (in *inspector) setPath(p place, path string) {
	if p.finding >= 0 {
		in.result.Findings[p.finding].Path = path
	}
	if p.report >= 0 {
		in.result.Reports[p.report].Path = path
	}
}

// find advances to the value at an offset and returns its path. The offset is that of a string's content, or of the
// opening bracket of a document.
func (l *locator) find(at int) string {
	for l.pos < len(l.body) {
		switch c := l.body[l.pos]; c {
		case '"':
			s := l.readString()
			if int(s.start) == at {
				return l.path()
			}
			if l.depth > 0 && !l.levels[l.depth-1].array && l.isKey() {
				l.levels[l.depth-1].key = s
			}
			continue
		case '{', '[':
			if l.pos == at || l.depth == len(l.levels) {
				return l.path()
			}
			l.levels[l.depth] = level{array: c == '['}
			l.depth++
		case '}', ']':
			l.depth = max(0, l.depth-1)
		case ',':
			if l.depth > 0 {
				l.levels[l.depth-1].index++
			}
		}
		l.pos++
	}
	return ""
}

func (l *locator) readString() span {
	start := l.pos + 1
	at := start
	for {
		at += plain(l.body[at:])
		if at >= len(l.body) || l.body[at] == '"' {
			break
		}
		at = min(at+2, len(l.body))
	}
	l.pos = min(at+1, len(l.body))
	return span{start: uint32(start), end: uint32(at)}
}

func (l *locator) isKey() bool {
	for l.pos < len(l.body) {
		switch l.body[l.pos] {
		case ' ', '\n', '\r', '\t':
			l.pos++
			continue
		}
		return l.body[l.pos] == ':'
	}
	return false
}

func (l *locator) path() string {
	var b []byte
	for i := range l.levels[:l.depth] {
		if v := &l.levels[i]; v.array {
			b = append(strconv.AppendInt(append(b, '['), int64(v.index), 10), ']')
		} else {
			if i > 0 {
				b = append(b, '.')
			}
			b = appendName(b, l.body[v.key.start:v.key.end])
		}
	}
	return string(b)
}

// appendName appends a field's name to a path. API names begin with a lower-case letter and consist of letters and
// underscores. Any other name may be a caller's data, which must not appear in a path. appendName writes * instead of
// such a name.
func appendName(b, name []byte) []byte {
	known := len(name) > 0 && len(name) <= maxName && name[0] >= 'a' && name[0] <= 'z'
	for _, c := range name {
		known = known && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_')
	}
	if !known {
		return append(b, '*')
	}
	return append(b, name...)
}
