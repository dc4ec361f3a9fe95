package exchange

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stages are the package's files in the order in which a request passes through them. A function calls only functions
// in its own file and in files further down. To go back up, it uses the machine, for example by setting proceeds.
var stages = []struct {
	name  string
	files []string
}{
	{"machine", []string{"decoded", "machineview", "machine", "observe", "beside", "endpoints"}},
	{"request", []string{"intake", "match", "record", "policy", "govern", "validate", "texts", "embed", "moderate", "compact", "body", "idempotency"}},
	{"endpoints without a provider", []string{"models", "usage", "count", "status", "forward"}},
	{"admission", []string{"admission", "verdicts", "lookup", "kept", "follow", "dispatch", "hit", "replay", "classify"}},
	{"responses", []string{"mock", "whole", "stream", "governoutput", "withhold", "keeper", "extend", "coverage", "streamend", "misfit", "governschema", "streamout"}},
	{"attempt", []string{"attemptfault", "attempt", "providertext", "targets", "budget"}},
	{"finish", []string{"reject", "served", "finish", "keep", "ending", "endrecord", "settle", "failures", "meta", "pricing", "log", "headers", "overbudget", "limited"}},
	{"beside", []string{"tree", "lease", "flight", "cache", "violations", "guard"}},
	{"state", []string{"passed", "notes", "facts", "side", "inputs", "actions", "refusal", "endpoint", "state", "parts", "phases"}},
}

// arrow is a call from one file to another.
type arrow struct{ from, to, caller, callee string }

// arrows returns the calls between the files in a folder. It finds calls of functions, and of methods of *exchange.
// Their receiver is always named x.
func arrows(t *testing.T, folder string) (calls []arrow, files []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no files: %v", folder, err)
	}
	home, parsed := map[string]string{}, map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".go")
		parsed[name], files = file, append(files, name)
		for _, f := range functions(file) {
			if q := qualified(f); q != "" {
				home[q] = name
			}
		}
	}
	for name, file := range parsed {
		for _, f := range functions(file) {
			ast.Inspect(f, func(n ast.Node) bool {
				if callee := called(n); home[callee] != "" && home[callee] != name {
					calls = append(calls, arrow{name, home[callee], f.Name.Name, callee})
				}
				return true
			})
		}
	}
	return calls, files
}

func functions(file *ast.File) (all []*ast.FuncDecl) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			all = append(all, f)
		}
	}
	return all
}

// qualified returns a function's name. For a method of *exchange, the name starts with "x.". For methods of other
// types, it returns "".
func qualified(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok && star.X.(*ast.Ident).Name == "exchange" {
		return "x." + f.Name.Name
	}
	return ""
}

// called returns the qualified name of the function that a node calls or refers to. If there is none, it returns "".
func called(n ast.Node) string {
	switch e := n.(type) {
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok && id.Name == "x" {
			return "x." + e.Sel.Name
		}
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func TestStages(t *testing.T) {
	place := map[string]int{}
	for _, s := range stages {
		for _, file := range s.files {
			place[file] = len(place) + 1
		}
	}
	calls, files := arrows(t, ".")
	for _, file := range files {
		if place[file] == 0 {
			t.Errorf("%s.go has no place in stages", file)
		}
	}
	if len(place) != len(files) {
		t.Errorf("stages has %d files, the package %d", len(place), len(files))
	}
	if len(calls) < 300 {
		t.Errorf("found only %d calls between files", len(calls))
	}
	up := map[string]bool{}
	for _, c := range calls {
		if place[c.from] > place[c.to] {
			up[c.from+".go: "+c.caller+" calls "+strings.TrimPrefix(c.callee, "x.")+" of "+c.to+".go, above it"] = true
		}
	}
	var lines []string
	for line := range up {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		t.Error(line)
	}
}
