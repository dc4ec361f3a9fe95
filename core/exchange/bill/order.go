// Package bill computes the reservation of a request, the cost of its attempts and its settlement. Amounts are in
// picodollars.
package bill

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

type Order struct {
	MaxTokens    uint64 // the caller's output limit; 0: no limit
	N            uint64 // choices
	PromptTokens uint64 // estimated
	UnseenTokens uint64 // reserved for input of unknown length, such as documents by URL, file IDs and searches
	Thinking     uint64 // the reasoning budget in tokens: the caller's, or a typical one
	Bought       Bought
}

func (o *Order) Fields(f *abi.Fields) {
	f.Uint(&o.MaxTokens)
	f.Uint(&o.N)
	f.Uint(&o.PromptTokens)
	f.Uint(&o.UnseenTokens)
	f.Uint(&o.Thinking)
	o.Bought.fields(f)
}

// Bought lists the parts of a request that change its price: terms such as a service tier, and provider tools.
type Bought struct {
	Terms        string // see chat.Term
	Uses         []chat.ToolUse
	MaxToolCalls uint64 // limit on the calls of all tools together; 0: each tool has its own limit
	Cache        uint64 // prompt cache: 0: not requested; 1: for the default time; 2: for an hour
}

func (b *Bought) fields(f *abi.Fields) {
	if !f.Group(b.Terms != "" || len(b.Uses) > 0 || b.Cache > 0) {
		return
	}
	f.String(&b.Terms)
	abi.List(f, &b.Uses, func(f *abi.Fields, use *chat.ToolUse) {
		f.String(&use.Name)
		f.Uint(&use.Max)
	})
	f.Uint(&b.MaxToolCalls)
	f.Uint(&b.Cache)
}

// OrderOf returns the order of a request. promptTokens is the estimated length of its prompt.
func OrderOf(r *chat.Request, promptTokens uint64) Order {
	o := Order{
		MaxTokens: r.MaxTokens, N: r.N, PromptTokens: promptTokens, UnseenTokens: r.UnseenTokens(), Thinking: r.Reasoning.Tokens(), Bought: boughtBy(r),
	}
	if r.Compacts { // to write the summary, the provider reads the complete conversation once more
		o.UnseenTokens += 2 * promptTokens
	}
	return o
}

//go:noinline
func boughtBy(r *chat.Request) Bought {
	b := Bought{Terms: r.Terms, Uses: r.Uses, MaxToolCalls: r.MaxToolCalls}
	switch cached, hour := r.CacheTTL(); {
	case hour:
		b.Cache = 2
	case cached:
		b.Cache = 1
	}
	return b
}

// Quote prices an order for any model. The endpoint and the key determine the rules.
type Quote struct {
	*Order
	Config    *config.Config
	Outputs   bool // responses have output tokens
	Unlimited bool // the request cannot limit its output tokens
	Streams   bool // the response is streamed; its reservation is extended as it grows
	Twice     bool // the request may be sent twice
	// Native reports whether a model's provider supports the caller's dialect and therefore gets the provider tools.
	// If Native is nil, all providers get them.
	Native    func(*config.Model) bool
	Unbounded bool // the key has no budget, so the reservation may be less than the longest response costs
}
