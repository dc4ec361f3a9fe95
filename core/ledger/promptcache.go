package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// PromptCache is what requests read from and wrote to the prompt caches of providers. The tokens are part of the prompt tokens.
// It has nothing to do with hits of the gateway's own cache, which call no provider.
type PromptCache struct {
	Read    uint64 // tokens
	Written uint64 // tokens, whichever time they are kept
	// SavedPico is config.Model.CacheSaving at the prices of the time of the request. It may be negative.
	SavedPico int64
}

// Plus adds the figures of o.
func (p *PromptCache) Plus(o *PromptCache) {
	p.Read += o.Read
	p.Written += o.Written
	p.SavedPico = money.Add(p.SavedPico, o.SavedPico)
}

// Used reports whether a prompt cache was used at all.
func (p *PromptCache) Used() bool { return *p != PromptCache{} }

// Fields lists the figures, if there are any. used is a flag that the message has before them: older versions know none, and must
// get none without need.
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
