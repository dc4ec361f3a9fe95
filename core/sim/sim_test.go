package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds    = flag.Uint64("seeds", 10_000, "worlds that TestWorld runs")
	first    = flag.Uint64("first", 1, "the first of their seeds")
	survey   = flag.Int("survey", 0, "go on after failures, and shrink so many of each rule")
	traceOf  = flag.Uint64("trace", 0, "print the trace of this seed")
	traceRaw = flag.Bool("raw", false, "with -trace: do not shrink")
)

// known are rules whose breach does not end a run: to look for others behind it.
var known []string

func init() {
	flag.Func("known", "rules that may be broken, with commas between", func(text string) error {
		known = strings.Split(text, ",")
		return nil
	})
}

// TestWorld runs a world for each of many seeds.
func TestWorld(t *testing.T) {
	if *traceOf > 0 {
		p := generate(*traceOf)
		f := run(p, sound(), &stats{}, nil)
		if f != nil && !*traceRaw {
			p = shrink(p, f.rule, sound)
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
			own := &stats{}
			for failed.Load() == 0 || *survey > 0 {
				seed := next.Add(1)
				if seed >= *first+*seeds {
					break
				}
				if f := run(generate(seed), sound(), own, nil); f != nil {
					failed.Add(1)
					mu.Lock()
					found[f.rule] = append(found[f.rule], seed)
					mu.Unlock()
				}
			}
			mu.Lock()
			all.plus(own)
			mu.Unlock()
		})
	}
	workers.Wait()
	fmt.Printf("%s\n%.1f ms a world and processor\n", all, float64(time.Since(start).Milliseconds())*float64(runtime.GOMAXPROCS(0))/float64(max(1, all.Worlds)))
	for rule, seeds := range found {
		t.Errorf("%s is broken by %d seeds", rule, len(seeds))
		for _, seed := range seeds[:min(len(seeds), max(1, *survey))] {
			p := shrink(generate(seed), rule, sound)
			t.Errorf("seed %d:\n%s", seed, transcript(p))
		}
	}
}

// transcript is a plan, the rule that it breaks, and what happens in it.
func transcript(p *plan) string {
	var trace strings.Builder
	f := run(p, sound(), &stats{}, &trace)
	broken := "# nothing is broken\n"
	if f != nil {
		broken = fmt.Sprintf("# broken: %s: %s\n", f.rule, f.text)
	}
	return broken + p.text() + trace.String()
}

// TestTranscripts replays the worlds in which something was once broken.
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
		if f := run(p, sound(), &stats{}, nil); f != nil {
			t.Errorf("%s: %s: %s\n%s", file, f.rule, f.text, transcript(p))
		}
	}
}
