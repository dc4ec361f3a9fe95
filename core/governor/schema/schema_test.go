package schema

import (
	"slices"
	"strings"
	"testing"
)

const person = `{"type":"object","required":["name","age"],"additionalProperties":false,"properties":{
	"name":{"type":"string","minLength":1,"maxLength":5},"age":{"type":"integer","minimum":0,"exclusiveMaximum":150},
	"tags":{"type":"array","items":{"enum":["a","b",1,null]},"maxItems":3},"parent":{"$ref":"#"}}}`

const tree = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":["number","null"]},"c":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v"]}}}`

func TestValidate(t *testing.T) {
	for _, c := range []struct{ schema, text, keyword, path string }{
		{`true`, `1`, "", ""}, {`{}`, `[1,{}]`, "", ""}, {`false`, `1`, "false", ""},
		{`{}`, ``, "json", ""}, {`{}`, `{"a":1} x`, "json", ""}, {`{}`, "```json\n{}\n```", "json", ""}, {`{}`, ` {"a":1}` + "\n", "", ""},
		{`{}`, `{"a":1,"a":2}`, "json", ""},
		{`{"type":"object"}`, `{}`, "", ""}, {`{"type":"object"}`, `[]`, "type", ""}, {`{"type":"array"}`, `{}`, "type", ""},
		{`{"type":"string"}`, `"x"`, "", ""}, {`{"type":"string"}`, `1`, "type", ""}, {`{"type":"null"}`, `null`, "", ""},
		{`{"type":"boolean"}`, `true`, "", ""}, {`{"type":"boolean"}`, `null`, "type", ""}, {`{"type":"number"}`, `-1.5e3`, "", ""},
		{`{"type":"integer"}`, `1.0`, "", ""}, {`{"type":"integer"}`, `1e3`, "", ""}, {`{"type":"integer"}`, `1.5`, "type", ""}, {`{"type":"integer"}`, `12345678901234567890`, "", ""},
		{`{"type":"integer"}`, `1e300`, "", ""}, {`{"type":["string","null"]}`, `null`, "", ""}, {`{"type":["string","null"]}`, `0`, "type", ""},
		{`{"const":{"a":[1,2.0]}}`, `{"a":[1.0,2]}`, "", ""}, {`{"const":{"a":1,"b":2}}`, `{"b":2,"a":1}`, "", ""}, {`{"const":{"a":1}}`, `{"a":1,"b":2}`, "const", ""},
		{`{"const":[1,2]}`, `[2,1]`, "const", ""}, {`{"const":"é"}`, `"é"`, "", ""}, {`{"const":null}`, `false`, "const", ""},
		{`{"enum":["x",1,[2]]}`, `[2]`, "", ""}, {`{"enum":["x",1]}`, `"1"`, "enum", ""}, {`{"enum":[true]}`, `true`, "", ""},
		{person, `{"name":"Zoë","age":40}`, "", ""}, {person, `{"name":"","age":40}`, "minLength", "/name"}, {person, `{"name":"Roberta","age":40}`, "maxLength", "/name"},
		{person, `{"name":"😀😀😀😀😀","age":40}`, "", ""}, {person, `{"name":"😀","age":40}`, "", ""},
		{person, `{"name":"A"}`, "required", ""}, {person, `{"name":"A","age":150}`, "exclusiveMaximum", "/age"}, {person, `{"name":"A","age":-1}`, "minimum", "/age"},
		{person, `{"name":"A","age":1,"x":1}`, "additionalProperties", ""}, {person, `{"name":"A","age":1,"tags":["a",null,1]}`, "", ""},
		{person, `{"name":"A","age":1,"tags":["a","c"]}`, "enum", "/tags/1"}, {person, `{"name":"A","age":1,"tags":["a","a","a","a"]}`, "maxItems", "/tags"},
		{person, `{"name":"A","age":1,"parent":{"name":"B","age":2}}`, "", ""}, {person, `{"name":"A","age":1,"parent":{"name":"B"}}`, "required", "/parent"},
		{person, `[]`, "type", ""},
		{`{"properties":{"a/b~":{"type":"null"}}}`, `{"a/b~":1}`, "type", "/a~1b~0"}, {`{"properties":{"a":{"type":"null"}}}`, `{"a":1}`, "type", "/a"},
		{`{"additionalProperties":{"type":"number"}}`, `{"k":1,"l":2}`, "", ""}, {`{"additionalProperties":{"type":"number"}}`, `{"secret":"x"}`, "type", "/*"},
		{`{"minProperties":1,"maxProperties":2}`, `{}`, "minProperties", ""}, {`{"minProperties":1,"maxProperties":2}`, `{"a":1,"b":2}`, "", ""}, {`{"maxProperties":2}`, `{"a":1,"b":2,"c":3}`, "maxProperties", ""},
		{`{"minItems":2}`, `[1]`, "minItems", ""}, {`{"minItems":2}`, `[1,[2,3]]`, "", ""}, {`{"minItems":2}`, `"no array"`, "", ""},
		{`{"prefixItems":[{"type":"number"},{"type":"string"}]}`, `[1]`, "", ""}, {`{"prefixItems":[{"type":"number"},{"type":"string"}]}`, `[1,2]`, "type", "/1"},
		{`{"prefixItems":[{"type":"number"}],"items":false}`, `[1]`, "", ""}, {`{"prefixItems":[{"type":"number"}],"items":false}`, `[1,2]`, "false", "/1"},
		{`{"items":{"type":"number"}}`, `[]`, "", ""}, {`{"minimum":1,"maximum":2}`, `1`, "", ""}, {`{"maximum":2}`, `2.5`, "maximum", ""}, {`{"exclusiveMinimum":1}`, `1`, "exclusiveMinimum", ""},
		{`{"minimum":5}`, `"text"`, "", ""}, {`{"minLength":5}`, `3`, "", ""},
		{`{"allOf":[{"type":"number"},{"minimum":3}]}`, `4`, "", ""}, {`{"allOf":[{"type":"number"},{"minimum":3}]}`, `2`, "minimum", ""},
		{`{"anyOf":[{"type":"number"},{"type":"null"}]}`, `null`, "", ""}, {`{"anyOf":[{"type":"number"},{"type":"null"}]}`, `"x"`, "anyOf", ""},
		{`{"oneOf":[{"type":"number"},{"minimum":3}]}`, `2`, "", ""}, {`{"oneOf":[{"type":"number"},{"minimum":3}]}`, `4`, "oneOf", ""}, {`{"oneOf":[{"type":"null"},{"const":1}]}`, `2`, "oneOf", ""},
		{`{"not":{"type":"null"}}`, `1`, "", ""}, {`{"not":{"type":"null"}}`, `null`, "not", ""}, {`{"not":{"not":{"type":"null"}}}`, `1`, "not", ""},
		{tree, `{"v":1,"c":[{"v":null,"c":[{"v":2}]}]}`, "", ""}, {tree, `{"v":1,"c":[{"v":null,"c":[{"v":"2"}]}]}`, "type", "/c/0/c/0/v"},
		{`{"definitions":{"a b":{"type":"null"}},"properties":{"x":{"$ref":"#/definitions/a b"}}}`, `{"x":1}`, "type", "/x"},
		{`{"title":"t","description":"d","default":1,"examples":[1],"$schema":"s","$comment":"c"}`, `{}`, "", ""},
		{`{"type":"object"}`, `[]`, "type", ""},
	} {
		if err := Check(c.schema, Rejected); err != nil {
			t.Errorf("Check(%s): %v", c.schema, err)
			continue
		}
		if got := Validate(c.schema, c.text); got != (Result{c.keyword, c.path}) {
			t.Errorf("%s with %s: %+v, want %q at %q", c.text, c.schema, got, c.keyword, c.path)
		}
	}
}

func TestRejectedSchemas(t *testing.T) {
	doubling := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 20 {
		next := string(rune('a' + i + 1))
		doubling += `"` + string(rune('a'+i)) + `0":{"allOf":[{"$ref":"#/$defs/` + next + `0"},{"$ref":"#/$defs/` + next + `0"}]},`
	}
	doubling += `"u0":{}}}`
	for schema, want := range map[string]string{
		`{`: "valid JSON", `1`: "must be an object, true or false", `{"type":"strin"}`: "at #/type", `{"type":[]}`: "array of them",
		`{"pattern":"a"}`: `"pattern" is not supported`, `{"properties":{"a":{"format":"date"}}}`: `at #/properties/a: the keyword "format"`,
		`{"uniqueItems":true}`: "uniqueItems", `{"$id":"x"}`: `"$id"`, `{"if":{}}`: `"if"`, `{"Type":"string"}`: `"Type"`,
		`{"enum":[]}`: "at least one value", `{"required":[1]}`: "array of strings", `{"required":"a"}`: "array of strings", `{"minLength":-1}`: "whole number", `{"minLength":1.5}`: "whole number",
		`{"minimum":"1"}`: "must be a number", `{"allOf":[]}`: "at least one schema", `{"allOf":{}}`: "at least one schema", `{"items":[{}]}`: "a schema must be",
		`{"properties":[]}`: "object of schemas", `{"properties":{"a":1}}`: "at #/properties/a", `{"additionalProperties":1}`: "a schema must be",
		`{"$ref":"#/$defs/x"}`: "is not in this schema", `{"$ref":"http://example.com"}`: "is not in this schema", `{"$ref":1}`: "must be a string",
		`{"$ref":"#"}`: "leads back", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`: "leads back",
		`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`: "leads back", doubling: "repeat too often", `{"type":"null","type":"null"}`: "twice",
		strings.Repeat(`{"not":`, 50) + `{}` + strings.Repeat(`}`, 50): "32 levels", `{"const":"` + strings.Repeat("a", MaxLength) + `"}`: "at most 32768",
		`{"allOf":[` + strings.Repeat(`{},`, 6000) + `{}]}`: "5000 schemas",
	} {
		if err := Check(schema, Rejected); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// TestIgnoredKeywords: a keyword that is not evaluated never makes a text invalid. The keywords beside it can still
// make the text invalid.
func TestIgnoredKeywords(t *testing.T) {
	for _, c := range []struct{ schema, text, keyword string }{
		{`{"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"x1":1}`, ""},
		{`{"patternProperties":{"^x":{}},"additionalProperties":{"type":"string"}}`, `{"x1":1}`, ""},
		{`{"patternProperties":{"^x":{}},"additionalProperties":false,"properties":{"a":{"type":"string"}}}`, `{"a":1}`, "type"},
		{`{"oneOf":[{"type":"string","format":"date"},{"type":"string","format":"time"}]}`, `"12:00"`, ""},
		{`{"oneOf":[{"type":"string","format":"date"},{"type":"string","format":"time"}]}`, `1`, "oneOf"},
		{`{"oneOf":[{"multipleOf":2},{"multipleOf":3},{"type":"string"}]}`, `4`, ""},
		{`{"oneOf":[{"type":"string"},{"minLength":1},{"pattern":"a"}]}`, `"a"`, "oneOf"},
		{`{"oneOf":[{"pattern":"a","type":"null"},{"type":"string"},{"minLength":1}]}`, `"a"`, "oneOf"},
		{`{"oneOf":[{"type":"string"},{"$ref":"#/$defs/d"}],"$defs":{"d":{"format":"date"}}}`, `"a"`, ""},
		{`{"oneOf":[{"properties":{"a":{"pattern":"b"}}},{"type":"object"}]}`, `{"a":"c"}`, ""},
		{`{"oneOf":[{"properties":{"a":{"pattern":"b"}}},{"type":"object"}]}`, `{}`, "oneOf"},
		{`{"not":{"contains":{"const":1}}}`, `[2]`, ""}, {`{"not":{"type":"string","pattern":"a"}}`, `"b"`, ""},
		{`{"not":{"not":{"pattern":"a"}}}`, `"a"`, ""}, {`{"not":{"not":{"type":"string"}}}`, `1`, "not"},
		{`{"not":{"not":{"type":"string","pattern":"a"}}}`, `1`, "not"},
		{`{"not":{"anyOf":[{"format":"date"},{"uniqueItems":true}]}}`, `"b"`, ""},
		{`{"not":{"allOf":[{"type":"string"},{"pattern":"a"}]}}`, `"b"`, ""}, {`{"not":{"allOf":[{"type":"string"},{"title":"a"}]}}`, `"b"`, "not"},
		{`{"not":{"type":"string","title":"a"}}`, `"b"`, "not"}, {`{"not":{"oneOf":[{"type":"string"},{"type":"null"}]}}`, `"b"`, "not"},
		{`{"unevaluatedProperties":false,"propertyNames":{"maxLength":1},"dependentRequired":{"ab":["c"]}}`, `{"ab":1}`, ""},
		{`{"if":{"type":"object"},"then":false,"else":false,"uniqueItems":true,"type":["array","object"]}`, `[1,1]`, ""},
		{`{"uniqueItems":true,"items":{"type":"string"}}`, `[1,1]`, "type"},
	} {
		if err := Check(c.schema, Ignored); err != nil {
			t.Fatalf("%s: %v", c.schema, err)
		}
		if got := Validate(c.schema, c.text); got.Keyword != c.keyword {
			t.Errorf("%s with %s: %q, want %q", c.schema, c.text, got.Keyword, c.keyword)
		}
	}
}

