package control_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
)

// webTransitions reads the table TRANSITIONS, which defines the buttons for each state, from a module of the
// dashboard.
func webTransitions(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("web/src/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "const TRANSITIONS = {")
	table, _, _ = strings.Cut(table, "\n}")
	found := map[string][]string{}
	for _, row := range regexp.MustCompile(`(\w+): \[(.*)\]`).FindAllStringSubmatch(table, -1) {
		for next := range strings.SplitSeq(row[2], ", ") {
			found[row[1]] = append(found[row[1]], strings.Trim(next, "'"))
		}
		slices.Sort(found[row[1]])
	}
	return found
}

// TestDashboardTransitions checks that the dashboard offers exactly the transitions that the core allows.
func TestDashboardTransitions(t *testing.T) {
	registry := webTransitions(t, "registry.js")
	for s := doc.RegistryState(0); s <= doc.RegistryBlocked; s++ {
		word := policy.StateWord(s)
		if s == 0 {
			word = "discovered"
		}
		var want []string
		for _, next := range policy.Moves(s) {
			want = append(want, policy.StateWord(next))
		}
		slices.Sort(want)
		if got := registry[word]; !slices.Equal(got, want) {
			t.Errorf("registry: %s leads to %q, want %q", word, got, want)
		}
	}
	violations := webTransitions(t, "violations.js")
	for from, word := range ledger.ViolationStates {
		var want []string
		for next, name := range ledger.ViolationStates {
			if next != from && ledger.ViolationState(from).MayBecome(ledger.ViolationState(next)) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if got := violations[word]; !slices.Equal(got, want) {
			t.Errorf("violations: %s leads to %q, want %q", word, got, want)
		}
	}
	if len(registry) != int(doc.RegistryBlocked)+1 || len(violations) != len(ledger.ViolationStates) {
		t.Errorf("%d and %d states", len(registry), len(violations))
	}
}
