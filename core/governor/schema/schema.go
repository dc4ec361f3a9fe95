// Package schema validates JSON against a subset of JSON Schema (draft 2020-12): the keywords that Keywords lists.
// Time and depth are bounded for any schema and any JSON.
//
// Numbers are compared as float64. Lengths count Unicode code points. A $ref is "#", "#/$defs/NAME" or
// "#/definitions/NAME". Annotations (title, description, default, examples, $schema, $comment, deprecated, readOnly,
// writeOnly) have no effect. In the mode Rejected, Check rejects every other keyword, because a schema with a keyword
// that has no effect would promise too much. In the mode Ignored, Check accepts other keywords. They never make a
// text invalid, not even inside not and oneOf or as exceptions to additionalProperties.
package schema

import (
	"errors"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/jsontext"
)

// Bounds.
const (
	MaxLength = 32 << 10 // bytes of a schema
	maxDepth  = 32       // nesting of schemas, and of values that are compared
	maxNodes  = 5000     // schemas that Check visits
	maxWork   = 16 << 20 // bytes of schemas and values that Validate reads
)

// kind is the kind of value that a schema must have for a keyword.
type kind uint8

const (
	anyValue   kind = iota
	oneSchema       // a schema
	schemaList      // an array of at least one schema
	schemaMap       // an object of schemas
	typeNames       // a type or an array of types
	nameList        // an array of strings
	valueList       // an array of at least one value
	size            // a whole number, at least 0
	limit           // a number
	reference       // the place of a schema
	annotation      // any value, without effect
)

// keywords lists every keyword that a schema may have.
var keywords = [...]struct {
	name string
	kind kind
}{
	{"type", typeNames}, {"enum", valueList}, {"const", anyValue},
	{"properties", schemaMap}, {"required", nameList}, {"additionalProperties", oneSchema}, {"minProperties", size}, {"maxProperties", size},
	{"items", oneSchema}, {"prefixItems", schemaList}, {"minItems", size}, {"maxItems", size},
	{"minLength", size}, {"maxLength", size},
	{"minimum", limit}, {"maximum", limit}, {"exclusiveMinimum", limit}, {"exclusiveMaximum", limit},
	{"allOf", schemaList}, {"anyOf", schemaList}, {"oneOf", schemaList}, {"not", oneSchema},
	{"$ref", reference}, {"$defs", schemaMap}, {"definitions", schemaMap},
	{"title", annotation}, {"description", annotation}, {"default", annotation}, {"examples", annotation}, {"$schema", annotation},
	{"$comment", annotation}, {"deprecated", annotation}, {"readOnly", annotation}, {"writeOnly", annotation},
}

// Keywords lists the keywords that have an effect.
func Keywords() (names []string) {
	for i := range keywords {
		if keywords[i].kind != annotation {
			names = append(names, keywords[i].name)
		}
	}
	return names
}

// Mode says how Check handles keywords that it does not know.
type Mode uint8

// Ignored is for schemas that another program also evaluates. Such schemas may have keywords that Validate does not
// evaluate.
const (
	Rejected Mode = iota
	Ignored
)

type checker struct {
	root  string
	mode  Mode
	nodes int // schemas visited
	steps int // schemas visited through references
}

// Check returns an error if text is not a schema of the subset. The error names the place and the keyword, and says
// what to change.
func Check(text string, unknown Mode) error {
	if len(text) > MaxLength {
		return errors.New("must have at most " + strconv.Itoa(MaxLength) + " bytes, got " + strconv.Itoa(len(text)))
	}
	if f := jsontext.Examine([]byte(text)); f.Problem != jsontext.OK {
		return errors.New(f.Message(strconv.Quote))
	}
	c := &checker{root: strings.TrimSpace(text), mode: unknown}
	return c.schema(c.root, "#", 0)
}

func problem(place, message string) error { return errors.New("at " + place + ": " + message) }

func (c *checker) schema(raw, place string, depth int) error {
	if raw == "true" || raw == "false" {
		return nil
	}
	if raw[0] != '{' {
		return problem(place, "a schema must be an object, true or false")
	}
	if c.nodes++; depth > maxDepth || c.nodes > maxNodes {
		return problem(place, "the schema nests deeper than 32 levels or has more than 5000 schemas")
	}
	for members := jsontext.Open(raw); ; {
		name, value, ok := members.Member()
		if !ok {
			return nil
		}
		if err := c.keyword(text(name), value, place, depth); err != nil {
			return err
		}
	}
}

