package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// mention is a file or folder name as written in prose.
type mention struct {
	line int
	name string
}

var (
	urls     = regexp.MustCompile(`[a-z]+://[^\s)>"'` + "`" + `]+`)
	pathLike = regexp.MustCompile("`?[A-Za-z0-9_@.*{}$<>~-]+(?:/[A-Za-z0-9_@.*{}$<>~-]+)*/?`?")
)

// host matches the start of a URL without a scheme.
var host = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+/`)

// extensions are the file extensions to look for.
var extensions = []string{".md", ".go", ".ts", ".mjs", ".js", ".sh", ".toml", ".json", ".yaml", ".css", ".html", ".lua"}

// mentions finds file names in a file's prose, and folder names in backticks.
func mentions(f repo.File, isTop func(string) bool) []mention {
	var found []mention
	for _, p := range prose(f) {
		text := urls.ReplaceAllString(p.name, " ")
		for _, word := range pathLike.FindAllString(text, -1) {
			name := strings.TrimRight(strings.Trim(word, "`"), ".")
			quoted := len(word) >= 2 && word[0] == '`' && word[len(word)-1] == '`'
			if named(name, quoted, isTop) {
				found = append(found, mention{p.line, name})
			}
		}
	}
	return found
}

// named reports whether a word is a name in the repository: a file name with a known extension, or a path in backticks
// that starts with a top folder. Templates, placeholders (NAME.json), URLs, "Node.js" and "Next.js" are not.
func named(word string, quoted bool, isTop func(string) bool) bool {
	base := path.Base(word)
	ext := path.Ext(base)
	switch stem := strings.TrimSuffix(base, ext); {
	case strings.ContainsAny(word, "{}$<>~@"), strings.HasPrefix(base, "_"), word == "Node.js", word == "Next.js",
		ext != ".md" && stem == strings.ToUpper(stem) && stem != strings.ToLower(stem), // NAME.json
		host.MatchString(word):
		return false
	}
	for _, known := range extensions {
		if ext == known && len(base) > len(ext) {
			return true
		}
	}
	top, _, deeper := strings.Cut(word, "/")
	return quoted && deeper && isTop(top)
}

// prose returns a file's prose by line: the lines of a Markdown file, or the comments of any other file.
func prose(f repo.File) []mention {
	switch path.Ext(f.Path) {
	case ".md":
		return lines(1, string(f.Text))
	case ".go":
		return goComments(f.Text)
	case ".ts", ".js", ".mjs":
		return slashComments(string(f.Text))
	}
	return hashComments(string(f.Text))
}

func lines(first int, text string) []mention {
	var all []mention
	for i, line := range strings.Split(text, "\n") {
		all = append(all, mention{first + i, line})
	}
	return all
}

func goComments(text []byte) []mention {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	var found []mention
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return found
		}
		if kind == token.COMMENT && !strings.HasPrefix(literal, "//go:") {
			found = append(found, lines(files.Position(pos).Line, literal)...)
		}
	}
}

var slashComment = regexp.MustCompile(`(?:^|\s)//(.*)`)

func slashComments(text string) []mention {
	var found []mention
	open := false
	for _, l := range lines(1, text) {
		trimmed := strings.TrimSpace(l.name)
		open = open || strings.HasPrefix(trimmed, "/*")
		if comment := slashComment.FindStringSubmatch(l.name); open {
			found = append(found, l)
		} else if comment != nil {
			found = append(found, mention{l.line, comment[1]})
		}
		open = open && !strings.Contains(trimmed, "*/")
	}
	return found
}

var hashComment = regexp.MustCompile(`(?:^|\s)#(.*)`)

func hashComments(text string) []mention {
	var found []mention
	for _, l := range lines(1, text) {
		if comment := hashComment.FindStringSubmatch(l.name); comment != nil {
			found = append(found, mention{l.line, comment[1]})
		}
	}
	return found
}
