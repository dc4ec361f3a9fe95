// Package nearest suggests which name was probably meant if a name is misspelled.
package nearest

import "strings"

// Name returns the known name with the fewest edits from name. If all known names differ in more than a third of
// their letters, it returns an empty string. It ignores case and the characters - and _.
func Name(name string, known []string) string {
	best, fewest := "", len(name)/3+1
	for _, candidate := range known {
		if edits := distance(fold(name), fold(candidate)); edits < fewest {
			best, fewest = candidate, edits
		}
	}
	return best
}

// Hint returns `; did you mean "…"?`, or an empty string if no name is close.
func Hint(name string, known []string) string {
	if best := Name(name, known); best != "" {
		return `; did you mean "` + best + `"?`
	}
	return ""
}

func fold(text string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(text))
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