// TestHostileAnswers: validation ends with "limit" for deep or large responses, and for schemas that take a lot of
// work.
func TestHostileAnswers(t *testing.T) {
	deep := strings.Repeat(`{"v":1,"c":[`, 40) + `{"v":1}` + strings.Repeat(`]}`, 40)
	wide := `{"v":1,"c":[` + strings.Repeat(`{"v":1},`, 400000) + `{"v":2}]}`
	many := `{"items":{"anyOf":[` + strings.Repeat(`{"enum":["`+strings.Repeat("b", 100)+`"]},`, 100) + `{"type":"string"}]}}`
	for name, c := range map[string]struct{ schema, text string }{
		"deep": {tree, deep}, "wide": {tree, wide}, "many alternatives": {many, `[` + strings.Repeat(`"a",`, 9000) + `"a"]`},
		"inside of not": {`{"not":` + many + `}`, `[` + strings.Repeat(`"a",`, 9000) + `"a"]`},
	} {
		if got := Validate(c.schema, c.text); got.Keyword != "limit" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Validate(`{}`, strings.Repeat("[", 1<<20)); got.Keyword != "json" {
		t.Errorf("a million brackets: %+v", got)
	}
	small := `{"v":1,"c":[` + strings.Repeat(`{"v":1},`, 2000) + `{"v":2}]}`
	if got := Validate(tree, small); !got.Valid() {
		t.Errorf("2001 items: %+v", got)
	}
}

func TestKeywordsAreListed(t *testing.T) {
	if all := Keywords(); slices.Contains(all, "title") || !slices.Contains(all, "$ref") || len(all) != 25 {
		t.Errorf("%q", all)
	}
}

// FuzzSchema: Check never crashes. If Check accepts a schema, Validate does not crash either.
func FuzzSchema(f *testing.F) {
	f.Add(person, `{"name":"A","age":1}`)
	f.Add(tree, `{"v":1,"c":[{"v":null}]}`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		if Check(schema, Rejected) != nil {
			return
		}
		if got := Validate(schema, text); len(got.Path) > 200+len(schema)+20 {
			t.Errorf("path of %d bytes", len(got.Path))
		}
	})
}
