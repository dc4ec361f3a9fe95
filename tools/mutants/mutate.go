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

// kind is the way a mutant differs from the source.
type kind string

const (
	rowDeleted  kind = "row"        // a row of one of the exchange's tables, or the row's last column, is missing
	cancelGone  kind = "cancel"     // a statement that cancels an outstanding action is skipped
	negated     kind = "comparison" // a comparison is negated
	offBoundary kind = "boundary"   // < becomes <=, and so on
	namedChange kind = "named"      // see changes
)

var kinds = []kind{rowDeleted, cancelGone, negated, offBoundary, namedChange}

// mutant is one change to the source. Its switch in the instrumented source compares its ID with the active ID. IDs
// start at 1.
type mutant struct {
	ID       int
	Kind     kind
	File     string
	Line     int
	Function string
	Text     string // the row, statement or comparison in the source, with single spaces
	nth      int    // number among equal mutants of the function, starting at 1
}

// key identifies the mutant independently of line numbers.
func (m mutant) key() string {
	return fmt.Sprintf("%s:%s: %s: `%s` #%d", m.File, m.Function, m.Kind, m.Text, m.nth)
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s: %s", m.File, m.Line, m.Kind, m.Text) }

// tableFolder contains the exchange's tables. They are in these variables: the state machine, the machines that run
// alongside the request, the endpoints, and the effect of a disconnect in each phase.
const tableFolder = "core/exchange"

var tableNames = []string{"table", "classifierRows", "extensionRows", "leaseRows", "drainRows", "endpoints", "phaseTable"}

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

// file is the state of instrumenting one file.
type file struct {
	*mutator
	path     string
	text     []byte
	tokens   *token.FileSet
	function string
	edits    []edit
}

// instrument returns the file with a switch for each mutant. Line numbers do not change.
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
			if slices.Contains(tableNames, name.Name) && path.Dir(f.path) == tableFolder && i < len(v.Values) {
				f.rows(v.Values[i])
			}
		}
		for _, value := range v.Values {
			ast.Inspect(value, f.visit)
		}
	}
}

func (f *file) visit(n ast.Node) bool {
	f.named(n)
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.ArrayType:
		return false // array lengths are constants
	case *ast.BinaryExpr:
		f.comparison(n)
	case *ast.BlockStmt:
		f.cancels(n.List)
	case *ast.CaseClause:
		f.cancels(n.Body)
	}
	return true
}

// rows adds a mutant for each element of a table. The array becomes a slice without the active mutant's element. In a
// table with keys, the indexes are constants, so the element's last column becomes zero instead.
func (f *file) rows(value ast.Expr) {
	literal, ok := value.(*ast.CompositeLit)
	if !ok {
		return
	}
	array, ok := literal.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	if slices.ContainsFunc(literal.Elts, isKeyed) {
		f.lastColumns(literal)
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

func (f *file) lastColumns(table *ast.CompositeLit) {
	for _, element := range table.Elts {
		entry, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		row, ok := entry.Value.(*ast.CompositeLit)
		if !ok || len(row.Elts) == 0 {
			continue
		}
		last := row.Elts[len(row.Elts)-1]
		f.insert(last.Pos(), fmt.Sprintf("mutantColumn(%d, ", f.add(rowDeleted, entry)))
		f.insert(last.End(), ")")
	}
}

// cancels adds a mutant for each statement of a block that cancels an action. It applies only to tableFolder.
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

// isCancel reports whether a call cancels an action: x.cancel…(…), x.drop…(…), or a call with abi.ActionCancel in its
// arguments.
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

// orders are the switch functions of the order comparisons.
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

// add records a mutant at a node and returns its ID.
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

// apply makes the edits. Edits at the same offset keep their order, so the call around a comparison opens before the
// calls inside it. Their closing edits are all ")", so their order does not matter.
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
