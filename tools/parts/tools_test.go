package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes files and returns their folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// runTool runs a part in a folder with the given files. It returns the log and the result.
func runTool(t *testing.T, p *part, files map[string]string) (log string, got *result) {
	t.Helper()
	r := &runner{root: write(t, files)}
	if err := os.MkdirAll(r.logs(), 0o755); err != nil {
		t.Fatal(err)
	}
	got = r.do(t.Context(), p)
	text, err := os.ReadFile(got.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), got
}

func wantOutcome(t *testing.T, got *result, problem, summary string, failed ...string) {
	t.Helper()
	if got.problem != problem || got.summary != summary || strings.Join(got.failed, "\n") != strings.Join(failed, "\n") {
		t.Errorf("problem %q, summary %q, failed:\n%s", got.problem, got.summary, strings.Join(got.failed, "\n"))
	}
}

const goModule = "module github.com/postern-ai/postern\n\ngo 1.26\n"

func TestGoTest(t *testing.T) {
	log, got := runTool(t, &part{name: "x", tool: goTest, args: []string{"./..."}}, map[string]string{
		"go.mod": goModule,
		"a/a_test.go": `package a
import ("fmt"; "testing")
func TestGood(t *testing.T) { t.Log("unseen"); fmt.Println("governor: precision 1") }
func TestBad(t *testing.T) { t.Run("a b (c)", func(t *testing.T) { t.Error("seen") }); t.Run("d", func(*testing.T) {}) }
func TestSkipped(t *testing.T) { t.Skip() }`,
		"b/b_test.go": "package b\nimport \"testing\"\nfunc TestCrash(t *testing.T) { panic(\"the cause\") }",
		"c/c_test.go": "package c\nthis is not Go",
		"d/d.go":      "package d",
		"e/e_test.go": "package e\nimport \"testing\"\nfunc TestGood(t *testing.T) {}",
	})
	wantOutcome(t, got, "exit status 1", "packages 5, cached 0, tests 7, pass 3, fail 3, skip 1; governor: precision 1",
		`go test ./a -run '^TestBad$/^a_b_\(c\)$'`, "go test ./b -run '^TestCrash$'", "go test ./c")
	want(t, log, "seen", "the cause", "c_test.go:2:1: ", "ok  \tgithub.com/postern-ai/postern/e", "no test files")
	if strings.Contains(log, "unseen") {
		t.Errorf("the log has the output of a test that passed:\n%s", log)
	}
}

func TestGoTestWithoutTests(t *testing.T) {
	_, got := runTool(t, &part{name: "x", tool: goTest, args: []string{"./..."}}, map[string]string{"go.mod": goModule, "a.go": "package a"})
	wantOutcome(t, got, "no test ran", "packages 1, cached 0, tests 0, pass 0, fail 0, skip 0")
}

// TestGoTestTimeout checks that the test that was running is named.
func TestGoTestTimeout(t *testing.T) {
	log, got := runTool(t, &part{name: "x", tool: goTest, dir: "clients/go", args: []string{"-timeout", "50ms", "./..."}}, map[string]string{
		"clients/go/go.mod":    "module github.com/postern-ai/postern/clients/go\n\ngo 1.26\n",
		"clients/go/a_test.go": "package a\nimport \"testing\"\nfunc TestHangs(t *testing.T) { t.Log(\"seen\"); select {} }",
	})
	if got.problem != "exit status 1" || len(got.failed) != 1 || !strings.HasPrefix(got.failed[0], "(cd clients/go && go test .") {
		t.Errorf("%+v", got)
	}
	want(t, log, "seen", "panic: test timed out")
}

// useNode puts the checkout's Node first in PATH, as make does, and returns the path of the reporter.
func useNode(t *testing.T) (reporter string) {
	t.Helper()
	tools, err := filepath.Abs("../../.tools/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	text, err := os.ReadFile("reporter.mjs")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNodeTest(t *testing.T) {
	reporter := useNode(t)
	log, got := runTool(t, &part{name: "x", tool: nodeTest, env: []string{"A=b"}, args: []string{"*.test.mjs"}}, map[string]string{
		"tools/parts/reporter.mjs": reporter,
		"a.test.mjs": `import { describe, test } from 'node:test'
test('good (x)', () => {})
test('outer [1]', async (t) => { await t.test('inner', () => { throw new Error('seen') }) })
describe('suite', () => { test('two', () => { throw new Error('seen too') }) })
test('skipped', { skip: true }, () => {})`,
		"b.test.mjs": "throw new Error('the whole file')",
	})
	wantOutcome(t, got, "exit status 1", "tests 6, pass 1, fail 4, cancelled 0, skip 1",
		`A=b node --test '--test-name-pattern=^outer \[1\]( |$)' a.test.mjs`, `A=b node --test '--test-name-pattern=^suite( |$)' a.test.mjs`, "A=b node --test b.test.mjs")
	want(t, log, "seen", "seen too", "the whole file")
}

// TestNodeTestWithoutFiles checks that a pattern that matches no file is a failure. Node considers it a success.
func TestNodeTestWithoutFiles(t *testing.T) {
	reporter := useNode(t)
	_, got := runTool(t, &part{name: "x", tool: nodeTest, args: []string{"*.test.mjs"}}, map[string]string{"tools/parts/reporter.mjs": reporter})
	if got.problem == "" {
		t.Errorf("%+v", got)
	}
}

func TestPytest(t *testing.T) {
	for text, want := range map[string]struct {
		summary string
		tests   int
		failed  string
	}{
		"============================== 98 passed in 14.20s ==============================": {"98 passed", 98, ""},
		"FAILED tests/test_a.py::test_b[c d] - AssertionError: x\nERROR tests/test_c.py - ImportError\n=== 1 failed, 97 passed, 2 skipped, 1 error in 65.20s (0:01:05) ===": {
			"1 failed, 97 passed, 2 skipped, 1 error", 98,
			"(cd clients/python && python3 -m pytest 'tests/test_a.py::test_b[c d]')\n(cd clients/python && python3 -m pytest tests/test_c.py)"},
		"============ no tests ran in 0.01s ============": {"no tests ran", 0, ""},
		"": {"", 0, ""},
	} {
		r := pyTest.read(&part{dir: "clients/python"}, "")
		for line := range strings.Lines(text) {
			r.line(strings.TrimSuffix(line, "\n"))
		}
		if got := r.end(); got.summary != want.summary || got.tests != want.tests || strings.Join(got.failed, "\n") != want.failed {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
