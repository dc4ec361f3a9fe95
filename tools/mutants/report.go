package main

import (
	"fmt"
	"io"
)

// wantedPercent is how many of the mutants the tests must kill. Moved boundaries are reported beside it.
const wantedPercent = 95

// tally counts the mutants of a kind.
type tally struct{ killed, timedOut, total int }

func (t tally) String() string {
	text := fmt.Sprintf("%d of %d killed (%.1f %%)", t.killed, t.total, 100*float64(t.killed)/float64(max(t.total, 1)))
	if t.timedOut > 0 {
		text += fmt.Sprintf(", %d of them by a suite that did not end", t.timedOut)
	}
	return text
}

// report writes the survivors and the counts, and says whether enough mutants were killed.
func report(mutants []mutant, verdicts map[string]verdict, out io.Writer) bool {
	counts := map[kind]tally{}
	for _, m := range mutants {
		v, judged := verdicts[m.key()]
		if !judged {
			continue
		}
		t := counts[m.Kind]
		t.total++
		switch {
		case v.killed():
			t.killed++
			if v.TimedOut {
				t.timedOut++
			}
		case v.By == unreached:
			fmt.Fprintf(out, "%s (no test gets there)\n", m)
		default:
			fmt.Fprintln(out, m)
		}
		counts[m.Kind] = t
	}
	var all tally
	for _, k := range kinds {
		t := counts[k]
		if t.total == 0 {
			continue
		}
		fmt.Fprintf(out, "%-10s %s\n", k, t)
		if k != offBoundary {
			all.killed += t.killed
			all.timedOut += t.timedOut
			all.total += t.total
		}
	}
	fmt.Fprintf(out, "%-10s %s, wanted: %d %%\n", "together", all, wantedPercent)
	return 100*all.killed >= wantedPercent*all.total
}
