package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// change is a mutant with a name: in a function, an expression is replaced by another one of the same type.
type change struct {
	name        string
	file        string
	function    string
	expression  string // as in the source; the first one in the function is replaced
	replacement string
}

// changes are defects of a tree of budgets that negated comparisons do not show.
var changes = []change{
	{"one level is not reserved", "core/budget/reserve.go", "(*Chain).spend", "c.Levels", "c.Levels[:len(c.Levels)-1]"},
	{"one level is not reserved for an incomplete reservation", "core/budget/chain.go", "(*Chain).hold", "h.Levels", "max(0, h.Levels-1)"},
	{"the order is reversed", "core/budget/reserve.go", "(*Chain).Reserve", "(n + c.ProjectAt() + 1) % len(c.Levels)", "len(c.Levels) - 1 - n"},
	{"a return goes to the wrong Ledger", "core/keymeter/levels.go", "(*call).returned", "l.Ledger", "doc.Root"},
	{"a travelling return goes to the wrong Ledger", "core/keymeter/levels.go", "(*call).returnAll", "l.Ledger", "doc.Root"},
	{"a recalled return goes to the wrong Ledger", "core/exchange/tree.go", "(*exchange).collectReport", "x.ledgerOf(b.ledger)", "doc.Root"},
}

// named adds the mutants of changes at an expression.
func (f *file) named(n ast.Node) {
	e, ok := n.(ast.Expr)
	if !ok {
		return
	}
	for _, c := range changes {
		if c.file != f.path || c.function != f.function || slices.ContainsFunc(f.mutants, func(m mutant) bool { return m.Text == c.name }) {
			continue
		}
		text := strings.Join(strings.Fields(string(f.text[f.offset(e.Pos()):f.offset(e.End())])), " ")
		if text == c.expression {
			id := f.add(namedChange, e)
			f.mutants[id-1].Text = c.name
			f.insert(e.Pos(), fmt.Sprintf("mutantPick(%d, ", id))
			f.insert(e.End(), ", "+c.replacement+")")
		}
	}
}
