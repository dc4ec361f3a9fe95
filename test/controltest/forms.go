package controltest

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// CheckForm checks that a function accepts exactly the strings that match a regular expression. The program itself has
// no regular expressions, because package regexp would take a hundredth of the control Worker's module.
func CheckForm(t *testing.T, accepts func(string) bool, form string) {
	t.Helper()
	expression := regexp.MustCompile(form)
	inner := strings.Trim(form, "^$")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(inner).Draw(t, "text")
		check := func(text string) {
			if got, want := accepts(text), expression.MatchString(text); got != want {
				t.Fatalf("accepts %q: %t, want %t", text, got, want)
			}
		}
		check(text)
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		insert := rapid.StringMatching(`[-._a-fzA-FZ09 \n\x00é]{0,3}`).Draw(t, "insert")
		remove := rapid.IntRange(0, min(3, len(text)-at)).Draw(t, "remove")
		check(text[:at] + insert + text[at+remove:])
	})
}
