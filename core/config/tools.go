package config

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/money"
)

// Factor multiplies the cost of all tokens in a request with the given Term, such as service_tier=priority, by
// Num/Den.
type Factor struct {
	Term     string
	Num, Den uint64
}

// Exceeds reports whether f is more expensive than another factor.
func (f Factor) Exceeds(other Factor) bool { return f.Num*other.Den > other.Num*f.Den }

// Tool is the price of a provider tool.
type Tool struct {
	Name      string
	Wires     []string // the wires whose providers have the tool at this price
	Providers []string // providers with this price; they take precedence over Wires
	Price     money.Pico
	Meter     chat.Meter
	// Max is the number of calls to reserve for one request, unless the caller sets another limit. If the dialect has
	// a limit on calls, Max is also sent to the provider.
	Max uint64
	// Limit is the tool's own field that limits its calls. It is empty if there is none.
	Limit  string
	Source string // as for a model
	Date   string
}

// Members lists the fields, or the values of a header, that are forwarded to targets with the dialect.
type Members struct {
	Dialect string
	Names   []string
}

// Tool returns the price of a tool at a provider, or nil if the tool has none.
//
//go:noinline
func (c *Config) Tool(p *Provider, name string) *Tool {
	var found *Tool
	for i := range c.Tools {
		t := &c.Tools[i]
		switch {
		case t.Name != name:
		case slices.Contains(t.Providers, p.Name):
			return t
		case slices.Contains(t.Wires, p.Wire) && !p.NoTools:
			found = t
		}
	}
	return found
}

// WireTool returns the entry of a tool for a wire, or nil.
//
//go:noinline
func (c *Config) WireTool(wire, name string) *Tool {
	return c.Tool(&Provider{Wire: wire}, name)
}

// HighestPrice returns the highest price among a provider's tools that a meter counts.
//
//go:noinline
func (c *Config) HighestPrice(p *Provider, m chat.Meter) (price money.Pico) {
	for i := range c.Tools {
		if t := &c.Tools[i]; t.Meter == m && (slices.Contains(t.Providers, p.Name) || slices.Contains(t.Wires, p.Wire) && !p.NoTools) {
			price = max(price, t.Price)
		}
	}
	return price
}

// Forwards reports whether a field, or a value of a header, is forwarded to targets with the given dialect.
//
//go:noinline
func (c *Config) Forwards(dialect, name string) bool {
	for i := range c.Members {
		if m := &c.Members[i]; m.Dialect == dialect && slices.Contains(m.Names, name) {
			return true
		}
	}
	return false
}

// Factor returns the factor of a term. A standard value has the factor 1. If the model has no price for the term, it
// returns the most expensive factor for the same field, and known is false.
//
//go:noinline
func (m *Model) Factor(term string) (f Factor, known bool) {
	member, value := chat.SplitTerm(term)
	f = Factor{term, 1, 1}
	if value == "" {
		return f, true
	}
	for _, other := range m.Factors {
		if other.Term == term {
			return other, true
		}
	}
	return m.highest(member), false
}

// highest returns the highest factor among a field's terms. If none exceeds 1, it returns a factor of 1 without a
// term.
//
//go:noinline
func (m *Model) highest(member string) Factor {
	f := Factor{"", 1, 1}
	for _, other := range m.Factors {
		if name, _ := chat.SplitTerm(other.Term); name == member && other.Exceeds(f) {
			f = other
		}
	}
	return f
}

// HighestTerm returns a field's term with the highest factor. It is empty if no term is more expensive than the
// standard value.
//
//go:noinline
func (m *Model) HighestTerm(member string) string { return m.highest(member).Term }

// maxFactor limits the numbers in a factor so that the product of two does not overflow.
const maxFactor = 1_000_000

// factors reads an object such as {"service_tier=priority":"2","service_tier=flex":"1/2"}.
func (p *parser) factors(model *Model, o *object) {
	o.members("factors", func(term string, v gjson.Result) {
		f, ok := parseFactor(v)
		if name, value := chat.SplitTerm(term); !ok || name == "" || value == "" || chat.Term(name, value) != term {
			p.failIn("factors of model " + model.Name + " must map MEMBER=VALUE to a positive number or fraction of at most 6 digits, got " +
				quote(term) + ": " + clip(v.Raw))
			return
		}
		f.Term = term
		model.Factors = append(model.Factors, f)
	})
}

// parseFactor reads a string that contains a decimal number or a fraction.
func parseFactor(v gjson.Result) (f Factor, ok bool) {
	num, den, fraction := strings.Cut(v.Str, "/")
	if !fraction {
		den = "1"
	}
	n, okNum := money.Parse(num, 1000)
	d, okDen := money.Parse(den, 1000)
	if !okNum || !okDen || n <= 0 || d <= 0 || n > maxFactor || d > maxFactor || v.Type != gjson.String {
		return f, false
	}
	return Factor{Num: uint64(n), Den: uint64(d)}, true
}

// tool reads a provider tool. An entry replaces an earlier one with the same name, wires and providers.
func (p *parser) tool(o *object) {
	t := Tool{Name: o.entryName("tools"), Wires: o.names("wires"), Providers: o.names("providers")}
	t.Price = o.amount("price", money.Dollar, "price of tool "+t.Name)
	o.number(&t.Max, "max")
	o.text(&t.Limit, "limit")
	o.text(&t.Source, "source")
	o.text(&t.Date, "date")
	var meter string
	o.text(&meter, "meter")
	var ok bool
	if t.Meter, ok = chat.MeterByName(meter); !ok {
		p.failIn("meter of tool " + t.Name + " must be searches, fileSearches, containers or images, got " + quote(meter))
	}
	if len(t.Wires)+len(t.Providers) == 0 {
		p.failIn("tool " + t.Name + " must name wires or providers")
	}
	if t.Price > 0 && (t.Max == 0 || t.Max > maxCalls) {
		p.failIn("max of tool " + t.Name + " must be an integer between 1 and 1000, because the tool has a price")
	}
	for i := range p.config.Tools {
		if other := &p.config.Tools[i]; other.Name == t.Name && slices.Equal(other.Wires, t.Wires) && slices.Equal(other.Providers, t.Providers) {
			*other = t
			return
		}
	}
	p.config.Tools = append(p.config.Tools, t)
}

// maxCalls is the maximum number of calls of a tool that can be reserved.
const maxCalls = 1000

// forwarded reads an object such as {"openai":["metadata"]}. The names in an overlay are added to the catalog's.
func (p *parser) forwarded(o *object) {
	o.members("members", func(dialect string, list gjson.Result) {
		m := Members{Dialect: dialect}
		list.ForEach(func(_, name gjson.Result) bool {
			if name.Type != gjson.String {
				o.wrong("members", "an object of arrays of strings", name)
			}
			m.Names = append(m.Names, name.String())
			return true
		})
		if !slices.Contains(dialects, dialect) {
			p.failIn("members has the unknown dialect " + quote(dialect) + "; the dialects are " + strings.Join(dialects, ", "))
		}
		p.config.Members = append(p.config.Members, m)
	})
}

// dialects contains the names of the lists in members. The last two are for header values.
var dialects = []string{"openai", "responses", "anthropic", "anthropic-beta", "openai-beta"}
