package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// object is one object in a catalog. Its getters record the fields that they read. close rejects all other fields,
// because a misspelled limit must not mean no limit.
type object struct {
	gjson.Result
	p     *parser
	first int // the index in parser.members of the object's first recorded field
}

func (p *parser) object(v gjson.Result) *object { return &object{v, p, len(p.members)} }

func (o *object) get(member string) gjson.Result {
	if !slices.Contains(o.p.members[o.first:], member) {
		o.p.members = append(o.p.members, member)
	}
	return o.Get(member)
}

// close rejects fields that no getter has read.
func (o *object) close() {
	known := o.p.members[o.first:]
	o.ForEach(func(key, _ gjson.Result) bool {
		if !slices.Contains(known, key.String()) {
			o.p.failIn("unknown member " + o.name(quote(key.String())) + "; the members are " + strings.Join(known, ", "))
		}
		return true
	})
	o.p.members = o.p.members[:o.first]
}

// name returns a field's name for an error message. It includes the object's name if it has one.
func (o *object) name(member string) string {
	if name := o.Get("name"); name.Type == gjson.String {
		return member + " of " + quote(name.Str)
	}
	return member
}

func (o *object) wrong(member, want string, v gjson.Result) {
	o.p.failIn(o.name(member) + " must be " + want + ", got " + clip(v.Raw))
}

// text reads an optional string.
func (o *object) text(to *string, member string) {
	switch m := o.get(member); {
	case m.Type == gjson.String:
		*to = m.String()
	case m.Exists():
		o.wrong(member, "a string", m)
	}
}

// number reads an optional non-negative integer.
func (o *object) number(to *uint64, member string) {
	switch m := o.get(member); {
	case m.Type == gjson.Number && m.Num >= 0 && m.Num < 1<<53 && m.Num == float64(uint64(m.Num)):
		*to = uint64(m.Num)
	case m.Exists():
		o.wrong(member, "an integer of at least 0", m)
	}
}

// flag reads an optional boolean; the default is false.
func (o *object) flag(member string) bool {
	m := o.get(member)
	if m.Exists() && !m.IsBool() {
		o.wrong(member, "true or false", m)
	}
	return m.Bool()
}

// members reads an optional object and calls f for each of its fields.
func (o *object) members(member string, f func(name string, v gjson.Result)) {
	switch m := o.get(member); {
	case m.IsObject():
		m.ForEach(func(key, v gjson.Result) bool { f(key.String(), v); return true })
	case m.Exists():
		o.wrong(member, "an object", m)
	}
}

// each reads an optional array and calls f for each of its elements.
func (o *object) each(member string, f func(gjson.Result)) {
	switch m := o.get(member); {
	case m.IsArray():
		m.ForEach(func(_, v gjson.Result) bool { f(v); return true })
	case m.Exists():
		o.wrong(member, "an array", m)
	}
}

// names reads an optional array of strings.
func (o *object) names(member string) (names []string) {
	o.each(member, func(v gjson.Result) {
		if v.Type != gjson.String {
			o.wrong(member, "an array of strings", v)
		}
		names = append(names, v.String())
	})
	return names
}

// entries reads an optional array of objects. It rejects fields that f does not read.
func (o *object) entries(member string, f func(*object)) {
	o.each(member, func(v gjson.Result) {
		if !v.IsObject() {
			o.wrong(member, "an array of objects", v)
			return
		}
		entry := o.p.object(v)
		f(entry)
		entry.close()
	})
}

// entryName returns the name of an entry in a list. kind is the list's name. Every entry needs a name, because
// entries are found by name and allow-lists contain names.
func (o *object) entryName(kind string) string {
	name := o.get("name").String()
	ok := name != "" && len(name) <= doc.MaxModelBytes
	for i := 0; i < len(name); i++ {
		ok = ok && name[i] > ' ' && name[i] <= '~'
	}
	if !ok {
		o.p.failIn("name in " + kind + " must be 1 to " + strconv.Itoa(doc.MaxModelBytes) +
			" printable ASCII characters without spaces, got " + quote(name))
	}
	return name
}

// amount reads a decimal number, which may be a number or a string in JSON. The parameter what describes it in error
// messages.
func (o *object) amount(member string, unit money.Pico, what string) money.Pico {
	v := o.get(member)
	text := v.Raw
	if v.Type == gjson.String {
		text = v.String()
	}
	amount, ok := money.Parse(text, unit)
	switch {
	case ok:
	case !v.Exists():
		o.p.failIn(what + " is required")
	default:
		o.p.failIn(what + " must be a non-negative decimal number, got " + quote(text))
	}
	return amount
}

const maxQuotedBytes = 40

// quote returns a name for an error message. The name is truncated and in quotes.
func quote(name string) string { return `"` + clip(name) + `"` }

func clip(text string) string {
	if len(text) > maxQuotedBytes {
		text = text[:maxQuotedBytes] + "…"
	}
	return text
}
