package explore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFound replays violations that were found earlier. It takes the choices in testdata/found/*.txt in order, while
// the exchange still offers them. Then it takes the first option each time, until the exchange ends.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			replayFile(t, strings.Split(string(data), "\n"))
		})
	}
}

func replayFile(t *testing.T, lines []string) {
	t.Helper()
	name := strings.TrimPrefix(lines[0], "scenario ")
	all := scenarios()
	at := slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })
	if at < 0 {
		t.Fatalf("unknown scenario %q", name)
	}
	w := newWorld(all[at], all[at].deploy.parse())
	w.trace = &transcript{}
	r := replay{lines: choicesIn(lines)}
	if len(r.lines) == 0 {
		t.Fatal("no line begins with \">\"")
	}
	for steps := 0; len(w.broken) == 0; steps++ {
		r.first = true
		if _, more := w.advance(r.choose); !more {
			break
		}
		if steps > 10_000 {
			t.Fatal("the exchange does not end")
		}
	}
	for _, what := range w.broken {
		t.Errorf("%s\n%s", what, w.trace)
	}
	if r.taken == 0 {
		t.Error("the exchange offers none of its choices")
	}
}

// replay is an oracle that follows a transcript.
type replay struct {
	lines []string
	first bool // the next choice is the first of an advance, so it selects the event
	taken int
}

// number matches an action's ID, because IDs may change between versions.
var number = regexp.MustCompile(` #\d+`)

func choicesIn(lines []string) (choices []string) {
	for _, line := range lines {
		if choice, ok := strings.CutPrefix(line, "> "); ok {
			choices = append(choices, number.ReplaceAllString(choice, ""))
		}
	}
	return choices
}

func (r *replay) choose(options []string) int {
	what := r.first
	r.first = false
	for len(r.lines) > 0 {
		at := slices.IndexFunc(options, func(o string) bool { return number.ReplaceAllString(o, "") == r.lines[0] })
		if at >= 0 {
			r.lines = r.lines[1:]
			r.taken++
			return at
		}
		if !what {
			return 0
		}
		r.lines = r.lines[1:]
	}
	return 0
}
