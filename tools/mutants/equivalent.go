package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// equivalentFile lists the mutants that no test can kill because they behave like the source. A line has the form
//
//	core/keymeter/meter.go:(*meter).advance: boundary: `a < b`: the reason
//
// and matches all mutants of that kind and text in the function. Lines that begin with # are comments.
const equivalentFile = "tools/mutants/equivalent.txt"

var equivalentLine = regexp.MustCompile("^(\\S+\\.go):(\\S+): (row|cancel|comparison|boundary): `(.+)`: (\\S.*)$")

// equivalent is an entry of the list.
type equivalent struct {
	file, function string
	kind           kind
	text           string
}

func (e equivalent) String() string {
	return fmt.Sprintf("%s:%s: %s: `%s`", e.file, e.function, e.kind, e.text)
}

func readEquivalent(file string) (map[equivalent]bool, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return parseEquivalent(string(text))
}

func parseEquivalent(text string) (map[equivalent]bool, error) {
	list := map[equivalent]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := equivalentLine.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%s:%d: not FILE:FUNCTION: KIND: `TEXT`: REASON", equivalentFile, i+1)
		}
		list[equivalent{m[1], m[2], kind(m[3]), m[4]}] = true
	}
	return list, nil
}

// without removes the listed mutants. An entry that matches no mutant is an error.
func without(mutants []mutant, list map[equivalent]bool) ([]mutant, error) {
	used := map[equivalent]bool{}
	var rest []mutant
	for _, m := range mutants {
		e := equivalent{m.File, m.Function, m.Kind, m.Text}
		if list[e] {
			used[e] = true
		} else {
			rest = append(rest, m)
		}
	}
	for e := range list {
		if !used[e] {
			return nil, fmt.Errorf("%s: no mutant matches %s", equivalentFile, e)
		}
	}
	return rest, nil
}
