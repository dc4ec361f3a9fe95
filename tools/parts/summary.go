package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// print prints the result of a part: one line or, for a failure, the log and the commands to run.
func (r *runner) print(got *result) {
	if got.problem == "" {
		fmt.Fprintln(r.out, got)
		return
	}
	if got.log != "" {
		fmt.Fprintf(r.out, "\n---- %s\n", got.part.name)
		if log, err := os.Open(got.log); err == nil {
			_, _ = io.Copy(r.out, log)
			_ = log.Close()
		}
		fmt.Fprintln(r.out)
	}
	fmt.Fprintln(r.out, got)
	r.printRemedy(got)
}

// printRemedy prints the commands that run only the failed tests.
func (r *runner) printRemedy(got *result) {
	alone := got.failed
	if len(alone) == 0 && got.log != "" {
		alone = []string{got.part.command()}
	}
	for _, command := range alone {
		fmt.Fprintf(r.out, "     run it alone: %s\n", command)
	}
}

// summarize prints a line per part, the commands for the failed tests, and the total.
func (r *runner) summarize(parts []*part, ended map[string]*result, took time.Duration) {
	fmt.Fprintln(r.out)
	passed, tests, busy := 0, 0, time.Duration(0)
	for _, p := range parts {
		got := ended[p.name]
		fmt.Fprintln(r.out, got)
		tests, busy = tests+got.tests, busy+got.busy
		if got.problem == "" {
			passed++
			continue
		}
		r.printRemedy(got)
	}
	verdict := "ok  "
	if passed < len(parts) {
		verdict = "FAIL"
	}
	fmt.Fprintf(r.out, "%s total: %d of %d parts passed, %d tests ran, in %v (%.0f s of the processor)\n",
		verdict, passed, len(parts), tests, took.Round(time.Second), busy.Seconds())
}

func (got *result) String() string {
	verdict, text := "ok  ", got.summary
	if got.problem != "" {
		verdict, text = "FAIL", got.problem
		if got.summary != "" {
			text += ": " + got.summary
		}
	}
	return fmt.Sprintf("%s %-18s %6.1f s %7.1f s cpu  %s", verdict, got.part.name, got.took.Seconds(), got.busy.Seconds(), text)
}
