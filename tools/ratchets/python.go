package main

import (
	"regexp"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

var pythonDef = regexp.MustCompile(`^( *)(?:async )?def (\w+)`)

// pythonFunctions lists the functions of a Python file. A nested function is part of the outer one.
func pythonFunctions(f repo.File) (found []place) {
	indent, open := 0, false // the last function's indentation, and whether it may have more lines
	quoted := false          // in a multi-line string
	for i, text := range strings.Split(string(f.Text), "\n") {
		inString := quoted
		quoted = quoted != (strings.Count(text, `"""`)%2 == 1)
		content := strings.TrimSpace(text)
		depth := len(text) - len(strings.TrimLeft(text, " "))
		if open && content != "" && (inString || depth > indent || strings.HasPrefix(content, ")")) {
			current := &found[len(found)-1]
			current.lines = i + 2 - current.line
		} else if content != "" {
			open = false
		}
		if m := pythonDef.FindStringSubmatch(text); m != nil && !open && !inString {
			indent, open = len(m[1]), true
			found = append(found, place{f.Path, i + 1, m[2], 1})
		}
	}
	return found
}
