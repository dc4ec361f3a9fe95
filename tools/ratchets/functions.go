package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// place is a part of a file: its first line, its name and its number of lines.
type place struct {
	path  string
	line  int
	name  string
	lines int
}

func (p place) String() string {
	return fmt.Sprintf("%s:%d: %s, %d lines", p.path, p.line, p.name, p.lines)
}

// functions lists the functions of a Go file: declarations, and function literals outside them. A literal inside a
// declaration is part of the declaration.
func functions(f repo.File) ([]place, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, f.Path, f.Text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []place
	ast.Inspect(parsed, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = repo.FuncName(n)
		case *ast.FuncLit:
			name = "func literal"
		default:
			return true
		}
		first, last := files.Position(n.Pos()).Line, files.Position(n.End()).Line
		found = append(found, place{f.Path, first, name, last - first + 1})
		return false
	})
	return found, nil
}

// wholeFile returns the place of an entire file.
func wholeFile(f repo.File) place {
	return place{f.Path, 1, "file", bytes.Count(f.Text, []byte("\n"))}
}

// longestFirst sorts by decreasing length, then by path and line.
func longestFirst(all []place) {
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.lines, b.lines), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
}

// over returns the places longer than limit lines. sorted must be in the order of longestFirst.
func over(sorted []place, limit int) []place {
	n := 0
	for n < len(sorted) && sorted[n].lines > limit {
		n++
	}
	return sorted[:n]
}

// percentile90 returns the 90th percentile of the lengths (nearest rank). sorted must be in the order of longestFirst.
func percentile90(sorted []place) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/10].lines
}
