package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printJSON prints a value with two spaces of indentation.
func (p *program) printJSON(v any) error {
	encoder := json.NewEncoder(p.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// table prints rows in columns. The first row is the heading.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// plain returns text from the deployment. It removes characters that could control a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// orDash returns a text, or - if it is empty.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return plain(text)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
