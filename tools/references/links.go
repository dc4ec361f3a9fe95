package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/postern-ai/postern/tools/internal/repo"
)

var (
	fence   = regexp.MustCompile("^\\s*(```+|~~~+)")
	code    = regexp.MustCompile("`[^`]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	label   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// broken returns the links in Markdown that lead nowhere on a code host: to a file that does not exist beside the document,
// or to a heading that its document does not have.
func broken(known names, files []repo.File) []string {
	headings := map[string][]string{}
	for _, f := range files {
		if path.Ext(f.Path) == ".md" {
			headings[f.Path] = anchors(string(f.Text))
		}
	}
	var found []string
	for _, f := range files {
		if path.Ext(f.Path) != ".md" {
			continue
		}
		for _, l := range unfenced(string(f.Text)) {
			for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(l.name, "``"), -1) {
				if why := fault(known, headings, f.Path, match[1]); why != "" {
					found = append(found, fmt.Sprintf("%s:%d: link to %s: %s", f.Path, l.line, match[1], why))
				}
			}
		}
	}
	return found
}

// fault returns why a link leads nowhere, or "". A link to another site passes.
func fault(known names, headings map[string][]string, from, target string) string {
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
	if hasAnchor && !slices.Contains(headings[place], anchor) {
		return "no such heading"
	}
	return ""
}

// unfenced returns the lines of Markdown outside of code blocks.
func unfenced(text string) []mention {
	var found []mention
	open := ""
	for _, l := range lines(1, text) {
		switch mark := fence.FindStringSubmatch(l.name); {
		case mark == nil && open == "":
			found = append(found, l)
		case mark != nil && open == "":
			open = mark[1]
		case mark != nil && strings.HasPrefix(mark[1], open):
			open = ""
		}
	}
	return found
}

// anchors returns the anchors that a code host gives to headings: lower-case words with hyphens, numbered if they repeat.
func anchors(text string) []string {
	var found []string
	times := map[string]int{}
	for _, l := range unfenced(text) {
		match := heading.FindStringSubmatch(l.name)
		if match == nil {
			continue
		}
		anchor := slug(label.ReplaceAllString(match[1], "$1"))
		if n := times[anchor]; n > 0 {
			found = append(found, anchor+"-"+strconv.Itoa(n))
		} else {
			found = append(found, anchor)
		}
		times[anchor]++
	}
	return found
}

func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
