package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// PromptCache counts the tokens that requests read from and wrote to the prompt caches of providers. They are part of
// the prompt tokens. Hits of the gateway's own cache do not count here, because they call no provider.
type PromptCache struct {
	Read    uint64 // tokens
	Written uint64 // tokens, regardless of how long the cache keeps them
	// SavedPico is config.Model.CacheSaving at the prices when the request was made. It can be negative.
	SavedPico int64
}

// Plus adds the figures of o.
func (p *PromptCache) Plus(o *PromptCache) {
	p.Read += o.Read
	p.Written += o.Written
	p.SavedPico = money.Add(p.SavedPico, o.SavedPico)
}

// Used reports whether a prompt cache was used.
func (p *PromptCache) Used() bool { return *p != PromptCache{} }

// Fields lists the figures, if there are any. used is a flag earlier in the message. Older versions do not know the
// figures, so they are written only if needed.
func (p *PromptCache) Fields(f *abi.Fields, used bool) {
	if !used {
		return
	}
	f.Uint(&p.Read)
	f.Uint(&p.Written)
	if f.Int(&p.SavedPico); !p.Used() {
		f.Fail()
	}
}
