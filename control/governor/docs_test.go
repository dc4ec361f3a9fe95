package governor_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/schema"
)

// docs/reference/governor-rules.md lists every rule and the number of rules per category. docs/reference/governor.md lists every
// schema keyword.
func TestGovernorDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/governor-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	counts, groups := map[governor.Category]int{}, map[string]int{}
	for _, rule := range governor.Table() {
		counts[rule.Category]++
		groups[fmt.Sprintf("`%s.…`, %s (%d points), ", rule.Category, rule.Severity, rule.Severity.Points())]++
		short := strings.TrimPrefix(rule.Name, rule.Category.String()+".")
		if rule.Category <= governor.Injection && !slices.Contains(words, short) {
			t.Errorf("%s is missing", rule.Name)
		}
	}
	for category, n := range counts {
		if row := fmt.Sprintf("| `%s` | %d |", category, n); !strings.Contains(string(text), row) {
			t.Errorf("%s is missing", row)
		}
		for head, size := range groups {
			if strings.HasPrefix(head, "`"+category.String()) && category <= governor.Injection && !strings.Contains(string(text), fmt.Sprintf("%s%d rule", head, size)) {
				t.Errorf("%s%d is missing", head, size)
			}
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	scanned := counts[governor.Secret] + counts[governor.Personal] + counts[governor.Injection]
	if want := fmt.Sprintf("%d rules for secrets, personal data and prompt injection", scanned); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
	settings, err := os.ReadFile("../../docs/reference/governor.md")
	if err != nil {
		t.Fatal(err)
	}
	words = strings.Fields(string(settings))
	for _, keyword := range schema.Keywords() {
		if !slices.Contains(words, keyword) {
			t.Errorf("keyword %s is missing", keyword)
		}
	}
}
