package governor

import (
	"slices"
	"testing"
)

// TestCutsBesideContext: a word is noted once, and only if the bytes after it have arrived.
func TestCutsBesideContext(t *testing.T) {
	for _, text := range []string{"téli 1232026 and more", ":nino \"eB 12 34 56 C", "tél 415-555-0132"} {
		want := Scan([]byte(text), AllRules(), nil)
		for i := range text {
			for j := i; j <= len(text); j++ {
				if got, _ := scanPieces(t, AllRules(), []byte(text[:i]), []byte(text[i:j]), []byte(text[j:])); !slices.Equal(got, want) {
					t.Errorf("%q|%q|%q: %s, want %s", text[:i], text[i:j], text[j:], describeAll([]byte(text), got), describeAll([]byte(text), want))
				}
			}
		}
	}
}
