package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/tools/internal/repo"
	"github.com/postern-ai/postern/tools/internal/repotest"
)

// goFunction returns a function with the given number of distinct lines.
func goFunction(name string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s() {\n", name)
	for i := range lines - 2 {
		fmt.Fprintf(&b, "\tcall%s(%d)\n", name, i)
	}
	return b.String() + "}\n"
}

// checkout is a repository for tests. run runs the command in it and returns its output.
type checkout struct {
	t    *testing.T
	root string
}

func newCheckout(t *testing.T, files map[string]string) checkout {
	t.Helper()
	c := checkout{t, repotest.New(t, files)}
	c.write(ratchetsFile, "{}\n")
	return c
}

func (c checkout) write(path, text string) {
	c.t.Helper()
	repotest.Write(c.t, c.root, path, text)
}

func (c checkout) run(write bool, loosen string) (string, error) {
	var out strings.Builder
	err := run(c.root, write, loosen, &out)
	return out.String(), err
}

func (c checkout) mustTighten() {
	c.t.Helper()
	if out, err := c.run(true, ""); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
}

func (c checkout) stored() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, ratchetsFile))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func value(t *testing.T, measures []measure, name string) int {
	t.Helper()
	for _, m := range measures {
		if m.name == name {
			return m.value
		}
	}
	t.Fatalf("%s is not measured", name)
	return 0
}

