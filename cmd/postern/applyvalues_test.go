package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A file with a wrong amount is rejected with the path and the line of the field. Nothing is sent, not even to compute the
// differences.
func TestApplyRejectsWrongAmounts(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) }))
	t.Cleanup(silent.Close)
	s := newShell(t, silent.URL)
	const dollars = "must be a dollar amount between 0 and 9000000 with at most 12 decimal places, got "
	for line, want := range map[string]string{
		"budget: -1":                                  "budget " + dollars + "-1",
		"budget: 1e300":                               "budget " + dollars + `the text "1e300"`,
		"budget: 1e2":                                 "budget " + dollars + `the text "1e2"`,
		`budget: "5"`:                                 "budget " + dollars + `the text "5"`,
		"budget: true":                                "budget " + dollars + "a boolean",
		"budget: [5]":                                 "budget " + dollars + "a list",
		"budget: 9000000.01":                          "budget " + dollars + "9000000.01",
		"budget: 0.0000000000001":                     "budget " + dollars + "0.0000000000001",
		"budget: " + strings.Repeat("9", 65):          "budget " + dollars,
		"budget: 010":                                 "the number 010 has a leading zero",
		"budget: -010":                                "the number -010 has a leading zero",
		"budgetPeriod: year":                          `budgetPeriod must be day or week or month or total, got "year"`,
		"limits: {requestsPerPeriod: 0}":              "limits.requestsPerPeriod must be an integer between 1 and 9007199254740992, got 0",
		"limits: {tokensPerPeriod: 1.5}":              "limits.tokensPerPeriod must be an integer between 1 and 9007199254740992, got 1.5",
		"limits: {tokensPerPeriod: many}":             `limits.tokensPerPeriod must be an integer between 1 and 9007199254740992, got the text "many"`,
		"limits: {tokensPerPeriod: 9007199254740993}": "got 9007199254740993",
		"limits: {tokens: 5}":                         `limits.tokens"`,
	} {
		for kind, file := range map[string]string{
			"groups[1]":           "groups:\n  - name: A\n  - name: B\n    LINE\nprojects: [{name: P, group: B}]",
			"projects[0]":         "projects:\n  -\n    name: P\n    LINE\n    keys: [{name: K}]",
			"projects[0].keys[0]": "projects: [{name: P, keys: [\n  {\n   name: K,\n   LINE}]}]",
		} {
			path := s.file("bad.yaml", strings.Replace(file, "LINE", line, 1))
			for _, flags := range []string{"--dry-run", "--yes"} {
				_, message, code := s.run("apply", "-f", path, flags)
				if code != exitUsage || !strings.Contains(message, want) || !strings.Contains(message, "line 4: ") || strings.HasPrefix(want, "budget ") && !strings.Contains(message, kind+"."+want) {
					t.Errorf("%s of %s: exit code %d, %s, want %q", line, kind, code, message, want)
				}
			}
		}
	}
	for _, file := range []string{
		"projects:\n  - {name: P, budget: null}", "projects:\n  - {name: P, hideNames: true}",
		"groups:\n  - {name: A, hideNames: true}\nprojects: []", "groups:\n  - {id: root, hideNames: 1}\nprojects: []", "groups:\n  - {name: A/B}\nprojects: []",
		"groups:\n  - {name: " + strings.Repeat("ü", 65) + "}\nprojects: []", "groups:\n  - {name: A, enforce: medium}\nprojects: []",
	} {
		s.fails(exitUsage, "line 2: ", "apply", "-f", s.file("bad.yaml", file), "--dry-run")
	}
}
