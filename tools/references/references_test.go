package main

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/tools/internal/repotest"
)

// report runs the command in a repository with the given files.
func report(t *testing.T, excluded []string, files map[string]string) (string, error) {
	t.Helper()
	root := repotest.New(t, files)
	var out strings.Builder
	err := run(root, excluded, &out)
	return out.String(), err
}

// with returns a small repository with an additional file.
func with(path, text string) map[string]string {
	return map[string]string{
		"core/meter.go": "package core\n", "core/keys/keys.go": "package keys\n", "docs/api.md": "", ".gitignore": "/build/\n", path: text,
	}
}

func TestPasses(t *testing.T) {
	for name, file := range map[string]struct{ path, text string }{
		"from the root":           {"README.md", "See core/meter.go, `core/keys/`, [the API](docs/api.md)."},
		"beside":                  {"core/step.go", "package core\n\n// See meter.go and keys/keys.go.\n"},
		"the end of a path":       {"README.md", "See keys/keys.go and keys.go."},
		"a pattern":               {"README.md", "See core/*.go and `core/...`."},
		"generated":               {"README.md", "See `build/core.wasm` and build/gone.js."},
		"a URL":                   {"README.md", "See https://example.com/gone.json and example.com/gone.json."},
		"a placeholder":           {"README.md", "Give it FILE.json or <name>.json, Node.js and Next.js."},
		"a string of Go":          {"core/step.go", "package core\n\nconst file = \"gone.json\"\n"},
		"a string of TypeScript":  {"a.ts", "const file = 'gone.json'\n"},
		"a folder without quotes": {"README.md", "Either core/gone or nothing."},
	} {
		if out, err := report(t, nil, with(file.path, file.text)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestDangling(t *testing.T) {
	for name, file := range map[string]struct{ path, text, want string }{
		"Markdown":       {"README.md", "one\nSee docs/gone.md.\n", "README.md:2: docs/gone.md: file not found\n"},
		"a folder":       {"README.md", "See `core/gone`.", "README.md:1: core/gone: "},
		"a pattern":      {"README.md", "See core/*.ts.", "README.md:1: core/*.ts: "},
		"Go":             {"core/step.go", "package core\n\n// See gone.md.\nvar x = 1\n", "core/step.go:3: gone.md: "},
		"Go, in a block": {"core/step.go", "package core\n\n/*\nSee gone.md.\n*/\n", "core/step.go:4: gone.md: "},
		"TypeScript":     {"a.ts", "const x = 1 // see gone.ts\n", "a.ts:1: gone.ts: "},
		"a doc block":    {"a.mjs", "/**\n * See gone.ts.\n */\n", "a.mjs:2: gone.ts: "},
		"a shell script": {"a.sh", "#!/bin/sh\ntrue # as gone.sh\n", "a.sh:2: gone.sh: "},
		"YAML":           {"a.yaml", "a: 1\n# see gone.md\n", "a.yaml:2: gone.md: "},
		"the Makefile":   {"Makefile", "# see gone.md\n", "Makefile:1: gone.md: "},
	} {
		out, err := report(t, nil, with(file.path, file.text))
		if err == nil || !strings.Contains(out, file.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestLinks(t *testing.T) {
	text := "# Title\n\n## What `a_b` does, and *why*: [c](d.md)\n\n## Same\n\n## Same\n\n```sh\n# Not a heading\n```\n"
	for target, want := range map[string]string{
		"#title": "", "page.md": "", "page.md#what-a_b-does-and-why-c": "", "page.md#same-1": "", "../core/keys": "", "https://example.com/#gone": "",
		"#gone": "no such heading", "page.md#same-2": "no such heading", "page.md#not-a-heading": "no such heading",
		"../README.md": "file not found", "core/meter.go": "file not found",
	} {
		files := with("docs/page.md", strings.ReplaceAll(text, "[c](d.md)", "[c](api.md)"))
		files["docs/start.md"] = "# Title\n\n`[in code](#gone)` Read [this](" + target + ").\n"
		out, err := report(t, nil, files)
		if (err == nil) != (want == "") || want != "" && !strings.Contains(out, "docs/start.md:3: link to "+target+": "+want) {
			t.Errorf("%s: %v\n%s", target, err, out)
		}
	}
}

func TestExclusions(t *testing.T) {
	if out, err := report(t, []string{"README.md"}, with("README.md", "See gone.md.")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := report(t, []string{"README.md"}, with("README.md", "See docs/api.md."))
	if err == nil || !strings.Contains(out, "README.md: excluded, but has no dangling reference") {
		t.Errorf("an unused exclusion passes: %v\n%s", err, out)
	}
}
