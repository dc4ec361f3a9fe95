package live

import (
	"bytes"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// restore replaces the caller's placeholders in decided text with their values. lex is the position before the text.
// If the text is not final, an unfinished placeholder at the end is held back.
func (c *channel) restore(g *Guard, text []byte, lex lexer, final bool) []byte {
	if len(c.tail) == 0 && bytes.IndexByte(text, '[') < 0 {
		return text
	}
	r := g.redactor()
	if r == nil || c.signed {
		return text
	}
	if len(c.tail) > 0 {
		text = append(c.tail[:len(c.tail):len(c.tail)], text...)
		c.tail = nil
	}
	if !final {
		n := len(text) - r.Unfinished(text)
		text, c.tail = text[:n:n], text[n:]
	}
	out, changed := restore(r, text, c.form(), lex)
	c.changed = c.changed || changed
	return out
}

// restore replaces the placeholders in an escaped text with their values. Outside strings, a value becomes a string.
func restore(r *governor.Redactor, text []byte, f form, lex lexer) (out []byte, changed bool) {
	w := walker{raw: text, form: f, final: true, lex: lex}
	done := 0
	for {
		from := max(done, w.at)
		at := bytes.IndexByte(text[from:], '[')
		if at < 0 {
			break
		}
		at += from
		bare := f != plain && !w.stringAt(at)
		end := placeholderEnd(text, at)
		if end == 0 {
			w.step(at)
			continue
		}
		value := r.Restore(nil, text[at:end])
		if string(value) == string(text[at:end]) {
			w.step(at)
			continue
		}
		if f == plain && r.JSON {
			value = []byte(jsontext.Escape(string(value)))
		}
		out = append(append(out, text[done:at]...), escapeFor(f, string(value), bare)...)
		done, changed = end, true
	}
	if !changed {
		return text, false
	}
	return append(out, text[done:]...), true
}

// step moves past the character at an index.
func (w *walker) step(at int) {
	if w.form == plain {
		w.at = at + 1
		return
	}
	for w.at <= at && w.next() {
	}
}

// stringAt moves to an index and reports whether it is in a string of the JSON text.
func (w *walker) stringAt(at int) bool {
	for w.at < at && w.next() {
	}
	return w.lex.inString
}

// placeholderEnd returns the end of a possible placeholder at an index. If there is none, it returns 0.
func placeholderEnd(text []byte, at int) int {
	for i := at + 1; i < len(text) && i < at+governor.MaxPlaceholder; i++ {
		switch b := text[i]; {
		case b == ']':
			return i + 1
		case (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_':
			return 0
		}
	}
	return 0
}

// escapeFor escapes a value for a text of the form f. If bare is set, escapeFor puts the value in quotes.
func escapeFor(f form, value string, bare bool) jsontext.Escaped {
	escaped := jsontext.Escape(value)
	if f == plain {
		return escaped
	}
	if bare {
		escaped = `"` + escaped + `"`
	}
	if f == arguments {
		return jsontext.Escape(string(escaped))
	}
	return escaped
}
