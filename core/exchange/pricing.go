package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
)

// bought is what a request asks for that changes its price: terms such as a service tier, and provider tools.
type bought struct {
	terms        string // see chat.Term
	uses         []chat.ToolUse
	maxToolCalls uint64 // limit of the calls of all tools; 0: each has its own
	cache        uint64 // prompt cache: 0 not asked for, 1 for the default time, 2 for an hour
}

func (b *bought) fields(f *abi.Fields) {
	if !f.Group(b.terms != "" || len(b.uses) > 0 || b.cache > 0) {
		return
	}
	f.String(&b.terms)
	abi.List(f, &b.uses, func(f *abi.Fields, use *chat.ToolUse) {
		f.String(&use.Name)
		f.Uint(&use.Max)
	})
	f.Uint(&b.maxToolCalls)
	f.Uint(&b.cache)
}

//
//go:noinline
func boughtBy(r *chat.Request) bought {
	b := bought{terms: r.Terms, uses: r.Uses, maxToolCalls: r.MaxToolCalls}
	switch cached, hour := r.CacheTTL(); {
	case hour:
		b.cache = 2
	case cached:
		b.cache = 1
	}
	return b
}

// unpriced are the details of what the request asks for and a model has no price for; empty if it has all prices.
//
//go:noinline
func (x *exchange) unpriced(m *config.Model) (details []fault.Detail) {
	if m.Provider.Wire == mockProvider {
		return nil
	}
	b := &x.s.request.bought
	for term, rest := chat.NextTerm(b.terms); term != ""; term, rest = chat.NextTerm(rest) {
		if _, known := m.Factor(term); !known {
			member, value := chat.SplitTerm(term)
			details = append(details, fault.Detail{Field: member, Message: strings.Join([]string{
				`"`, value, `" has no price for `, m.Name, `; omit it, use another model, or add "`, term, `" to the model's factors in POSTERN_CATALOG`}, "")})
		}
	}
	for _, use := range b.uses {
		if x.config.Tool(m.Provider, use.Name) == nil {
			details = append(details, fault.Detail{Field: "tools", Message: strings.Join([]string{`has the provider tool "`, use.Name, `", which has no price at `,
				m.Provider.Name, "; omit it, use another model, or add it to tools in POSTERN_CATALOG"}, "")})
		}
	}
	return details
}

// orUnpriced returns the details, or those about prices if there are none.
func (x *exchange) orUnpriced(details []fault.Detail) []fault.Detail {
	if len(details) == 0 {
		return x.unpriced(x.model())
	}
	return details
}

// directRequest is the part of a request that is not taken from the caller's body.
func (x *exchange) directRequest(dialect chat.Dialect) chat.Request {
	q := &x.s.request
	return chat.Request{
		Dialect: dialect, MaxTokens: x.effectiveMaxTokens(), N: q.n, Stream: x.streams(), MaxToolCalls: q.bought.maxToolCalls, ServiceTier: x.serviceTier(x.model()),
	}
}

// hasPrices reports whether a model has a price for all that the request asks for.
func (x *exchange) hasPrices(m *config.Model) bool { return len(x.unpriced(m)) == 0 }

// boundTerms are the terms at which a request is reserved: those it asks for, and the most expensive place of inference, which
// is a setting of the provider's account if the request has none.
//
//go:noinline
func (x *exchange) boundTerms(m *config.Model) string {
	terms := x.s.request.bought.terms
	if _, asked := chat.TermOf(terms, geoMember); !asked {
		if highest := m.HighestTerm(geoMember); highest != "" {
			terms = chat.AddTerm(terms, highest)
		}
	}
	return terms
}

// priceBound completes usage like price, for an attempt whose answer is not complete: where it may still name a place of inference,
// the most expensive one applies.
func (x *exchange) priceBound(m *config.Model, u *chat.Usage) {
	x.price(m, u)
	terms := x.boundTerms(m)
	if terms == x.s.request.bought.terms {
		return
	}
	e := u.Edit()
	if _, named := chat.TermOf(e.Terms, geoMember); !named {
		e.Terms = chat.AddTerm(e.Terms, m.HighestTerm(geoMember))
	}
}

const geoMember = "inference_geo"

