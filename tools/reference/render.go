package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const intro = `# Reference of the Go client

<!-- Made from the comments in clients/go by ` + "`make generate`" + `. Change those. -->

[The guide](../go.md) shows how to use the client; [behavior.md](../behavior.md) explains retries, timeouts and logs.
Every error type also has the method ` + "`Error`" + `, and most have ` + "`Unwrap`" + `, for ` + "`errors.As` and `errors.Is`" + `.

`

// conventional lists methods that every reader knows.
var conventional = []string{"Error", "Unwrap", "String", "GoString", "MarshalJSON"}

type page struct {
	fset *token.FileSet
	pkg  *doc.Package
	err  error // the first
}

// entry is a top-level name of the page.
type entry struct {
	name string
	pos  token.Pos
	text string
}

// render returns the reference of a package's folder.
func render(folder string, sections []section) ([]byte, error) {
	p := &page{fset: token.NewFileSet()}
	files, err := p.parse(folder)
	if err != nil {
		return nil, err
	}
	if p.pkg, err = doc.NewFromFiles(p.fset, files, "github.com/postern-ai/postern/clients/go"); err != nil {
		return nil, err
	}
	entries := p.entries()
	var body bytes.Buffer
	var titles []string
	for _, s := range sections {
		titles = append(titles, fmt.Sprintf("[%s](#%s)", s.title, strings.ReplaceAll(strings.ToLower(s.title), " ", "-")))
		fmt.Fprintf(&body, "\n## %s\n", s.title)
		for _, e := range p.of(s, entries) {
			body.WriteString(e.text)
		}
	}
	for _, e := range entries {
		if !slices.ContainsFunc(sections, func(s section) bool { return slices.Contains(s.files, p.file(e.pos)) }) {
			p.fail("%s: the file is in no section of tools/reference", p.fset.Position(e.pos))
		}
	}
	overview := "\n\n## Overview\n\n" + p.markdown(p.pkg.Doc, 3)
	return []byte(intro + strings.Join(titles, " · ") + overview + body.String()), p.err
}

func (p *page) parse(folder string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, err
}

func (p *page) file(pos token.Pos) string { return filepath.Base(p.fset.Position(pos).Filename) }

func (p *page) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// of returns a section's entries in the order of its files.
func (p *page) of(s section, all []entry) []entry {
	var found []entry
	for _, e := range all {
		if slices.Contains(s.files, p.file(e.pos)) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b entry) int {
		if c := slices.Index(s.files, p.file(a.pos)) - slices.Index(s.files, p.file(b.pos)); c != 0 {
			return c
		}
		return int(a.pos - b.pos)
	})
	return found
}

// entries returns all exported names. A type's entry includes its constants and methods.
func (p *page) entries() []entry {
	found := p.values(p.pkg.Consts)
	found = append(found, p.values(p.pkg.Vars)...)
	funcs := p.pkg.Funcs
	for _, t := range p.pkg.Types {
		found = append(found, p.typ(t))
		funcs = append(funcs, t.Funcs...)
	}
	for _, f := range funcs {
		found = append(found, entry{f.Name, f.Decl.Pos(), p.section(3, f.Name, f.Doc, f.Decl)})
	}
	return found
}

func (p *page) values(groups []*doc.Value) []entry {
	var found []entry
	for _, v := range groups {
		found = append(found, entry{v.Names[0], v.Decl.Pos(), p.section(3, strings.Join(v.Names, ", "), v.Doc, v.Decl)})
	}
	return found
}

func (p *page) typ(t *doc.Type) entry {
	decls := []ast.Decl{t.Decl}
	for _, v := range append(t.Consts, t.Vars...) {
		decls = append(decls, v.Decl)
	}
	text := p.section(3, t.Name, t.Doc, decls...)
	slices.SortFunc(t.Methods, func(a, b *doc.Func) int { return int(a.Decl.Pos() - b.Decl.Pos()) })
	for _, m := range t.Methods {
		if m.Level == 0 && !slices.Contains(conventional, m.Name) {
			text += p.section(4, t.Name+"."+m.Name, m.Doc, m.Decl)
		}
	}
	return entry{t.Name, t.Decl.Pos(), text}
}

// section returns a heading, declarations and their comment.
func (p *page) section(level int, name, text string, decls ...ast.Decl) string {
	if strings.TrimSpace(text) == "" {
		p.fail("%s: %s has no doc comment", p.fset.Position(decls[0].Pos()), name)
	}
	var code []string
	for _, decl := range decls {
		code = append(code, p.code(decl))
	}
	return fmt.Sprintf("\n%s %s\n\n```go\n%s\n```\n\n%s", strings.Repeat("#", level), name, strings.Join(code, "\n\n"), p.markdown(text, level+1))
}

// markdown returns a doc comment as Markdown.
func (p *page) markdown(text string, level int) string {
	out := p.pkg.Printer()
	out.HeadingLevel = level
	out.HeadingID = func(*comment.Heading) string { return "" }
	out.DocLinkURL = func(link *comment.DocLink) string { return "#" + strings.ToLower(link.Recv+link.Name) }
	return string(out.Markdown(p.pkg.Parser().Parse(text)))
}

var hidden = regexp.MustCompile(`\n*[ \t]*// contains filtered or unexported (?:fields|methods)`)
var empty = regexp.MustCompile(`(struct|interface) \{\n\}`)

// code returns a declaration without its comment, tags and unexported members.
func (p *page) code(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Doc, d.Body = nil, nil
	case *ast.GenDecl:
		d.Doc = nil
		ast.Inspect(d, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				field.Tag = nil
			}
			return true
		})
	}
	var out bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 4}
	if err := config.Fprint(&out, p.fset, decl); err != nil {
		p.fail("%w", err)
	}
	text := hidden.ReplaceAllString(out.String(), "")
	return empty.ReplaceAllString(text, "$1{ … }")
}
