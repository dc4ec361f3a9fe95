package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/tools/internal/repotest"
)

const list = "# Documents\n\n- [Index](../RATIONALE.md): all.\n  - [Money](project/decisions/money.md): prices.\n  - [Core](project/decisions/core.md): the core.\n"

// made returns the index of a repository with the given documents, without the index's head.
func made(t *testing.T, documents map[string]string) (string, error) {
	t.Helper()
	files := map[string]string{contents: list}
	for name, text := range documents {
		files[folder+"/"+name] = text
	}
	root := repotest.New(t, files)
	if err := write(root); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, index))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), head), nil
}

func TestIndex(t *testing.T) {
	got, err := made(t, map[string]string{
		"core.md": "# The core\n\nAbout it.\n\n## Why `fmt`, and not a copy?\n\n```sh\n## no question\n```\n",
		"money.md": "# Money\n\nAbout it.\n\n## Why so?\n\nReplaced by [the other](core.md).\n\nOnce.\n\n" +
			"## Why so?\n\nNothing was\nReplaced by it.\n",
	})
	want := `
## [Money](docs/project/decisions/money.md)

- [Why so?](docs/project/decisions/money.md#why-so) (replaced)
- [Why so?](docs/project/decisions/money.md#why-so-1)

## [The core](docs/project/decisions/core.md)

- [Why ` + "`fmt`" + `, and not a copy?](docs/project/decisions/core.md#why-fmt-and-not-a-copy)
`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestDocumentsThatFail(t *testing.T) {
	good := "# Core\n\nAbout it.\n\n## Why?\n\nSo.\n"
	for name, test := range map[string]struct {
		documents map[string]string
		want      string
	}{
		"not listed":    {map[string]string{"core.md": good, "money.md": good, "new.md": good}, "docs/README.md must list docs/project/decisions/new.md"},
		"listed only":   {map[string]string{"core.md": good}, "money.md: no such file"},
		"no question":   {map[string]string{"core.md": good, "money.md": good + "\n## Because\n"}, "money.md:9: a heading must be a question"},
		"a lower level": {map[string]string{"core.md": good, "money.md": good + "\n### Why?\n"}, "money.md:9: a heading must be a question"},
		"empty":         {map[string]string{"core.md": good, "money.md": "# Money\n"}, "money.md must have a title and a question"},
	} {
		if _, err := made(t, test.documents); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