func TestMeasures(t *testing.T) {
	code := "package a\n"
	for i := range 9 {
		code += goFunction(fmt.Sprintf("F%d", i), 3+i)
	}
	code += goFunction("Long", 41)
	measures, err := measureAll([]repo.File{
		{Path: "a.go", Text: []byte(code)},
		{Path: "a_test.go", Text: []byte("package a\n" + goFunction("TestLong", 41))},
		{Path: "conformance/b.go", Text: []byte("package b\n" + goFunction("Longer", 81))},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"code.longestFunctionLines": 41, "code.longFunctions": 1, "code.functionLinesP90": 11, "code.longestFileLines": 1 + 63 + 41,
		"tests.longestFunctionLines": 81, "tests.longFunctions": 1, "tests.longestFileLines": 82,
	} {
		if got := value(t, measures, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

func TestFunctionNames(t *testing.T) {
	found, err := functions(repo.File{Path: "a.go", Text: []byte(`package a

func plain() { _ = func() {} }
func (m *meter) pointer() {}
func (m meter) value() {
}

var literal = func() {}
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.go:3: plain, 1 lines", "a.go:4: (*meter).pointer, 1 lines", "a.go:5: meter.value, 2 lines", "a.go:8: func literal, 1 lines",
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

func TestPythonFunctions(t *testing.T) {
	f := repo.File{Path: "a.py", Text: []byte(`def plain(): ...
class A:
    @property
    async def method(
        self,
    ) -> None:
        """Text
that is not indented.
"""

        def inner() -> None:
            pass

        return inner()

    def last(self):
        # why
        return 1
# A comment after it.
x = """
def no_function():
    pass
"""
`)}
	if got, want := fmt.Sprint(pythonFunctions(f)), "[a.py:1: plain, 1 lines a.py:4: method, 11 lines a.py:16: last, 3 lines]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	generated := repo.File{Path: "b.py", Text: []byte("# Made from a.py by tools/unasync.py.\n" + string(f.Text))}
	test := repo.File{Path: "test/c.py", Text: f.Text}
	measures, err := measureAll([]repo.File{f, generated, test})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pythonCode.longestFunctionLines", "pythonTests.longestFunctionLines"} {
		if got := value(t, measures, name); got != 11 {
			t.Errorf("%s is %d, want 11", name, got)
		}
	}
	if got := value(t, measures, "code.repeatedLines"); got != 0 {
		t.Errorf("code.repeatedLines is %d: repeated Python is not counted", got)
	}
}

const sixLines = "first(1)\nsecond(2)\nthird(3)\nfourth(4)\nfifth(5)\nsixth(6)\n"

func TestRepeats(t *testing.T) {
	ts := func(path, text string) repo.File { return repo.File{Path: path, Text: []byte(text)} }
	for name, c := range map[string]struct {
		files []repo.File
		want  string
	}{
		"six lines": {[]repo.File{ts("a.ts", sixLines), ts("b.ts", "other()\n"+sixLines)}, "[b.ts:2: copy of a.ts, 6 lines]"},
		"five lines": {
			[]repo.File{ts("a.ts", sixLines), ts("b.ts", strings.TrimPrefix(sixLines, "first(1)\n"))}, "[]",
		},
		"in one file": {[]repo.File{ts("a.ts", sixLines+"between()\n"+sixLines)}, "[a.ts:8: copy of a.ts, 6 lines]"},
		"a longer run counts once": {
			[]repo.File{ts("a.ts", sixLines+"seventh()\neighth()\n"), ts("b.ts", sixLines+"seventh()\neighth()\n")},
			"[b.ts:1: copy of a.ts, 8 lines]",
		},
		"ignored lines": {
			[]repo.File{ts("a.ts", sixLines), ts("b.ts", "first(1)\n\n  second(2)\n}\n// why\nthird(3)\n/* more\n why */\nfourth(4)\nfifth(5)\nsixth(6)\n")},
			"[b.ts:1: copy of a.ts, 6 lines]",
		},
		"imports of Go": {
			[]repo.File{ts("a.go", "import (\n"+sixLines+")\n"), ts("b.go", "import (\n"+sixLines+")\n")}, "[]",
		},
		"imports of TypeScript": {
			[]repo.File{ts("a.ts", "import {\n"+sixLines+"} from './x'\n"), ts("b.ts", "import {\n"+sixLines+"} from './x'\n")}, "[]",
		},
		"after a one-line import": {
			[]repo.File{ts("a.ts", "import { x } from './x'\n"+sixLines), ts("b.ts", "import { x } from './x'\n"+sixLines)},
			"[b.ts:2: copy of a.ts, 6 lines]",
		},
		"seven equal lines": {[]repo.File{ts("a.ts", strings.Repeat("same()\n", 7))}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(repeats(c.files)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnchanged(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 10)})
	c.mustTighten()
	if out, err := c.run(false, ""); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWorse(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 10)})
	c.mustTighten()
	before := c.stored()
	c.write("b.go", "package a\n\n"+goFunction("G", 50))
	out, err := c.run(false, "")
	if err == nil {
		t.Fatal("a longer function passes")
	}
	for _, want := range []string{
		"code.longestFunctionLines got worse: 50, was 10", "  b.go:3: G, 50 lines\n", "code.longFunctions got worse: 1, was 0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "a.go") {
		t.Errorf("the output names the wrong place:\n%s", out)
	}
	if out, err := c.run(true, ""); err == nil || c.stored() != before {
		t.Errorf("make ratchets loosens: %v\n%s", err, out)
	}
}

// TestBlame checks that for a sum, only files whose contribution increased are named.
func TestBlame(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 60)})
	c.mustTighten()
	c.write("b.go", "package a\n\n"+goFunction("G", 50))
	out, err := c.run(false, "")
	if err == nil || !strings.Contains(out, "code.longFunctions got worse: 2, was 1\n  b.go:3: G, 50 lines\n") || strings.Contains(out, "a.go") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestBetter(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 10)})
	c.mustTighten()
	c.write("a.go", "package a\n"+goFunction("F", 9))
	out, err := c.run(false, "")
	if err != nil || !strings.Contains(out, "code.longestFunctionLines improved: 9, was 10. Update tools/ratchets.json: run make ratchets") {
		t.Errorf("%v\n%s", err, out)
	}
	c.mustTighten()
	if out, err := c.run(false, ""); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestLoosen(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 10)})
	c.mustTighten()
	before := c.stored()
	c.write("a.go", "package a\n"+goFunction("F", 10)+"\n")
	for _, loosen := range []string{"code.longestFileLines=", "code.longestFileLines", "code.longFunctions=because", "=because"} {
		if out, err := c.run(true, loosen); err == nil || c.stored() != before {
			t.Errorf("%q loosens: %v\n%s", loosen, err, out)
		}
	}
	if out, err := c.run(true, "code.longestFileLines=a blank line"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(c.stored(), `"reason": "a blank line"`) {
		t.Errorf("missing reason in\n%s", c.stored())
	}
	if out, err := c.run(false, ""); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	c.write("a.go", "package a\n"+goFunction("F", 10))
	c.mustTighten()
	if c.stored() != before {
		t.Errorf("the reason outlives its number:\n%s", c.stored())
	}
}

func TestLoosenOneOfTwo(t *testing.T) {
	c := newCheckout(t, map[string]string{"a.go": "package a\n" + goFunction("F", 10)})
	c.mustTighten()
	c.write("a.go", "package a\n\n"+goFunction("F", 11))
	out, err := c.run(true, "code.longestFileLines=a blank line")
	if err == nil || !strings.Contains(out, "code.longestFunctionLines got worse: 11, was 10") || strings.Contains(out, "longestFile") {
		t.Errorf("%v\n%s", err, out)
	}
}
