package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/tools/internal/repotest"
)

// upper is a generator that derives b.txt from a.txt.
var upper = []generator{{writes: "b.txt", command: "tr a-z A-Z <a.txt >b.txt"}}

func newRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := repotest.New(t, files)
	for _, name := range installed {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWrite(t *testing.T) {
	root := newRepository(t, map[string]string{"a.txt": "x\n"})
	list := append(upper, generator{writes: "c.txt", command: "cat b.txt b.txt >c.txt"})
	if err := writeAll(root, list, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(root, "c.txt")); err != nil || string(text) != "X\nX\n" {
		t.Errorf("%v: %q", err, text)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		list   []generator
		output string // "" if nothing is out of date
	}{
		"current":    {map[string]string{"a.txt": "x", "b.txt": "X"}, upper, ""},
		"stale":      {map[string]string{"a.txt": "x", "b.txt": "Y"}, upper, "b.txt is out of date\n"},
		"missing":    {map[string]string{"a.txt": "x"}, upper, "b.txt is out of date\n"},
		"too many":   {map[string]string{"a.txt": "x"}, []generator{{writes: "nothing", command: "rm a.txt"}}, "a.txt is out of date\n"},
		"a test":     {map[string]string{"a.txt": "x"}, []generator{{"a.txt", "false", "test -e a.txt"}}, ""},
		"stale test": {map[string]string{"a.txt": "x"}, []generator{{"a.txt", "true", "echo differs; exit 1"}}, "a.txt: echo differs; exit 1: exit status 1\ndiffers\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRepository(t, c.files)
			var out strings.Builder
			err := checkAll(root, c.list, &out)
			if out.String() != c.output || (err == nil) != (c.output == "") {
				t.Errorf("got %v\n%s", err, out.String())
			}
			if err != nil && !strings.Contains(err.Error(), "make generate") {
				t.Errorf("%v does not name the command", err)
			}
			for path, text := range c.files {
				if now, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(now) != text {
					t.Errorf("%s was changed: %v, %q", path, err, now)
				}
			}
		})
	}
}

func TestFailingGenerator(t *testing.T) {
	root := newRepository(t, map[string]string{"a.txt": "x"})
	list := []generator{{writes: "b.txt", command: "echo no such word; exit 3"}}
	for name, run := range map[string]error{"write": writeAll(root, list, &strings.Builder{}), "check": checkAll(root, list, &strings.Builder{})} {
		if run == nil || !strings.Contains(run.Error(), "b.txt: ") || !strings.Contains(run.Error(), "no such word") {
			t.Errorf("%s: %v", name, run)
		}
	}
}
