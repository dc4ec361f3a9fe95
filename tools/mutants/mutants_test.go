package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/tools/internal/repo"
	"github.com/postern-ai/postern/tools/internal/repotest"
)

const machine = `package exchange

type row struct{ phase, event int; handler func(*exchange) }

// Comparisons in constants and lengths do not happen at run time.
const small = 1 < 2

var table = [...]row{
	{1, 1, (*exchange).first},
	{1, 2, (*exchange).second},
}

func (x *exchange) first() {
	if x.n < limit && x.name != "" {
		x.cancel(idFetch)
	}
	switch {
	case x.n == 0:
		x.dropTimer()
	}
	x.do(abi.Action{Kind: abi.ActionCancel, ID: idTick})
	x.do(abi.Action{Kind: abi.ActionFetch})
	ok := (x.n >= 1) == (x.n > 2)
	_ = ok
}
`

func instrumentOne(t *testing.T, path, text string) ([]mutant, string) {
	t.Helper()
	var m mutator
	out, err := m.instrument(repo.File{Path: path, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return m.mutants, string(out)
}

func TestMutantsOfMachine(t *testing.T) {
	mutants, text := instrumentOne(t, "core/exchange/machine.go", machine)
	var got []string
	for _, m := range mutants {
		got = append(got, fmt.Sprintf("%s in %s", m, m.Function))
	}
	slices.Sort(got)
	file := "core/exchange/machine.go:"
	want := []string{
		file + "14: boundary: x.n < limit in (*exchange).first",
		file + "14: comparison: x.n < limit in (*exchange).first",
		file + "14: comparison: x.name != \"\" in (*exchange).first",
		file + "15: cancel: x.cancel(idFetch) in (*exchange).first",
		file + "18: comparison: x.n == 0 in (*exchange).first",
		file + "19: cancel: x.dropTimer() in (*exchange).first",
		file + "21: cancel: x.do(abi.Action{Kind: abi.ActionCancel, ID: idTick}) in (*exchange).first",
		file + "23: boundary: x.n > 2 in (*exchange).first",
		file + "23: boundary: x.n >= 1 in (*exchange).first",
		file + "23: comparison: (x.n >= 1) == (x.n > 2) in (*exchange).first",
		file + "23: comparison: x.n > 2 in (*exchange).first",
		file + "23: comparison: x.n >= 1 in (*exchange).first",
		file + "9: row: {1, 1, (*exchange).first} in var",
		file + "10: row: {1, 2, (*exchange).second} in var",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Count(text, "\n") != strings.Count(machine, "\n") {
		t.Errorf("lines moved:\n%s", text)
	}
}

func TestRowsOfKeyedTables(t *testing.T) {
	const source = "package exchange\n\nvar phaseTable = [phases]struct{ name string; d departure }{\n\tphaseHead: {\"head\", noted},\n\tphaseDone: {},\n}\n"
	mutants, text := instrumentOne(t, "core/exchange/phases.go", source)
	if len(mutants) != 1 || mutants[0].Kind != rowDeleted || mutants[0].Text != `phaseHead: {"head", noted}` {
		t.Errorf("got %v", mutants)
	}
	if want := strings.Replace(source, "noted", "mutantColumn(1, noted)", 1); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestCancelMutantsOnlyInExchange(t *testing.T) {
	mutants, _ := instrumentOne(t, "core/ledger/a.go", "package ledger\n\nvar table = []int{1}\n\nfunc f(x t) { x.cancel(1) }\n")
	if len(mutants) != 0 {
		t.Errorf("got %v", mutants)
	}
}

func TestEqualMutantsHaveDifferentKeys(t *testing.T) {
	mutants, _ := instrumentOne(t, "a.go", "package a\n\nfunc f(a int) bool { return a == 1 || a == 1 }\n")
	if len(mutants) != 2 || mutants[0].key() == mutants[1].key() {
		t.Errorf("got %v", mutants)
	}
}

func TestEquivalent(t *testing.T) {
	mutants, _ := instrumentOne(t, "core/ledger/a.go", "package ledger\n\nfunc (c *call) f(a int) bool { return a < 1 || a[b:c] == 1 }\n")
	list, err := parseEquivalent("# comment\n\ncore/ledger/a.go:(*call).f: boundary: `a < 1`: a is never 1\ncore/ledger/a.go:(*call).f: comparison: `a[b:c] == 1`: why: so\n")
	if err != nil {
		t.Fatal(err)
	}
	rest, err := without(mutants, list)
	if err != nil || len(rest) != 1 || rest[0].Kind != negated || rest[0].Text != "a < 1" {
		t.Errorf("got %v, %v", rest, err)
	}
	if _, err := without(rest, list); err == nil {
		t.Error("an entry that matches no mutant passes")
	}
	if _, err := parseEquivalent("core/ledger/a.go:f: boundary: `a < 1`: "); err == nil {
		t.Error("an entry without a reason passes")
	}
}

func TestJudges(t *testing.T) {
	var got []string
	for _, s := range (options{by: "core/ledger,core/budget", also: "host"}).judges() {
		got = append(got, s.folder)
	}
	if want := []string{"core/budget", "core/ledger", "host"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(options{}.judges()); n != len(judges) {
		t.Errorf("%d judges by default, want %d", n, len(judges))
	}
}

func TestSample(t *testing.T) {
	var mutants []mutant
	for i := range 100 {
		mutants = append(mutants, mutant{ID: i + 1, Kind: negated, File: "a.go", Text: fmt.Sprint(i)})
	}
	chosen := options{sample: 10}.choose(mutants)
	if len(chosen) != 10 || !slices.IsSortedFunc(chosen, func(a, b mutant) int { return a.ID - b.ID }) {
		t.Errorf("got %v", chosen)
	}
	if again := (options{sample: 10}).choose(mutants); !slices.Equal(chosen, again) {
		t.Errorf("got %v, then %v", chosen, again)
	}
}

// fixture is a module with mutants of every kind and tests that miss one of each kind.
var fixture = map[string]string{
	"go.mod": "module example.com/fixture\n\ngo 1.26.0\n",
	"core/exchange/machine.go": `package exchange

type row struct {
	phase, event int
	handler      func(*Exchange)
}

var table = [...]row{
	{1, 1, (*Exchange).begin},
	{1, 2, (*Exchange).end},
	{2, 2, (*Exchange).end},
}

type Exchange struct{ Phase int; Cancelled []int }

func (x *Exchange) cancel(id int) { x.Cancelled = append(x.Cancelled, id) }

func (x *Exchange) Step(event int) bool {
	for _, r := range table {
		if r.phase == x.Phase && r.event == event {
			r.handler(x)
			return true
		}
	}
	return false
}

func (x *Exchange) begin() {
	x.cancel(1)
	x.Phase = 2
}

func (x *Exchange) end() {
	x.cancel(2)
	x.Phase = 3
}
`,
	"core/exchange/machine_test.go": `package exchange

import "testing"

func TestFlow(t *testing.T) {
	x := Exchange{Phase: 1}
	if !x.Step(1) || len(x.Cancelled) != 1 || !x.Step(2) || x.Phase != 3 || x.Step(2) {
		t.Errorf("%+v", x)
	}
}
`,
	"core/ledger/ledger.go": `package ledger

func Fits(amount, budget int64) bool { return amount <= budget }

func First(n int) int {
	for i := 0; ; i++ {
		if i*i >= n {
			return i
		}
	}
}

func Untested(n int) bool { return n == 1 }
`,
	"core/ledger/ledger_test.go": `package ledger

import "testing"

func TestFits(t *testing.T) {
	if !Fits(1, 2) || Fits(3, 2) {
		t.Error("wrong")
	}
}

func TestFirst(t *testing.T) {
	if First(10) != 4 || First(9) != 3 {
		t.Error("wrong")
	}
}
`,
}

func writeFixture(t *testing.T, change func(map[string]string)) string {
	t.Helper()
	files := maps.Clone(fixture)
	if change != nil {
		change(files)
	}
	return repotest.New(t, files)
}

var fixtureJudges = []suite{{folder: "core/ledger"}, {folder: "core/exchange"}, {folder: "test/sim"}}

func runFixture(root string, o options) (string, error) {
	var out strings.Builder
	o.workers = 2
	err := run(root, mutated, fixtureJudges, o, &out)
	return out.String(), err
}

func TestRun(t *testing.T) {
	root := writeFixture(t, nil)
	if out, err := runFixture(root, options{kind: string(cancelGone)}); !errors.Is(err, errSurvivors) || !strings.Contains(out, "2 of 2 in ") {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := runFixture(root, options{resume: true})
	if !errors.Is(err, errSurvivors) {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"test/sim has no tests\n", "10 of 10 in ",
		"core/exchange/machine.go:10: row: {1, 2, (*Exchange).end}\n",
		"core/exchange/machine.go:34: cancel: x.cancel(2)\n",
		"core/ledger/ledger.go:3: boundary: amount <= budget\n",
		"core/ledger/ledger.go:13: comparison: n == 1 (not reached by any test)\n",
		"row        2 of 3 killed", "cancel     1 of 2 killed", "comparison 4 of 5 killed", "boundary   1 of 2 killed",
		"total      7 of 10 killed (70.0%), want 95%\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	survivors, err := os.ReadFile(filepath.Join(root, "build/mutants/survivors.txt"))
	if err != nil || strings.Count(string(survivors), "machine.go:")+strings.Count(string(survivors), "ledger.go:") != 4 {
		t.Errorf("%v\n%s", err, survivors)
	}
}

func TestResults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.jsonl")
	kept, _, err := openResults(name, "first", false)
	if err != nil {
		t.Fatal(err)
	}
	want := verdict{"a", "core/ledger", true}
	if err := kept.line(want); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.file.WriteString(`{"mutant":"b",`); err != nil { // as after an interrupt
		t.Fatal(err)
	}
	kept.file.Close()
	again, known, err := openResults(name, "first", true)
	if err != nil || len(known) != 1 || known["a"] != want {
		t.Fatalf("got %v, %v", known, err)
	}
	if err := again.line(verdict{Key: "c"}); err != nil {
		t.Fatal(err)
	}
	again.file.Close()
	if known, err := readResults(name, "first"); err != nil || len(known) != 2 {
		t.Errorf("got %v, %v", known, err)
	}
	if known, err := readResults(name, "second"); err != nil || len(known) != 0 {
		t.Errorf("verdicts of other binaries are kept: %v, %v", known, err)
	}
}

func TestReport(t *testing.T) {
	var mutants []mutant
	verdicts := map[string]verdict{}
	for i := range 20 {
		m := mutant{ID: i + 1, Kind: negated, File: "a.go", Text: fmt.Sprint(i)}
		mutants = append(mutants, m, mutant{ID: i + 21, Kind: offBoundary, File: "a.go", Text: fmt.Sprint(i)})
		verdicts[m.key()] = verdict{m.key(), "core", false}
		verdicts[mutants[len(mutants)-1].key()] = verdict{}
	}
	var out strings.Builder
	for survivors, enough := range []bool{true, true, false} {
		if survivors > 0 {
			verdicts[mutants[2*survivors].key()] = verdict{By: unreached}
		}
		if got := report(mutants, verdicts, &out); got != enough {
			t.Errorf("%d of 20 survive: report returned %t\n%s", survivors, got, out.String())
		}
	}
}

func TestFailsWithoutAMutant(t *testing.T) {
	root := writeFixture(t, func(files map[string]string) {
		files["core/ledger/ledger_test.go"] = strings.Replace(files["core/ledger/ledger_test.go"], "First(10) != 4", "First(10) != 5", 1)
	})
	if out, err := runFixture(root, options{}); err == nil || !strings.Contains(err.Error(), "core/ledger fails without a mutant") {
		t.Errorf("%v\n%s", err, out)
	}
}

// script returns a suite whose binary is a shell script.
func script(t *testing.T, text string, timeout time.Duration) suite {
	t.Helper()
	root := repotest.New(t, map[string]string{"suite": "#!/bin/sh\n" + text})
	binary := filepath.Join(root, "suite")
	if err := os.Chmod(binary, 0o755); err != nil {
		t.Fatal(err)
	}
	return suite{folder: ".", binary: binary, timeout: timeout}
}

func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		timeout time.Duration
		want    end
	}{
		"passes":                    {"exit 0\n", time.Hour, passed},
		"fails":                     {"exit 1\n", time.Hour, failed},
		"does not end":              {"exec sleep 1000\n", 200 * time.Millisecond, timedOut},
		"continues after a failure": {"echo '    --- FAIL: TestX (0.00s)'\nexec sleep 1000\n", time.Hour, failed},
	} {
		s := script(t, c.text, c.timeout)
		if got, err := s.try(t.TempDir(), mutant{ID: 1}); err != nil || got != c.want {
			t.Errorf("%s: got %d, want %d, %v", name, got, c.want, err)
		}
	}
}

func TestWatch(t *testing.T) {
	calls := 0
	w := watch{failed: func() { calls++ }}
	for _, part := range []string{"=== RUN TestX\n--- PASS\n--- FA", "IL: TestX\n", "--- FAIL: TestY\n", strings.Repeat("x", 2*tailBytes)} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if calls != 1 || len(w.tail) != tailBytes {
		t.Errorf("%d calls, %d bytes kept", calls, len(w.tail))
	}
}

// TestFailureOfSubtest checks a failing parallel subtest next to a subtest that never ends.
func TestFailureOfSubtest(t *testing.T) {
	root := repotest.New(t, map[string]string{
		"go.mod": fixture["go.mod"],
		"core/slow/slow_test.go": `package slow

import (
	"testing"
	"time"
)

func TestAll(t *testing.T) {
	for _, name := range []string{"fails", "hangs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "fails" {
				t.Fatal("wrong")
			}
			time.Sleep(time.Hour)
		})
	}
}
`,
	})
	b := builder{root, t.TempDir()}
	if err := b.overlay(instrumented{}); err != nil {
		t.Fatal(err)
	}
	binary, err := b.compile("core/slow")
	if err != nil {
		t.Fatal(err)
	}
	s := suite{folder: "core/slow", binary: binary, flags: []string{"-test.parallel=2"}, timeout: time.Hour}
	if got, err := s.try(root, mutant{ID: 1}); err != nil || got != failed {
		t.Errorf("got %d, %v", got, err)
	}
}

// TestNamedMutants checks that the source has the place of each named mutant.
func TestNamedMutants(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := instrumentAll(root, mutated)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range all.mutants {
		if m.Kind == namedChange {
			got = append(got, m.Text)
		}
	}
	for _, c := range changes {
		want = append(want, c.name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
