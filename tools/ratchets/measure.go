package main

import (
	"path"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	longCode = 40 // maximum lines of a function, about a screen
	longTest = 80 // the same for tests, which often are long sequences
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

func measureAll(files []repo.File) ([]measure, error) {
	var code, tests []repo.File
	for _, f := range files {
		if repo.IsTest(f.Path) {
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
	if err != nil {
		return nil, err
	}
	return slices.Concat(ofCode, ofTests, measurePython("pythonCode", code, longCode), measurePython("pythonTests", tests, longTest)), nil
}

// measurePython measures the lengths of Python. Biome limits the lengths of TypeScript and JavaScript (see
// biome.json).
func measurePython(group string, files []repo.File, long int) []measure {
	var all, whole []place
	for _, f := range files {
		if path.Ext(f.Path) == ".py" && !repo.IsGenerated(f.Text) {
			all, whole = append(all, pythonFunctions(f)...), append(whole, wholeFile(f))
		}
	}
	longestFirst(all)
	longestFirst(whole)
	return []measure{
		length(group+".longestFunctionLines", longest(all), all),
		length(group+".longestFileLines", longest(whole), whole),
		total(group+".longFunctions", over(all, long), func(place) int { return 1 }),
	}
}

func measureGroup(group string, files []repo.File, long int) ([]measure, error) {
	var all, whole []place
	for _, f := range files {
		if path.Ext(f.Path) != ".go" || repo.IsGenerated(f.Text) {
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
	copies := repeats(slices.DeleteFunc(slices.Clone(files), func(f repo.File) bool { return path.Ext(f.Path) == ".py" }))
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

func total(name string, places []place, weight func(place) int) measure {
	m := measure{name, 0, places, map[string]int{}}
	for _, p := range places {
		m.value += weight(p)
		m.files[p.path] += weight(p)
	}
	return m
}

// isSource reports whether a file is measured: handwritten Go, TypeScript, JavaScript and Python.
func isSource(file string) bool {
	switch path.Ext(file) {
	case ".go", ".ts", ".js", ".mjs", ".py":
		return !strings.Contains(file, "/testdata/")
	}
	return false
}
