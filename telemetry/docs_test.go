package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocs: docs/metrics.md has a row for every metric, with its labels, and no other row.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(postern_[a-z_]+)` \\| (?:counter|gauge|histogram) \\| ([^|]*)\\|").FindAllStringSubmatch(string(data), -1) {
		documented[row[1]] = strings.TrimSpace(strings.ReplaceAll(row[2], "`", ""))
	}
	for _, d := range definitions {
		labels, ok := documented[d.name]
		if want := strings.Join(d.labels, ", "); !ok || labels != want {
			t.Errorf("%s: documented %v with labels %q, want %q", d.name, ok, labels, want)
		}
		delete(documented, d.name)
	}
	for name := range documented {
		t.Errorf("%s is documented, but does not exist", name)
	}
	for _, name := range regexp.MustCompile(`postern_[a-z_]+`).FindAllString(string(data), -1) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !slices.ContainsFunc(definitions, func(d *definition) bool { return d.name == base }) {
			t.Errorf("docs/metrics.md mentions %s, which does not exist", name)
		}
	}
}

// TestOperations: every route of GET / that takes a request for a model has an operation, and no other has one.
func TestOperations(t *testing.T) {
	data, err := os.ReadFile("../core/exchange/endpoints.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, row := range regexp.MustCompile(`\{"(/[^"]+)", "POST", \w+, doc\.(MayComplete|MayEmbed),`).FindAllStringSubmatch(string(data), -1) {
		if n++; operations[row[1]] == "" {
			t.Errorf("%s has no operation", row[1])
		}
	}
	if n != len(operations) {
		t.Errorf("%d routes, but %d operations", n, len(operations))
	}
}
