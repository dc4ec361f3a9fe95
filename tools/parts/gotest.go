package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// goTest is `go test`. It prints failures and one line per package.
var goTest = tool{
	start: func(args []string, report string) []string {
		if report == "" { // for a person
			return append([]string{"go", "test"}, args...)
		}
		return append([]string{"go", "test", "-json", "-vet=off"}, args...) // make check vets
	},
	read: func(p *part, _ string) reader {
		return &goReader{part: p, output: map[goName]string{}, ended: map[goName]string{}}
	},
}

// goReader reads the events of `go test -json`, which `go doc test2json` describes.
type goReader struct {
	part   *part
	output map[goName]string // of what has not ended
	ended  map[goName]string // the action that ended it
	names  []goName          // of ended, in order
	cached int
	// figures are lines that passing tests print to be shown.
	figures []string
}

// goName is a test, or a package.
type goName struct{ Package, Test string }

type goEvent struct {
	goName
	Action, Output, ImportPath string
}

// figure matches a line that is shown even if its test passes.
var figure = regexp.MustCompile(`^(fault tests|crash tests|governor): `)

func (r *goReader) line(text string) string {
	var e goEvent
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Action == "" {
		return text + "\n" // such as an error message of the go command
	}
	switch e.Action {
	case "build-output":
		return e.Output
	case "output":
		r.output[e.goName] += e.Output
		if e.Test == "" && strings.HasPrefix(e.Output, "ok ") && strings.HasSuffix(e.Output, "(cached)\n") {
			r.cached++
		}
		if figure.MatchString(e.Output) {
			r.figures = append(r.figures, strings.TrimSpace(e.Output))
		}
	case "pass", "fail", "skip":
		return r.endOf(e.goName, e.Action)
	}
	return ""
}

// endOf returns the log of a test or package that has ended. It returns nothing for a test that passed.
func (r *goReader) endOf(name goName, action string) (log string) {
	r.ended[name] = action
	r.names = append(r.names, name)
	switch {
	case action == "fail" && name.Test == "":
		for other, text := range r.output { // such as a test that was running at a timeout
			if other.Package == name.Package && other != name {
				log += text
			}
		}
		log += r.output[name]
	case action == "fail":
		log = r.output[name]
	case name.Test == "":
		log = lastLine(r.output[name])
	}
	if delete(r.output, name); name.Test == "" {
		for other := range r.output {
			if other.Package == name.Package {
				delete(r.output, other)
			}
		}
	}
	return log
}

func lastLine(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-2):], "")
}

func (r *goReader) end() outcome {
	packages, counts := 0, map[string]int{}
	var failed []string
	for _, name := range r.names {
		action := r.ended[name]
		if action == "fail" && !r.hasFailedPart(name) {
			failed = append(failed, r.alone(name))
		}
		if name.Test == "" {
			packages++
			continue
		}
		counts[action]++
	}
	slices.Sort(failed)
	ran := counts["pass"] + counts["fail"]
	summary := fmt.Sprintf("packages %d, cached %d, tests %d, pass %d, fail %d, skip %d",
		packages, r.cached, ran+counts["skip"], counts["pass"], counts["fail"], counts["skip"])
	return outcome{strings.Join(append([]string{summary}, r.figures...), "; "), ran, failed}
}

// hasFailedPart reports whether a test of a package, or a subtest of a test, failed.
func (r *goReader) hasFailedPart(name goName) bool {
	return slices.ContainsFunc(r.names, func(other goName) bool {
		inside := name.Test == "" && other.Test != "" || strings.HasPrefix(other.Test, name.Test+"/")
		return other.Package == name.Package && inside && r.ended[other] == "fail"
	})
}

// alone returns the command that runs one test, or one package.
func (r *goReader) alone(name goName) string {
	words := []string{"go", "test", packageFolder(name.Package)}
	if name.Test != "" {
		elements := strings.Split(name.Test, "/")
		for i, element := range elements {
			elements[i] = "^" + regexp.QuoteMeta(element) + "$"
		}
		words = append(words, "-run", strings.Join(elements, "/"))
	}
	return r.part.inShell(words...)
}

// modules are the paths of the repository's Go modules, innermost first.
var modules = []string{"github.com/postern-ai/postern/clients/go", "github.com/postern-ai/postern/tools", "github.com/postern-ai/postern"}

// packageFolder returns a package as an argument of the go command in its module's folder.
func packageFolder(path string) string {
	path, _, _ = strings.Cut(path, " ") // "p [p.test]" failed to build
	for _, module := range modules {
		if rest, ok := strings.CutPrefix(path, module); ok {
			return "." + rest
		}
	}
	return path
}
