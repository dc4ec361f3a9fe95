package reference

import (
	"fmt"
	"strings"
)

// page builds a Markdown file.
type page struct{ strings.Builder }

// newPage starts a page. source names the files from which it is made.
func newPage(title, source string) *page {
	p := &page{}
	p.line("# %s\n\n<!-- Made from %s by `make generate`. Change those. -->\n", title, source)
	return p
}

// line writes a formatted line and a line break.
func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// text writes paragraphs, followed by an empty line.
func (p *page) text(text string) { p.WriteString(strings.TrimSpace(text) + "\n\n") }

// heading writes a heading, followed by an empty line.
func (p *page) heading(level int, text string) {
	p.text(strings.Repeat("#", level) + " " + text)
}

// table writes rows of cells under a head, followed by an empty line.
func (p *page) table(head []string, rows [][]string) {
	p.row(head)
	p.line("|%s", strings.Repeat("---|", len(head)))
	for _, row := range rows {
		p.row(row)
	}
	p.line("")
}

func (p *page) row(cells []string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	p.line("| %s |", strings.Join(escaped, " | "))
}

// String returns the page with one line break at the end.
func (p *page) String() string { return strings.TrimRight(p.Builder.String(), "\n") + "\n" }

// code returns a text in backticks. For an empty text, it returns an empty string.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// codes returns texts in backticks, separated by commas.
func codes(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = code(text)
	}
	return strings.Join(quoted, ", ")
}
