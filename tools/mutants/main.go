// Command mutants changes the sources of the exchange and its objects in one place at a time and counts the changes
// that the tests detect. The mutants delete a row of the exchange's tables, skip a cancel, negate a comparison, or
// move the boundary of an order comparison (< instead of <=). Some mutants have a name, see changes.
//
//	mutants [-only PREFIXES] [-kind KIND] [-sample N] [-resume] [-workers N] [-also FOLDERS] [-by FOLDERS] [-list]
//
// All mutants are compiled at once. The sources are replaced (go test -overlay) with sources that have a switch at
// each place, and an environment variable selects the active mutant. A mutant is killed if a suite fails, or runs
// four times as long as without a mutant. Survivors are printed and written to build/mutants/survivors.txt. The exit
// status is 1 if fewer than 95% are killed. Moved boundaries do not count toward this. With -by, only the tests of some
// folders run. This takes less time, and what they kill, all tests kill.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// mutated are the packages to mutate.
var mutated = []string{
	"core/budget", "core/exchange", "core/exchange/bill", "core/exchange/cached", "core/exchange/reply", "core/fault", "core/keymeter", "core/lease", "core/ledger",
}

// judges are the packages whose tests must detect mutants. Packages without tests are skipped.
var judges = []suite{
	{folder: "core/budget"},
	{folder: "core/keymeter"},
	{folder: "core/lease"},
	{folder: "core/ledger"},
	{folder: "core/exchange"},
	{folder: "core/exchange/bill"},
	{folder: "core/exchange/cached"},
	{folder: "core/exchange/reply"},
	{folder: "core/fault"},
	{folder: "test/budgets"},
	{folder: "test/explore"},
	{folder: "test/sim", flags: []string{"-seeds=500"}},
	{folder: "core", flags: []string{"-test.skip=^(TestCoreImports|TestWasmMainIsThin|TestPlanesDoNotMix)$", "-rapid.checks=300", "-rapid.shrinktime=1ms"}},
}

// judges returns the default judges, or those of -by, and the folders of -also.
func (o options) judges() []suite {
	all := slices.Clone(judges)
	if by := strings.Split(o.by, ","); o.by != "" {
		all = slices.DeleteFunc(all, func(s suite) bool { return !slices.Contains(by, s.folder) })
	}
	for folder := range strings.SplitSeq(o.also, ",") {
		if folder != "" {
			all = append(all, suite{folder: folder})
		}
	}
	return all
}

// options are the command-line options.
type options struct {
	only    string
	kind    string
	sample  int
	resume  bool
	workers int
	list    bool
	also    string
	by      string
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "mutate only files whose path begins with one of these comma-separated `prefixes`")
	flag.StringVar(&o.kind, "kind", "", "test only mutants of this kind: row, cancel, comparison, boundary or named")
	flag.IntVar(&o.sample, "sample", 0, "test only this many mutants, the same in every run")
	flag.BoolVar(&o.resume, "resume", false, "keep the verdicts of an interrupted run on the same code")
	flag.IntVar(&o.workers, "workers", 2, "number of suites to run in parallel")
	flag.BoolVar(&o.list, "list", false, "print the mutants without testing them")
	flag.StringVar(&o.also, "also", "", "comma-separated `folders` whose tests must also run: host,control")
	flag.StringVar(&o.by, "by", "", "run only the tests of these comma-separated `folders`: core/budget,core/keymeter")
	flag.Parse()
	root, err := repo.Root()
	if err == nil {
		err = run(root, mutated, o.judges(), o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var errSurvivors = errors.New("too many mutants survived")

func run(root string, folders []string, judges []suite, o options, out io.Writer) error {
	all, err := instrumentAll(root, folders)
	if err != nil {
		return err
	}
	list, err := readEquivalent(filepath.Join(root, equivalentFile))
	if err != nil {
		return err
	}
	mutants, err := without(all.mutants, list)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants; %d more behave like the source\n", len(mutants), len(all.mutants)-len(mutants))
	mutants = o.choose(mutants)
	if o.list {
		for _, m := range mutants {
			fmt.Fprintln(out, m)
		}
		return nil
	}
	return hunt(builder{root, filepath.Join(root, "build", "mutants")}, all, mutants, judges, o, out)
}

func hunt(b builder, all instrumented, mutants []mutant, judges []suite, o options, out io.Writer) error {
	suites, err := prepare(b, all, judges, out)
	if err != nil {
		return err
	}
	verdicts, err := judgeChosen(b, suites, mutants, o, out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	enough := report(mutants, verdicts, &text)
	out.Write(text.Bytes())
	err = os.WriteFile(filepath.Join(b.work, "survivors.txt"), text.Bytes(), 0o644)
	if !enough {
		err = errors.Join(err, errSurvivors)
	}
	return err
}

// choose returns the mutants that the options select, in order of ID.
func (o options) choose(mutants []mutant) []mutant {
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !o.covers(m.File) || o.kind != "" && m.Kind != kind(o.kind)
	})
	if o.sample > 0 && o.sample < len(chosen) {
		slices.SortFunc(chosen, func(a, b mutant) int { return cmp.Compare(spread(a), spread(b)) })
		chosen = chosen[:o.sample]
		slices.SortFunc(chosen, func(a, b mutant) int { return a.ID - b.ID })
	}
	return chosen
}

// covers reports whether a path begins with one of the prefixes of -only.
func (o options) covers(path string) bool {
	for prefix := range strings.SplitSeq(o.only, ",") {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// spread returns a hash that orders mutants independently of their place.
func spread(m mutant) uint64 {
	h := fnv.New64a()
	io.WriteString(h, m.key())
	return h.Sum64()
}

// prepare compiles the suites and runs each of them without a mutant.
func prepare(b builder, all instrumented, judges []suite, out io.Writer) ([]suite, error) {
	if err := os.RemoveAll(filepath.Join(b.work, "src")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(b.work, "bin"), 0o755); err != nil {
		return nil, err
	}
	if err := b.overlay(all); err != nil {
		return nil, err
	}
	var suites []suite
	for _, s := range judges {
		var err error
		if s.binary, err = b.compile(s.folder); err != nil {
			return nil, err
		}
		if s.binary == "" {
			fmt.Fprintf(out, "%s has no tests\n", s.folder)
			continue
		}
		if err := s.measure(b.root, filepath.Join(b.work, "trace")); err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%s passes in %s and reaches %d mutants\n", s.folder, s.took.Round(10*time.Millisecond), len(s.reaches))
		suites = append(suites, s)
	}
	return suites, nil
}

// progressEvery is the number of verdicts between two progress lines.
const progressEvery = 50

// judgeChosen judges the mutants without a verdict and returns all verdicts.
func judgeChosen(b builder, suites []suite, mutants []mutant, o options, out io.Writer) (map[string]verdict, error) {
	sum, err := digest(suites)
	if err != nil {
		return nil, err
	}
	kept, verdicts, err := openResults(filepath.Join(b.work, "results.jsonl"), sum, o.resume)
	if err != nil {
		return nil, err
	}
	defer kept.file.Close()
	open := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { _, known := verdicts[m.key()]; return known })
	began, done := time.Now(), 0
	err = judgeAll(b.root, suites, open, o.workers, func(v verdict) error {
		verdicts[v.Key] = v
		if done++; done%progressEvery == 0 || done == len(open) {
			fmt.Fprintf(out, "%d of %d in %s\n", done, len(open), time.Since(began).Round(time.Second))
		}
		return kept.line(v)
	})
	return verdicts, err
}
