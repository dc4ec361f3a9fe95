package explore_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	found   = flag.String("found", "", "directory to write a transcript per violation to")
	rewrite = flag.Bool("rewrite", false, "rewrite testdata/ends")
	hurry   = flag.Bool("hurry", false, "stop at the first scenario that fails, for mutation tests")
)

// total sums up the exploration of all scenarios.
var total struct {
	sync.Mutex
	scenarios, states, edges, ends int
	rows                           []bool
}

// anyFailed reports whether any scenario has failed.
var anyFailed atomic.Bool

func (x *search) count() {
	total.Lock()
	defer total.Unlock()
	total.scenarios++
	total.states += len(x.nodes)
	total.edges += len(x.edges)
	total.ends += x.ends
	if total.rows == nil {
		total.rows = make([]bool, len(x.rows))
	}
	for i, reached := range x.rows {
		total.rows[i] = total.rows[i] || reached
	}
}

func TestMain(m *testing.M) {
	began := time.Now()
	code := m.Run()
	if total.scenarios > 0 {
		fmt.Printf("explore: %d scenarios, %d states, %d transitions, %d ends, %d of %d rows, %v\n",
			total.scenarios, total.states, total.edges, total.ends, reached(), len(total.rows), time.Since(began).Round(time.Millisecond))
	}
	os.Exit(code)
}

func reached() (n int) {
	for _, r := range total.rows {
		if r {
			n++
		}
	}
	return n
}

// TestExplore follows every path of every scenario, checks the invariants, and compares the outcomes with
// testdata/ends.
func TestExplore(t *testing.T) {
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				if *hurry && anyFailed.Load() {
					t.Skip("another scenario has failed")
				}
				x := explore(s)
				x.count()
				t.Logf("%d states, %d transitions, %d ends; %v", len(x.nodes), len(x.edges), x.ends, s.alphabet)
				x.report(t)
				if t.Failed() {
					anyFailed.Store(true)
				}
			})
		}
	})
	for i, name := range machine.rows() {
		if *hurry && anyFailed.Load() {
			break
		}
		if !total.rows[i] {
			t.Errorf("no scenario reaches the row %s", name)
		}
	}
}

func (x *search) report(t *testing.T) {
	if unused := x.scenario.unused(); len(unused) > 0 {
		t.Errorf("unused choices: %q", unused)
	}
	for _, f := range x.findings {
		t.Errorf("%s\n%s", f.what, f.transcript)
		if *found != "" {
			write(t, *found, x.scenario.name+"-"+f.what, f.transcript)
		}
	}
	if x.scenario.slow {
		return // a slow host has the same ends, or more
	}
	var ends []string
	for outcome := range x.outcomes {
		ends = append(ends, outcome)
	}
	slices.Sort(ends)
	text := strings.Join(ends, "\n") + "\n"
	if *rewrite {
		write(t, "testdata/ends", x.scenario.name, text)
		return
	}
	want, err := os.ReadFile(filepath.Join("testdata/ends", fileName(x.scenario.name)))
	if err != nil || string(want) != text {
		t.Errorf("the ends differ from testdata/ends (%v); run `go test ./core/explore -rewrite` and review the diff:\n%s", err, changes(string(want), text))
	}
}

func changes(old, now string) (text string) {
	were, are := strings.Split(old, "\n"), strings.Split(now, "\n")
	for _, line := range were {
		if !slices.Contains(are, line) {
			text += "- " + line + "\n"
		}
	}
	for _, line := range are {
		if !slices.Contains(were, line) {
			text += "+ " + line + "\n"
		}
	}
	return text
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, fileName(name)), []byte(text), 0o644); err != nil {
		t.Error(err)
	}
}

// fileName converts a text to a file name.
func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
	return name[:min(len(name), 120)] + ".txt"
}
