package control

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// maxNoteRunes is the maximum length of a violation's note in characters.
const maxNoteRunes = 1000

// readTriage reads the fields of a PATCH.
func readTriage(r *http.Request) (triagePatch, error) {
	f, err := readFields(r)
	if err != nil {
		return triagePatch{}, err
	}
	version, _ := f.integer("version", 1, 1<<53)
	state, stateGiven := f.choice("state", "", ledger.ViolationStates)
	note, noteGiven := f.note()
	return triagePatch{version, func(v *ledger.StoredViolation) {
		if stateGiven {
			v.State = ledger.ViolationState(slices.Index(ledger.ViolationStates, state))
		}
		if noteGiven {
			v.Note = note
		}
	}}, f.err()
}

// note takes the field "note": text, or null for none.
func (f *fields) note() (note string, given bool) {
	if f.null("note") {
		return "", true
	}
	note, given = f.text("note", "")
	if given && !isNote(note) {
		f.problem("note", "must have at most 1000 characters, and no control or text-direction characters other than line breaks and tabs")
	}
	return note, given
}

// isNote reports whether text is fit for a note, which may have several lines.
func isNote(text string) bool {
	return utf8.RuneCountInString(text) <= maxNoteRunes && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control))
	})
}

func stateDetail(message, state string) fault.Detail {
	return fault.Detail{Field: "state", Message: message + got(state)}
}
