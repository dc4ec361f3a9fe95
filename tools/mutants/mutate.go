package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// kind says how a mutant differs from the source.
type kind string

const (
	rowDeleted  kind = "row"        // a row of the exchange's table is missing
	cancelGone  kind = "cancel"     // a statement that cancels an outstanding action is skipped
	negated     kind = "comparison" // a comparison says the opposite
	offBoundary kind = "boundary"   // < is <=, and so on
)

var kinds = []kind{rowDeleted, cancelGone, negated, offBoundary}

// mutant is one change of the source. Its ID is what its switch in the instrumented source compares with the
// active one; IDs begin at 1.
type mutant struct {
	ID       int
	Kind     kind
	File     string
	Line     int
	Function string
	Text     string // the row, statement or comparison, as it is in the source
	nth      int    // which of the equal ones in the function
}

// key names the mutant independently of line numbers.
func (m mutant) key() string {
	return fmt.Sprintf("%s:%s: %s: `%s` #%d", m.File, m.Function, m.Kind, m.Text, m.nth)
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s: %s", m.File, m.Line, m.Kind, m.Text) }

// tableName is the variable that holds the exchange's table; tableFolder is where it is.
const (
	tableName   = "table"
	tableFolder = "core/exchange"
)

// edit replaces size bytes at an offset.
type edit struct {
	at, size int
	text     string
}

// mutator instruments the sources of all packages with one sequence of IDs.
type mutator struct {
	mutants []mutant
	seen    map[string]int
}

// file is the file that is being instrumented.
type file struct {
	*mutator
	path     string
	text     []byte
	tokens   *token.FileSet
	function string
	edits    []edit
}

// instrument gives back the file with a switch at each place that is to be mutated. Lines keep their numbers.
func (m *mutator) instrument(source repo.File) ([]byte, error) {
	f := file{mutator: m, path: source.Path, text: source.Text, tokens: token.NewFileSet()}
	parsed, err := parser.ParseFile(f.tokens, source.Path, source.Text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			f.function = repo.FuncName(d)
			ast.Inspect(d, f.visit)
		case *ast.GenDecl:
			f.function = "var"
			if d.Tok == token.VAR {
				f.variables(d)
			}
		}
	}
	return f.apply(), nil
}

func (f *file) variables(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if name.Name == tableName && path.Dir(f.path) == tableFolder && i < len(v.Values) {
				f.rows(v.Values[i])
			}
		}
		for _, value := range v.Values {
			ast.Inspect(value, f.visit)
		}
	}
}

func (f *file) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.ArrayType:
		return false // its length is a constant
	case *ast.BinaryExpr:
		f.comparison(n)
	case *ast.BlockStmt:
		f.cancels(n.List)
	case *ast.CaseClause:
		f.cancels(n.Body)
	}
	return true
}

// rows makes each element of the table a mutant: the array becomes a slice that leaves out the active one.
func (f *file) rows(value ast.Expr) {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		return
	}
	array, ok := literal.Type.(*ast.ArrayType)
	if !ok || slices.ContainsFunc(literal.Elts, isKeyed) {
		return
	}
	first := len(f.mutants) + 1
	for _, row := range literal.Elts {
		f.add(rowDeleted, row)
	}
	f.insert(literal.Pos(), fmt.Sprintf("mutantRows(%d, ", first))
	if array.Len != nil {
		f.replace(array.Len.Pos(), array.Len.End(), "")
	}
	f.insert(literal.End(), ")")
}

func isKeyed(e ast.Expr) bool {
	_, keyed := e.(*ast.KeyValueExpr)
	return keyed
}

// cancels makes each cancel of the exchange among a block's statements a mutant.
func (f *file) cancels(list []ast.Stmt) {
	if path.Dir(f.path) != tableFolder {
		return
	}
	for _, s := range list {
		statement, ok := s.(*ast.ExprStmt)
		if !ok {
			continue
		}
		if call, ok := statement.X.(*ast.CallExpr); ok && isCancel(call) {
			id := f.add(cancelGone, s)
			f.insert(s.Pos(), fmt.Sprintf("if !mutantOn(%d) { ", id))
			f.insert(s.End(), " }")
		}
	}
}

// isCancel says whether a call cancels an action: x.cancel(…), x.drop…(…), or any with abi.ActionCancel in
// its arguments.
func isCancel(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if strings.HasPrefix(method.Sel.Name, "cancel") || strings.HasPrefix(method.Sel.Name, "drop") {
		return true
	}
	found := false
	for _, argument := range call.Args {
		ast.Inspect(argument, func(n ast.Node) bool {
			name, ok := n.(*ast.SelectorExpr)
			found = found || ok && name.Sel.Name == "ActionCancel"
			return !found
		})
	}
	return found
}

// orders are the switches of the order comparisons.
var orders = map[token.Token]string{
	token.LSS: "mutantLess", token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast",
}

func (f *file) comparison(n *ast.BinaryExpr) {
	if n.Op == token.EQL || n.Op == token.NEQ {
		f.insert(n.Pos(), fmt.Sprintf("mutantFlip(%d, ", f.add(negated, n)))
		f.insert(n.End(), ")")
		return
	}
	function, ok := orders[n.Op]
	if !ok {
		return
	}
	id := f.add(negated, n)
	f.add(offBoundary, n)
	f.insert(n.Pos(), fmt.Sprintf("%s(%d, ", function, id))
	f.replace(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), ",")
	f.insert(n.End(), ")")
}

// add notes a mutant at a node and gives back its ID.
func (f *file) add(k kind, n ast.Node) int {
	text := strings.Join(strings.Fields(string(f.text[f.offset(n.Pos()):f.offset(n.End())])), " ")
	m := mutant{len(f.mutants) + 1, k, f.path, f.tokens.Position(n.Pos()).Line, f.function, text, 0}
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	unnumbered := m.key()
	f.seen[unnumbered]++
	m.nth = f.seen[unnumbered]
	f.mutants = append(f.mutants, m)
	return m.ID
}

func (f *file) offset(pos token.Pos) int { return f.tokens.Position(pos).Offset }

func (f *file) insert(pos token.Pos, text string) {
	f.edits = append(f.edits, edit{f.offset(pos), 0, text})
}

func (f *file) replace(from, to token.Pos, text string) {
	f.edits = append(f.edits, edit{f.offset(from), f.offset(to) - f.offset(from), text})
}

// apply makes the edits. Of those at one offset the one that was noted first comes first, so the calls around
// a comparison open before those inside it; what closes them is ")" in any order.
func (f *file) apply() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		out.Write(f.text[at:e.at])
		out.WriteString(e.text)
		at = e.at + e.size
	}
	out.Write(f.text[at:])
	return out.Bytes()
}
