package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds    = flag.Uint64("seeds", 10_000, "number of worlds that TestWorld runs")
	first    = flag.Uint64("first", 1, "first seed of TestWorld")
	perRule  = flag.Int("per-rule", 0, "continue after failures, and shrink up to this many failing seeds per rule")
	traceOf  = flag.Uint64("trace", 0, "print the trace of this seed")
	traceRaw = flag.Bool("raw", false, "with -trace: do not shrink a failing plan")
)

// ignored lists rules. If one of them is violated, the run does not end, so that later violations can be seen.
var ignored []string

func init() {
	flag.Func("ignore", "comma-separated rules to ignore", func(text string) error {
		ignored = strings.Split(text, ",")
		return nil
	})
}

// TestWorld runs one world per seed.
func TestWorld(t *testing.T) { runWorlds(t, *seeds, generate) }

// TestTrees runs worlds with a tree of budgets, half as many.
func TestTrees(t *testing.T) { runWorlds(t, *seeds/2, generateTree) }

// runWorlds runs the worlds of n seeds.
func runWorlds(t *testing.T, n uint64, generate func(seed uint64) *plan) {
	if *traceOf > 0 {
		p := generate(*traceOf)
		f := run(p, noDefect(), &stats{}, nil)
		if f != nil && !*traceRaw {
			p = shrink(p, f.rule, noDefect)
		}
		t.Log(transcript(p))
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(600))
	var next, failed atomic.Uint64
	next.Store(*first - 1)
	var mu sync.Mutex
	all := &stats{}
	found := map[string][]uint64{}
	start := time.Now()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			counts := &stats{}
			for failed.Load() == 0 || *perRule > 0 {
				seed := next.Add(1)
				if seed >= *first+n {
					break
				}
				if f := run(generate(seed), noDefect(), counts, nil); f != nil {
					failed.Add(1)
					mu.Lock()
					found[f.rule] = append(found[f.rule], seed)
					mu.Unlock()
				}
			}
			mu.Lock()
			all.plus(counts)
			mu.Unlock()
		})
	}
	workers.Wait()
	fmt.Printf("%s\n%.1f ms per world and processor\n", all, float64(time.Since(start).Milliseconds())*float64(runtime.GOMAXPROCS(0))/float64(max(1, all.Worlds)))
	if all.Leased > 10_000 && all.Woken == 0 {
		t.Errorf("of %d waits for a lease, no step has ended any", all.Queued)
	}
	for rule, seeds := range found {
		slices.Sort(seeds)
		t.Errorf("%s is violated by %d seeds: %d", rule, len(seeds), seeds[:min(len(seeds), 20)])
		for _, seed := range seeds[:min(len(seeds), max(1, *perRule))] {
			p := shrink(generate(seed), rule, noDefect)
			t.Errorf("seed %d:\n%s", seed, transcript(p))
		}
	}
}

// transcript returns a plan, the rule that it violates and the trace of its run.
func transcript(p *plan) string {
	var trace strings.Builder
	f := run(p, noDefect(), &stats{}, &trace)
	verdict := "# no rule is violated\n"
	if f != nil {
		verdict = fmt.Sprintf("# violated: %s: %s\n", f.rule, f.text)
	}
	return verdict + p.text() + trace.String()
}

// TestTranscripts replays the committed plans. Each of them once violated a rule.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parsePlan(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if f := run(p, noDefect(), &stats{}, nil); f != nil {
			t.Errorf("%s: %s: %s\n%s", file, f.rule, f.text, transcript(p))
		}
	}
}
