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

// missingMember reports that a value required by the type is missing.
type missingMember struct{ path, problem string }

func (e *missingMember) Error() string { return strings.TrimPrefix(e.path+": "+e.problem, ": ") }

// in adds the field's name to the problem's path.
func (e *missingMember) in(name string) *missingMember {
	if e == nil {
		return nil
	}
	return &missingMember{strings.TrimSuffix(name+"."+e.path, "."), e.problem}
}

// absent checks parsed JSON against the type t. It returns the first value that t requires and value lacks, or nil. A
// struct requires its exported fields, except pointers and fields with omitempty or omitzero. Only pointers,
// interfaces and types that parse themselves may be null. Types that parse themselves require nothing.
func absent(t reflect.Type, value any) *missingMember {
	nullable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return nil
	}
	switch v := value.(type) {
	case nil:
		if !nullable {
			return &missingMember{problem: "must not be null"}
		}
	case map[string]any:
		if t.Kind() == reflect.Struct {
			return absentField(t, v)
		}
		for _, element := range v {
			if missing := absentElement(t, element); missing != nil {
				return missing
			}
		}
	case []any:
		for _, element := range v {
			if missing := absentElement(t, element); missing != nil {
				return missing
			}
		}
	}
	return nil
}

// absentElement is like absent, for an element of a slice, an array or a map of type t. The problem does not name the
// element, because a map's key comes from the model.
func absentElement(t reflect.Type, element any) *missingMember {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return absent(t.Elem(), element)
	}
	return nil
}

func absentField(t reflect.Type, object map[string]any) *missingMember {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		var missing *missingMember
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct: // its fields are those of t
			missing = absent(f.Type, object)
		case f.Anonymous && name == "", !f.IsExported(), f.Tag.Get("json") == "-":
		default:
			missing = absentMember(f, name, strings.Contains(options, "omit"), object)
		}
		if missing != nil {
			return missing
		}
	}
	return nil
}

func absentMember(f reflect.StructField, name string, optional bool, object map[string]any) *missingMember {
	if name == "" {
		name = f.Name
	}
	for key, value := range object {
		if value != nil && strings.EqualFold(key, name) { // as encoding/json does
			return absent(f.Type, value).in(name)
		}
	}
	if optional || f.Type.Kind() == reflect.Pointer {
		return nil
	}
	return &missingMember{name, "is required"}
}
