package projects

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/doc"
)

// contact takes the field "contact". The contact appears in error messages and in a header, so it must be printable
// ASCII.
func contact(f *kernel.Fields) (text string, given bool) {
	text, given = f.Text("contact", "")
	if len(text) > doc.MaxContactBytes || !head.IsPrintable(text) || strings.TrimSpace(text) != text {
		f.Problem("contact", "must be empty, or at most "+strconv.Itoa(doc.MaxContactBytes)+" printable ASCII characters without spaces around them, such as "+
			"platform@example.com")
	}
	return text, given
}
