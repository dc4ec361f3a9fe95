package postern

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// SchemaOf returns the JSON Schema of T, for Tool.Parameters and CompletionParams.ResponseSchema. A struct requires
// the fields that CompleteJSON requires. Interfaces, recursive structs and types that parse themselves may have any
// value. time.Time and other types that parse text are strings.
func SchemaOf[T any]() json.RawMessage {
	text, _ := json.Marshal(schemaOf(reflect.TypeFor[T](), nil)) // cannot fail, because a schema has only strings, arrays and objects
	return text
}

// schema is a JSON Schema.
type schema struct {
	Type       string     `json:"type,omitempty"`
	Format     string     `json:"format,omitempty"`
	Items      *schema    `json:"items,omitempty"`
	Properties properties `json:"properties,omitempty"`
	Required   []string   `json:"required,omitempty"`
	Values     *schema    `json:"additionalProperties,omitempty"`
}

// properties are a struct's fields in their order.
type properties []property

type property struct {
	name   string
	schema *schema
}

func (p properties) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, property := range p {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(property.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(property.schema)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// schemaOf returns the schema of t. outer has the structs around it.
func schemaOf(t reflect.Type, outer []reflect.Type) *schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch p := reflect.PointerTo(t); {
	case t == reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time"}
	case p.Implements(jsonUnmarshaler), slices.Contains(outer, t):
		return &schema{}
	case p.Implements(textUnmarshaler):
		return &schema{Type: "string"}
	}
	outer = append(slices.Clip(outer), t)
	switch kind := t.Kind(); {
	case kind == reflect.String, kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &schema{Type: "string"}
	case kind == reflect.Bool:
		return &schema{Type: "boolean"}
	case kind == reflect.Float32 || kind == reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Int <= kind && kind <= reflect.Uintptr:
		return &schema{Type: "integer"}
	case kind == reflect.Slice || kind == reflect.Array:
		return &schema{Type: "array", Items: schemaOf(t.Elem(), outer)}
	case kind == reflect.Map:
		return &schema{Type: "object", Values: schemaOf(t.Elem(), outer)}
	case kind == reflect.Struct:
		s := &schema{Type: "object"}
		s.addFields(t, outer)
		return s
	}
	return &schema{}
}

// addFields adds the fields that encoding/json reads into t. Fields of embedded structs come last, because fields of
// t hide them.
func (s *schema) addFields(t reflect.Type, outer []reflect.Type) {
	embedded := &schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			embedded.addFields(f.Type, outer)
		case f.Anonymous && name == "", !f.IsExported(), f.Tag.Get("json") == "-":
		default:
			if name == "" {
				name = f.Name
			}
			value := schemaOf(f.Type, outer)
			if slices.Contains(strings.Split(options, ","), "string") {
				value = &schema{Type: "string"}
			}
			s.add(name, value, !strings.Contains(options, "omit") && f.Type.Kind() != reflect.Pointer)
		}
	}
	for _, p := range embedded.Properties {
		s.add(p.name, p.schema, slices.Contains(embedded.Required, p.name))
	}
}

// add adds a field if there is no field with its name yet.
func (s *schema) add(name string, value *schema, required bool) {
	if slices.ContainsFunc(s.Properties, func(p property) bool { return p.name == name }) {
		return
	}
	s.Properties = append(s.Properties, property{name, value})
	if required {
		s.Required = append(s.Required, name)
	}
}

// responseSchemaOf returns the schema of a struct. Providers accept only objects.
func responseSchemaOf(t reflect.Type) json.RawMessage {
	if s := schemaOf(t, nil); len(s.Properties) > 0 {
		text, _ := json.Marshal(s)
		return text
	}
	return nil
}
