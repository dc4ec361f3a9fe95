package api

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

// This file reads the parts of a request that affect the price. Fields that the catalog does not list are not
// forwarded. Terms and provider tools need a price at the target.

const (
	maxCalls     = 1000 // calls of a provider tool in one request
	maxUses      = 16   // kinds of provider tools in one request
	maxToolBytes = 64   // in a provider tool's type
)

// Forwards reports whether a field of the body is forwarded. If not, Forwards notes the field in out. If the parser
// is strict, it also rejects the field.
//
//go:noinline
func (p *Parser) Forwards(dialect, name string, out *Parsed) bool {
	if p.Catalog == nil || p.Catalog.Forwards(dialect, name) {
		return true
	}
	out.Unknown = p.Ignore(out.Unknown, name, "is not a parameter that the catalog forwards; omit it, or add it to members."+dialect+" in POSTERN_CATALOG")
	return false
}

// Ignore adds a field that is not forwarded to a list. If the parser is strict, it rejects the field.
//
//go:noinline
func (p *Parser) Ignore(list []chat.Member, name, message string) []chat.Member {
	if p.Strict {
		p.Wrong(Name(name), message)
	}
	if len(list) < maxDetails {
		list = append(list, chat.Member{Name: name})
	}
	return list
}

// IgnoreIn does the same as Ignore for a field in a part of the request, such as messages[0].
func (p *Parser) IgnoreIn(list []chat.Member, part, key string) []chat.Member {
	if len(list) < maxDetails {
		name := part + "." + Name(key)
		if list = append(list, chat.Member{Name: name}); p.Strict {
			p.Wrong(name, "is not a field of this endpoint; omit it")
		}
	}
	return list
}

// Term reads the value of a field that affects the price. null counts as omitted.
//
//go:noinline
func (p *Parser) Term(member string, v gjson.Result) {
	if v.Type == gjson.Null {
		return
	}
	if v.Type != gjson.String || v.Str == "" {
		p.WrongType(member, "a string", v)
		return
	}
	switch term := chat.Term(member, v.Str); {
	case term[len(term)-1] == '?':
		p.WrongValue(member, "a word of at most 32 letters, digits, hyphens, dots and underscores", v)
	case term[len(term)-1] != '=':
		p.terms = chat.AddTerm(p.terms, term)
	}
}

// Use records a provider tool with the limit on its calls. If the caller sets no limit, limit is missing or null. Use
// returns the tool's catalog entry, or nil if there is none. It also reports whether the entry's limit must be sent.
//
//go:noinline
func (p *Parser) Use(wire, field, name string, limit gjson.Result) (entry *config.Tool, impose bool) {
	if len(name) > maxToolBytes {
		p.Wrong(field, "must have at most "+strconv.Itoa(maxToolBytes)+" bytes")
		return nil, false
	}
	use := chat.ToolUse{Name: name}
	if p.Catalog != nil {
		entry = p.Catalog.WireTool(wire, name)
	}
	if entry != nil {
		use.Max = entry.Max
		if impose = entry.Limit != ""; impose && limit.Type != gjson.Null {
			use.Max, impose = p.Integer(field, limit, 1, maxCalls), false
		}
	}
	if p.uses = chat.AddUse(p.uses, use); len(p.uses) > maxUses {
		p.Wrong("tools", "has more than "+strconv.Itoa(maxUses)+" kinds of provider tools")
		p.uses = p.uses[:maxUses]
	}
	return entry, impose
}

// Priced copies the terms and provider tools that the body asks for to the request. If the API limits the calls of
// all tools together, wire is the API's wire format. Otherwise, wire is empty. If the caller does not set this limit,
// the lowest catalog limit of the tools applies.
//
//go:noinline
func (p *Parser) Priced(r *chat.Request, wire string) {
	r.Terms, r.Uses = p.terms, p.uses
	if wire == "" || r.MaxToolCalls > 0 || p.Catalog == nil {
		return
	}
	for _, use := range r.Uses {
		if t := p.Catalog.WireTool(wire, use.Name); t != nil && t.Limit == "" && t.Price > 0 && t.Meter != chat.Containers {
			if r.MaxToolCalls == 0 || use.Max < r.MaxToolCalls {
				r.MaxToolCalls = use.Max
			}
		}
	}
}

// WithMember returns an object with a field set to a number. An earlier value is replaced.
//
//go:noinline
func WithMember(object gjson.Result, name string, value uint64) string {
	out := []byte{'{'}
	object.ForEach(func(key, v gjson.Result) bool {
		if key.Str != name {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, key.Raw...), ':'), v.Raw...)
		}
		return true
	})
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(append(append(out, '"'), name...), `":`...)
	return string(append(strconv.AppendUint(out, value, 10), '}'))
}

// Each calls f for each element of an array. gjson's ForEach would also call f for a value that is not an array.
//
//go:noinline
func Each(v gjson.Result, f func(gjson.Result)) {
	if v.IsArray() {
		v.ForEach(func(_, element gjson.Result) bool { f(element); return true })
	}
}
