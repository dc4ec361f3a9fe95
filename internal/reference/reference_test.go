package reference_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/postern-ai/postern/internal/reference"
)

var rewrite = flag.Bool("rewrite", false, "write the pages")

const folder = "../../docs/reference"

func pages(t *testing.T) map[string]string {
	t.Helper()
	all, err := reference.Pages()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, p := range all {
		texts[p.Name] = p.Text
	}
	return texts
}

// TestPages checks that the pages match the source.
func TestPages(t *testing.T) {
	for name, text := range pages(t) {
		path := filepath.Join(folder, name)
		if *rewrite {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("docs/reference/%s differs from its source (%v): run make generate", name, err)
		}
	}
}
