package control

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The regular expressions say which texts the functions accept. They are not in the program, where package regexp would
// be a hundredth of the control Worker's module.
var forms = map[string]struct {
	accepts    func(string) bool
	expression string
}{
	"request ID":  {isRequestID, `^req_[0-9a-f]{32}$`},
	"team domain": {isTeamDomain, `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,4}$`},
	"hashed name": {hasHash, `^[a-z0-9-]+-[A-Z0-9]{8}\.[a-z0-9]+$`},
}

func TestForms(t *testing.T) {
	for name, form := range forms {
		expression := regexp.MustCompile(form.expression)
		inner := strings.Trim(form.expression, "^$")
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringMatching(inner).Draw(t, "text")
			check := func(text string) {
				if got, want := form.accepts(text), expression.MatchString(text); got != want {
					t.Fatalf("%s: accepts %q: %t, want %t", name, text, got, want)
				}
			}
			check(text)
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			insert := rapid.StringMatching(`[-._a-fzA-FZ09 \n\x00é]{0,3}`).Draw(t, "insert")
			remove := rapid.IntRange(0, min(3, len(text)-at)).Draw(t, "remove")
			check(text[:at] + insert + text[at+remove:])
		})
	}
}
