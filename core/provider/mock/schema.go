package mock

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// maxSchemaDepth bounds an instance of a schema that refers to itself.
const maxSchemaDepth = 12

// Instance writes the simplest JSON that a JSON Schema allows, as far as it is written in the keywords that
// providers support: type, properties, items, enum, const, anyOf, allOf, $ref into $defs, minItems,
// minLength, minimum.
func Instance(dst []byte, schema gjson.Result) []byte {
	w := instance{root: schema}
	return w.value(dst, schema, 0)
}

type instance struct{ root gjson.Result }

func (w *instance) value(dst []byte, s gjson.Result, depth int) []byte {
	if depth > maxSchemaDepth {
		return append(dst, "null"...)
	}
	if to, ok := w.refer(s); ok {
		return w.value(dst, to, depth+1)
	}
	for _, name := range []string{"const", "default"} {
		if v := member(s, name); v.Exists() {
			return append(dst, v.Raw...)
		}
	}
	if first := first(member(s, "enum")); first.Exists() {
		return append(dst, first.Raw...)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if first := first(member(s, name)); first.Exists() {
			return w.value(dst, first, depth+1)
		}
	}
	return w.typed(dst, s, depth)
}

func (w *instance) typed(dst []byte, s gjson.Result, depth int) []byte {
	kind := member(s, "type")
	if kind.IsArray() {
		kind = first(kind)
	}
	switch kind.Str {
	case "string":
		return jsontext.AppendString(dst, text16(member(s, "minLength").Uint()))
	case "integer", "number":
		return strconv.AppendInt(dst, max(1, int64(member(s, "minimum").Num)), 10)
	case "boolean":
		return append(dst, "true"...)
	case "null":
		return append(dst, "null"...)
	case "array":
		return w.array(dst, s, depth)
	}
	return w.object(dst, s, depth)
}

func text16(least uint64) string {
	text := "text"
	for uint64(len(text)) < min(least, 1000) {
		text += " text"
	}
	return text
}

func (w *instance) array(dst []byte, s gjson.Result, depth int) []byte {
	dst = append(dst, '[')
	for i := range max(1, min(member(s, "minItems").Uint(), 16)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.value(dst, member(s, "items"), depth+1)
	}
	return append(dst, ']')
}

// object has all of its properties: strict schemas require them all.
func (w *instance) object(dst []byte, s gjson.Result, depth int) []byte {
	dst = append(dst, '{')
	separator := ""
	properties := member(s, "properties")
	if !properties.IsObject() {
		return append(dst, '}')
	}
	properties.ForEach(func(key, property gjson.Result) bool {
		dst = append(append(append(dst, separator...), key.Raw...), ':')
		dst = w.value(dst, property, depth+1)
		separator = ","
		return true
	})
	return append(dst, '}')
}

// refer follows "#", "#/$defs/name" and "#/definitions/name".
func (w *instance) refer(s gjson.Result) (gjson.Result, bool) {
	ref := member(s, "$ref").Str
	if ref == "#" {
		return w.root, true
	}
	for _, list := range []string{"$defs", "definitions"} {
		if prefix := "#/" + list + "/"; len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
			return member(member(w.root, list), ref[len(prefix):]), true
		}
	}
	return s, false
}

// member looks a member up by its name, which is not a path: it may come from a caller.
func member(v gjson.Result, name string) (found gjson.Result) {
	if !v.IsObject() {
		return found
	}
	v.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
			return false
		}
		return true
	})
	return found
}

func first(list gjson.Result) (found gjson.Result) {
	if list.IsArray() {
		list.ForEach(func(_, v gjson.Result) bool {
			found = v
			return false
		})
	}
	return found
}
