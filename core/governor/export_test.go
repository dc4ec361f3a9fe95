package governor

import "testing"

// Positive is a line of the data for tests of other packages' use of this one.
type Positive struct {
	Line string
	Text []byte
	Rule ID
}

// Positives are the positives of every rule.
func Positives(t testing.TB) (all []Positive) {
	for _, r := range readData(t) {
		id, _ := Lookup(r.name)
		for _, e := range r.positives {
			all = append(all, Positive{e.line, e.text, id})
		}
	}
	return all
}
