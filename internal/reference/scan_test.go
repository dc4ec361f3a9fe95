package reference_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// searched are the folders whose programs send or receive HTTP.
var searched = []string{"core", "host", "server", "control", "telemetry", "worker"}

// unsearched are folders below them in which such names have another meaning.
var unsearched = []string{"testdata", "test", "web", "governor"}

var (
	// unmistakable matches a text that is always a header: X-Name or Two-Words.
	unmistakable = regexp.MustCompile(`^(?:(?i:x-[a-z0-9]+(-[a-z0-9]+)*)|[A-Z][a-z]+(-[A-Z][A-Za-z]+)+)$`)
	headerName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)
	accessor     = regexp.MustCompile(`(?:headers|Headers)\.(?:get|set|has|append|delete)\(['"]([\w-]+)['"]|['"](x-[a-z0-9-]+)['"]`)
)

// eachName calls found for each header name in the source.
func eachName(t *testing.T, found func(path, name string)) {
	t.Helper()
	for _, folder := range searched {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains(unsearched, entry.Name()):
				return filepath.SkipDir
			case entry.IsDir():
				return nil
			}
			for _, name := range namesIn(t, path) {
				found(path, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// namesIn returns the header names in a Go, TypeScript or JavaScript file.
func namesIn(t *testing.T, path string) (names []string) {
	t.Helper()
	extension := filepath.Ext(path)
	isGo := extension == ".go" && !strings.HasSuffix(path, "_test.go")
	if !isGo && extension != ".mjs" && (extension != ".ts" || strings.HasSuffix(path, ".d.ts")) {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if isGo {
		return namesInGo(t, text)
	}
	for _, found := range accessor.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1]+found[2])
	}
	return names
}

// namesInGo returns three kinds of names: unmistakable ones, names in calls of functions that take a header, and
// names in literals with the fields Name and Value.
func namesInGo(t *testing.T, text []byte) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e ast.Expr, form *regexp.Regexp) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && form.MatchString(text) {
				names = append(names, text)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			add(n, unmistakable)
		case *ast.CallExpr:
			if len(n.Args) > 0 && takesHeader(n.Fun) {
				add(n.Args[0], headerName)
			}
		case *ast.CompositeLit:
			add(nameOfPair(n), headerName)
		}
		return true
	})
	return names
}

// takesHeader reports whether a function's first argument is a header name. That is true of x.header and the methods
// of http.Header.
func takesHeader(function ast.Expr) bool {
	f, ok := function.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "header" || slices.Contains([]string{"Get", "Set", "Add", "Del", "Values"}, f.Sel.Name) && isHeader(f.X))
}

// isHeader reports whether an expression is an http.Header, judging by its name.
func isHeader(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "Header"
	case *ast.CallExpr:
		return isHeader(e.Fun)
	case *ast.Ident:
		return e.Name == "header" || e.Name == "h"
	}
	return false
}

// nameOfPair returns the name in abi.Header{Name: name, Value: value}, or nil. It ignores chat.Member, which has the
// same fields but contains JSON names.
func nameOfPair(literal *ast.CompositeLit) (name ast.Expr) {
	if s, ok := literal.Type.(*ast.SelectorExpr); ok && s.Sel.Name != "Header" || len(literal.Elts) != 2 {
		return nil
	}
	value := false
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return nil
		}
		switch key, _ := pair.Key.(*ast.Ident); {
		case key == nil:
			return nil
		case key.Name == "Name":
			name = pair.Value
		default:
			value = key.Name == "Value"
		}
	}
	if !value {
		return nil
	}
	return name
}

// TestNamesInGo checks that the search finds every way in which the source names a header, and nothing else.
func TestNamesInGo(t *testing.T) {
	got := namesInGo(t, []byte(`package p

func f() {
	x.header("one")
	w.Header().Set("two", "no")
	header.Get("three")
	r.Header.Values("four")
	query.Get("no")
	use(abi.Header{Name: "five", Value: "no"}, chat.Member{Name: "no", Value: "no"}, named{Name: "no", Other: "no"})
	use([]abi.Header{{Name: "six", Value: v}}, "x-seven", "X-Eight", "Nine-Header", "a Not-A-Header", "no-header")
}
`))
	slices.Sort(got)
	if want := []string{"Nine-Header", "X-Eight", "five", "four", "one", "six", "three", "two", "x-seven"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
