package main

import (
	"slices"
	"strings"
)

// schema is a parsed wire.schema. Parts are its declarations in order.
type schema struct {
	version    string
	versionDoc []string
	calls      []call
	parts      []part
}

// part is constants, enum or record.
type part any

// call is an exported function of the core: it takes one message and returns another.
type call struct{ name, input, output string }

// constants is either one constant or a group in parentheses.
type constants struct {
	doc   []string
	group bool
	list  []constant
}

// constant is a number or a string in quotation marks, written as in Go.
type constant struct {
	doc         []string
	comment     string // at the end of its line
	name, value string
	fields      []use // fields of the kind that the constant stands for
}

// use says that a kind has a field.
type use struct {
	name    string
	inPlace bool
}

type enum struct {
	doc  []string
	name string
	list []constant
}

// record is a struct, or something that is encoded separately: a message, a row or a command.
type record struct {
	doc     []string
	keyword string // struct, message, row or command
	name    string
	op      string // for a command: the constant with which it starts
	toCore  bool   // direction; unused for a struct
	fields  []field
	common  int // number of fields that all kinds have; len(fields) if there are no kinds
}

type field struct {
	doc           []string
	comment       string
	name, typ     string
	ifSet, unless string // the field that decides whether this one is present
	inPlace       bool
	apart         bool
	embedded      bool
}

// kinds returns the enum of a record's first field. For each kind, the enum's constant names the fields.
func (s *schema) kinds(r record) []constant { return s.enumOf(r.fields[0].typ).list }

// ofKind returns the record whose kinds are in an enum, or nil.
func (s *schema) ofKind(name string) *record {
	for _, r := range s.records() {
		if r.fields[0].typ == name && r.fields[0].name == "Kind" {
			return &r
		}
	}
	return nil
}

func (s *schema) enumOf(name string) *enum {
	for _, p := range s.parts {
		if e, ok := p.(enum); ok && e.name == name {
			return &e
		}
	}
	return nil
}

func (s *schema) recordOf(name string) *record {
	for _, p := range s.parts {
		if r, ok := p.(record); ok && r.name == name {
			return &r
		}
	}
	return nil
}

func (s *schema) records() []record {
	var all []record
	for _, p := range s.parts {
		if r, ok := p.(record); ok {
			all = append(all, r)
		}
	}
	return all
}

// constants returns all constants, including those of enums.
func (s *schema) constants() []constant {
	var all []constant
	for _, p := range s.parts {
		switch p := p.(type) {
		case constants:
			all = append(all, p.list...)
		case enum:
			all = append(all, p.list...)
		}
	}
	return all
}

func (r *record) field(name string) *field {
	for i := range r.fields {
		if r.fields[i].name == name {
			return &r.fields[i]
		}
	}
	return nil
}

// embedded returns the names of the structs that are embedded in others.
func (s *schema) embedded() []string {
	var names []string
	for _, r := range s.records() {
		for _, f := range r.fields {
			if f.embedded {
				names = append(names, f.typ)
			}
		}
	}
	return names
}

// element returns the type of a list's elements.
func element(typ string) (string, bool) { return strings.CutPrefix(typ, "[]") }

// half returns the type of each half of a pair.
func half(typ string) (string, bool) { return strings.CutPrefix(typ, "[2]") }

// reachable returns the names of the structs that the records of one direction contain, and the types of the lists in
// them.
func (s *schema) reachable(wanted func(record) bool) (structs, lists []string) {
	var visit func(record)
	visit = func(r record) {
		for _, f := range r.fields {
			typ, isList := element(f.typ)
			if isList && !slices.Contains(lists, typ) {
				lists = append(lists, typ)
			}
			if inner := s.recordOf(typ); inner != nil && !f.embedded && !slices.Contains(structs, typ) {
				structs = append(structs, typ)
				visit(*inner)
			}
		}
	}
	for _, r := range s.records() {
		if r.keyword != "struct" && wanted(r) {
			visit(r)
		}
	}
	return structs, lists
}
