package live

import (
	"bytes"

	"github.com/postern-ai/postern/core/governor"
)

// editor rewrites an escaped text. It replaces findings with placeholders and escapes them like the text around them.
// JSON stays valid: editor keeps quotes and brackets in a finding, and it puts a placeholder into each string of the
// finding. A number or literal outside strings becomes a string.
type editor struct {
	walker
	guard   *Guard
	text    []byte // decoded form of raw
	found   []governor.Finding
	base    int  // offset of text's first byte; findings use the same offsets
	skip    int  // number of bytes before the cut, if the cut is inside a character
	placed  bool // the placeholder of the first finding has been written
	changed bool
	out     []byte
	copied  int // raw bytes before this index have been copied to out or dropped
}

// rewrite returns the rewritten form of the first cut bytes of the decoded text. After the call, the rest begins at
// the index e.at in e.raw.
func (e *editor) rewrite(cut int) []byte {
	e.redactable()
	if e.form == plain && len(e.found) == 0 {
		e.locate(cut)
		return e.raw[:e.at:e.at]
	}
	for pos := 0; pos < cut; pos += e.size {
		lex := e.lex
		if !e.next() {
			break
		}
		if pos+e.size > cut {
			e.skip, e.at, e.lex = cut-pos, e.from, lex
			break
		}
		for len(e.found) > 0 && e.found[0].End-e.base <= pos {
			e.found, e.placed = e.found[1:], false
		}
		e.character(pos)
	}
	e.keep(e.at)
	return e.out
}

// locate moves to the character that contains the decoded byte at cut. Between escapes, it skips bytes instead of
// reading characters.
func (e *editor) locate(cut int) {
	pos := 0
	for pos < cut {
		n := bytes.IndexByte(e.raw[e.at:], '\\')
		if n < 0 || n > cut-pos {
			n = cut - pos
		}
		e.at += n
		if pos += n; pos == cut || !e.next() {
			return
		}
		if pos += e.size; pos > cut {
			e.skip, e.at = cut-pos+e.size, e.from
			return
		}
	}
}

// redactable removes all findings from e.found that need no redaction.
func (e *editor) redactable() {
	n := 0
	for _, f := range e.found {
		if e.guard.action(f.Rule) == governor.Redact {
			e.found[n] = f
			n++
		}
	}
	e.found = e.found[:n]
}

// character handles the character at pos in the decoded text: it keeps, drops or replaces the character.
func (e *editor) character(pos int) {
	switch e.class {
	case structure:
		e.lex.drop, e.placed = false, false
	case scalar:
		if e.lex.drop {
			e.dropCharacter()
		} else if f := e.overlap(pos); f != nil {
			e.replace(f.Rule, `"`)
			e.lex.drop = true
		}
	case content:
		if len(e.found) > 0 && e.found[0].Start-e.base < pos+e.size {
			if e.placed {
				e.dropCharacter()
			} else {
				e.replace(e.found[0].Rule, "")
				e.placed = true
			}
		}
	}
}

// overlap looks at the number or literal that begins at pos. If a finding overlaps it, overlap returns the finding.
// Otherwise, it returns nil.
func (e *editor) overlap(pos int) *governor.Finding {
	if len(e.found) == 0 {
		return nil
	}
	end := pos
	for end < len(e.text) && isScalar(rune(e.text[end])) {
		end++
	}
	if f := &e.found[0]; f.Start-e.base < end && f.End-e.base > pos {
		return f
	}
	return nil
}

// keep copies the raw bytes before end to out.
func (e *editor) keep(end int) {
	if e.copied < end {
		e.out = append(e.out, e.raw[e.copied:end]...)
		e.copied = end
	}
}

// dropCharacter omits the character that was read last.
func (e *editor) dropCharacter() {
	e.keep(e.from)
	e.copied = e.at
}

// replace writes a rule's placeholder instead of the character that was read last.
func (e *editor) replace(rule governor.ID, quote string) {
	e.dropCharacter()
	e.changed = true
	if quote != "" && e.form == arguments {
		quote = `\"`
	}
	e.out = append(append(append(e.out, quote...), e.guard.label(rule)...), quote...)
}
