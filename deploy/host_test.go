package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// files returns the paths that match a pattern, at least one.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	return found
}

var (
	uses   = regexp.MustCompile(`(?m)^\s*(?:- )?uses: (\S+)(.*)$`)
	pinned = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
)

// TestWorkflows checks what actionlint does not: actions are pinned, and no workflow starts with rights.
func TestWorkflows(t *testing.T) {
	for _, file := range files(t, "../.github/workflows/*.yml") {
		text := read(t, file)
		for _, match := range uses.FindAllStringSubmatch(text, -1) {
			local := strings.HasPrefix(match[1], "./.github/workflows/")
			if !local && (!pinned.MatchString(match[1]) || !strings.HasPrefix(match[2], " # v")) {
				t.Errorf("%s: %s needs the hash of a commit, and its version as a comment", file, match[1])
			}
		}
		if !strings.Contains(text, "\npermissions:\n  contents: read\n\n") {
			t.Errorf("%s: the workflow's permissions must be contents: read", file)
		}
		if strings.Contains(text, "pull_request_target") {
			t.Errorf("%s: pull_request_target runs the code of strangers with the rights of the repository", file)
		}
	}
}

// TestIssueForms checks that each form has what a code host requires, and that identifiers of fields differ.
func TestIssueForms(t *testing.T) {
	for _, file := range files(t, "../.github/ISSUE_TEMPLATE/*.yml") {
		if filepath.Base(file) == "config.yml" {
			continue
		}
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID    string
				Attributes  map[string]any
				Validations struct{ Required bool }
			}
		}
		if err := yaml.UnmarshalWithOptions([]byte(read(t, file)), &form, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if form.Name == "" || form.Description == "" || len(form.Body) == 0 {
			t.Errorf("%s: a form needs a name, a description and fields", file)
		}
		seen := map[string]bool{}
		for _, field := range form.Body {
			key := map[bool]string{true: "value", false: "label"}[field.Type == "markdown"]
			if text, _ := field.Attributes[key].(string); text == "" || seen[field.ID] {
				t.Errorf("%s: field %q has no %s, or the ID of another", file, field.ID, key)
			}
			seen[field.ID] = true
		}
	}
}

// TestOwnRepository checks that no file for a code host links to a repository of Postern: none is public yet.
func TestOwnRepository(t *testing.T) {
	all := append(files(t, "../.github/*/*.yml"), files(t, "../.github/*.md")...)
	for _, file := range append(all, "../CHANGELOG.md", "../SECURITY.md", "postern.service", "release.Dockerfile") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "postern-ai/postern") {
			t.Errorf("%s links to a repository that does not exist", file)
		}
	}
}
