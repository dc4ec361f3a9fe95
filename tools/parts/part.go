package main

import (
	"fmt"
	"slices"
	"strings"
)

// part is a set of tests that one command runs, or a build that other parts need.
type part struct {
	name  string
	dir   string   // directory in which the command runs, relative to the root
	env   []string // NAME=VALUE
	tool  tool
	args  []string // of the tool
	needs []string // parts that have to pass first
	// cores is the number of cores that the part keeps busy. It determines how many parts run at once.
	cores float64
}

// tool is a program that runs tests. Its methods start it and read its output.
type tool struct {
	// start returns the command for a part's arguments. report is a file for results. If it is "", the command is for
	// a person to read and run.
	start func(args []string, report string) []string
	// read returns a reader of the output.
	read func(p *part, report string) reader
}

// reader follows the output of a tool.
type reader interface {
	// line reads a line and returns the text for the log, with line endings.
	line(text string) string
	// end returns the outcome once the output has ended.
	end() outcome
}

// outcome is the result that a tool reported.
type outcome struct {
	summary string   // the tool's own figures
	tests   int      // that ran
	failed  []string // the commands that run only the failed tests
}

// command returns the part's command for a shell in the root.
func (p *part) command() string { return p.inShell(p.tool.start(p.args, "")...) }

// inShell returns a command in the part's directory and environment, for a shell in the root.
func (p *part) inShell(words ...string) string {
	text := strings.Join(append(slices.Clone(p.env), quoted(words)...), " ")
	if p.dir == "" {
		return text
	}
	return fmt.Sprintf("(cd %s && %s)", p.dir, text)
}

func quoted(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = word
		if word == "" || strings.Trim(word, plain) != "" {
			all[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return all
}

// plain lists the characters that a shell does not interpret.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:@%+,"

// selected returns the named parts and the parts that they need, in the table's order. Without names, it returns all
// parts.
func selected(all []*part, names []string) ([]*part, error) {
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for len(names) > 0 {
		at := slices.IndexFunc(all, func(p *part) bool { return p.name == names[0] })
		if at < 0 {
			return nil, fmt.Errorf("unknown part %q; -list names the parts", names[0])
		}
		wanted[names[0]] = true
		names = append(names[1:], all[at].needs...)
	}
	return slices.DeleteFunc(all, func(p *part) bool { return !wanted[p.name] }), nil
}
