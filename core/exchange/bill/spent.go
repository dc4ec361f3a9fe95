package bill

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/policy"
)

// Spent is the total cost of all attempts so far, including failed ones. It also has the cost by target.
type Spent struct {
	Usage     chat.Usage
	CostPico  money.Pico
	SavedPico money.Pico // saved by prompt caches; see config.Model.CacheSaving
	Estimated bool
	charges   []charge
}

type charge struct {
	target    uint64 // an index into the route's targets
	usage     chat.Usage
	costPico  money.Pico
	savedPico money.Pico
	estimated bool
}

func (s *Spent) used() bool {
	return len(s.charges) > 0 || s.CostPico != 0 || s.Estimated || s.Usage != chat.Usage{}
}

func (s *Spent) Fields(f *abi.Fields) {
	if !f.Group(s.used()) {
		return
	}
	s.Usage.Fields(f)
	f.Int(&s.CostPico)
	f.Int(&s.SavedPico)
	f.Bool(&s.Estimated)
	abi.List(f, &s.charges, func(f *abi.Fields, c *charge) {
		f.Uint(&c.target)
		c.usage.Fields(f)
		f.Int(&c.costPico)
		f.Int(&c.savedPico)
		f.Bool(&c.estimated)
	})
}

// Own makes s independent of the value that it was copied from.
func (s *Spent) Own() { s.charges = slices.Clone(s.charges) }

// Rest makes s equal to a value that Fields has written and read.
func (s *Spent) Rest() {
	if !s.used() {
		*s = Spent{}
	}
}

// Charge adds usage, cost and the prompt cache's savings to the total and to a target's charge.
func (s *Spent) Charge(target uint64, u *chat.Usage, cost, saved money.Pico) {
	s.Usage.Add(u)
	s.CostPico = money.Add(s.CostPico, cost)
	s.SavedPico = money.Add(s.SavedPico, saved)
	s.Estimated = s.Estimated || !u.Reported
	for i := range s.charges {
		if c := &s.charges[i]; c.target == target {
			c.usage.Add(u)
			c.costPico = money.Add(c.costPico, cost)
			c.savedPico = money.Add(c.savedPico, saved)
			c.estimated = c.estimated || !u.Reported
			return
		}
	}
	s.charges = append(s.charges, charge{target, *u, cost, saved, !u.Reported})
}

// AddTo adds the charges to the settlement of a request. settle.Model is the model that served it. Attempts at other
// models are listed separately.
func (s *Spent) AddTo(settle *keymeter.Settle, targets []policy.Target) {
	for i := range s.charges {
		c := &s.charges[i]
		tokens := keymeter.Tokens{Prompt: c.usage.Input, Completion: c.usage.Output}
		cached := PromptCacheOf(&c.usage, c.savedPico)
		m := targets[c.target].Model
		if m.Name == settle.Model {
			settle.Tokens.Prompt += tokens.Prompt
			settle.Tokens.Completion += tokens.Completion
			settle.CostPico = money.Add(settle.CostPico, c.costPico)
			settle.Estimated = settle.Estimated || c.estimated
			settle.PromptCache.Plus(&cached)
			continue
		}
		settle.Attempts = append(settle.Attempts, keymeter.Charge{
			Model: m.Name, Provider: m.Provider.Name, Tokens: tokens, CostPico: c.costPico, Estimated: c.estimated, PromptCache: cached,
		})
	}
}

// PromptCacheOf returns a charge's prompt cache figures.
func PromptCacheOf(u *chat.Usage, saved money.Pico) ledger.PromptCache {
	return ledger.PromptCache{Read: u.CachedInput, Written: u.CacheWritten(), SavedPico: saved}
}

// Credible reports whether the provider's usage is present and plausible for a response of about the given number of
// tokens. Prompt tokens must be present. If the response has output tokens, they must be present too.
func Credible(u *chat.Usage, tokens uint64) bool {
	return u.Reported && u.Plausible() && u.Input > 0 && (u.Output > 0 || tokens == 0)
}

// Billable returns the provider's usage if it is credible and the response is complete. Otherwise, it returns an
// estimate. The estimate contains the plausible part of the provider's usage, and at least the given number of output
// tokens.
func (o *Order) Billable(u chat.Usage, tokens uint64, complete bool) chat.Usage {
	if Credible(&u, tokens) && complete {
		return u
	}
	if !u.Plausible() {
		u = chat.Usage{}
	}
	if u.Input == 0 {
		u.Input = o.PromptTokens
	}
	u.Output, u.Reported = max(u.Output, tokens), false
	return u
}
