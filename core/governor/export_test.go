package governor

import "testing"

// Positive is a positive example from the rules' data. The external tests of this package use it.
type Positive struct {
	Line string
	Text []byte
	Rule ID
}

// Positives returns the positive examples of every rule.
func Positives(t testing.TB) (all []Positive) {
	for _, r := range readData(t) {
		id, _ := Lookup(r.name)
		for _, e := range r.positives {
			all = append(all, Positive{e.line, e.text, id})
		}
	}
	return all
}
