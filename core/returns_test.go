package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestReturnsOfDecoders enforces part of the rule in CONTRIBUTING.md against a call and a field in one return
// statement. In `return c, abi.DecodeFields(data, c.fields)`, TinyGo copies c before the call, so the module (and
// only the module) would return an empty c.
func TestReturnsOfDecoders(t *testing.T) {
	functions := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				functions++
				for _, at := range earlyReturns(f) {
					t.Errorf("%s: make the call first, then return the value", files.Position(at))
				}
			}
		}
		return nil
	})
	if err != nil || functions < 1000 {
		t.Errorf("read %d functions: %v", functions, err)
	}
}

func TestEarlyReturns(t *testing.T) {
	for source, want := range map[string]int{
		"func f() (c T, err error) { return c, decode(c.fields) }":              1,
		"func f() (c T, err error) { if x { return c, decode(c.fields) } }":     1,
		"func f() (T, error) { var c T; return c, decode(data, c.fields) }":     1,
		"func f() (*T, error) { c := &T{}; return c, decode(c.fields) }":        0,
		"func f() (c T, err error) { err = decode(c.fields); return c, err }":   0,
		"func f(r *R) (c T, err error) { return c, r.End() }":                   0,
		"func f(c T) (T, error) { return c, decode(other.fields) }":             0,
		"func f(c T) ([]byte, error) { return c.body, decode(other, c.other) }": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(earlyReturns(file.Decls[0].(*ast.FuncDecl))); got != want {
			t.Errorf("%s: %d findings, want %d", source, got, want)
		}
	}
}

// earlyReturns finds the return statements that contain both a variable and a call that gets the variable's method
// fields as an argument. It ignores variables that are pointers made by the function.
func earlyReturns(f *ast.FuncDecl) (found []token.Pos) {
	pointers := map[string]bool{}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if u, ok := n.Rhs[0].(*ast.UnaryExpr); ok && u.Op == token.AND {
				if name, ok := n.Lhs[0].(*ast.Ident); ok {
					pointers[name.Name] = true
				}
			}
		case *ast.ReturnStmt:
			for _, value := range n.Results {
				if name, ok := value.(*ast.Ident); ok && !pointers[name.Name] && decodes(n, name.Name) {
					found = append(found, n.Pos())
				}
			}
		}
		return true
	})
	return found
}

// decodes reports whether a return statement contains a call with name.fields as an argument.
func decodes(r *ast.ReturnStmt, name string) (found bool) {
	ast.Inspect(r, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, arg := range call.Args {
			s, ok := arg.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "fields" {
				continue
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
				found = true
			}
		}
		return true
	})
	return found
}
