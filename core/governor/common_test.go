package governor

import (
	"math/rand/v2"
	"slices"
	"strings"
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

// TestPlainParts compares the fast look at words of several parts with the slow one.
func TestPlainParts(t *testing.T) {
	random := rand.New(rand.NewPCG(30, 5))
	parts := []string{"to", "Admit", "my", "token", "Token", "key", "acmekey", "Password", "policy", "x", "B", "O", "D", "line", "é", "CPU", "7", "end", "Ab", "of"}
	joints := []string{"", "", "", "_", ".", "-", "'", "%", "+", "~", "--"}
	ends := []string{" ", "\"", ",", "\n", ":", "=", " = ", " =", "/", "$", "@", "(", ". ", ".\n", "'", "? "}
	skipped, odd := 0, 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(joints[random.IntN(len(joints))] + parts[random.IntN(len(parts))])
		}
		text := []byte(b.String() + ends[random.IntN(len(ends))] + strings.Repeat("a ", margin))
		if class[text[0]]&(isLower|isUpper|isJoint) == 0 {
			continue
		}
		length, result := plainParts(text)
		end, kinds := readWord(text)
		s := NewScanner(AllRules())
		_, inner, common := readCommon(text, 0, 0)
		named := s.names(text, 0, end, kinds) && s.recorded == 0 && s.lastPair == 0
		switch {
		case length > 0:
			if skipped++; length != end || !common && !named {
				t.Fatalf("%q: %d bytes are skipped", text[:end+2], length)
			}
		case result&isOdd != 0:
			if odd++; common {
				t.Fatalf("%q (%b) is common", text[:end+2], inner)
			}
			if result&isNamed != 0 && named {
				t.Fatalf("%q needs no closer look", text[:end+2])
			}
		}
	}
	if skipped < 1000 || odd < 1000 {
		t.Errorf("%d words skipped, %d odd", skipped, odd)
	}
}
