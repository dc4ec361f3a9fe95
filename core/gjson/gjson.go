// Package gjson reads JSON through the part of github.com/tidwall/gjson's interface that the core uses. It differs in two
// ways: a Result is only a piece of the text, so a string is not unescaped and a number not converted until it is asked for;
// and strings are skipped eight bytes at a time.
//
// A text that jsontext.Check accepts is read as github.com/tidwall/gjson reads it. Of any other text, the results are
// unspecified, but no function panics.
package gjson

import (
	"strconv"

	"github.com/postern-ai/postern/core/jsontext"
)

// Type is the type of a value.
type Type uint8

const (
	Null Type = iota
	False
	Number
	String
	True
	JSON // an object or an array
)

// Result is a value. The zero Result is a value that does not exist.
type Result struct {
	Raw  string // the value as it is spelled
	Type Type
}

// ParseBytes is Parse for bytes, which it copies.
func ParseBytes(text []byte) Result { return Parse(string(text)) }

// Parse returns the first value of a text. The Raw of an object or an array is the whole rest of the text.
func Parse(text string) Result {
	i := skipSpace(text, 0)
	if i < len(text) && (text[i] == '{' || text[i] == '[') {
		return Result{text[i:], JSON}
	}
	v, _ := value(text, i)
	return v
}

// Get returns the value at a path in a text: see Result.Get.
func Get(text, path string) Result { return Parse(text).Get(path) }

// GetBytes is Get for bytes, which it copies.
func GetBytes(text []byte, path string) Result { return Get(string(text), path) }

// Exists reports whether the value exists. null does.
func (t Result) Exists() bool { return t.Raw != "" }

// IsObject reports whether the value is an object.
func (t Result) IsObject() bool { return t.Type == JSON && t.Raw[0] == '{' }

// IsArray reports whether the value is an array.
func (t Result) IsArray() bool { return t.Type == JSON && t.Raw[0] == '[' }

// IsBool reports whether the value is true or false.
func (t Result) IsBool() bool { return t.Type == True || t.Type == False }

// Bool reports whether the value is true.
func (t Result) Bool() bool { return t.Type == True }

// Str returns the unescaped text of a string; of other values, an empty text.
//
//go:noinline
func (t Result) Str() string {
	if t.Type != String {
		return ""
	}
	return jsontext.Inside(t.Raw).Plain()
}

// Num returns a number; of other values, 0.
//
//go:noinline
func (t Result) Num() float64 {
	if t.Type != Number {
		return 0
	}
	n, _ := strconv.ParseFloat(t.Raw, 64)
	return n
}

// Uint returns a number as an integer: a fraction is cut off, and a number out of range becomes the nearest one. Of other
// values, it is 0.
func (t Result) Uint() uint64 {
	n := t.Num()
	switch {
	case !(n > 0):
		return 0
	case n >= 1<<64:
		return 1<<64 - 1
	}
	return uint64(n)
}

// String returns the text of a string, the digits of a number, and other values as they are spelled. null and a value that
// does not exist are empty.
//
//go:noinline
func (t Result) String() string {
	switch t.Type {
	case Null:
		return ""
	case String:
		return t.Str()
	case Number:
		for i := 0; i < len(t.Raw); i++ {
			if c := t.Raw[i]; !(c >= '0' && c <= '9' || c == '-' && i == 0) {
				return strconv.FormatFloat(t.Num(), 'f', -1, 64)
			}
		}
	}
	return t.Raw
}

// Array returns the elements of an array. Another value is one element, null none.
func (t Result) Array() (elements []Result) {
	switch {
	case t.Type == Null:
	case t.IsArray():
		t.ForEach(func(_, v Result) bool { elements = append(elements, v); return true })
	default:
		elements = []Result{t}
	}
	return elements
}

// Get returns the member or element at a path of keys and indexes, such as errors.0.message. Of equal keys it is the first.
//
//go:noinline
func (t Result) Get(path string) Result {
	for {
		n := 0
		for n < len(path) && path[n] != '.' {
			n++
		}
		t = t.child(path[:n])
		if n == len(path) || t.Raw == "" {
			return t
		}
		path = path[n+1:]
	}
}

func (t Result) child(name string) (found Result) {
	if t.Type != JSON {
		return Result{}
	}
	c := open(t.Raw)
	for index := 0; ; index++ {
		key, v, ok := c.next()
		if !ok {
			return Result{}
		}
		if c.object && isKey(key, name) || !c.object && isIndex(name, index) {
			return v
		}
	}
}

func isKey(raw, name string) bool {
	if len(raw) == len(name)+2 && raw[1:len(raw)-1] == name {
		return true
	}
	// Escapes make a key longer.
	return len(raw) > len(name)+2 && jsontext.Inside(raw).Plain() == name
}

func isIndex(name string, index int) bool {
	n, err := strconv.Atoi(name)
	return err == nil && n == index
}

// ForEach calls f for each member of an object, or for each element of an array with a key that does not exist, until f
// returns false. Any other value that exists is one element.
func (t Result) ForEach(f func(key, value Result) bool) {
	if t.Type != JSON {
		if t.Exists() {
			f(Result{}, t)
		}
		return
	}
	c := open(t.Raw)
	for {
		raw, v, ok := c.next()
		if !ok {
			return
		}
		var key Result
		if c.object {
			key = Result{raw, String}
		}
		if !f(key, v) {
			return
		}
	}
}
