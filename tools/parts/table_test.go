package main

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// TestTableIsComplete checks that every test in the repository belongs to a part.
func TestTableIsComplete(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := repo.Paths(root)
	if err != nil {
		t.Fatal(err)
	}
	parts := table(paths)
	for _, file := range paths {
		if isTest(file) && !slices.ContainsFunc(parts, func(p *part) bool { return runs(p, file) }) {
			t.Errorf("no part runs %s", file)
		}
	}
	for _, p := range append(parts, longForms()...) {
		for _, name := range p.needs {
			if !slices.ContainsFunc(parts, func(other *part) bool { return other.name == name }) {
				t.Errorf("%s needs %q, which is no part", p.name, name)
			}
		}
		if p.cores <= 0 {
			t.Errorf("%s needs no core", p.name)
		}
	}
}

func isTest(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".test.mjs") || strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py")
}

// runs reports whether a part runs a test file. If the file could test either host, only a run against the Workers
// counts.
func runs(p *part, file string) bool {
	inside, ok := strings.CutPrefix(file, p.dir+"/")
	if p.dir == "" {
		inside, ok = file, true
	}
	if !ok || len(p.env) > 0 {
		return false
	}
	switch path.Ext(file) {
	case ".go":
		return slices.Contains(p.args, "./"+path.Dir(inside)) || p.dir != "" && slices.Contains(p.args, "./...")
	case ".mjs":
		return slices.ContainsFunc(p.args, func(pattern string) bool {
			matched, _ := path.Match(pattern, inside)
			return matched
		})
	default: // pytest finds its own files
		return p.dir == "clients/python" && path.Dir(inside) == "tests"
	}
}
