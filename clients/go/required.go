package postern

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// absent returns the path of the first member that t requires and value, parsed JSON, lacks; or "". A struct requires its
// exported fields, except pointers and those with omitempty or omitzero. Types that parse themselves require nothing.
func absent(t reflect.Type, value any) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return ""
	}
	switch v := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			return absentField(t, v)
		}
	case []any:
		for i := 0; i < len(v) && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array); i++ {
			if path := absent(t.Elem(), v[i]); path != "" {
				return path
			}
		}
	}
	return ""
}

func absentField(t reflect.Type, object map[string]any) string {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := ""
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct: // its fields are those of t
			path = absent(f.Type, object)
		case f.Anonymous && name == "", !f.IsExported(), f.Tag.Get("json") == "-":
		default:
			path = absentMember(f, name, strings.Contains(options, "omit"), object)
		}
		if path != "" {
			return path
		}
	}
	return ""
}

func absentMember(f reflect.StructField, name string, optional bool, object map[string]any) string {
	if name == "" {
		name = f.Name
	}
	for key, value := range object {
		if value != nil && strings.EqualFold(key, name) { // as encoding/json does
			return joinedIf(name, absent(f.Type, value))
		}
	}
	if optional || f.Type.Kind() == reflect.Pointer {
		return ""
	}
	return name
}

func joinedIf(name, rest string) string {
	if rest == "" {
		return ""
	}
	return name + "." + rest
}
