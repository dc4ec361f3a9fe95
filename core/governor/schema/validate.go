package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/jsontext"
)

// Result is the outcome of Validate. Its zero value means that the text is valid.
type Result struct {
	// Keyword is the first keyword, in the schema's order, that the text does not satisfy. If the text is not JSON,
	// Keyword is "json". If that part of the schema is the literal false, it is "false". If the schema would check
	// the text deeper than 32 levels, or if the text takes too much work, it is "limit".
	Keyword string
	// Path is the place in the text as a JSON Pointer (RFC 6901). If a name is not in the schema, it appears as "*".
	Path string
}

// Valid reports whether the text satisfies the schema.
func (r *Result) Valid() bool { return r.Keyword == "" }

type validator struct {
	root   string
	work   int
	quiet  int // number of enclosing schemas that may fail, because they are alternatives
	unsure int // number of keywords so far that were not evaluated
	path   []byte
	result Result
}

// Validate checks a text against a schema that Check accepts. The text must be one JSON value. Only white space may
// be around it.
func Validate(schema, text string) Result {
	if jsontext.Check([]byte(text)) != jsontext.OK {
		return Result{Keyword: "json"}
	}
	v := &validator{root: strings.TrimSpace(schema), work: maxWork}
	v.schema(v.root, strings.TrimSpace(text), 0)
	return v.result
}

// fail records the first keyword that is not satisfied. Inside alternatives, it records nothing. It returns false.
func (v *validator) fail(keyword string) bool {
	if keyword == "limit" || v.quiet == 0 && v.result.Keyword == "" {
		v.result = Result{keyword, string(v.path)}
	}
	return false
}

// over reports whether a limit was reached. If so, every check fails.
func (v *validator) over() bool { return v.work < 0 || v.result.Keyword == "limit" }

func (v *validator) schema(schema, value string, depth int) bool {
	if schema == "true" {
		return true
	}
	if schema == "" || schema[0] != '{' {
		return v.fail("false")
	}
	if v.work -= len(schema); depth > maxDepth || v.over() {
		return v.fail("limit")
	}
	for members := jsontext.Open(schema); ; {
		name, argument, ok := members.Member()
		if !ok {
			return true
		}
		if !v.keyword(schema, text(name), argument, value, depth) {
			return false
		}
	}
}

func (v *validator) keyword(schema, name, argument, value string, depth int) bool {
	switch name {
	case "$ref":
		target, _ := resolve(v.root, text(argument))
		v.work -= len(v.root) / 4
		return v.schema(target, value, depth+1)
	case "allOf", "anyOf", "oneOf", "not":
		return v.combined(name, argument, value, depth)
	case "type":
		return hasType(argument, value) || v.fail(name)
	case "const":
		return v.equal(argument, value, depth) || v.fail(name)
	case "enum":
		return v.listed(argument, value, depth) || v.fail(name)
	}
	if _, known := kindOf(name); !known {
		v.unsure++
		return true
	}
	switch {
	case value[0] == '{':
		return v.object(schema, name, argument, value, depth)
	case value[0] == '[':
		return v.array(schema, name, argument, value, depth)
	case value[0] == '"':
		return stringSatisfies(name, argument, value) || v.fail(name)
	case isNumber(value):
		return numberSatisfies(name, argument, value) || v.fail(name)
	}
	return true
}

// combined checks allOf, anyOf, oneOf and not.
func (v *validator) combined(name, argument, value string, depth int) bool {
	if name == "not" {
		ok, sure := v.alternative(argument, value, depth)
		return !(ok && sure) && !v.over() || v.fail(name)
	}
	valid, certain := 0, 0
	for schemas := jsontext.Open(argument); ; {
		one, more := schemas.Element()
		if !more {
			break
		}
		if name == "allOf" {
			if !v.schema(one, value, depth+1) {
				return false
			}
			continue
		}
		ok, sure := v.alternative(one, value, depth)
		if ok {
			valid++
		}
		if ok && sure {
			certain++
		}
	}
	return name == "allOf" || !v.over() && valid > 0 && (certain < 2 || name == "anyOf") || v.fail(name)
}

