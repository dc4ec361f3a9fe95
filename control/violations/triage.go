package violations

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// maxNoteRunes is the maximum length of a violation's note in characters.
const maxNoteRunes = 1000

func readTriage(c *kernel.Call) (triagePatch, error) {
	f, err := c.Fields()
	if err != nil {
		return triagePatch{}, err
	}
	version, _ := f.Integer("version", 1, 1<<53)
	state, stateGiven := f.Choice("state", "", ledger.ViolationStates)
	note, noteGiven := takeNote(f)
	return triagePatch{version, func(v *ledger.StoredViolation) {
		if stateGiven {
			v.State = ledger.ViolationState(slices.Index(ledger.ViolationStates, state))
		}
		if noteGiven {
			v.Note = note
		}
	}}, f.Err()
}

// takeNote takes the field "note", which is a string or null.
func takeNote(f *kernel.Fields) (note string, given bool) {
	if f.Null("note") {
		return "", true
	}
	note, given = f.Text("note", "")
	if given && !isNote(note) {
		f.Problem("note", "must have at most 1000 characters, and no control or text-direction characters other than line breaks and tabs")
	}
	return note, given
}

// isNote reports whether text is suitable for a note, which may have several lines.
func isNote(text string) bool {
	return utf8.RuneCountInString(text) <= maxNoteRunes && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control))
	})
}

func stateDetail(message, state string) fault.Detail {
	return fault.Detail{Field: "state", Message: message + kernel.Got(state)}
}