func (c *checker) keyword(name, value, place string, depth int) error {
	k, ok := kindOf(name)
	if !ok && c.mode == Ignored {
		return nil
	}
	if !ok {
		return problem(place, "the keyword "+strconv.Quote(name)+" is not supported; use "+strings.Join(Keywords(), ", "))
	}
	place += "/" + name
	switch k {
	case oneSchema:
		return c.schema(value, place, depth+1)
	case schemaList, schemaMap:
		return c.schemas(k, value, place, depth+1)
	case reference:
		if value[0] != '"' {
			return problem(place, "must be a string")
		}
		if _, ok := resolve(c.root, text(value)); !ok {
			return problem(place, strconv.Quote(text(value))+" is not in this schema; use #, #/$defs/NAME or #/definitions/NAME")
		}
		return c.same(name, value, place, 0)
	}
	if message := checkValue(k, value); message != "" {
		return problem(place, message)
	}
	return nil
}

func kindOf(name string) (k kind, ok bool) {
	for i := range keywords {
		if keywords[i].name == name {
			return keywords[i].kind, true
		}
	}
	return 0, false
}

func (c *checker) schemas(k kind, raw, place string, depth int) error {
	if k == schemaList && (raw[0] != '[' || count(raw) == 0) {
		return problem(place, "must be an array of at least one schema")
	}
	if k == schemaMap && raw[0] != '{' {
		return problem(place, "must be an object of schemas")
	}
	all := jsontext.Open(raw)
	for i := 0; ; i++ {
		name, ok := strconv.Itoa(i), true
		if k == schemaMap {
			if name, ok = all.Element(); ok {
				name = text(name)
			}
		}
		value, more := all.Element()
		if !ok || !more {
			return nil
		}
		if err := c.schema(value, place+"/"+name, depth); err != nil {
			return err
		}
	}
}

// checkValue returns the problem with a keyword's value. If nothing is wrong, it returns an empty string.
func checkValue(k kind, raw string) string {
	switch k {
	case typeNames:
		if !isTypes(raw) {
			return "must be null, boolean, object, array, number, string or integer, or an array of them"
		}
	case valueList:
		if raw[0] != '[' || count(raw) == 0 {
			return "must be an array of at least one value"
		}
	case nameList:
		if raw[0] != '[' || !every(raw, func(raw string) bool { return raw[0] == '"' }) {
			return "must be an array of strings"
		}
	case size:
		if n := number(raw); !isNumber(raw) || n < 0 || n != float64(uint64(n)) {
			return "must be a whole number of at least 0"
		}
	case limit:
		if !isNumber(raw) {
			return "must be a number"
		}
	}
	return ""
}

func isNumber(raw string) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// isTypes reports whether raw is the name of a type, or an array of at least one such name.
func isTypes(raw string) bool {
	if raw[0] == '[' {
		return count(raw) > 0 && every(raw, isType)
	}
	return isType(raw)
}

func isType(raw string) bool {
	switch raw {
	case `"null"`, `"boolean"`, `"object"`, `"array"`, `"number"`, `"string"`, `"integer"`:
		return true
	}
	return false
}

func every(raw string, condition func(string) bool) bool {
	for c := jsontext.Open(raw); ; {
		value, ok := c.Element()
		if !ok {
			return true
		}
		if !condition(value) {
			return false
		}
	}
}

// resolve returns the schema that a $ref refers to.
func resolve(root, ref string) (raw string, ok bool) {
	if ref == "#" {
		return root, true
	}
	for _, group := range [...]string{"$defs", "definitions"} {
		name, inside := strings.CutPrefix(ref, "#/"+group+"/")
		if !inside || root[0] != '{' {
			continue
		}
		definitions, found := find(root, group)
		if !found || definitions[0] != '{' {
			return "", false
		}
		return find(definitions, strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"))
	}
	return "", false
}

// ends rejects a schema that applies itself to the same value, because validation would never end. It follows all
// keywords that apply a schema to the same value.
func (c *checker) ends(raw, place string, depth int) error {
	if c.steps++; depth > maxDepth || c.steps > maxNodes {
		return problem(place, "the reference leads back to itself without a property or an item between, or references repeat too often")
	}
	if raw[0] != '{' {
		return nil
	}
	for members := jsontext.Open(raw); ; {
		name, value, ok := members.Member()
		if !ok {
			return nil
		}
		if err := c.same(text(name), value, place, depth+1); err != nil {
			return err
		}
	}
}

// same follows one keyword, if the keyword applies a schema to the same value.
func (c *checker) same(name, value, place string, depth int) error {
	switch name {
	case "$ref":
		target, ok := resolve(c.root, text(value))
		if !ok || target == "" {
			return nil // reported at its own place
		}
		return c.ends(target, place, depth)
	case "not":
		return c.ends(value, place, depth)
	case "allOf", "anyOf", "oneOf":
		if value[0] != '[' {
			return nil // reported at its own place
		}
		for all := jsontext.Open(value); ; {
			one, ok := all.Element()
			if !ok {
				return nil
			}
			if err := c.ends(one, place, depth); err != nil {
				return err
			}
		}
	}
	return nil
}