// serviceTier is the tier to send to OpenAI's dialects. A request that asks for none gets the standard tier, so that a setting of the
// provider's account does not change the price; a model without dearer tiers needs no such pin.
//
//go:noinline
func (x *exchange) serviceTier(m *config.Model) string {
	tier, _ := chat.TermOf(x.s.request.bought.terms, chat.TierMember)
	if tier == "" && m.HighestTerm(chat.TierMember) != "" {
		return "default"
	}
	return tier
}

// feeBound is the cost of all calls of provider tools that the request allows.
//
//go:noinline
func (x *exchange) feeBound(m *config.Model) (fee money.Pico) {
	b := &x.s.request.bought
	var highest money.Pico
	for _, use := range b.uses {
		t := x.config.Tool(m.Provider, use.Name)
		switch {
		case t == nil:
		case b.maxToolCalls > 0 && t.Meter != chat.Containers:
			highest = max(highest, t.Price)
		default:
			fee = money.Add(fee, money.Cost(allowed(use, t), t.Price))
		}
	}
	return money.Add(fee, money.Cost(b.maxToolCalls, highest))
}

// allowed is the most calls of a tool that a request allows: its own limit, or the catalog's.
func allowed(use chat.ToolUse, t *config.Tool) uint64 {
	if use.Max > 0 {
		return use.Max
	}
	return t.Max
}

// fee is the cost of the calls that a complete answer names. Calls of tools that answers do not count are charged as often as the
// request allows. exact is false if that happened, if the answer names more calls than the request allows, or calls that nobody asked
// for: those are charged at the provider's most expensive price.
//
//go:noinline
func (x *exchange) fee(m *config.Model, calls *chat.Calls) (fee money.Pico, exact bool) {
	b := &x.s.request.bought
	var prices chat.Prices
	var asked [len(prices)]bool
	var limits chat.Calls
	exact = true
	for _, use := range b.uses {
		t := x.config.Tool(m.Provider, use.Name)
		switch {
		case t == nil:
		case t.Meter == chat.Unmetered:
			fee = money.Add(fee, money.Cost(allowed(use, t), t.Price))
			exact = exact && t.Price == 0
		default:
			asked[t.Meter] = true
			limits[t.Meter] += allowed(use, t)
			prices[t.Meter] = max(prices[t.Meter], t.Price)
		}
	}
	var together uint64 // calls that max_tool_calls limits
	for meter, n := range calls {
		switch {
		case n > 0 && !asked[meter]:
			prices[meter], exact = x.config.HighestPrice(m.Provider, chat.Meter(meter)), false
		case prices[meter] > 0 && b.maxToolCalls > 0 && chat.Meter(meter) != chat.Containers:
			together += n
		case prices[meter] > 0:
			exact = exact && n <= limits[meter]
		}
		fee = money.Add(fee, money.Cost(n, prices[meter]))
	}
	return fee, exact && together <= b.maxToolCalls
}

// exceeds reports whether a term in an answer costs more than the term that is reserved for its member, or has no price.
//
//go:noinline
func (x *exchange) exceeds(m *config.Model, term string) bool {
	f, known := m.Factor(term)
	member, _ := chat.SplitTerm(term)
	value, _ := chat.TermOf(x.boundTerms(m), member)
	reserved, _ := m.Factor(member + "=" + value)
	return !known || f.Exceeds(reserved)
}

// price completes an attempt's usage with what it bought at a model: what the answer names, and what the request asks for where it
// names nothing. Usage counts as estimated if its price is not certain, or if the answer names more than the request asked for.
//
//go:noinline
func (x *exchange) price(m *config.Model, u *chat.Usage) {
	b := &x.s.request.bought
	if u.Extras == nil && b.terms == "" && len(b.uses) == 0 {
		return
	}
	e, whole := u.Edit(), u.Reported
	for term, rest := chat.NextTerm(b.terms); term != ""; term, rest = chat.NextTerm(rest) {
		member, _ := chat.SplitTerm(term)
		if _, named := chat.TermOf(e.Terms, member); !named {
			e.Terms, u.Reported = chat.AddTerm(e.Terms, term), false
		}
	}
	for term, rest := chat.NextTerm(e.Terms); term != ""; term, rest = chat.NextTerm(rest) {
		u.Reported = u.Reported && !x.exceeds(m, term)
	}
	fee, exact := x.fee(m, &e.Calls)
	if u.Reported = u.Reported && exact; !whole {
		fee = max(fee, x.feeBound(m))
	}
	e.FeePico = fee
}
