package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocs: docs/reference/metrics.md has a row for every metric, with its labels, and no other row. docs/operate/metrics.md
// mentions only metrics that exist.
func TestDocs(t *testing.T) {
	guide, err := os.ReadFile("../docs/operate/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../docs/reference/metrics.md")
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
	for _, name := range regexp.MustCompile(`postern_[a-z_]+`).FindAllString(string(guide)+string(data), -1) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !slices.ContainsFunc(definitions, func(d *definition) bool { return d.name == base }) {
			t.Errorf("the pages on metrics mention %s, which does not exist", name)
		}
	}
}

// TestOperations checks that a route has an operation if it sends requests to providers, and that no other route has
// one.
func TestOperations(t *testing.T) {
	for purpose, operation := range purposes {
		if operation == "" {
			t.Errorf("purpose %d has no operation in telemetry/attributes.go", purpose)
		}
	}
	for route, want := range map[string]string{"/v1/messages": operationChat, "/v1/messages/count_tokens": operationCount, "/v1/embeddings": operationEmbeddings, "/v1/models": ""} {
		if got := operations[route]; got != want {
			t.Errorf("the operation of %s is %q, want %q", route, got, want)
		}
	}
}
