package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

const maxSchemaDepth = 12

// instance returns JSON that a JSON Schema allows. Strings are "Paris", numbers are 7, and booleans are true. It uses
// the first value of an enum, the first alternative that is not null, and one item per array. Objects have their
// required properties or, if none are required, all properties. Gemini's upper-case types are supported.
func instance(schema gjson.Result) raw {
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
		return fill(root, resolveRef(root, name), depth+1)
	}
	if v := s.Get("const"); v.Exists() {
		return raw(v.Raw)
	}
	if v := s.Get("enum.0"); v.Exists() {
		return raw(v.Raw)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list := s.Get(name); list.IsArray() {
			return fill(root, firstNonNull(list), depth+1)
		}
	}
	return typedInstance(root, s, depth)
}

func typedInstance(root, s gjson.Result, depth int) raw {
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
	return objectInstance(root, s, depth)
}

// typeOf returns a schema's type. If it has several, it returns the first one that is not null.
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

func firstNonNull(list gjson.Result) (first gjson.Result) {
	list.ForEach(func(_, s gjson.Result) bool {
		first = s
		return s.Get("type").Str == "null"
	})
	return first
}

// resolveRef follows "#/$defs/Name".
func resolveRef(root gjson.Result, name string) gjson.Result {
	found := root
	for _, step := range strings.Split(strings.TrimPrefix(name, "#"), "/") {
		if step == "" {
			continue
		}
		found = found.Get(gjson.Escape(step))
	}
	return found
}

func objectInstance(root, s gjson.Result, depth int) raw {
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
