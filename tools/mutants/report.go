package main

import (
	"fmt"
	"io"
)

// wantedPercent is the percentage of mutants that the tests must kill. Moved boundaries are reported but not counted.
const wantedPercent = 95

type tally struct{ killed, timedOut, total int }

func (t tally) String() string {
	text := fmt.Sprintf("%d of %d killed (%.1f%%)", t.killed, t.total, 100*float64(t.killed)/float64(max(t.total, 1)))
	if t.timedOut > 0 {
		text += fmt.Sprintf(", %d of them by a timeout", t.timedOut)
	}
	return text
}

// report writes the survivors and the counts, and reports whether enough mutants were killed.
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
			fmt.Fprintf(out, "%s (not reached by any test)\n", m)
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
	fmt.Fprintf(out, "%-10s %s, want %d%%\n", "total", all, wantedPercent)
	return 100*all.killed >= wantedPercent*all.total
}
