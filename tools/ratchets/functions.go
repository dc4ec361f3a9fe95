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

// place is a part of a file with its number of lines.
type place struct {
	path  string
	line  int
	name  string
	lines int
}

func (p place) String() string {
	return fmt.Sprintf("%s:%d: %s, %d lines", p.path, p.line, p.name, p.lines)
}

// functions lists a Go file's functions: its declarations, and the literals outside of them. A literal
// inside a declaration is part of that.
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

// wholeFile is the place that a file as a whole takes.
func wholeFile(f repo.File) place {
	return place{f.Path, 1, "file", bytes.Count(f.Text, []byte("\n"))}
}

// longestFirst orders by length; equal ones by path and line.
func longestFirst(all []place) {
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(-cmp.Compare(a.lines, b.lines), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
}

// over keeps what is longer than limit lines, of places in order of length.
func over(sorted []place, limit int) []place {
	n := 0
	for n < len(sorted) && sorted[n].lines > limit {
		n++
	}
	return sorted[:n]
}

// percentile90 is the length that at least nine tenths of the places do not exceed (nearest rank).
func percentile90(sorted []place) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/10].lines
}
