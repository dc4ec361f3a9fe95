package bill

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
)

// Unpriced returns an error detail for each part of the order for which a model has no price.
//
//go:noinline
func (q *Quote) Unpriced(m *config.Model) (details []fault.Detail) {
	if m.Provider.Wire == config.MockWire {
		return nil
	}
	for term, rest := chat.NextTerm(q.Bought.Terms); term != ""; term, rest = chat.NextTerm(rest) {
		if _, known := m.Factor(term); !known {
			member, value := chat.SplitTerm(term)
			details = append(details, fault.Detail{Field: member, Message: strings.Join([]string{
				`"`, value, `" has no price for `, m.Name, `; omit it, use another model, or add "`, term, `" to the model's factors in POSTERN_CATALOG`}, "")})
		}
	}
	for _, use := range q.uses(m) {
		if q.Config.Tool(m.Provider, use.Name) == nil {
			details = append(details, fault.Detail{Field: "tools", Message: strings.Join([]string{`has the provider tool "`, use.Name, `", which has no price at `,
				m.Provider.Name, "; omit it, use another model, or add it to tools in POSTERN_CATALOG"}, "")})
		}
	}
	return details
}

func (q *Quote) uses(m *config.Model) []chat.ToolUse {
	if q.Native != nil && len(q.Bought.Uses) > 0 && !q.Native(m) {
		return nil
	}
	return q.Bought.Uses
}

// boundTerms returns the terms used for a request's reservation: the requested terms. If the request does not name a
// place of inference, a setting of the provider account decides. The reservation then assumes the most expensive
// place.
//
//go:noinline
func (o *Order) boundTerms(m *config.Model) string {
	terms := o.Bought.Terms
	if _, asked := chat.TermOf(terms, geoMember); !asked {
		if highest := m.HighestTerm(geoMember); highest != "" {
			terms = chat.AddTerm(terms, highest)
		}
	}
	return terms
}

const geoMember = "inference_geo"

// ServiceTier returns the tier to send to OpenAI's dialects. If the request names no tier, the standard tier is sent,
// so that a setting in the provider's account does not change the price. A model without more expensive tiers does
// not need this.
//
//go:noinline
func (o *Order) ServiceTier(m *config.Model) string {
	tier, _ := chat.TermOf(o.Bought.Terms, chat.TierMember)
	if tier == "" && m.HighestTerm(chat.TierMember) != "" {
		return "default"
	}
	return tier
}

// feeBound returns the cost of all provider tool calls that the order allows.
//
//go:noinline
func (q *Quote) feeBound(m *config.Model) (fee money.Pico) {
	b := &q.Bought
	var highest money.Pico
	for _, use := range q.uses(m) {
		t := q.Config.Tool(m.Provider, use.Name)
		switch {
		case t == nil:
		case b.MaxToolCalls > 0 && t.Meter != chat.Containers:
			highest = max(highest, t.Price)
		default:
			fee = money.Add(fee, money.Cost(allowed(use, t), t.Price))
		}
	}
	return money.Add(fee, money.Cost(b.MaxToolCalls, highest))
}

// allowed returns the maximum number of calls of a tool in a request. The limit is the request's or, if it has none,
// the catalog's.
func allowed(use chat.ToolUse, t *config.Tool) uint64 {
	if use.Max > 0 {
		return use.Max
	}
	return t.Max
}

// fee returns the cost of the calls that a complete response reports. If responses do not report a tool's calls, the
// fee covers the maximum that the request allows. In this case, exact is true only for a free tool. exact is also
// false if the response reports more calls than allowed, or calls of tools that were not requested. Such tools are
// charged at the provider's highest price.
//
//go:noinline
func (q *Quote) fee(m *config.Model, calls *chat.Calls) (fee money.Pico, exact bool) {
	b := &q.Bought
	var prices chat.Prices
	var asked [len(prices)]bool
	var limits chat.Calls
	exact = true
	for _, use := range q.uses(m) {
		t := q.Config.Tool(m.Provider, use.Name)
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
			prices[meter], exact = q.Config.HighestPrice(m.Provider, chat.Meter(meter)), false
		case prices[meter] > 0 && b.MaxToolCalls > 0 && chat.Meter(meter) != chat.Containers:
			together += n
		case prices[meter] > 0:
			exact = exact && n <= limits[meter]
		}
		fee = money.Add(fee, money.Cost(n, prices[meter]))
	}
	return fee, exact && together <= b.MaxToolCalls
}

// exceeds reports whether a term in a response has no price, or costs more than the term reserved for its field.
//
//go:noinline
func (o *Order) exceeds(m *config.Model, term string) bool {
	f, known := m.Factor(term)
	member, _ := chat.SplitTerm(term)
	value, _ := chat.TermOf(o.boundTerms(m), member)
	reserved, _ := m.Factor(member + "=" + value)
	return !known || f.Exceeds(reserved)
}

// Price completes an attempt's usage with the purchased terms and tools. Terms and tools that the response does not
// name are the order's. If the price is uncertain, usage counts as estimated. It also counts as estimated if the
// response reports more calls than the order allows, or something more expensive.
//
//go:noinline
func (q *Quote) Price(m *config.Model, u *chat.Usage) {
	b := &q.Bought
	if u.Extras == nil && b.Terms == "" && len(b.Uses) == 0 {
		return
	}
	e, whole := u.Edit(), u.Reported
	for term, rest := chat.NextTerm(b.Terms); term != ""; term, rest = chat.NextTerm(rest) {
		member, _ := chat.SplitTerm(term)
		if _, named := chat.TermOf(e.Terms, member); !named {
			e.Terms, u.Reported = chat.AddTerm(e.Terms, term), false
		}
	}
	for term, rest := chat.NextTerm(e.Terms); term != ""; term, rest = chat.NextTerm(rest) {
		u.Reported = u.Reported && !q.exceeds(m, term)
	}
	fee, exact := q.fee(m, &e.Calls)
	if u.Reported = u.Reported && exact; !whole {
		fee = max(fee, q.feeBound(m))
	}
	e.FeePico = fee
}

// PriceBound is like Price, for an attempt whose response is incomplete. If the missing part may name a place of
// inference, PriceBound assumes the most expensive one.
func (q *Quote) PriceBound(m *config.Model, u *chat.Usage) {
	q.Price(m, u)
	terms := q.boundTerms(m)
	if terms == q.Bought.Terms {
		return
	}
	e := u.Edit()
	if _, named := chat.TermOf(e.Terms, geoMember); !named {
		e.Terms = chat.AddTerm(e.Terms, m.HighestTerm(geoMember))
	}
}
