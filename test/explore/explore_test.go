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
	rows                           []phasesSeen // by row
}

var anyFailed atomic.Bool

func (x *search) count() {
	total.Lock()
	defer total.Unlock()
	total.scenarios++
	total.states += len(x.nodes)
	total.edges += len(x.edges)
	total.ends += x.ends
	if total.rows == nil {
		total.rows = make([]phasesSeen, len(x.rows))
	}
	for i, seen := range x.rows {
		total.rows[i].add(seen)
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
		if r != nil {
			n++
		}
	}
	return n
}

// TestExplore follows every path of every scenario. It checks the invariants and compares the outcomes with
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
	if *rewrite {
		writeEnds(t)
	}
	if *hurry && anyFailed.Load() || len(total.rows) == 0 {
		return
	}
	next := machine.next()
	for i, name := range machine.rows() {
		if total.rows[i] == nil {
			t.Errorf("no scenario reaches the row %s", name)
		}
		for _, phase := range next[i] {
			if !total.rows[i][phase] && !sharesWith(next, i, phase) && elsewhere[name+" > "+phase] == "" && elsewhere[name] == "" {
				t.Errorf("no scenario goes from the row %s to %s, which its set next names", name, phase)
			}
		}
	}
}

// phasesSeen are the phases to which a row has led the exchange. nil means that the row was not reached.
type phasesSeen map[string]bool

func (p *phasesSeen) add(more phasesSeen) {
	for phase := range more {
		if *p == nil {
			*p = phasesSeen{}
		}
		(*p)[phase] = true
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
		return // on a slow host, there are the same ends and perhaps more
	}
	x.compareEnds(t)
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

func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
	return name[:min(len(name), 120)] + ".txt"
}

// sharesWith reports whether another row covers the arrow from a row to a phase. Three conditions must hold: both
// rows lead to the same set of phases through one function, the row has reached the set, and the other row has
// reached the phase.
func sharesWith(next [][]string, row int, phase string) bool {
	for _, shared := range machine.shared() {
		set := shared.Phases
		if !slices.Contains(set, phase) || !includes(next[row], set) || !reaches(row, set) {
			continue
		}
		for other := range next {
			if total.rows[other][phase] && includes(next[other], set) {
				return true
			}
		}
	}
	return false
}

// reaches reports whether a row has reached the set. It ignores the phase "done", because a row may be done for
// another reason.
func reaches(row int, set []string) bool {
	return slices.ContainsFunc(set, func(phase string) bool { return phase != "done" && total.rows[row][phase] })
}

func includes(all, set []string) bool {
	return !slices.ContainsFunc(set, func(phase string) bool { return !slices.Contains(all, phase) })
}

// elsewhere lists arrows that no scenario covers, with the reason. A row stands for all its arrows.
var elsewhere = map[string]string{
	"follow/tick > done":   "a leader that is stuck: core/exchange/testdata/flight-stuck.txt",
	"follow/buffer":        "the bytes are checked before they are kept, so that following them cannot fail; the handler is that of follow/flight",
	"stream/end > keep":    "as stream/chunk > keep, without an end mark",
	"stream/buffer > keep": "as stream/chunk > keep, if the end of a stream larger than a cache entry is withheld",
}
