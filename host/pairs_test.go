package host

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const workerSources = "../worker/gateway/src"

// TestPairs checks that README.md describes every source file. Either both hosts have a file with this name, or
// README.md gives the reason why only one host has it. The test also checks that the declarations that README.md
// names exist.
func TestPairs(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	both, one, ok := strings.Cut(string(text), "## In one host")
	if !ok {
		t.Fatal("README.md has no section of the files of one host")
	}
	described := map[string]bool{}
	for _, row := range tableRows(both) {
		described[row[0]+".ts"], described[row[0]+".go"] = true, true
		checkDeclares(t, filepath.Join(workerSources, row[0]+".ts"), row[2])
		checkDeclares(t, row[0]+".go", row[3])
	}
	for _, row := range tableRows(one) {
		if described[row[0]] || row[1] == "" {
			t.Errorf("README.md describes %s twice, or without a reason", row[0])
		}
		described[row[0]] = true
	}
	existing := sources(t, workerSources, ".ts")
	maps.Copy(existing, sources(t, ".", ".go"))
	for _, file := range slices.Sorted(maps.Keys(existing)) {
		if !described[file] {
			t.Errorf("%s: give the file of this subject the same name in both hosts, or add the reason to host/README.md", file)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(described)) {
		if !existing[file] {
			t.Errorf("host/README.md describes %s, which does not exist", file)
		}
	}
}

// tableRows returns the cells of the table rows whose first cell is in backquotes. If backquotes enclose a whole
// cell, they are removed.
func tableRows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		rows = append(rows, cells)
	}
	return rows
}

// sources returns the names of a host's source files except tests.
func sources(t *testing.T, folder, extension string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, entry := range entries {
		if name := entry.Name(); filepath.Ext(name) == extension && !strings.HasSuffix(name, "_test.go") {
			names[name] = true
		}
	}
	return names
}

// checkDeclares checks that a file declares a name at its top level.
func checkDeclares(t *testing.T, path, name string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return // the caller reports that the file does not exist
	}
	declaration := regexp.MustCompile(`(?m)^(export )?(async )?(func \([^)]*\)|func|type|var|const|function|class|interface) ` + name + `\b`)
	if !declaration.Match(text) {
		t.Errorf("%s declares no %s, which host/README.md names", path, name)
	}
}
