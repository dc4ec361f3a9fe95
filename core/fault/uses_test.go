package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names contains the names of the constants in order.
func names(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			found = append(found, s.(*ast.ValueSpec).Names[0].Name)
		}
	}
	if len(found) != int(count)+1 {
		t.Fatalf("found %d constants, want %d", len(found), count+1)
	}
	return found[:count]
}

// selected returns the name X in an expression fault.X, or "".
func selected(n ast.Node) string {
	if s, ok := n.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "fault" {
			return s.Sel.Name
		}
	}
	return ""
}

// deferredIn returns the X in x.reject…(fault.X, …) or fault.X.Deferred(), or "".
func deferredIn(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case !ok:
		return ""
	case method.Sel.Name == "Deferred":
		return selected(method.X)
	case strings.HasPrefix(method.Sel.Name, "reject") && len(call.Args) > 0:
		return selected(call.Args[0])
	}
	return ""
}

// found returns the names that the given function finds in the Go files below root. It skips tests.
func found(t *testing.T, root string, name func(ast.Node) string) map[string]bool {
	t.Helper()
	into := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			into[name(n)] = true
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// texts returns the contents of all files that are below the folders and have one of the endings.
func texts(t *testing.T, endings []string, folders ...string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(path, end) }) {
				return err
			}
			content, err := os.ReadFile(path)
			all.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestShown: each fault is returned in a scenario, in a transcript, or in a test of a package that returns it.
func TestShown(t *testing.T) {
	flows := texts(t, []string{".txt"}, "../../testdata/conformance", "../exchange/testdata")
	tests := texts(t, []string{"_test.go"}, "..", "../../control", "../../conformance")
	for f, name := range names(t) {
		f := Fault(f)
		shown := strings.Contains(flows, f.Code()) || regexp.MustCompile(`\bfault\.`+name+`\b`).MatchString(tests)
		if f != None && !shown {
			t.Errorf("%s is in no scenario of testdata/conformance, in no transcript of core/exchange/testdata and in no test", f.Code())
		}
	}
}

// TestPlaces: a fault is returned only where and when its row says.
func TestPlaces(t *testing.T) {
	gateway, admin, deferred := found(t, "..", selected), found(t, "../../control", selected), found(t, "../exchange", deferredIn)
	for f, name := range names(t) {
		f := Fault(f)
		if f == None {
			continue
		}
		onGateway, onAdmin := f.Place() != OnAdmin, f.Place() == OnAdmin || f.Place() == Everywhere
		if gateway[name] != onGateway {
			t.Errorf("%s: used in core: %t, want %t for its place", name, gateway[name], onGateway)
		}
		if admin[name] != onAdmin {
			t.Errorf("%s: used in control: %t, want %t for its place", name, admin[name], onAdmin)
		}
		if want := table[f].stage != AtOnce; deferred[name] != want {
			t.Errorf("%s: rejected in core/exchange: %t, want %t for its stage", name, deferred[name], want)
		}
	}
}
