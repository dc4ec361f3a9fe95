package reference_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/fault"
)

// TestErrorsHaveAnchors checks that errors.md has a heading for each code and that links lead to headings.
func TestErrorsHaveAnchors(t *testing.T) {
	for _, f := range fault.All() {
		if heading := "\n## `" + f.Code() + "`\n"; strings.Count(pages(t)["errors.md"], heading) != 1 {
			t.Errorf("errors.md does not have one heading for %s", f.Code())
		}
	}
}

var (
	link     = regexp.MustCompile(`\]\(([a-z.-]*)#([\w-]+)\)`)
	headings = regexp.MustCompile("(?m)^#+ (.+)$")
)

// TestAnchors checks that each link to an anchor on a page leads to a heading.
func TestAnchors(t *testing.T) {
	all := pages(t)
	cli, err := os.ReadFile(filepath.Join(folder, "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	all["cli.md"] = string(cli)
	checked := 0
	for name, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			to := found[1]
			if to == "" {
				to = name
			}
			if checked++; !hasAnchor(all[to], found[2]) {
				t.Errorf("%s links to %s#%s, which has no such heading", name, to, found[2])
			}
		}
	}
	if checked < 80 {
		t.Errorf("checked only %d links", checked)
	}
}

// hasAnchor reports whether a page has a heading with an anchor. The anchor is the heading in lowercase, without
// punctuation, and with hyphens for spaces.
func hasAnchor(text, anchor string) bool {
	for _, heading := range headings.FindAllStringSubmatch(text, -1) {
		slug := strings.ReplaceAll(regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// response is what a scenario expects of a response: its code, and whether it has Retry-After.
var (
	expectation = regexp.MustCompile(`(?m)^expect \d+\n((?:  .*\n)+)`)
	codeLine    = regexp.MustCompile(`(?m)^  json (?:error\.)?code = "(\w+)"$`)
	waitLine    = regexp.MustCompile(`(?m)^  (!?)retry-after\b`)
)

// TestRetryAfter checks that the scenarios have Retry-After where the advice says so. All hosts pass these scenarios.
func TestRetryAfter(t *testing.T) {
	always, never := map[string]bool{}, map[string]bool{}
	for _, f := range fault.All() {
		if f.Wait() == fault.AlwaysWaits {
			always[f.Code()] = true
		}
		if f.Wait() == fault.NeverWaits {
			never[f.Code()] = true
		}
	}
	seen := map[bool]int{}
	scenarios, err := filepath.Glob("../../testdata/conformance/*.txt")
	if err != nil || len(scenarios) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range scenarios {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range expectation.FindAllStringSubmatch(string(text), -1) {
			code, wait := codeLine.FindStringSubmatch(block[1]), waitLine.FindStringSubmatch(block[1])
			if code == nil || wait == nil {
				continue
			}
			waits := wait[1] == ""
			seen[waits]++
			if waits && never[code[1]] || !waits && always[code[1]] {
				t.Errorf("%s: %s has Retry-After: %t, which core/fault/advice.go denies", filepath.Base(file), code[1], waits)
			}
		}
	}
	if seen[true] < 5 || seen[false] < 3 {
		t.Errorf("checked only %v responses", seen)
	}
}
