package main

import (
	"path"
	"strings"
	"unicode"

	"github.com/postern-ai/postern/tools/internal/repo"
)

const (
	runLines       = 6 // equal lines in a row that make a repetition
	trivialLetters = 4 // letters and digits that a line has at least to count: neither `}` nor `i++` does
)

// line is a line that counts, with its number in the file.
type line struct {
	number int
	text   string
}

// repeats finds the lines that copy earlier ones: runs of at least runLines equal lines, in the same or
// another file. Indentation, comments, imports and trivial lines count for nothing. Each copy is a place
// with the number of its lines; the first of equal runs is none.
func repeats(files []repo.File) []place {
	type spot struct{ file, at int }
	first := map[string]spot{}
	var copies []place
	for number, f := range files {
		lines := significant(f)
		end := 0 // of the copied lines so far
		for at := 0; at+runLines <= len(lines); at++ {
			key := window(lines[at : at+runLines])
			original, seen := first[key]
			if !seen {
				first[key] = spot{number, at}
				continue
			}
			if original.file == number && at < original.at+runLines {
				continue // overlaps itself
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

// significant is a file's lines without indentation, comments, imports and trivial ones.
func significant(f repo.File) []line {
	var lines []line
	end := "" // of the comment or import that is open
	for number, text := range strings.Split(string(f.Text), "\n") {
		text = strings.TrimSpace(text)
		if end != "" {
			if strings.Contains(text, end) {
				end = ""
			}
			continue
		}
		left, closing := leftOut(path.Ext(f.Path), text)
		end = closing
		if !left && substance(text) >= trivialLetters {
			lines = append(lines, line{number + 1, text})
		}
	}
	return lines
}

// leftOut says whether a line is, or begins, a comment or an import; end is what closes it on a later line.
func leftOut(ext, text string) (left bool, end string) {
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
