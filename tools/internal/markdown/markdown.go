// Package markdown reads the parts of Markdown documents that the tools need: the lines outside code blocks, and the
// headings.
package markdown

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	fence   = regexp.MustCompile("^\\s*(```+|~~~+)")
	heading = regexp.MustCompile(`^(#{1,6}) +(.+?) *#*$`)
	label   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Line is a line of a document. Number starts at 1.
type Line struct {
	Number int
	Text   string
}

// Unfenced returns the lines of a document outside its code blocks.
func Unfenced(text string) []Line {
	var found []Line
	open := ""
	for i, line := range strings.Split(text, "\n") {
		switch mark := fence.FindStringSubmatch(line); {
		case mark == nil && open == "":
			found = append(found, Line{i + 1, line})
		case mark != nil && open == "":
			open = mark[1]
		case mark != nil && strings.HasPrefix(mark[1], open):
			open = ""
		}
	}
	return found
}

// Heading is a heading of a document. Level is 1 for a title. Text is its Markdown. Anchor is the anchor that a code
// host generates.
type Heading struct {
	Line   int
	Level  int
	Text   string
	Anchor string
}

// Headings returns the headings of a document. An anchor is the heading in lowercase with hyphens. If it repeats, a
// number is added.
func Headings(text string) []Heading {
	var found []Heading
	times := map[string]int{}
	for _, l := range Unfenced(text) {
		match := heading.FindStringSubmatch(l.Text)
		if match == nil {
			continue
		}
		anchor := slug(label.ReplaceAllString(match[2], "$1"))
		times[anchor]++
		if n := times[anchor]; n > 1 {
			anchor += "-" + strconv.Itoa(n-1)
		}
		found = append(found, Heading{l.Number, len(match[1]), match[2], anchor})
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