// alternative checks a schema that may fail. If a value satisfies the schema but some keyword for the value is not
// evaluated, the result is not certain. That keyword might reject the value.
func (v *validator) alternative(schema, value string, depth int) (ok, sure bool) {
	before := v.unsure
	v.quiet++
	ok = v.schema(schema, value, depth+1)
	v.quiet--
	if !ok {
		v.unsure = before
	}
	return ok, v.unsure == before
}

func hasType(argument, value string) bool {
	if argument[0] != '[' {
		return isOfType(argument, value)
	}
	for types := jsontext.Open(argument); ; {
		one, ok := types.Element()
		if !ok {
			return false
		}
		if isOfType(one, value) {
			return true
		}
	}
}

func isOfType(name, value string) bool {
	switch name {
	case `"object"`:
		return value[0] == '{'
	case `"array"`:
		return value[0] == '['
	case `"string"`:
		return value[0] == '"'
	case `"boolean"`:
		return value[0] == 't' || value[0] == 'f'
	case `"null"`:
		return value[0] == 'n'
	case `"number"`:
		return isNumber(value)
	}
	return isNumber(value) && isWhole(value)
}

// isWhole reports whether a number has no fraction. Examples are 1.0 and 1e3. Numbers from 2^53 on never have a
// fraction.
func isWhole(raw string) bool {
	if !strings.ContainsAny(raw, ".eE") {
		return true
	}
	n := number(raw)
	return n >= 1<<53 || n <= -1<<53 || n == float64(int64(n))
}

func (v *validator) listed(argument, value string, depth int) bool {
	for values := jsontext.Open(argument); ; {
		one, ok := values.Element()
		if !ok {
			return false
		}
		if v.equal(one, value, depth) {
			return true
		}
	}
}

func stringSatisfies(name, argument, value string) bool {
	switch name {
	case "minLength":
		return float64(utf8.RuneCountInString(text(value))) >= number(argument)
	case "maxLength":
		return float64(utf8.RuneCountInString(text(value))) <= number(argument)
	}
	return true
}

func numberSatisfies(name, argument, value string) bool {
	switch name {
	case "minimum":
		return number(value) >= number(argument)
	case "maximum":
		return number(value) <= number(argument)
	case "exclusiveMinimum":
		return number(value) > number(argument)
	case "exclusiveMaximum":
		return number(value) < number(argument)
	}
	return true
}

// counts reports whether n satisfies a keyword that limits a count.
func counts(n int, least bool, argument string) bool {
	if least {
		return float64(n) >= number(argument)
	}
	return float64(n) <= number(argument)
}

func (v *validator) array(schema, name, argument, value string, depth int) bool {
	v.work -= len(value)
	switch name {
	case "minItems", "maxItems":
		return counts(count(value), name == "minItems", argument) || v.fail(name)
	case "prefixItems":
		return v.prefix(argument, value, depth)
	case "items":
		skip := 0
		if prefix, ok := find(schema, "prefixItems"); ok {
			skip = count(prefix)
		}
		elements := jsontext.Open(value)
		for i := 0; ; i++ {
			one, ok := elements.Element()
			if !ok {
				return true
			}
			if i >= skip && !v.at(strconv.Itoa(i), argument, one, depth) {
				return false
			}
		}
	}
	return true
}

func (v *validator) prefix(argument, value string, depth int) bool {
	schemas, elements := jsontext.Open(argument), jsontext.Open(value)
	for i := 0; ; i++ {
		one, ok := elements.Element()
		schema, more := schemas.Element()
		if !ok || !more {
			return true
		}
		if !v.at(strconv.Itoa(i), schema, one, depth) {
			return false
		}
	}
}

// at checks a part of a value against a schema. step is the step that leads to the part in the path.
func (v *validator) at(step, schema, value string, depth int) bool {
	length := len(v.path)
	if length < 200 {
		v.path = append(append(v.path, '/'), step...)
	}
	ok := v.schema(schema, value, depth+1)
	v.path = v.path[:length]
	return ok
}
