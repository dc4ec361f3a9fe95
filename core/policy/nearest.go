package policy

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Nearest are the names of Names nearest to one that is unknown or forbidden, at most limit, nearest first and
// otherwise as the catalog lists them. Of models, those of a kind; of tiers, those with a usable target of it.
// Distance is the number of bytes to insert, remove or replace, whatever their case, from the name to the
// model's, one of its aliases or provider/model. Of a longer name the first doc.MaxModelBytes count.
func (v *View) Nearest(name string, kind config.Kind, limit int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	name = name[:min(len(name), doc.MaxModelBytes)]
	ofKind := func(m *config.Model) bool { return m.Kind == kind }
	v.Names(func(other string, m *config.Model) bool {
		if m == nil && v.usable(other, ofKind) || m != nil && ofKind(m) {
			found = append(found, candidate{other, nearness(name, other, m)})
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

// nearness is the smallest distance to any of a model's names. A tier (nil) has one.
func nearness(name, other string, m *config.Model) int {
	least := distance(name, other)
	if m == nil {
		return least
	}
	for _, alias := range m.Aliases {
		least = min(least, distance(name, alias))
	}
	if strings.Contains(name, "/") {
		least = min(least, distance(name, m.Provider.Name+"/"+m.Name))
	}
	return least
}

// distance is Levenshtein's over bytes, blind to ASCII case. a has at most doc.MaxModelBytes.
func distance(a, b string) int {
	var row [doc.MaxModelBytes + 1]int // of b's first j bytes: the distance to a's first i
	for i := range row {
		row[i] = i
	}
	for j := range len(b) {
		// diagonal is the cell above and left of the one to fill.
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
