package control_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/postern-ai/postern/"

// shared are the packages that resources build on. Each may import the ones listed before it.
var shared = []string{"kernel", "settings", "reports", "inventory"}

// imports returns the packages of this repository that match a pattern. Each is mapped to the packages of this
// repository that it imports.
func imports(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := strings.TrimPrefix(words[0], module)
		found[from] = nil
		for _, path := range words[1:] {
			if path, ours := strings.CutPrefix(path, module); ours {
				found[from] = append(found[from], path)
			}
		}
	}
	return found
}

// Imports point one way: from the route table in this package to the resources, and from them to the shared packages.
// Resources do not import each other. Code that two of them need is in a shared package.
func TestImports(t *testing.T) {
	checked := 0
	for from, paths := range imports(t, "./...") {
		from = strings.TrimPrefix(strings.TrimPrefix(from, "control"), "/")
		if from == "" || from == "web" {
			continue
		}
		checked++
		allowed := shared
		if at := slices.Index(shared, from); at >= 0 {
			allowed = shared[:at]
		}
		for _, path := range paths {
			if to, ok := strings.CutPrefix(path+"/", "control/"); ok && !slices.Contains(allowed, strings.TrimSuffix(to, "/")) {
				t.Errorf("control/%s imports %s; it may import %q of control", from, path, allowed)
			}
		}
	}
	if checked < 16 {
		t.Errorf("only %d packages", checked)
	}
}

// Programs import this package and the dashboard, not the packages below them. bench/growth writes documents as the control
// plane does, but a million of them.
func TestProgramsImportTheTable(t *testing.T) {
	for from, paths := range imports(t, "../...") {
		if from == "control" || strings.HasPrefix(from, "control/") || from == "test/controltest" || from == "bench/growth" {
			continue
		}
		for _, path := range paths {
			if strings.HasPrefix(path, "control/") && path != "control/web" {
				t.Errorf("%s imports %s", from, path)
			}
		}
	}
}
