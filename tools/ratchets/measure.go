package main

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	longCode = 40 // maximum lines of a function, about a screen
	longTest = 80 // the same for tests, which are often long sequences
)

// measure is a number that must not increase, with the places that it measures, longest first.
type measure struct {
	name   string
	value  int
	places []place
	files  map[string]int // each file's contribution to a sum; nil if the number is a length
}

// worse returns the places that cause an increase: places longer than the old number, or places in files whose
// contribution increased.
func (m measure) worse(stored ratchet) []place {
	if m.files == nil {
		return over(m.places, stored.Value)
	}
	return slices.DeleteFunc(slices.Clone(m.places), func(p place) bool { return m.files[p.path] <= stored.Files[p.path] })
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
		if path.Ext(f.Path) != ".go" || isGenerated(f.Text) {
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
		length(group+".longestFunctionLines", longest(all), all),
		length(group+".functionLinesP90", p90, all),
		length(group+".longestFileLines", longest(whole), whole),
		total(group+".longFunctions", over(all, long), func(place) int { return 1 }),
		total(group+".repeatedLines", copies, func(p place) int { return p.lines }),
	}, nil
}

func longest(sorted []place) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[0].lines
}

func length(name string, value int, places []place) measure {
	return measure{name, value, places, nil}
}

// total sums the weights of the places.
func total(name string, places []place, weight func(place) int) measure {
	m := measure{name, 0, places, map[string]int{}}
	for _, p := range places {
		m.value += weight(p)
		m.files[p.path] += weight(p)
	}
	return m
}

// isSource reports whether a file is measured: handwritten Go, TypeScript and JavaScript.
func isSource(file string) bool {
	switch path.Ext(file) {
	case ".go", ".ts", ".js", ".mjs":
		return !strings.Contains(file, "/testdata/")
	}
	return false
}

// isGenerated reports whether a Go file starts with the comment of generated code (go.dev/s/generatedcode).
func isGenerated(text []byte) bool { return bytes.HasPrefix(text, []byte("// Code generated ")) }

// testFolders contain only code that is not shipped.
var testFolders = []string{"bench/", "conformance/", "internal/", "test/", "worker/gateway/test/", "control/web/test/"}

func isTest(file string) bool {
	for _, folder := range testFolders {
		if strings.HasPrefix(file, folder) {
			return true
		}
	}
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".test.mjs")
}
