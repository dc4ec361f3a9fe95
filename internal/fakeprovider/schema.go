package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

const maxSchemaDepth = 12

// filled is JSON that a JSON Schema allows: strings are "Paris", numbers 7, booleans true, of an enum the
// first, of alternatives the first that is not null, arrays have one item, objects what they require (all
// that they know, if they require nothing). Gemini's capital types count too.
func filled(schema gjson.Result) raw {
	if !schema.Exists() {
		return raw("{}")
	}
	return fill(schema, schema, 0)
}

func fill(root, s gjson.Result, depth int) raw {
	if depth > maxSchemaDepth {
		return raw("null")
	}
	if name := s.Get("$ref").Str; name != "" {
		return fill(root, referred(root, name), depth+1)
	}
	if v := s.Get("const"); v.Exists() {
		return raw(v.Raw)
	}
	if v := s.Get("enum.0"); v.Exists() {
		return raw(v.Raw)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list := s.Get(name); list.IsArray() {
			return fill(root, notNull(list), depth+1)
		}
	}
	return ofType(root, s, depth)
}

func ofType(root, s gjson.Result, depth int) raw {
	switch kind := typeOf(s); kind {
	case "string":
		return raw(`"Paris"`)
	case "number", "integer":
		return raw("7")
	case "boolean":
		return raw("true")
	case "array":
		return raw("[" + string(fill(root, s.Get("items"), depth+1)) + "]")
	case "null":
		return raw("null")
	}
	return filledObject(root, s, depth)
}

// typeOf is a schema's type: of several the first that is not null.
func typeOf(s gjson.Result) string {
	t := s.Get("type")
	if t.IsArray() {
		for _, one := range t.Array() {
			if one.Str != "null" {
				return strings.ToLower(one.Str)
			}
		}
	}
	return strings.ToLower(t.Str)
}

func notNull(list gjson.Result) (first gjson.Result) {
	list.ForEach(func(_, s gjson.Result) bool {
		first = s
		return s.Get("type").Str == "null"
	})
	return first
}

// referred finds "#/$defs/Name".
func referred(root gjson.Result, name string) gjson.Result {
	found := root
	for _, step := range strings.Split(strings.TrimPrefix(name, "#"), "/") {
		if step == "" {
			continue
		}
		found = found.Get(gjson.Escape(step))
	}
	return found
}

func filledObject(root, s gjson.Result, depth int) raw {
	required := map[string]bool{}
	for _, name := range s.Get("required").Array() {
		required[name.Str] = true
	}
	var members []any
	s.Get("properties").ForEach(func(key, member gjson.Result) bool {
		if len(required) == 0 || required[key.Str] {
			members = append(members, key.Str, fill(root, member, depth+1))
		}
		return true
	})
	return object(members...)
}
