package policy

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Nearest suggests up to limit usable names in place of an unknown or forbidden one. These are models that are
// offered on the API, and tiers with a usable target that is offered on it. The nearest name comes first, and ties
// are in the order of Names. The distance is the smallest edit distance in bytes to the model's name, an alias or
// provider/model, ignoring ASCII case. Only the first doc.MaxModelBytes bytes of name count.
func (v *View) Nearest(name string, api config.API, limit int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	name = name[:min(len(name), doc.MaxModelBytes)]
	offered := func(m *config.Model) bool { return m.APIs&api != 0 }
	v.Names(func(other string, m *config.Model) bool {
		if m == nil && v.usable(other, offered) || m != nil && offered(m) {
			found = append(found, candidate{other, smallestDistance(name, other, m)})
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range found[:min(limit, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// smallestDistance returns the distance from name to the nearest name of a model: other, an alias or provider/model.
// For a tier (m is nil), it returns the distance to other.
func smallestDistance(name, other string, m *config.Model) int {
	smallest := Distance(name, other)
	if m == nil {
		return smallest
	}
	for _, alias := range m.Aliases {
		smallest = min(smallest, Distance(name, alias))
	}
	if strings.Contains(name, "/") {
		smallest = min(smallest, Distance(name, m.Provider.Name+"/"+m.Name))
	}
	return smallest
}

// Distance returns the Levenshtein distance in bytes, ignoring ASCII case. a has at most doc.MaxModelBytes bytes.
func Distance(a, b string) int {
	var row [doc.MaxModelBytes + 1]int // row[i] is the distance from a's first i bytes to b's first j
	for i := range row {
		row[i] = i
	}
	for j := range len(b) {
		// diagonal is the cell above and to the left of the next one to fill.
		diagonal := row[0]
		row[0] = j + 1
		for i := range len(a) {
			step := diagonal
			if lower(a[i]) != lower(b[j]) {
				step = 1 + min(diagonal, row[i], row[i+1])
			}
			diagonal, row[i+1] = row[i+1], step
		}
	}
	return row[len(a)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
