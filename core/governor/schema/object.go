package schema

import (
	"strings"

	"github.com/postern-ai/postern/core/jsontext"
)

func (v *validator) object(schema, name, argument, value string, depth int) bool {
	v.work -= len(value)
	switch name {
	case "minProperties", "maxProperties":
		return counts(count(value)/2, name == "minProperties", argument) || v.fail(name)
	case "required":
		for names := jsontext.Open(argument); ; {
			one, ok := names.Element()
			if !ok {
				return true
			}
			v.work -= len(value)
			if _, has := find(value, text(one)); !has || v.over() {
				return v.fail(name)
			}
		}
	case "properties":
		return v.properties(argument, value, depth)
	case "additionalProperties":
		if _, has := find(schema, "patternProperties"); has {
			return true // this keyword depends on which patterns match, and patterns are not evaluated here
		}
		properties, _ := find(schema, "properties")
		return v.additional(properties, argument, value, depth)
	}
	return true
}

func (v *validator) properties(argument, value string, depth int) bool {
	for members := jsontext.Open(value); ; {
		name, one, ok := members.Member()
		if !ok {
			return true
		}
		schema, known := v.property(argument, name)
		if known && !v.at(step(text(name)), schema, one, depth) {
			return false
		}
	}
}

// additional checks the keyword "additionalProperties". The keyword applies to fields that are not in "properties".
func (v *validator) additional(properties, argument, value string, depth int) bool {
	for members := jsontext.Open(value); ; {
		name, one, ok := members.Member()
		if !ok {
			return true
		}
		if _, known := v.property(properties, name); known {
			continue
		}
		if argument == "false" {
			return v.fail("additionalProperties")
		}
		if !v.at("*", argument, one, depth) {
			return false
		}
	}
}

// property returns the schema of a field. The name is in quotes.
func (v *validator) property(properties, name string) (schema string, ok bool) {
	if properties == "" {
		return "", false
	}
	c := jsontext.Open(properties)
	for !v.over() {
		from := c.At()
		key, value, more := c.Member()
		if v.work -= c.At() - from; !more {
			return "", false
		}
		if sameText(key, name) {
			return value, true
		}
	}
	return "false", true
}

// step returns a name as a step of a JSON Pointer.
func step(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// equal reports whether two values are the same. Numbers are compared by value. In objects, the order of the fields
// does not matter.
func (v *validator) equal(a, b string, depth int) bool {
	if v.work -= len(a) + len(b); depth > maxDepth || v.over() {
		return v.fail("limit")
	}
	switch {
	case isNumber(a):
		return isNumber(b) && number(a) == number(b)
	case a[0] != b[0]:
		return false
	case a[0] == '"':
		return sameText(a, b)
	case a[0] != '{' && a[0] != '[':
		return a == b
	}
	if count(a) != count(b) {
		return false
	}
	left, right := jsontext.Open(a), jsontext.Open(b)
	for {
		one, ok := left.Element()
		if !ok {
			return true
		}
		var other string
		if a[0] == '{' {
			name := text(one)
			one, _ = left.Element()
			v.work -= len(b)
			if other, ok = find(b, name); !ok {
				return false
			}
		} else {
			other, _ = right.Element()
		}
		if !v.equal(one, other, depth+1) {
			return false
		}
	}
}
