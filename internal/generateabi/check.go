package main

import (
	"fmt"
	"slices"
)

// primitives are the types that the generator does not write: the codecs have handwritten methods for them. Each has
// its types in Go and TypeScript and the names of the methods.
var primitives = map[string]primitive{
	"number":  {"uint64", "Uint", "number", "uint", "0"},
	"flag":    {"bool", "Bool", "boolean", "bool", "false"},
	"text":    {"string", "String", "string", "text", "''"},
	"bytes":   {"[]byte", "Bytes", "Bytes", "data", "NO_BYTES"},
	"headers": {"[]Header", "headers", "Headers", "headers", "NO_HEADERS"},
	"texts":   {"[]string", "textList", "string[]", "texts", "[]"},
}

type primitive struct{ goType, goMethod, tsType, tsMethod, tsEmpty string }

// check reports names that are declared twice, and names that are used but not declared.
func (s *schema) check() error {
	seen := map[string]bool{}
	for _, c := range s.constants() {
		if seen[c.name] {
			return fmt.Errorf("%s is declared twice", c.name)
		}
		seen[c.name] = true
	}
	for _, r := range s.records() {
		if seen[r.name] {
			return fmt.Errorf("%s is declared twice", r.name)
		}
		seen[r.name] = true
		if err := s.checkRecord(r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for _, c := range s.calls {
		in, out := s.recordOf(c.input), s.recordOf(c.output)
		if in == nil || out == nil || !in.toCore || out.toCore || out.keyword != "message" {
			return fmt.Errorf("call %s: its messages are not one to the core and one to the host", c.name)
		}
	}
	return nil
}

func (s *schema) checkRecord(r record) error {
	for i, f := range r.fields {
		if !s.known(f.typ) {
			return fmt.Errorf("%s has the unknown type %s", f.name, f.typ)
		}
		for _, name := range []string{f.ifSet, f.unless} {
			if name != "" && !slices.ContainsFunc(r.fields[:i], func(f field) bool { return f.name == name }) {
				return fmt.Errorf("%s depends on %s, which is not before it", f.name, name)
			}
		}
	}
	if r.common == len(r.fields) {
		return nil
	}
	if s.enumOf(r.fields[0].typ) == nil {
		return fmt.Errorf("%s is not an enum", r.fields[0].name)
	}
	for _, kind := range s.kinds(r) {
		for _, u := range kind.fields {
			if r.field(u.name) == nil {
				return fmt.Errorf("%s has the unknown field %s", kind.name, u.name)
			}
		}
	}
	return nil
}

func (s *schema) known(typ string) bool {
	if inner, ok := half(typ); ok {
		typ = inner
	}
	if inner, ok := element(typ); ok {
		return s.recordOf(inner) != nil
	}
	_, ok := primitives[typ]
	return ok || s.enumOf(typ) != nil || s.recordOf(typ) != nil
}
