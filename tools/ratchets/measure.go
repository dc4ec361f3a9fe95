package main

import (
	"path"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	longCode = 40 // lines of a function that no longer fits on a screen
	longTest = 80 // the same for tests, which are sequences more often
)

// measure is one number that must not grow, and the places that it is about, the longest first.
type measure struct {
	name   string
	value  int
	places []place
	length bool // the number is a length: places that are no longer than what is allowed are not to blame
}

// worse lists the places to blame if the number exceeds limit.
func (m measure) worse(limit int) []place {
	if m.length {
		return over(m.places, limit)
	}
	return m.places
}

// measureAll measures the sources.
func measureAll(files []repo.File) ([]measure, error) {
	var code, tests []repo.File
	for _, f := range files {
		if isTest(f.Path) {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	ofCode, err := measureGroup("code", code, longCode)
	if err != nil {
		return nil, err
	}
	ofTests, err := measureGroup("tests", tests, longTest)
	return append(ofCode, ofTests...), err
}

func measureGroup(group string, files []repo.File, long int) ([]measure, error) {
	var all, whole []place
	for _, f := range files {
		if path.Ext(f.Path) != ".go" {
			continue
		}
		found, err := functions(f)
		if err != nil {
			return nil, err
		}
		all, whole = append(all, found...), append(whole, wholeFile(f))
	}
	longestFirst(all)
	longestFirst(whole)
	copies := repeats(files)
	longestFirst(copies)
	p90 := percentile90(all)
	return []measure{
		{group + ".longestFunctionLines", longest(all), all, true},
		{group + ".longFunctions", len(over(all, long)), over(all, long), false},
		{group + ".functionLinesP90", p90, all, true},
		{group + ".longestFileLines", longest(whole), whole, true},
		{group + ".repeatedLines", sum(copies), copies, false},
	}, nil
}

func longest(sorted []place) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[0].lines
}

func sum(all []place) int {
	total := 0
	for _, p := range all {
		total += p.lines
	}
	return total
}

// isSource says whether a file is measured: Go, TypeScript and JavaScript that people write.
func isSource(file string) bool {
	switch path.Ext(file) {
	case ".go", ".ts", ".js", ".mjs":
		return !strings.Contains(file, "/testdata/")
	}
	return false
}

// testFolders hold nothing that is shipped.
var testFolders = []string{"bench/", "conformance/", "internal/", "test/", "worker/gateway/test/", "control/web/test/"}

func isTest(file string) bool {
	for _, folder := range testFolders {
		if strings.HasPrefix(file, folder) {
			return true
		}
	}
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".test.mjs")
}
