package inspect

import (
	"bytes"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// Restore replaces the placeholders of r in a response with their values. It does so in texts, tool arguments and log
// probabilities. If there are no placeholders, Restore returns nil. Signed thinking keeps its placeholders, because
// the provider would refuse changed thinking in the next request. body must be valid according to jsontext.Check.
func Restore(kind Kind, body []byte, r *governor.Redactor) []byte {
	w := &walker{inspector: &inspector{mode: restore, body: body, redactor: r}, kind: kind}
	w.walk()
	w.repeated()
	if w.edits.count == 0 {
		return nil
	}
	return w.rewritten()
}

// maxRestored limits the number of bytes that restoring adds. Without a limit, a response could become very large if
// a model repeats the placeholder of a long value. Placeholders beyond the limit are not restored.
const maxRestored = 1 << 20

// restore finds the placeholders in a text.
func (in *inspector) restore(text []byte) {
	for at := 0; at < len(text); {
		next := bytes.IndexByte(text[at:], '[')
		if next < 0 || in.edits.size > maxRestored {
			return
		}
		at += next
		end := placeholderEnd(text, at)
		if end == 0 {
			at++
			continue
		}
		in.value = in.redactor.Restore(in.value[:0], text[at:end])
		if !bytes.Equal(in.value, text[at:end]) {
			in.at.segment(at)
			in.at.restore(governor.Finding{Start: at, End: end}, in.value)
		}
		at = end
	}
}

// placeholderEnd returns the end of a possible placeholder at an offset, or 0 if there is none.
func placeholderEnd(text []byte, at int) int {
	for i := at + 1; i < len(text) && i-at < governor.MaxPlaceholder; i++ {
		switch c := text[i]; {
		case c == ']':
			return i + 1
		case c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		default:
			return 0
		}
	}
	return 0
}

// restore adds the edits that replace a placeholder with its value.
func (m *mapper) restore(f governor.Finding, value []byte) {
	s := m.in.segments.at(m.index)
	if s.fixed {
		return
	}
	e := edit{change: put}
	if !s.document {
		if m.in.redactor.JSON {
			value = []byte(jsontext.Escape(string(value)))
		}
		e.value = m.in.edits.value(string(value))
		m.replace(f, e)
		return
	}
	m.place(m.index, f.Start)
	if !m.cursor.inString {
		return
	}
	e.start, e.level, e.value = uint32(m.cursor.at), s.level, m.in.edits.value(string(value))
	m.place(m.index, f.End)
	e.end = uint32(m.cursor.at)
	m.add(e)
}
