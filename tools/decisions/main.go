// Command decisions writes RATIONALE.md, the index of the decisions in docs/project/decisions. The documents are in
// the order of docs/README.md. Each has a title, a paragraph that introduces it, and a level-2 heading for each
// question.
package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/markdown"
	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	contents = "docs/README.md"
	folder   = "docs/project/decisions"
	index    = "RATIONALE.md"
)

const head = `# Decisions

<!-- Made from docs/project/decisions by ` + "`make generate`" + `. Change the documents there. -->

Design decisions that a reader may question. Each link leads to the reason for one of them. Unless stated otherwise, figures
were measured on one 2-core machine with workerd 2026-11-17. Ratios carry over to other machines; absolute figures do not.
`

func main() {
	root, err := repo.Root()
	if err == nil {
		err = write(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "decisions:", err)
		os.Exit(1)
	}
}

// write writes the index of a repository.
func write(root string) error {
	files, err := listed(root)
	if err != nil {
		return err
	}
	text := head
	for _, file := range files {
		section, err := section(root, file)
		if err != nil {
			return err
		}
		text += "\n" + section
	}
	return os.WriteFile(filepath.Join(root, index), []byte(text), 0o644)
}

var entry = regexp.MustCompile(`\]\((project/decisions/[^()/]+\.md)\)`)

// listed returns the documents in the order of the list of all documents. A document that is missing from that list
// is an error.
func listed(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, contents))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, match := range entry.FindAllStringSubmatch(string(text), -1) {
		files = append(files, path.Join(path.Dir(contents), match[1]))
	}
	found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		if file := path.Join(folder, filepath.Base(name)); !slices.Contains(files, file) {
			return nil, fmt.Errorf("%s must list %s", contents, file)
		}
	}
	return files, nil
}

// section returns a document's part of the index: a line for each question.
func section(root, file string) (string, error) {
	bytes, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	text := string(bytes)
	headings := markdown.Headings(text)
	if len(headings) < 2 || headings[0].Level != 1 {
		return "", fmt.Errorf("%s must have a title and a question", file)
	}
	lines := strings.Split(text, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "## [%s](%s)\n\n", headings[0].Text, file)
	for _, h := range headings[1:] {
		if h.Level != 2 || !strings.HasSuffix(h.Text, "?") {
			return "", fmt.Errorf("%s:%d: a heading must be a question of level 2, such as \"## Why is the core pure?\"", file, h.Line)
		}
		mark := ""
		if replaced(lines[h.Line:]) {
			mark = " (replaced)"
		}
		fmt.Fprintf(&b, "- [%s](%s#%s)%s\n", h.Text, file, h.Anchor, mark)
	}
	return b.String(), nil
}

// replaced reports whether a text starts by saying that its decision no longer holds.
func replaced(lines []string) bool {
	for _, line := range lines {
		if line != "" {
			return strings.HasPrefix(line, "Replaced by ")
		}
	}
	return false
}
