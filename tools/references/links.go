package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/markdown"
	"github.com/postern-ai/postern/tools/internal/repo"
)

var (
	code   = regexp.MustCompile("`[^`]*`")
	link   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	scheme = regexp.MustCompile(`^[a-z]+:`)
)

// broken returns the links in Markdown that lead nowhere on a code host, because the file or the heading does not
// exist.
func broken(known names, files []repo.File) []string {
	headings := map[string][]markdown.Heading{}
	for _, f := range files {
		if path.Ext(f.Path) == ".md" {
			headings[f.Path] = markdown.Headings(string(f.Text))
		}
	}
	var found []string
	for _, f := range files {
		if path.Ext(f.Path) != ".md" {
			continue
		}
		for _, l := range markdown.Unfenced(string(f.Text)) {
			for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(l.Text, "``"), -1) {
				if why := fault(known, headings, f.Path, match[1]); why != "" {
					found = append(found, fmt.Sprintf("%s:%d: link to %s: %s", f.Path, l.Number, match[1], why))
				}
			}
		}
	}
	return found
}

// fault returns why a link leads nowhere, or "". Links to other sites pass.
func fault(known names, headings map[string][]markdown.Heading, from, target string) string {
	if scheme.MatchString(target) {
		return ""
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	place := from
	if file != "" {
		place = path.Join(path.Dir(from), file)
	}
	if !slices.Contains(known.paths, place) {
		return "file not found"
	}
	if hasAnchor && !slices.ContainsFunc(headings[place], func(h markdown.Heading) bool { return h.Anchor == anchor }) {
		return "no such heading"
	}
	return ""
}
