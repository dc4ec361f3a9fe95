package main

import (
	"path"
	"strings"
	"unicode"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	runLines       = 6 // minimum number of consecutive equal lines
	trivialLetters = 4 // minimum letters and digits of a significant line, which excludes `}` and `i++`
)

// line is a significant line with its number in the file.
type line struct {
	number int
	text   string
}

// repeats finds copies of earlier lines: runs of at least runLines equal lines, in the same or another file.
// Indentation, comments, imports and trivial lines are ignored. Of several equal runs, all but the first are places.
func repeats(files []repo.File) []place {
	type spot struct{ file, at int }
	first := map[string]spot{}
	var copies []place
	for number, f := range files {
		lines := significant(f)
		end := 0 // end of the last copy
		for at := 0; at+runLines <= len(lines); at++ {
			key := window(lines[at : at+runLines])
			original, seen := first[key]
			if !seen {
				first[key] = spot{number, at}
				continue
			}
			if original.file == number && at < original.at+runLines {
				continue // it overlaps its original
			}
			if at < end {
				copies[len(copies)-1].lines += at + runLines - end
			} else {
				copies = append(copies, place{f.Path, lines[at].number, "copy of " + files[original.file].Path, runLines})
			}
			end = at + runLines
		}
	}
	return copies
}

func window(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// significant returns a file's lines without indentation, and without comments, imports and trivial lines.
func significant(f repo.File) []line {
	var lines []line
	end := "" // the terminator of the open comment or import
	for number, text := range strings.Split(string(f.Text), "\n") {
		text = strings.TrimSpace(text)
		if end != "" {
			if strings.Contains(text, end) {
				end = ""
			}
			continue
		}
		ignored, closing := ignoredLine(path.Ext(f.Path), text)
		end = closing
		if !ignored && substance(text) >= trivialLetters {
			lines = append(lines, line{number + 1, text})
		}
	}
	return lines
}

// ignoredLine reports whether a line is or begins a comment or an import. end is its terminator on a later line, or "".
func ignoredLine(ext, text string) (ignored bool, end string) {
	switch {
	case strings.HasPrefix(text, "//"):
		return true, ""
	case strings.HasPrefix(text, "/*"):
		if strings.Contains(text, "*/") {
			return true, ""
		}
		return true, "*/"
	case !strings.HasPrefix(text, "import "):
		return false, ""
	case ext == ".go" && text == "import (":
		return true, ")"
	case ext == ".go", strings.ContainsAny(text, `'"`):
		return true, ""
	}
	return true, " from "
}

func substance(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
