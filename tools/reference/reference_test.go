package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const client = "../../clients/go"

var (
	heading = regexp.MustCompile(`(?m)^#{3,4} (.+)\n`)
	block   = regexp.MustCompile("(?s)^\n```go\n.+?\n```\n")
)

// entries returns the text of each entry of a page, without its code.
func entries(t *testing.T, page string) map[string]string {
	t.Helper()
	_, page, _ = strings.Cut(page, "\n## Client and options\n")
	found := map[string]string{}
	at := heading.FindAllStringSubmatchIndex(page, -1)
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		name, rest := page[m[2]:m[3]], page[m[1]:end]
		if !block.MatchString(rest) {
			t.Errorf("%s has no code", name)
		}
		text, _, _ := strings.Cut(block.ReplaceAllString(rest, ""), "\n## ")
		found[name] = strings.TrimSpace(text)
	}
	return found
}

// exported returns the exported types, functions and methods of the client.
func exported(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob(client + "/*.go")
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || !ast.FileExports(file) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				names = append(names, n.Name.Name)
			case *ast.FuncDecl:
				if ast.IsExported(receiver(n)+n.Name.Name) && !slices.Contains(conventional, n.Name.Name) {
					names = append(names, receiver(n)+n.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name + "."
}

func TestEveryNameHasAnEntryWithAText(t *testing.T) {
	page, err := render(client, sections)
	if err != nil {
		t.Fatal(err)
	}
	found := entries(t, string(page))
	names := exported(t)
	if len(names) < 100 {
		t.Errorf("%d exported names, want more", len(names))
	}
	for _, name := range names {
		if found[name] == "" {
			t.Errorf("%s has no entry, or one without a text", name)
		}
	}
	for name, text := range found {
		if text == "" {
			t.Errorf("%s has no text", name)
		}
	}
}

func TestErrors(t *testing.T) {
	for want, source := range map[string]string{
		"A has no doc comment":   "type A struct{}",
		"F has no doc comment":   "func F() {}",
		"A.M has no doc comment": "// A is.\ntype A struct{}\nfunc (A) M() {}",
		"C has no doc comment":   "const C = 1",
	} {
		if _, err := renderOf(t, "a", source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", source, err, want)
		}
	}
	if _, err := renderOf(t, "b", "// A is.\ntype A struct{}"); err == nil || !strings.Contains(err.Error(), "in no section") {
		t.Errorf("a file without a section: error %v", err)
	}
}

func TestEntry(t *testing.T) {
	page, err := renderOf(t, "a", "// A is.\ntype A struct {\n\tB int `json:\"b\"` // in milliseconds\n\tc int\n}\n")
	want := "### A\n\n```go\ntype A struct {\n\tB int // in milliseconds\n}\n```\n\nA is.\n"
	if err != nil || !strings.Contains(page, want) {
		t.Errorf("error %v, got:\n%s", err, page)
	}
}

// renderOf returns the page of a package with one file. The name "a" has a section.
func renderOf(t *testing.T, name, source string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name+".go"), []byte("package a\n\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := render(folder, []section{{"All", []string{"a.go"}}})
	return string(page), err
}
