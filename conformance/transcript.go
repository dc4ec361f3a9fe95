package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Scenario is one test in a transcript file. testdata/conformance/README.md describes the format.
type Scenario struct {
	Name string
	File string
	Wasm bool // the title ends with [wasm]: the scenario needs a core that can trap
	Go   bool // the title ends with [go]: the scenario needs a host that notices a client disconnect before the response headers
	// Workerd means that the title ends with [workerd]. The scenario needs a data center's cache.
	Workerd bool
	Steps   []Step
}

// Step is a command with its arguments and block.
type Step struct {
	Line    int
	Command string
	Args    []string
	Options map[string]string // name=value arguments
	Lines   []string          // the indented block below the command, without the indentation
}

// Load reads all transcripts in a directory.
func Load(folder string) ([]Scenario, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []Scenario
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		scenarios, err := parseTranscript(filepath.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, scenarios...)
	}
	return all, nil
}

func parseTranscript(file, text string) ([]Scenario, error) {
	var scenarios []Scenario
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "  ")
		switch name, isTitle := strings.CutPrefix(line, "== "); {
		case trimmed == "" || strings.HasPrefix(trimmed, "#") && !indented:
			continue
		case isTitle:
			scenarios = append(scenarios, Scenario{
				Name: name, File: file, Wasm: strings.HasSuffix(name, "[wasm]"), Go: strings.HasSuffix(name, "[go]"),
				Workerd: strings.HasSuffix(name, "[workerd]"),
			})
			continue
		case len(scenarios) == 0:
			return nil, fmt.Errorf("%s:%d: a step before the first scenario", file, i+1)
		}
		s := &scenarios[len(scenarios)-1]
		if indented {
			if len(s.Steps) == 0 {
				return nil, fmt.Errorf("%s:%d: a block without a step", file, i+1)
			}
			last := &s.Steps[len(s.Steps)-1]
			last.Lines = append(last.Lines, trimmed)
			continue
		}
		s.Steps = append(s.Steps, parseStep(i+1, trimmed))
	}
	return scenarios, nil
}

func parseStep(line int, text string) Step {
	words := strings.Fields(text)
	s := Step{Line: line, Command: words[0], Options: map[string]string{}}
	for _, word := range words[1:] {
		if name, value, ok := strings.Cut(word, "="); ok && !strings.ContainsAny(name, "/?{") {
			s.Options[name] = value
			continue
		}
		s.Args = append(s.Args, word)
	}
	return s
}
