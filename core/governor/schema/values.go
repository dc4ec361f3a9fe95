package schema

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// count returns the number of elements in an array, or of names and values in an object.
func count(raw string) (n int) {
	for c := jsontext.Open(raw); ; n++ {
		if _, ok := c.Element(); !ok {
			return n
		}
	}
}

// text returns the content of a quoted string.
func text(raw string) string { return gjson.Parse(raw).Str }

// sameText reports whether two quoted strings are equal.
func sameText(a, b string) bool { return a == b || text(a) == text(b) }

func find(object, name string) (value string, ok bool) {
	for c := jsontext.Open(object); ; {
		key, value, more := c.Member()
		if !more {
			return "", false
		}
		if text(key) == name {
			return value, true
		}
	}
}

// number returns the value of a number as a float64.
func number(raw string) float64 { return gjson.Parse(raw).Num }
