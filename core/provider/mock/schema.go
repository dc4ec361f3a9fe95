package mock

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// The limits of an instance. Schemas come from callers. Even a small schema can ask for any number of values, or
// refer to a large schema many times.
const (
	maxSchemaDepth   = 12
	maxInstanceBytes = 16 << 10
	maxReadBytes     = 1 << 19 // of schemas; a schema counts each time that it is read
)

// Instance returns a minimal instance of a JSON Schema. It supports the keywords that providers support: type,
// properties, items, enum, const, default, anyOf, oneOf, allOf, $ref into $defs, minItems, minLength, minimum. The
// instance ends at about limit bytes, or at another limit. If values are missing or null for this reason, cut is
// true.
func Instance(schema gjson.Result, limit int) (json []byte, cut bool) {
	w := instance{root: schema, limit: limit}
	json = w.value(nil, schema, 0)
	return json, w.cut
}

type instance struct {
	root        gjson.Result
	limit, read int
	cut         bool
}

// full reports whether dst with more exceeds a limit. If so, the instance is marked as cut.
func (w *instance) full(dst []byte, more string) bool {
	full := len(dst)+len(more) > w.limit || w.read > maxReadBytes
	w.cut = w.cut || full
	return full
}

func (w *instance) value(dst []byte, s gjson.Result, depth int) []byte {
	w.read += len(s.Raw)
	if depth > maxSchemaDepth || w.full(dst, "") {
		return append(dst, "null"...)
	}
	if target, ok := w.resolveRef(s); ok {
		return w.value(dst, target, depth+1)
	}
	for _, v := range []gjson.Result{member(s, "const"), member(s, "default"), first(member(s, "enum"))} {
		if v.Exists() && !w.full(dst, v.Raw) {
			return append(dst, v.Raw...)
		}
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
		return jsontext.AppendString(dst, textOfLength(member(s, "minLength").Uint()))
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

func textOfLength(minLength uint64) string {
	text := "text"
	for uint64(len(text)) < min(minLength, 1000) {
		text += " text"
	}
	return text
}

func (w *instance) array(dst []byte, s gjson.Result, depth int) []byte {
	dst = append(dst, '[')
	for i := range max(1, min(member(s, "minItems").Uint(), 16)) {
		if i > 0 {
			if w.full(dst, "") {
				break
			}
			dst = append(dst, ',')
		}
		dst = w.value(dst, member(s, "items"), depth+1)
	}
	return append(dst, ']')
}

// object writes all properties, because strict schemas require every property.
func (w *instance) object(dst []byte, s gjson.Result, depth int) []byte {
	dst = append(dst, '{')
	separator := ""
	properties := member(s, "properties")
	if !properties.IsObject() {
		return append(dst, '}')
	}
	properties.ForEach(func(key, property gjson.Result) bool {
		if w.full(dst, key.Raw) {
			return false
		}
		dst = append(append(append(dst, separator...), key.Raw...), ':')
		dst = w.value(dst, property, depth+1)
		separator = ","
		return true
	})
	return append(dst, '}')
}

// resolveRef follows "#", "#/$defs/name" and "#/definitions/name".
func (w *instance) resolveRef(s gjson.Result) (gjson.Result, bool) {
	ref := member(s, "$ref").Str
	if ref == "" {
		return s, false
	}
	w.read += len(w.root.Raw)
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

// member returns the field with exactly that name. The name can come from a caller, and gjson's Get would read it as
// a path.
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
