package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// shell runs a script as a tool that counts its lines "test" as tests and "failed NAME" as failures.
var shell = tool{
	start: func(args []string, _ string) []string { return append([]string{"sh", "-c"}, args...) },
	read:  func(p *part, _ string) reader { return &shellReader{part: p} },
}

type shellReader struct {
	part *part
	got  outcome
}

func (r *shellReader) line(text string) string {
	if text == "test" {
		r.got.tests++
	}
	if name, ok := strings.CutPrefix(text, "failed "); ok {
		r.got.failed = append(r.got.failed, r.part.inShell("only", name))
	}
	return text + "\n"
}

func (r *shellReader) end() outcome { return r.got }

// runParts runs parts on two cores and returns the output, with T instead of times.
func runParts(t *testing.T, parts ...*part) (text string, err error) {
	t.Helper()
	var out bytes.Buffer
	r := &runner{root: t.TempDir(), out: &out, cores: 2}
	err = r.run(t.Context(), parts)
	return regexp.MustCompile(` +[\d.]+ s`).ReplaceAllString(out.String(), " T"), err
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

func TestPassingParts(t *testing.T) {
	text, err := runParts(t,
		&part{name: "one", tool: shell, args: []string{"echo noise; echo test; echo test"}, cores: 1},
		&part{name: "built", tool: build, args: []string{"true"}, cores: 1})
	if err != nil {
		t.Error(err)
	}
	want(t, text, "ok   one ", "ok   built ", "ok   total: 2 of 2 parts passed, 2 tests ran")
	if strings.Contains(text, "noise") {
		t.Errorf("the log of a part that passed is printed:\n%s", text)
	}
}

// TestFailures checks that a part that fails in any way does not count as passed.
func TestFailures(t *testing.T) {
	for name, row := range map[string]struct {
		part part
		want []string
	}{
		"exit status":      {part{tool: shell, args: []string{"echo noise; echo test; exit 3"}}, []string{"---- x", "noise", "FAIL x ", "exit status 3", "run it alone: sh -c"}},
		"failed test":      {part{tool: shell, dir: ".", env: []string{"A=b"}, args: []string{"echo test; echo failed it; exit 1"}}, []string{"FAIL x ", "run it alone: (cd . && A=b only it)"}},
		"status 0 anyway":  {part{tool: shell, args: []string{"echo test; echo failed it"}}, []string{"FAIL x ", "tests failed", "run it alone: only it"}},
		"killed":           {part{tool: shell, args: []string{"echo test; kill -9 $$"}}, []string{"FAIL x ", "signal: killed"}},
		"prints nothing":   {part{tool: shell, args: []string{"true"}}, []string{"FAIL x ", "no test ran"}},
		"does not start":   {part{tool: build, args: []string{"/does/not/exist"}}, []string{"FAIL x ", "no such file"}},
		"a build":          {part{tool: build, args: []string{"false"}}, []string{"FAIL x ", "exit status 1", "run it alone: false"}},
		"a missing folder": {part{tool: build, dir: "missing", args: []string{"true"}}, []string{"FAIL x ", "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			row.part.name = "x"
			text, err := runParts(t, &row.part, &part{name: "other", tool: shell, args: []string{"echo test"}})
			if err == nil {
				t.Error("no error")
			}
			want(t, text, append(row.want, "ok   other ", "FAIL total: 1 of 2 parts passed")...)
			summary := text[strings.LastIndex(text, "\n\n"):]
			if lines := strings.Split(strings.TrimSpace(summary), "\n"); !strings.HasPrefix(lines[0], "FAIL x") || !strings.HasPrefix(lines[len(lines)-1], "FAIL total") {
				t.Errorf("the last lines are not the summary:\n%s", summary)
			}
		})
	}
}

// TestNeeds checks that a part starts after the parts that it needs, and fails if one of them failed.
func TestNeeds(t *testing.T) {
	folder := t.TempDir()
	parts := []*part{
		{name: "user", tool: shell, needs: []string{"maker"}, args: []string{"test -e " + folder + "/made && echo test"}},
		{name: "maker", tool: build, args: []string{"sh", "-c", "touch " + folder + "/made"}},
		{name: "victim", tool: shell, needs: []string{"user", "breaker"}, args: []string{"echo test"}},
		{name: "breaker", tool: build, args: []string{"false"}},
		{name: "its user", tool: shell, needs: []string{"victim"}, args: []string{"echo test"}},
	}
	text, err := runParts(t, parts...)
	if err == nil {
		t.Error("no error")
	}
	want(t, text, "ok   user ", "did not run: it needs breaker", "did not run: it needs victim", "FAIL total: 2 of 5 parts passed")
}

// TestCores checks that as many parts run in parallel as there are cores for them, and no more.
func TestCores(t *testing.T) {
	// Each part runs until a second one is running or one has finished. It fails if three are running.
	const script = `touch r.$$
while [ $(ls r.* | wc -l) -lt 2 ] && ! [ -e done ]; do sleep 0.01; done
[ $(ls r.* | wc -l) -le 2 ] && touch done && echo test
rm r.$$`
	var parts []*part
	for _, name := range []string{"a", "b", "c", "d"} {
		parts = append(parts, &part{name: name, tool: shell, args: []string{script}, cores: 1})
	}
	alone := &part{name: "large", tool: shell, args: []string{"! ls r.* && echo test"}, cores: 3}
	if text, err := runParts(t, append(parts, alone)...); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestInterrupt checks that an interrupt kills the running parts and the processes that they started. An interrupted
// run does not count as success.
func TestInterrupt(t *testing.T) {
	var out bytes.Buffer
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	r := &runner{root: folder, out: &out, cores: 1}
	go func() {
		for {
			if _, err := os.Stat(folder + "/started"); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	err := r.run(ctx, []*part{
		{name: "running", tool: shell, args: []string{"sleep 1000 & echo test; touch started; wait"}, cores: 1},
		{name: "next", tool: shell, args: []string{"echo test"}, cores: 1},
	})
	if err == nil {
		t.Error("no error")
	}
	want(t, out.String(), "FAIL running ", "context canceled", "FAIL next ", "did not run: interrupted", "FAIL total: 0 of 2 parts passed")
}

// TestOrphans checks that a part ends even if a process that it left behind keeps its output open.
func TestOrphans(t *testing.T) {
	begun := time.Now()
	text, err := runParts(t, &part{name: "x", tool: shell, args: []string{"sleep 1000 & echo test"}})
	if err != nil || time.Since(begun) > 30*time.Second {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestSelected(t *testing.T) {
	all := []*part{{name: "a"}, {name: "b", needs: []string{"a"}}, {name: "c", needs: []string{"b"}}, {name: "d"}}
	got, err := selected(slices.Clone(all), []string{"c"})
	if err != nil || !slices.Equal(got, all[:3]) {
		t.Error(got, err)
	}
	if _, err := selected(all, []string{"e"}); err == nil {
		t.Error("no error for an unknown part")
	}
}

func TestQuoted(t *testing.T) {
	got := strings.Join(quoted([]string{"a/b.go", "it's", "", "^x$", "A=1"}), " ")
	if want := `a/b.go 'it'\''s' '' '^x$' A=1`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
