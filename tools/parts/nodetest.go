package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// nodeTest is Node's test runner. reporter.mjs, next to this file, writes the report.
var nodeTest = tool{
	start: func(args []string, report string) []string {
		words := []string{"node", "--test"}
		if report != "" {
			words = append(words, "--test-reporter=spec", "--test-reporter-destination=stdout",
				"--test-reporter=./tools/parts/reporter.mjs", "--test-reporter-destination="+report)
		}
		return append(words, args...)
	},
	read: func(p *part, report string) reader { return &nodeReader{part: p, report: report} },
}

// nodeReader passes the output to the log and reads the report.
type nodeReader struct {
	silent
	part   *part
	report string
}

// nodeEvent is a line of the report: a top-level test that failed, or the figures of the run.
type nodeEvent struct {
	File, Name string // of the test; without a Name, the file itself failed
	Counts     *struct{ Tests, Passed, Failed, Cancelled, Skipped, Todo int }
}

func (r *nodeReader) end() outcome {
	var got outcome
	report, err := os.Open(r.report)
	if err != nil {
		return got
	}
	defer report.Close()
	for lines := bufio.NewScanner(report); lines.Scan(); {
		var e nodeEvent
		switch err := json.Unmarshal(lines.Bytes(), &e); {
		case err != nil:
			got.failed = append(got.failed, r.part.command())
		case e.Counts != nil:
			c := e.Counts
			got.tests = c.Tests - c.Skipped - c.Todo
			got.summary = fmt.Sprintf("tests %d, pass %d, fail %d, cancelled %d, skip %d", c.Tests, c.Passed, c.Failed, c.Cancelled, c.Skipped)
		default:
			got.failed = append(got.failed, r.alone(e))
		}
	}
	return got
}

// alone returns the command that runs one test, or one file.
func (r *nodeReader) alone(e nodeEvent) string {
	words := []string{"node", "--test"}
	if e.Name != "" {
		words = append(words, "--test-name-pattern=^"+regexp.QuoteMeta(e.Name)+"( |$)") // the tests inside, too
	}
	return r.part.inShell(append(words, strings.TrimPrefix(e.File, "./"))...)
}
