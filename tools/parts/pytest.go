package main

import (
	"regexp"
	"strconv"
	"strings"
)

var pyTest = tool{
	start: func(args []string, _ string) []string { return append([]string{"python3", "-m", "pytest"}, args...) },
	read:  func(p *part, _ string) reader { return &pyReader{part: p} },
}

// pyReader reads pytest's last lines.
type pyReader struct {
	part *part
	outcome
}

var (
	pyFailed = regexp.MustCompile(`^(?:FAILED|ERROR) (\S+\.py\S*?(?:\[.*\])?)(?: - |$)`)
	pyTotal  = regexp.MustCompile(`^=* ?((?:(?:\d+|no) [a-z ]+(?:, )?)+) in [\d.]+s`)
	pyRan    = regexp.MustCompile(`(\d+) (?:passed|failed|xfailed|xpassed)`)
)

func (r *pyReader) line(text string) string {
	if match := pyFailed.FindStringSubmatch(text); match != nil {
		r.failed = append(r.failed, r.part.inShell("python3", "-m", "pytest", match[1]))
	}
	if match := pyTotal.FindStringSubmatch(text); match != nil {
		r.summary, r.tests = strings.TrimSpace(match[1]), 0
		for _, count := range pyRan.FindAllStringSubmatch(match[1], -1) {
			n, _ := strconv.Atoi(count[1])
			r.tests += n
		}
	}
	return text + "\n"
}

func (r *pyReader) end() outcome { return r.outcome }
