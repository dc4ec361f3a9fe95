package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// storedTable returns the part of sizing.md about stored data.
func storedTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("operate/sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "### Stored data and its lifetime\n")
	part, _, ends := strings.Cut(part, "\n## ")
	if !found || !ends {
		t.Fatal("sizing.md has no part about stored data")
	}
	return part
}

// sections are the headings of the tables by the folders whose code makes the rows.
var sections = map[string][]string{
	"core/keymeter":  {"Rows of a key"},
	"core/ledger":    {"Rows of a project", "Rows of the deployment"},
	"core/directory": {"Rows of the deployment"},
	"core/doc":       {"Documents of the deployment", "Values and tables"},
	"core/exchange":  {"Values and tables"},
	"control":        {"Documents of the deployment"},
}

// A row's key is a constant such as rowMeter = "h". A document's or a value's key begins with letters and a slash.
var (
	rowConstant = regexp.MustCompile(`^rows?[A-Z]`)
	keyPrefix   = regexp.MustCompile(`^[a-z]{1,6}/(salt|import|round)?$`)
)

// notKeys are prefixes that the code uses for something else.
var notKeys = []string{"docs/", "dist/", "lease/", "usage/", "meter/"}

// kinds returns the keys that the code of a folder stores under.
func kinds(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			found = append(found, kindsIn(file, strings.HasPrefix(folder, "core/") && folder != "core/doc" && folder != "core/exchange")...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func kindsIn(file *ast.File, rows bool) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.ValueSpec:
			for i := range n.Values {
				if rows && rowConstant.MatchString(n.Names[i].Name) {
					ast.Inspect(n.Values[i], func(value ast.Node) bool {
						found = append(found, textOf(value)...)
						return true
					})
				}
			}
		case *ast.BasicLit:
			if text := textOf(n); !rows && len(text) > 0 && keyPrefix.MatchString(text[0]) {
				found = append(found, text[0])
			}
		}
		return true
	})
	return found
}

// textOf returns the value of a string literal.
func textOf(n ast.Node) []string {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil || text == "" {
		return nil
	}
	return []string{text}
}

// TestEveryKindOfRowIsListed checks that operators can read of every kind of row, document and value what deletes it.
func TestEveryKindOfRowIsListed(t *testing.T) {
	table := storedTable(t)
	for folder, headings := range sections {
		listed := ""
		for _, heading := range headings {
			_, part, found := strings.Cut(table, "#### "+heading+"\n")
			if !found {
				t.Fatalf("sizing.md has no heading %q", heading)
			}
			part, _, _ = strings.Cut(part, "\n#### ")
			listed += part
		}
		count := 0
		for _, kind := range kinds(t, folder) {
			if contains(notKeys, kind) {
				continue
			}
			if count++; !strings.Contains(listed, "`"+kind+"`") {
				t.Errorf("%s stores %q, which the table in docs/operate/sizing.md does not list under %q", folder, kind, headings)
			}
		}
		if count == 0 {
			t.Errorf("%s stores nothing: this test does not find its keys", folder)
		}
	}
}

func contains(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// TestEveryTableIsListed does the same for the tables of the databases.
func TestEveryTableIsListed(t *testing.T) {
	table := storedTable(t)
	files, err := filepath.Glob("../store/postgres/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	names := 0
	for _, path := range append(files, "../store/postgres/migrate.go", "../store/sqlite/schema.go") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`).FindAllStringSubmatch(string(text), -1) {
			if names++; !strings.Contains(table, "`"+match[1]+"`") {
				t.Errorf("the table of %s in docs/operate/sizing.md does not list %s", path, match[1])
			}
		}
	}
	if names < 8 {
		t.Errorf("only %d tables found", names)
	}
}
